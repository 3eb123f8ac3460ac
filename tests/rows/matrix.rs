//! Matrices in buffers with gaps between rows, and their comparison with f64.

use crate::{assemble, devices};
use warpwright::{
    prelude::*,
    run::{AnyDevice, Buffer, Device},
};

/// Element types, and the error that a result may have.
pub(super) trait Number: warpwright::tensor::TensorElement + PartialEq {
    const NAN: Self;
    /// The relative error of rounding and of the computation in f32.
    const RELATIVE: f64;
    fn of(x: f64) -> Self;
    fn number(self) -> f64;
    fn bits(self) -> u64;
}

macro_rules! numbers {
    ($($t:ident $relative:literal;)*) => {$(
        impl Number for $t {
            const NAN: Self = $t::NAN;
            const RELATIVE: f64 = $relative;
            fn of(x: f64) -> Self {
                $t::from_f64(x)
            }
            fn number(self) -> f64 {
                self.to_f64()
            }
            fn bits(self) -> u64 {
                self.to_bits().into()
            }
        }
    )*};
}

numbers! {
    bf16 0.0041;
    f16 0.0006;
}

impl Number for e4m3 {
    const NAN: Self = Self::NAN;
    /// Half of the distance between numbers.
    const RELATIVE: f64 = 0.0626;
    fn of(x: f64) -> Self {
        Self::from_f32(x as f32)
    }
    fn number(self) -> f64 {
        self.to_f32().into()
    }
    fn bits(self) -> u64 {
        self.to_bits().into()
    }
}

impl Number for i8 {
    /// A number that is not a result: the smallest result is −127.
    const NAN: Self = Self::MIN;
    const RELATIVE: f64 = 0.0;
    fn of(x: f64) -> Self {
        x as Self
    }
    fn number(self) -> f64 {
        self.into()
    }
    fn bits(self) -> u64 {
        u64::from(self as u8)
    }
}

impl Number for i32 {
    /// A number that is not a result.
    const NAN: Self = Self::MIN;
    const RELATIVE: f64 = 0.0;
    fn of(x: f64) -> Self {
        x as Self
    }
    fn number(self) -> f64 {
        self.into()
    }
    fn bits(self) -> u64 {
        u64::from(self as u32)
    }
}

impl Number for f32 {
    const NAN: Self = Self::NAN;
    const RELATIVE: f64 = 4e-6;
    fn of(x: f64) -> Self {
        x as Self
    }
    fn number(self) -> f64 {
        self.into()
    }
    fn bits(self) -> u64 {
        self.to_bits().into()
    }
}

/// `m` rows of `n` elements, `pitch` elements apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shape {
    pub(super) m: usize,
    pub(super) n: usize,
    pub(super) pitch: usize,
}

impl Shape {
    pub(super) fn numbers(self) -> [u32; 3] {
        [self.m, self.n, self.pitch].map(|number| number as u32)
    }

    /// The elements of a buffer: the gap after the last row is not part of it.
    pub(super) fn length(self) -> usize {
        if self.m == 0 { 0 } else { (self.m - 1) * self.pitch + self.n }
    }

    /// Elements in rows, and NaN between them.
    pub(super) fn filled<T: Number>(self, element: &dyn Fn(usize, usize) -> f64) -> Vec<T> {
        let mut elements = vec![T::NAN; self.length()];
        for row in 0..self.m {
            for col in 0..self.n {
                elements[row * self.pitch + col] = T::of(element(row, col));
            }
        }
        elements
    }
}

/// A row of numbers as their type represents them.
pub(super) fn row<T: Number>(n: usize, row: usize, element: &dyn Fn(usize, usize) -> f64) -> Vec<f64> {
    (0..n).map(|col| T::of(element(row, col)).number()).collect()
}

/// Numbers between −3 and 3, without a pattern.
pub(super) fn mixed(row: usize, col: usize) -> f64 {
    let mix =
        ((row * 7919 + col) as u32).wrapping_mul(2_654_435_761).rotate_left(15).wrapping_mul(2_246_822_519);
    f64::from(mix >> 8) / f64::from(1 << 24) * 6.0 - 3.0
}

