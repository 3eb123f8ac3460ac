//! Permutations of axes compared with the definition, bit for bit, on every device.

#[path = "support/assemble.rs"]
mod assemble;
#[path = "support/devices.rs"]
mod devices;
#[path = "support/require.rs"]
mod require;

use std::fmt::Debug;

use proptest::prelude::*;
use warpwright::{
    kernels::{Permute, RowTiling},
    prelude::*,
    run::Device,
    tensor::TensorElement,
};

/// An element with this number; NaN and ∞ among them.
trait Numbered: TensorElement + PartialEq + Debug {
    fn numbered(number: usize) -> Self;
    fn bits(self) -> u64;
}

macro_rules! numbered {
    ($($t:ident, $bits:ident;)*) => {$(
        impl Numbered for $t {
            fn numbered(number: usize) -> Self {
                $t::from_bits((number as u32).wrapping_mul(2_654_435_761).rotate_left(13) as $bits)
            }
            fn bits(self) -> u64 {
                self.to_bits().into()
            }
        }
    )*};
}

numbered! {
    f32,  u32;
    bf16, u16;
    e4m3, u8;
}

/// The number of elements after the result, which must not change.
const CANARIES: usize = 70;

fn check<T: Numbered>(extents: &[u32], order: &[usize]) {
    let permute = Permute::for_axes::<T>(extents, order).expect("an order");
    let kernel = permute.kernel::<T>(Target::SM_80).unwrap_or_else(|error| panic!("{permute:?}: {error}"));
    assemble::kernel(&kernel);
    run(&permute, &kernel, extents, order);
}

fn run<T: Numbered>(
    permute: &Permute,
    kernel: &Kernel<warpwright::kernels::PermuteArgs<T>>,
    extents: &[u32],
    order: &[usize],
) {
    let count = extents.iter().product::<u32>() as usize;
    let x: Vec<T> = (0..count).map(T::numbered).collect();
    let (sizes, x_strides, y_strides) = Permute::arguments(extents, order).expect("an order");
    let found = devices::everywhere(|device| {
        let on_x = device.upload(&x).expect("room");
        let mut y = device.output::<T>(count + CANARIES).expect("room");
        let launched = device.launch(kernel, (&on_x, &mut y, sizes, x_strides, y_strides));
        launched.unwrap_or_else(|error| panic!("{permute:?}, {extents:?}, {order:?}: {error}"));
        device.download(&y).expect("copied").into_iter().map(T::bits).collect::<Vec<_>>()
    });

    let of_y: Vec<usize> = order.iter().map(|&axis| extents[axis] as usize).collect();
    for at in 0..count {
        // The coordinates in y, the last one first.
        let mut rest = at;
        let mut coordinates = vec![0; extents.len()];
        for axis in (0..order.len()).rev() {
            coordinates[order[axis]] = rest % of_y[axis];
            rest /= of_y[axis];
        }
        let from =
            coordinates.iter().zip(extents).fold(0, |from, (&at, &extent)| from * extent as usize + at);
        assert_eq!(found[at], x[from].bits(), "{permute:?}, {extents:?}, {order:?}: element {at}");
    }
    let canary = u64::MAX >> (64 - 8 * T::SIZE);
    assert!(
        found[count..].iter().all(|&bits| bits == canary),
        "{permute:?}, {extents:?}: wrote past the end"
    );
}

#[test]
fn heads_and_positions_are_exchanged() {
    check::<bf16>(&[2, 37, 5, 64], &[0, 2, 1, 3]);
    check::<bf16>(&[2, 5, 7, 33], &[0, 2, 1, 3]);
    check::<f32>(&[3, 4, 600], &[1, 0, 2]);
    check::<e4m3>(&[3, 4, 48], &[1, 0, 2]);
}

#[test]
fn the_last_axis_changes() {
    check::<f32>(&[70, 130], &[1, 0]);
    check::<bf16>(&[3, 65, 2, 67], &[2, 0, 3, 1]);
    check::<e4m3>(&[2, 3, 66, 5, 7], &[4, 1, 3, 0, 2]);
    check::<bf16>(&[5, 4, 3, 2, 70], &[4, 3, 2, 1, 0]);
}

/// Tiles whose elements are moved 16 bytes at a time: several whole tiles, and tiles at both edges.
#[test]
fn matrices_are_transposed_in_groups() {
    check_wide::<f32>(&[132, 196], &[1, 0]);
    check_wide::<bf16>(&[2, 264, 136], &[0, 2, 1]);
    check_wide::<bf16>(&[8, 3, 2, 5, 16], &[4, 1, 3, 2, 0]);
    check_wide::<e4m3>(&[272, 3, 144], &[2, 1, 0]);
}

