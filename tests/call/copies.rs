//! Products of factors that the kernel cannot read where they are: rows that begin at any element, and other orders of types that are not 16 bits
//! wide.

use std::fmt;

use warpwright::{
    kernels::{
        Activation, MatrixOrder,
        call::{self, EpilogueOperands, GemmBatches, GemmGroups, GemmShape},
    },
    prelude::*,
    ptx::Element,
    run::{AnyDevice, Buffer, BufferRef, Called, Device, KernelCache, Simulator},
    sim::Arch,
};

use super::{
    gemm::shape,
    numbers::{assert_near, downloaded, downloaded_floats, downloaded_halves, numbers, results},
};

/// The orders of A and B.
fn orders() -> impl Iterator<Item = (MatrixOrder, MatrixOrder)> {
    MatrixOrder::ALL.into_iter().flat_map(|a| MatrixOrder::ALL.map(|b| (a, b)))
}

/// A matrix with gaps between its rows, or columns; the gaps contain NaN, or the largest number.
struct Factor<T> {
    buffer: Buffer<T>,
    values: Vec<f64>,
    cols: usize,
    stride: u32,
}

impl<T: Element> Factor<T> {
    fn new(
        device: &AnyDevice,
        [rows, cols]: [usize; 2],
        order: MatrixOrder,
        (gap, seed): (usize, u32),
        (number, invalid): (fn(f32) -> T, T),
    ) -> Self
    where
        T: Into<Value>,
    {
        let [count, length] = if order == MatrixOrder::Row { [rows, cols] } else { [cols, rows] };
        let stride = length + gap;
        let mut elements = vec![invalid; count * stride];
        let mut values = vec![0.0; rows * cols];
        for (at, x) in numbers(rows * cols, seed).into_iter().enumerate() {
            let (row, col) = (at / cols, at % cols);
            let [line, i] = if order == MatrixOrder::Row { [row, col] } else { [col, row] };
            elements[line * stride + i] = number(x);
            values[at] = number(x).into().0;
        }
        elements.truncate((count - 1) * stride + length);
        let buffer = device.upload(&elements).expect("room");
        Self { buffer, values, cols, stride: stride as u32 }
    }

    fn at(&self, row: usize, col: usize) -> f64 {
        self.values[row * self.cols + col]
    }

    fn rows(&self) -> (&Buffer<T>, u32) {
        (&self.buffer, self.stride)
    }
}

/// A number of any type.
struct Value(f64);

macro_rules! values {
    ($($type:ty: $value:expr;)*) => {$(
        impl From<$type> for Value {
            fn from(x: $type) -> Self {
                let value: fn($type) -> f64 = $value;
                Self(value(x))
            }
        }
    )*};
}

values! {
    bf16: |x| x.to_f64();
    e4m3: |x| x.to_f32().into();
    tf32: |x| x.to_f32().into();
    i8:   |x| x.into();
}

/// Returns A·B.
fn product<T: Element>(a: &Factor<T>, b: &Factor<T>, [m, n, k]: [usize; 3]) -> Vec<f64> {
    let element = |row, col| (0..k).map(|i| a.at(row, i) * b.at(i, col)).sum();
    (0..m * n).map(|at| element(at / n, at % n)).collect()
}

/// Checks the names of the kernels that copied factors.
fn assert_copies(what: &dyn fmt::Display, called: &Called, expected: &[&str]) {
    let names: Vec<_> = called.copies.iter().map(|copy| copy.name.as_str()).collect();
    assert_eq!(names, expected, "{what}: {}", called.kernel);
}

const HALVES: (fn(f32) -> bf16, bf16) = (bf16::from_f32, bf16::NAN);
const COPIED: &str = "permute_rows_bf16_";

/// Every order, with sizes and strides that are not multiples of 16 bytes, on devices with and without tensor copies.
#[test]
fn rows_begin_at_any_element() {
    for arch in [Arch::Sm90, Arch::Sm80] {
        let device = AnyDevice::Sim(Simulator::new().arch(arch));
        for (size @ [m, n, k], gap) in [([33, 45, 67], 2), ([40, 72, 64], 3), ([1, 1, 1], 0)] {
            for (a_order, b_order) in orders() {
                check_halves(&device, size, gap, (a_order, b_order));
            }
            assert!(m * n * k > 0);
        }
    }
    // The GPU, if there is one.
    for device in crate::devices::all() {
        orders().for_each(|orders| check_halves(&device, [301, 77, 1001], 1, orders));
    }
}