/// Checks a kernel with ptxas.
pub(super) fn assembled<A>(kernel: Result<Kernel<A>, BuildError>) -> Kernel<A> {
    let kernel = kernel.unwrap_or_else(|error| panic!("{error}"));
    assemble::kernel(&kernel);
    kernel
}

/// Bits of a result.
type Bits = Vec<u64>;

/// Runs a launch twice on every device, with results of NaN ahead of it, and returns what it wrote, which must be the same each time.
pub(super) fn same_everywhere<R: PartialEq + std::fmt::Debug>(
    what: &str,
    run: &dyn Fn(&AnyDevice) -> R,
) -> R {
    let found = devices::everywhere(|device| {
        if device.capability() != (9, 0) {
            return None;
        }
        let (first, second) = (run(device), run(device));
        assert!(first == second, "{what}: two launches differ");
        Some(first)
    });
    found.expect("the simulator has every capability")
}

/// Allocates a result full of NaN.
fn empty<T: Number>(device: &AnyDevice, shape: Shape) -> Buffer<T> {
    device.upload(&vec![T::NAN; shape.length()]).expect("room")
}

fn download<T: Number>(device: &AnyDevice, buffer: &Buffer<T>) -> Bits {
    device.download(buffer).expect("copied").into_iter().map(Number::bits).collect()
}

/// Compares a row with the expected numbers, from which it may differ by the relative error of its type and by `absolute`. The elements
/// between this row and the next must still be NaN.
fn compare<T: Number>(what: &str, found: &Bits, shape: Shape, row: usize, expected: &[f64], absolute: f64) {
    let from = row * shape.pitch;
    for (col, expected) in expected.iter().enumerate() {
        let found = T::from_mem_bits(found[from + col]).number();
        let allowed = expected.abs() * T::RELATIVE + absolute;
        let agrees = found == *expected || (found - expected).abs() <= allowed;
        assert!(
            agrees || found.is_nan() && expected.is_nan(),
            "{what}: row {row}, column {col}: expected {expected}, found {found}"
        );
    }
    let end = found.len().min(from + shape.pitch);
    let gap = &found[(from + shape.n).min(end)..end];
    assert!(gap.iter().all(|&bits| bits == T::NAN.bits()), "{what}: wrote past row {row}");
}

/// Checks the result of a launch against `expected`, a row at a time.
pub(super) fn check<Y: Number>(
    what: &str,
    shape: Shape,
    launch: &dyn Fn(&AnyDevice, &mut Buffer<Y>),
    expected: &dyn Fn(usize) -> Vec<f64>,
    absolute: f64,
) {
    let found = same_everywhere(what, &|device| {
        let mut y = empty::<Y>(device, shape);
        launch(device, &mut y);
        download(device, &y)
    });
    for row in 0..shape.m {
        compare::<Y>(what, &found, shape, row, &expected(row), absolute);
    }
}

/// A launch with two results.
type Launch<'a, Y, H> = &'a dyn Fn(&AnyDevice, &mut Buffer<Y>, &mut Buffer<H>);

/// Checks the two results of a launch.
pub(super) fn check_with<Y: Number, H: Number>(
    what: &str,
    (shape, other): (Shape, Shape),
    launch: Launch<'_, Y, H>,
    expected: &dyn Fn(usize) -> (Vec<f64>, Vec<f64>),
    absolute: f64,
) {
    let (y, h) = same_everywhere(what, &|device| {
        let (mut y, mut h) = (empty::<Y>(device, shape), empty::<H>(device, other));
        launch(device, &mut y, &mut h);
        (download(device, &y), download(device, &h))
    });
    for row in 0..shape.m {
        let expected = expected(row);
        compare::<Y>(what, &y, shape, row, &expected.0, absolute);
        compare::<H>(&format!("{what}: second result"), &h, other, row, &expected.1, absolute);
    }
}