/// Long rows that begin at any element: within a warp, of several parts, and all in one row.
#[test]
fn unaligned_rows_are_copied_in_groups() {
    check_unaligned::<f32>(&[3, 4, 131], &[1, 0, 2]);
    check_unaligned::<bf16>(&[3, 5, 2, 1025], &[2, 0, 1, 3]);
    check_unaligned::<bf16>(&[2, 2, 3, 2, 259], &[3, 1, 0, 2, 4]);
    check_unaligned::<e4m3>(&[7, 3, 2049], &[1, 0, 2]);
    check_unaligned::<bf16>(&[40_001], &[0]);
    check::<f32>(&[0, 3, 131], &[1, 0, 2]);
}

fn check_unaligned<T: Numbered>(extents: &[u32], order: &[usize]) {
    let permute = Permute::for_axes::<T>(extents, order).expect("an order");
    assert!(matches!(permute, Permute::UnalignedRows { .. }), "{permute:?}");
    check::<T>(extents, order);
}

fn check_wide<T: Numbered>(extents: &[u32], order: &[usize]) {
    let permute = Permute::for_axes::<T>(extents, order).expect("an order");
    assert_eq!(permute, Permute::Tiles { adjacent: 16 / T::SIZE });
    check::<T>(extents, order);
}

#[test]
fn wrong_groups_are_refused() {
    for adjacent in [0, 2, 16] {
        let built = Permute::Tiles { adjacent }.kernel::<bf16>(Target::SM_80);
        let message = built.err().map(|error| error.to_string());
        assert!(message.as_ref().is_some_and(|text| text.contains("adjacent")), "{adjacent}: {message:?}");
    }
}

#[test]
fn axes_may_be_missing_or_empty() {
    check::<f32>(&[], &[]);
    check::<f32>(&[1, 1], &[1, 0]);
    check::<f32>(&[9], &[0]);
    check::<bf16>(&[4, 1, 16], &[1, 0, 2]);
    check::<bf16>(&[4, 0, 16], &[2, 0, 1]);
    check::<bf16>(&[0, 3], &[1, 0]);
}

/// The axes that stay together are one, so that a kernel processes long rows.
#[test]
fn axes_that_stay_together_are_one() {
    let arguments = |extents: &[u32], order: &[usize]| Permute::arguments(extents, order).expect("an order");
    assert_eq!(arguments(&[2, 3, 4, 5], &[0, 1, 2, 3]), ([1, 1, 1, 1, 120], [0; 4], [0; 4]));
    assert_eq!(arguments(&[2, 3, 4, 5], &[2, 3, 0, 1]), ([1, 1, 1, 6, 20], [0, 0, 0, 20], [0, 0, 0, 6]));
    // Axis 1 of 5 rows is in between axes of 2 and of 3.
    assert_eq!(
        arguments(&[2, 3, 1, 5, 8], &[0, 3, 1, 2, 4]),
        ([1, 2, 5, 3, 8], [0, 120, 8, 40], [0, 120, 24, 8])
    );
}

#[test]
fn wrong_orders_are_refused() {
    let refused = |extents: &[u32], order: &[usize]| {
        Permute::for_axes::<f32>(extents, order).expect_err("refused").to_string()
    };
    assert_eq!(refused(&[2; 6], &[0, 1, 2, 3, 4, 5]), "expected up to 5 axes, found 6");
    assert_eq!(refused(&[2, 3], &[0, 0]), "expected each of the 2 axes exactly once, found [0, 0]");
    assert_eq!(refused(&[2, 3], &[0, 2]), "expected each of the 2 axes exactly once, found [0, 2]");
    assert_eq!(refused(&[2, 3], &[0]), "expected each of the 2 axes exactly once, found [0]");
    let large = Permute::arguments(&[2, 1 << 16, 1 << 16], &[1, 0, 2]).expect_err("refused").to_string();
    assert_eq!(large, "expected strides of fewer than 2³² elements, found 4294967296");
    let kernel =
        Permute::Rows { threads: 3, adjacent: 8 }.kernel::<bf16>(Target::SM_80).expect_err("refused");
    let expected = "expected powers of two, up to 256 threads of up to 16 bytes each, found 3 of 8 elements";
    assert!(kernel.to_string().contains(expected), "{kernel}");
    let tiling = RowTiling::for_elements(Target::SM_80, 2, &[1024]);
    let kernel = Permute::UnalignedRows { tiling }.kernel::<bf16>(Target::SM_80).expect_err("refused");
    assert!(kernel.to_string().contains("expected an unaligned tiling"), "{kernel}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_order_of_any_axes(
        extents in prop::collection::vec(prop::sample::select(vec![1u32, 2, 3, 4, 5, 8, 16]), 0..=5),
        seed in any::<u64>(),
    ) {
        let mut order: Vec<usize> = (0..extents.len()).collect();
        order.sort_by_key(|&axis| (seed >> (8 * axis)) & 0xFF);
        let permute = Permute::for_axes::<bf16>(&extents, &order).expect("an order");
        run(&permute, &permute.kernel::<bf16>(Target::SM_80).expect("it builds"), &extents, &order);
    }
}