fn check_halves(device: &AnyDevice, size: [usize; 3], gap: usize, orders: (MatrixOrder, MatrixOrder)) {
    let (kernels, [m, n, k], ldd) = (KernelCache::new(device), size, size[1] + gap);
    let a = Factor::new(device, [m, k], orders.0, (gap, 1), HALVES);
    let b = Factor::new(device, [k, n], orders.1, (gap, 2), HALVES);
    let mut d = results::<f32>(device, (m - 1) * ldd + n);
    let shape = GemmShape { a: orders.0, b: orders.1, ..shape(size) };
    let called = call::gemm(&kernels, &shape, a.rows(), b.rows(), (&mut d, ldd as u32)).expect("launched");
    let what = format!("{size:?} {orders:?}");
    let copied = if device.capability() == (9, 0) { 2 } else { 0 };
    assert_eq!(called.copies.len(), copied, "{what}");
    assert!(called.copies.iter().all(|copy| copy.name.starts_with(COPIED)), "{what}: {:?}", called.copies);
    let found = downloaded_floats(device, &d);
    let gaps = found.iter().enumerate().filter(|(at, _)| at % ldd >= n);
    assert!({ gaps }.all(|(_, x)| x.is_nan()), "{what}: wrote between rows");
    let rows: Vec<f64> = found.chunks(ldd).flat_map(|row| &row[..n]).copied().collect();
    assert_near(&what, &rows, &product(&a, &b, size), 1e-5 * k as f64);
}

/// Only the factor that cannot be read is copied.
#[test]
fn factors_are_copied_only_if_necessary() {
    let device = AnyDevice::Sim(Simulator::new());
    let kernels = KernelCache::new(&device);
    let size @ [m, n, k] = [24, 40, 48];
    for (gap_of_a, gap_of_b) in [(0, 8), (1, 8), (8, 1)] {
        let a = Factor::new(&device, [m, k], MatrixOrder::Row, (gap_of_a, 3), HALVES);
        let b = Factor::new(&device, [k, n], MatrixOrder::Row, (gap_of_b, 4), HALVES);
        let mut d = results::<f32>(&device, m * n);
        let called = call::gemm(&kernels, &shape(size), a.rows(), b.rows(), &mut d).expect("launched");
        let expected: &[&str] = match (gap_of_a, gap_of_b) {
            (1, _) => &["permute_rows_bf16_64_by1"],
            (_, 1) => &["permute_rows_bf16_64_by1"],
            _ => &[],
        };
        assert_copies(&format_args!("{gap_of_a} {gap_of_b}"), &called, expected);
        assert_near("d", &downloaded_floats(&device, &d), &product(&a, &b, size), 1e-5 * k as f64);
    }
}

/// Types of 8 and 32 bits in every order.
#[test]
fn other_orders_are_transposed() {
    for arch in [Arch::Sm90, Arch::Sm89] {
        let device = AnyDevice::Sim(Simulator::new().arch(arch));
        for (size, gap) in [([33, 45, 70], 0), ([16, 32, 64], 16)] {
            for orders in orders() {
                let e4m3s = (e4m3::from_f32 as fn(f32) -> e4m3, e4m3::NAN);
                check_transposed(&device, size, gap, orders, e4m3s);
                check_transposed(&device, size, gap, orders, (tf32::from_f32, tf32::from_f32(f32::NAN)));
                check_integers(&device, size, gap, orders);
            }
        }
    }
    for device in crate::devices::all() {
        orders().for_each(|orders| check_integers(&device, [301, 77, 1001], 1, orders));
    }
}

