//! Products of small integers, which are exact in any order of summation.

use std::fmt::Debug;

use crate::{assemble, devices};
use warpwright::{
    kernels::{Activation, Gemm, GemmArgs, GemmResult, GemmSum, MatrixOrder},
    prelude::*,
    run::Device,
    tensor::TensorElement,
    tiles::{Convert, Product},
};
use warpwright_reference::dot_of_integers;

/// The sizes of a product, and the elements after each row or column of a matrix in memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub(super) m: usize,
    pub(super) n: usize,
    pub(super) k: usize,
    pub(super) gap: usize,
}

/// An element type with the conversions that the tests use.
pub(super) trait Entry: TensorElement + PartialEq + Debug {
    fn of(value: i32) -> Self;
    /// The element in gaps: NaN, or the largest integer.
    const GAP: i32;
}

macro_rules! entries {
    ($($t:ty, $gap:literal, |$x:ident| $from:expr;)*) => {$(
        impl Entry for $t {
            fn of($x: i32) -> Self {
                $from
            }
            const GAP: i32 = $gap;
        }
    )*};
}

entries! {
    bf16, 16_384, |x| bf16::from_f32(x as f32);
    f16,  16_384, |x| f16::from_f32(x as f32);
    e4m3, 256,    |x| e4m3::from_f32(x as f32);
    e5m2, 256,    |x| e5m2::from_f32(x as f32);
    tf32, 16_384, |x| tf32::from_f32(x as f32);
    f32,  16_384, |x| x as f32;
    i8,   127,    |x| x as i8;
    u8,   255,    |x| x as u8;
    i32,  16_384, |x| x;
}

/// A matrix in memory, with gaps of another value.
pub(super) struct Matrix {
    rows: usize,
    cols: usize,
    order: MatrixOrder,
    pub(super) stride: usize,
}

impl Matrix {
    /// A matrix whose strides are multiples of 16 elements, and thereby of 16 bytes.
    pub(super) fn new(rows: usize, cols: usize, order: MatrixOrder, gap: usize) -> Self {
        let run = if order == MatrixOrder::Row { cols } else { rows };
        Self { rows, cols, order, stride: run.next_multiple_of(16) + gap }
    }

    fn index(&self, row: usize, col: usize) -> usize {
        if self.order == MatrixOrder::Row { row * self.stride + col } else { col * self.stride + row }
    }

    pub(super) fn len(&self) -> usize {
        let runs = if self.order == MatrixOrder::Row { self.rows } else { self.cols };
        runs * self.stride
    }

    pub(super) fn elements<T: Entry>(&self, value: impl Fn(usize, usize) -> i32) -> Vec<T> {
        self.filled(|row, col| T::of(value(row, col)))
    }

    pub(super) fn filled<T: Entry>(&self, value: impl Fn(usize, usize) -> T) -> Vec<T> {
        let mut elements = vec![T::of(T::GAP); self.len()];
        for (row, col) in (0..self.rows).flat_map(|row| (0..self.cols).map(move |col| (row, col))) {
            elements[self.index(row, col)] = value(row, col);
        }
        elements
    }
}

/// Entries from 0 to 3, which all types represent, and from −2 for signed types.
pub(super) fn entry(signed: bool, seed: usize) -> impl Fn(usize, usize) -> i32 + Copy {
    move |row, col| {
        let mix = (row * 31 + col * 17 + seed * 7) ^ (row / 3 * 5 + col / 5 * 11);
        (mix % 6) as i32 - if signed { 2 } else { 0 }
    }
}

/// Returns the entries of the product of A, m×k, and B, k×n.
pub(super) fn product(
    [m, n, k]: [usize; 3],
    a: impl Fn(usize, usize) -> i32,
    b: impl Fn(usize, usize) -> i32,
) -> impl Fn(usize, usize) -> i32 {
    let rows_of_a: Vec<Vec<i32>> = (0..m).map(|row| (0..k).map(|i| a(row, i)).collect()).collect();
    let cols_of_b: Vec<Vec<i32>> = (0..n).map(|col| (0..k).map(|i| b(i, col)).collect()).collect();
    move |row, col| dot_of_integers(&rows_of_a[row], &cols_of_b[col])
}

