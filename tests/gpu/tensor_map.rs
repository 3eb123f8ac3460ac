//! Each rule of a tensor map, at its limit and beyond it.

use pretty_assertions::assert_eq;
use warpwright::gpu::{ElementType, L2Promotion, OutOfBounds, Swizzle, TiledTensor};

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
