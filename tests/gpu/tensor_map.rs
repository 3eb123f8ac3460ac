//! Each rule of a tensor map, at its limit and beyond it.

use pretty_assertions::assert_eq;
use warpwright::gpu::{ElementType, Im2colTensor, L2Promotion, OutOfBounds, Swizzle, TiledTensor};

/// A 50×100 bf16 matrix with rows of 208 bytes, taken in 32×64 boxes.
pub(super) fn matrix() -> TiledTensor {
    TiledTensor {
        address: 4096,
        element: ElementType::Bf16,
        dims: vec![100, 50],
        strides: vec![208],
        box_dims: vec![64, 32],
        element_strides: vec![1, 1],
        swizzle: Swizzle::B128,
        l2_promotion: L2Promotion::B128,
        out_of_bounds: OutOfBounds::Zero,
    }
}

fn complaint(change: impl FnOnce(&mut TiledTensor)) -> String {
    let mut tensor = matrix();
    change(&mut tensor);
    tensor.check().expect_err("this breaks a rule").to_string()
}

/// Changes to [`matrix`] that reach the limit of a rule.
pub(super) const ALLOWED: [fn(&mut TiledTensor); 6] = [
    |_| {},
    |t| t.dims = vec![1 << 32, 1],
    |t| t.strides = vec![(1 << 40) - 16],
    |t| (t.box_dims, t.swizzle) = (vec![256, 256], Swizzle::None),
    |t| t.element_strides = vec![8, 8],
    |t| t.out_of_bounds = OutOfBounds::Nan,
];

#[test]
fn every_rule_accepts_its_limit() {
    for change in ALLOWED {
        let mut tensor = matrix();
        change(&mut tensor);
        assert_eq!(tensor.check(), Ok(()), "{tensor:?}");
    }
}

#[test]
fn every_rule_rejects_the_value_past_its_limit() {
    assert_eq!(complaint(|t| t.dims.clear()), "expected 1 to 5 dimensions, found 0");
    assert_eq!(complaint(|t| t.dims = vec![1; 6]), "expected 1 to 5 dimensions, found 6");
    assert_eq!(complaint(|t| t.strides.clear()), "strides: expected 1 values for 2 dimensions, found 0");
    assert_eq!(complaint(|t| t.box_dims.push(1)), "box extents: expected 2 values for 2 dimensions, found 3");
    assert_eq!(
        complaint(|t| t.address += 8),
        "address of the tensor: expected a multiple of 16, found 0x1008"
    );
    assert_eq!(
        complaint(|t| t.dims[1] = (1 << 32) + 1),
        "size of dimension 1: expected 1 to 4294967296, found 4294967297"
    );
    assert_eq!(complaint(|t| t.box_dims[1] = 257), "box extent of dimension 1: expected 1 to 256, found 257");
    assert_eq!(
        complaint(|t| t.element_strides[0] = 9),
        "element stride of dimension 0: expected 1 to 8, found 9"
    );
    assert_eq!(
        complaint(|t| t.strides[0] = 200),
        "stride of dimension 1: expected a multiple of 16 bytes, found 200"
    );
    assert_eq!(
        complaint(|t| t.strides[0] = 1 << 40),
        "stride of dimension 1: expected 0 to 1099511627760, found 1099511627776"
    );
    assert_eq!(complaint(|t| t.box_dims[0] = 4), "row of the box: expected a multiple of 16 bytes, found 8");
    assert_eq!(
        complaint(|t| t.swizzle = Swizzle::B64),
        "row of the box: expected at most 64 bytes for this swizzle, found 128"
    );
    let nan_u16 = |t: &mut TiledTensor| (t.element, t.out_of_bounds) = (ElementType::U16, OutOfBounds::Nan);
    assert_eq!(complaint(nan_u16), "NaN fill: expected floating-point elements, found U16");
}

/// 4 images of 50 pixels with 64 channels of bf16; a copy moves 32 channels of 100 pixels.
pub(super) fn images() -> Im2colTensor {
    let tensor = TiledTensor {
        dims: vec![64, 50, 4],
        strides: vec![128, 6400],
        box_dims: vec![32, 1, 1],
        element_strides: vec![1; 3],
        ..matrix()
    };
    Im2colTensor { tensor, lower_corner: vec![-1], upper_corner: vec![2], pixels: 100 }
}

/// Changes the images to those with `spatial` spatial dimensions.
fn of_rank(images: &mut Im2colTensor, spatial: usize) {
    let tensor = &mut images.tensor;
    tensor.dims = vec![64; spatial + 2];
    tensor.strides = vec![128; spatial + 1];
    tensor.box_dims = vec![1; spatial + 2];
    tensor.box_dims[0] = 32;
    tensor.element_strides = vec![1; spatial + 2];
    images.lower_corner = vec![0; spatial];
    images.upper_corner = vec![0; spatial];
}

#[test]
fn every_rule_of_im2col_accepts_its_limit() {
    let accepted = |change: &dyn Fn(&mut Im2colTensor)| {
        let mut changed = images();
        change(&mut changed);
        assert_eq!(changed.check(), Ok(()), "{changed:?}");
    };
    accepted(&|_| {});
    accepted(&|images| images.pixels = 1024);
    for (spatial, limit) in [(1, 1 << 15), (2, 1 << 7), (3, 1 << 4)] {
        accepted(&|images| {
            of_rank(images, spatial);
            images.lower_corner[spatial - 1] = -limit;
            images.upper_corner[spatial - 1] = limit - 1;
        });
    }
}

#[test]
fn every_rule_of_im2col_rejects_the_value_past_its_limit() {
    let complaint = |change: &dyn Fn(&mut Im2colTensor)| {
        let mut changed = images();
        change(&mut changed);
        changed.check().expect_err("this breaks a rule").to_string()
    };
    assert_eq!(complaint(&|images| of_rank(images, 0)), "expected 3 to 5 dimensions, found 2");
    assert_eq!(complaint(&|images| of_rank(images, 4)), "expected 3 to 5 dimensions, found 6");
    assert_eq!(
        complaint(&|images| images.tensor.address += 8),
        "address of the tensor: expected a multiple of 16, found 0x1008"
    );
    assert_eq!(
        complaint(&|images| images.tensor.box_dims[2] = 2),
        "box extent of dimension 2: expected 1 to 1, found 2"
    );
    assert_eq!(
        complaint(&|images| images.upper_corner.push(0)),
        "upper corner: expected 1 values for 3 dimensions, found 2"
    );
    for (spatial, limit) in [(1, 1 << 15), (2, 1 << 7), (3, 1 << 4)] {
        let range = format!("corner of the box, dimension {spatial}: expected {} to {}", -limit, limit - 1);
        let lower = complaint(&|images| {
            of_rank(images, spatial);
            images.lower_corner[spatial - 1] = -limit - 1;
        });
        assert_eq!(lower, format!("{range}, found {}", -limit - 1));
        let upper = complaint(&|images| {
            of_rank(images, spatial);
            images.upper_corner[spatial - 1] = limit;
        });
        assert_eq!(upper, format!("{range}, found {limit}"));
    }
    assert_eq!(complaint(&|images| images.pixels = 0), "pixels of a copy: expected 1 to 1024, found 0");
    assert_eq!(complaint(&|images| images.pixels = 1025), "pixels of a copy: expected 1 to 1024, found 1025");
}