/// Checks a product on every device, bit for bit, its gaps included, and the kernel with ptxas.
pub(super) fn check<T, C, D>(gemm: &Gemm, sizes: Sizes)
where
    T: Entry + Product<T, C>,
    C: GemmSum + Convert<D> + Convert<f32>,
    D: Entry + GemmResult,
{
    let kernel = gemm.kernel::<T, C, D>().unwrap_or_else(|error| panic!("{gemm:?}: {error}"));
    assemble::kernel(&kernel);
    run::<T, C, D>(gemm, &kernel, sizes);
}

/// Checks a product like [`check`], without ptxas.
pub(super) fn run<T, C, D>(gemm: &Gemm, kernel: &Kernel<GemmArgs<T, D>>, sizes: Sizes)
where
    T: Entry + Product<T, C>,
    C: GemmSum + Convert<D> + Convert<f32>,
    D: Entry + GemmResult,
{
    let Sizes { m, n, k, gap } = sizes;
    let signed = T::NAME != "u8";
    let (at_a, at_b) = (entry(signed, 1), entry(signed, 2));
    let (a, b) = (Matrix::new(m, k, gemm.a, gap), Matrix::new(k, n, gemm.b, gap));
    let d = Matrix::new(m, n, MatrixOrder::Row, gap + usize::from(gemm.any_ldd));
    let sum = product([m, n, k], at_a, at_b);
    let expected: Vec<D> = d.elements(|row, col| match gemm.activation {
        None => sum(row, col),
        Some(Activation::Relu) => sum(row, col).max(0),
        Some(other) => panic!("{other} of integers is not an integer"),
    });
    let factors = (&a.elements(at_a)[..], &b.elements(at_b)[..]);
    launch(gemm, kernel, [m, n, k], factors, &expected, [&a, &b, &d]);
}

/// Launches a kernel on every device of its target, and asserts that D is as expected, its gaps included. The three matrices describe A, B
/// and D in memory.
pub(super) fn launch<T: Entry, D: Entry>(
    gemm: &Gemm,
    kernel: &Kernel<GemmArgs<T, D>>,
    size: [usize; 3],
    (a, b): (&[T], &[T]),
    expected: &[D],
    matrices: [&Matrix; 3],
) {
    let [m, n, k] = size.map(|size| size as u32);
    let [lda, ldb, ldd] = matrices.map(|matrix| matrix.stride as u32);
    for device in devices::all() {
        let (major, minor) = device.capability();
        if !gemm.target.runs_on(major as u16, minor as u16) {
            continue;
        }
        let what = format!("{gemm:?}, {size:?}, strides {:?}, {}", [lda, ldb, ldd], device.name());
        let (on_a, on_b) = (device.upload(a).expect("room"), device.upload(b).expect("room"));
        let mut on_d = device.upload(&vec![D::of(D::GAP); expected.len()]).expect("room");
        let launched = device.launch(kernel, (&on_a, lda, &on_b, ldb, &mut on_d, ldd, m, n, k));
        launched.unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_same(&what, &device.download(&on_d).expect("copied"), expected, matrices[2].stride);
    }
}

/// Asserts that the elements of matrices in rows that are `stride` elements apart are equal.
pub(super) fn assert_same<D: Entry>(what: &str, found: &[D], expected: &[D], stride: usize) {
    let wrong = found.iter().zip(expected).position(|(found, expected)| found != expected);
    if let Some(at) = wrong {
        let (row, col, expected, found) = (at / stride, at % stride, expected[at], found[at]);
        panic!("{what}: row {row}, column {col}: expected {expected:?}, found {found:?}");
    }
}