/// Checks the copies of transposed factors.
fn assert_transposed<T: Element>(
    what: &dyn fmt::Display,
    called: &Called,
    (a, b): (MatrixOrder, MatrixOrder),
    is_aligned: bool,
) {
    let transposes = usize::from(a == MatrixOrder::Col) + usize::from(b == MatrixOrder::Row);
    // The suffix depends on the sizes.
    let name = format!("permute_tiles_{}", T::NAME);
    let found = called.copies.iter().filter(|copy| copy.name.starts_with(&name)).count();
    assert_eq!(found, transposes, "{what}: {:?}", called.copies);
    assert!(!is_aligned || called.copies.len() == transposes, "{what}: {:?}", called.copies);
}

fn check_transposed<T>(
    device: &AnyDevice,
    size @ [m, n, k]: [usize; 3],
    gap: usize,
    orders: (MatrixOrder, MatrixOrder),
    numbers: (fn(f32) -> T, T),
) where
    T: call::GemmOperand<Sum = f32> + Into<Value>,
{
    let kernels = KernelCache::new(device);
    let a = Factor::new(device, [m, k], orders.0, (gap, 5), numbers);
    let b = Factor::new(device, [k, n], orders.1, (gap, 6), numbers);
    let mut d = results::<f32>(device, m * n);
    let shape = GemmShape { a: orders.0, b: orders.1, ..shape(size) };
    let called = call::gemm(&kernels, &shape, a.rows(), b.rows(), &mut d).expect("launched");
    let what = format!("{} {size:?} {orders:?}", T::NAME);
    assert_transposed::<T>(&what, &called, orders, size[2] == 64);
    // Tensor cores sum products of 8-bit floats with about 14 bits.
    let allowed = if T::SIZE == 1 { 1e-3 } else { 1e-5 } * k as f64;
    assert_near(&what, &downloaded_floats(device, &d), &product(&a, &b, size), allowed);
}

fn check_integers(
    device: &AnyDevice,
    size @ [m, n, k]: [usize; 3],
    gap: usize,
    orders: (MatrixOrder, MatrixOrder),
) {
    let kernels = KernelCache::new(device);
    let numbers = ((|x| (x * 127.0) as i8) as fn(f32) -> i8, 127);
    let a = Factor::new(device, [m, k], orders.0, (gap, 7), numbers);
    let b = Factor::new(device, [k, n], orders.1, (gap, 8), numbers);
    let mut d = results::<i32>(device, m * n);
    let shape = GemmShape { a: orders.0, b: orders.1, ..shape(size) };
    let called = call::gemm(&kernels, &shape, a.rows(), b.rows(), &mut d).expect("launched");
    let what = format!("s8 {size:?} {orders:?}");
    assert_transposed::<i8>(&what, &called, orders, size[2] == 64);
    let found = downloaded(device, &d, |x: i32| x == -1);
    let found: Vec<f64> = found.into_iter().map(f64::from).collect();
    assert_near(&what, &found, &product(&a, &b, size), 0.0);
}

/// Three products with a gap between matrices, and with one B for all; both factors are copied once.
#[test]
fn several_matrices_are_copied_together() {
    for arch in [Arch::Sm90, Arch::Sm80] {
        let device = AnyDevice::Sim(Simulator::new().arch(arch));
        let kernels = KernelCache::new(&device);
        let size @ [m, n, k] = [19, 21, 35];
        for shares_b in [false, true] {
            let count_of_b = if shares_b { 1 } else { 3 };
            // One matrix of three times as many rows, which is three with a gap of five elements if the last rows are not used.
            let a = Factor::new(&device, [3 * (m + 1), k], MatrixOrder::Row, (2, 9), HALVES);
            let b = Factor::new(&device, [count_of_b * k, n], MatrixOrder::Row, (1, 10), HALVES);
            let batches = GemmBatches {
                a_batch_stride: Some((m as u32 + 1) * a.stride),
                b_batch_stride: shares_b.then_some(0),
                ..GemmBatches::new(3)
            };
            let mut d = results::<f32>(&device, 3 * m * n);
            let called = call::batched_gemm(&kernels, &shape(size), &batches, a.rows(), b.rows(), &mut d)
                .expect("launched");
            assert_eq!(called.copies.len(), if arch == Arch::Sm90 { 2 } else { 0 }, "{called:?}");
            let element = |batch: usize, row: usize, col: usize| -> f64 {
                let of_b = if shares_b { 0 } else { batch * k };
                (0..k).map(|i| a.at(batch * (m + 1) + row, i) * b.at(of_b + i, col)).sum()
            };
            let expected: Vec<f64> =
                (0..3 * m * n).map(|at| element(at / (m * n), at / n % m, at % n)).collect();
            let what = format!("{arch:?} {shares_b}");
            assert_near(&what, &downloaded_floats(&device, &d), &expected, 1e-5 * k as f64);
        }
    }
}

