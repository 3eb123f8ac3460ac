//! The extents of views that a launch computes.

use pretty_assertions::assert_eq;
use proptest::prelude::*;
use warpwright::ptx::{Dim, Extent, ExtentMode};

fn extent(modes: &[(u64, u64)]) -> Extent {
    let modes =
        modes.iter().map(|&(size, stride)| ExtentMode { size: Dim::Const(size), stride: Dim::Const(stride) });
    Extent { parameter: 0, element_bytes: 4, modes: modes.collect(), most: u64::MAX }
}

#[test]
fn products_that_overflow_have_no_size() {
    let none = |_| 0;
    assert_eq!(extent(&[((1 << 32) + 2, 1 << 32)]).elements(&none), None);
    assert_eq!(extent(&[(u64::MAX, 1)]).elements(&none), Some(u64::MAX));
    assert_eq!(extent(&[(u64::MAX, 1)]).bytes(&none), None);
    assert_eq!(extent(&[(u64::MAX, 1), (2, 1)]).elements(&none), None);
    // Nothing is accessed, whatever the strides.
    assert_eq!(extent(&[((1 << 32) + 2, 1 << 32), (0, 5)]).elements(&none), Some(0));
    assert_eq!(extent(&[]).elements(&none), Some(1));
}

#[test]
fn values_of_32_bits_do_not_wrap() {
    let product = Dim::Product(Dim::Param(0).into(), Dim::Param(1).into());
    let sizes = |i: usize| [1 << 16, 1 << 16][i];
    assert_eq!(product.evaluate(&sizes), Some(1 << 32));
    assert_eq!(Dim::U32(product.into()).evaluate(&sizes), None);
}

proptest! {
    #[test]
    fn elements_are_the_largest_offset_and_one(modes in prop::collection::vec((0..6_u64, 0..9_u64), 0..4)) {
        let mut offsets = vec![0_u64];
        for &(size, stride) in &modes {
            offsets = offsets.iter().flat_map(|at| (0..size).map(move |i| at + i * stride)).collect();
        }
        let expected = offsets.iter().max().map_or(0, |last| last + 1);
        prop_assert_eq!(extent(&modes).elements(&|_| 0), Some(expected));
    }
}

/// A value that equals `⌈n / 64⌉` only in a branch that excludes large `n` is not an extent outside the branch.
#[test]
fn a_quotient_that_may_wrap_is_not_an_extent() {
    use warpwright::{prelude::*, ptx::BuildErrorKind};

    let build = |does_wrap: bool| {
        Kernel::<(In<f32>, Out<f32>, u32)>::build("quotients(x, y, n)", Target::SM_80, |k, (x, y, n)| {
            k.block([32]);
            k.grid([1]);
            let wrapping = (n + 63) / 64;
            k.if_(n.lt(1000), || {
                let _ = n.ceil_div(64);
            });
            let rows = if does_wrap { wrapping } else { n.ceil_div(64) };
            let t: Rt<f32, 1, 1> = k.global(x, row_major(rows, 16)).tile(0, 0).load();
            k.global(y, row_major(16, 16)).tile(0, 0).store(&t);
        })
    };
    assert!(build(false).is_ok());
    assert!(matches!(build(true).unwrap_err().kind(), BuildErrorKind::UncheckedExtent { .. }));
}
