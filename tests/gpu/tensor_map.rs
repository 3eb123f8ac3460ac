//! Each rule of a tensor map, at its edge and past it.

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

/// Changes to [`matrix`] that go to the edge of a rule.
pub(super) const ALLOWED: [fn(&mut TiledTensor); 6] = [
    |_| {},
    |t| t.dims = vec![1 << 32, 1],
    |t| t.strides = vec![(1 << 40) - 16],
    |t| (t.box_dims, t.swizzle) = (vec![256, 256], Swizzle::None),
    |t| t.element_strides = vec![8, 8],
    |t| t.out_of_bounds = OutOfBounds::Nan,
];

#[test]
fn what_is_allowed() {
    for change in ALLOWED {
        let mut tensor = matrix();
        change(&mut tensor);
        assert_eq!(tensor.check(), Ok(()), "{tensor:?}");
    }
}

#[test]
fn what_is_refused() {
    assert_eq!(complaint(|t| t.dims.clear()), "a tensor map has 1 to 5 dimensions, not 0");
    assert_eq!(complaint(|t| t.dims = vec![1; 6]), "a tensor map has 1 to 5 dimensions, not 6");
    assert_eq!(complaint(|t| t.strides.clear()), "strides: 1 values wanted for 2 dimensions, 0 given");
    assert_eq!(complaint(|t| t.box_dims.push(1)), "box extents: 2 values wanted for 2 dimensions, 3 given");
    assert_eq!(complaint(|t| t.address += 8), "the tensor's address 0x1008 is no multiple of 16");
    assert_eq!(
        complaint(|t| t.dims[1] = (1 << 32) + 1),
        "the size of dimension 1 is 4294967297: it must be 1 to 4294967296"
    );
    assert_eq!(
        complaint(|t| t.box_dims[1] = 257),
        "the box extent of dimension 1 is 257: it must be 1 to 256"
    );
    assert_eq!(
        complaint(|t| t.element_strides[0] = 9),
        "the element stride of dimension 0 is 9: it must be 1 to 8"
    );
    assert_eq!(
        complaint(|t| t.strides[0] = 200),
        "the stride of dimension 1 is 200 bytes: it must be a multiple of 16"
    );
    assert_eq!(
        complaint(|t| t.strides[0] = 1 << 40),
        "the stride of dimension 1 is 1099511627776: it must be 0 to 1099511627760"
    );
    assert_eq!(complaint(|t| t.box_dims[0] = 4), "a row of the box has 8 bytes: it must be a multiple of 16");
    assert_eq!(
        complaint(|t| t.swizzle = Swizzle::B64),
        "a row of the box has 128 bytes: the swizzle takes at most 64"
    );
    let nan_u16 = |t: &mut TiledTensor| (t.element, t.out_of_bounds) = (ElementType::U16, OutOfBounds::Nan);
    assert_eq!(complaint(nan_u16), "U16 elements cannot be filled with NaN");
}