/// Groups, gates, epilogues and promoted sums.
#[test]
fn other_forms_copy_their_factors() {
    let device = AnyDevice::Sim(Simulator::new());
    let kernels = KernelCache::new(&device);
    let size @ [m, n, k] = [70, 21, 35];
    let a = Factor::new(&device, [m, k], MatrixOrder::Row, (0, 11), HALVES);
    let b = Factor::new(&device, [2 * k, n], MatrixOrder::Row, (0, 12), HALVES);
    let groups = device.upload(&[1u32, 0]).expect("room");
    let groups = GemmGroups { rows: 64, groups: (&groups).into(), count: 2, b_batch_stride: None };
    let mut d = results::<f32>(&device, m * n);
    let called = call::grouped_gemm(&kernels, &shape(size), &groups, a.rows(), b.rows(), &mut d);
    assert_eq!(called.expect("launched").copies.len(), 2);
    let element = |row: usize, col: usize| -> f64 {
        let of_b = if row < 64 { k } else { 0 };
        (0..k).map(|i| a.at(row, i) * b.at(of_b + i, col)).sum()
    };
    let expected: Vec<f64> = (0..m * n).map(|at| element(at / n, at % n)).collect();
    assert_near("groups", &downloaded_floats(&device, &d), &expected, 1e-5 * k as f64);

    let both = Factor::new(&device, [k, 2 * n], MatrixOrder::Row, (1, 13), HALVES);
    let mut d = results::<bf16>(&device, m * n);
    let gated = GemmShape { activation: Some(Activation::Relu), ..shape(size) };
    let called = call::gated_gemm(&kernels, &gated, a.rows(), both.rows(), &mut d).expect("launched");
    assert_eq!(called.copies.len(), 2);
    let products = product(&a, &both, [m, 2 * n, k]);
    let of_both = |at: usize, half: usize| products[at / n * 2 * n + half * n + at % n];
    let expected: Vec<f64> = (0..m * n).map(|at| of_both(at, 0).max(0.0) * of_both(at, 1)).collect();
    assert_near("gates", &downloaded_halves(&device, &d), &expected, 0.01);

    let b = Factor::new(&device, [k, n], MatrixOrder::Col, (0, 14), HALVES);
    let bias = numbers(n, 15);
    let on_bias = device.upload(&bias).expect("room");
    let operands = EpilogueOperands { bias: Some(BufferRef::from(&on_bias)), ..EpilogueOperands::default() };
    let mut d = results::<f32>(&device, m * n);
    let columns = GemmShape { b: MatrixOrder::Col, ..shape(size) };
    let called =
        call::fused_gemm(&kernels, &columns, &operands, a.rows(), b.rows(), &mut d).expect("launched");
    assert_eq!(called.copies.len(), 2);
    let products = product(&a, &b, size);
    let expected: Vec<f64> = products.iter().enumerate().map(|(at, x)| x + f64::from(bias[at % n])).collect();
    assert_near("bias", &downloaded_floats(&device, &d), &expected, 1e-5 * k as f64);

    let e4m3s = (e4m3::from_f32 as fn(f32) -> e4m3, e4m3::NAN);
    let a = Factor::new(&device, [m, k], MatrixOrder::Col, (0, 16), e4m3s);
    let b = Factor::new(&device, [k, n], MatrixOrder::Row, (3, 17), e4m3s);
    let mut d = results::<f32>(&device, m * n);
    let transposed = GemmShape { a: MatrixOrder::Col, ..shape(size) };
    let called = call::promoted_gemm(&kernels, &transposed, a.rows(), b.rows(), &mut d).expect("launched");
    assert_copies(&"promoted", &called, &["permute_tiles_e4m3"; 2]);
    assert_near("promoted", &downloaded_floats(&device, &d), &product(&a, &b, size), 1e-3 * k as f64);
}
