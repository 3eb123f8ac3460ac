//! Random shapes, orders, strides and epilogues with normal numbers, compared with sums in f64. Memory around each matrix and in the gaps between
//! rows must not change, and results start as NaN.

use super::problem::{Entry, Matrix};
use crate::devices;
use proptest::prelude::*;
use std::f64::consts::{FRAC_2_SQRT_PI, SQRT_2, TAU};
use warpwright::{
    kernels::{Activation, Epilogue, Gemm, GemmResult, GemmSum, GemmTile, MatrixOrder},
    prelude::*,
    run::Device,
    tensor::TensorElement,
    tiles::{Convert, Product, Schedule},
};
use warpwright_reference::dot_with_size;

/// A product: the kernel, the sizes, the elements between rows, the operands of the epilogue, and the seed of the numbers.
#[derive(Clone, Debug)]
struct Case {
    gemm: Gemm,
    size: [usize; 3],
    gaps: [usize; 3],
    /// `None` for the kernel without other operands.
    epilogue: Option<Epilogue>,
    types: usize,
    seed: u64,
}

/// The number of combinations of types, which other tests have too: each takes a while to compile.
const TYPES: usize = 6;

fn cases() -> impl Strategy<Value = Case> {
    let kernel = (0..TYPES, any::<[bool; 5]>(), 0..16usize, 1u32..5);
    let sizes = ([1..150usize, 1..220, 1..330], [0..4usize, 0..4, 0..6]);
    let epilogue = (any::<bool>(), any::<[bool; 5]>(), 0..4usize);
    (kernel, sizes, epilogue, any::<u64>()).prop_map(|(kernel, (size, gaps), epilogue, seed)| {
        let (types, [hopper, a, b, any_size, any_ldd], tile, group) = kernel;
        let target = if hopper { Target::SM_90A } else { Target::SM_89 };
        let is_16_bits = types < 3;
        let order = |is_col| if is_col { MatrixOrder::Col } else { MatrixOrder::Row };
        let (a, b) = if is_16_bits { (order(a), order(b)) } else { (MatrixOrder::Row, MatrixOrder::Col) };
        let any_size = any_size && !hopper;
        let fits = |tile: &&GemmTile| {
            let is_high = tile.size()[0] >= 64 || a == MatrixOrder::Row;
            is_high && **tile != GemmTile::T128x256
        };
        let tiles: Vec<_> = GemmTile::for_target(target).iter().filter(fits).copied().collect();
        let tile = tiles[tile % tiles.len()];
        let parts = if hopper && seed % 2 == 0 { *tile.parts().last().expect("one part") } else { 1 };
        let (fused, [alpha, rows, cols, c, bias], function) = epilogue;
        let epilogue = Epilogue { alpha, row_scales: rows, col_scales: cols, c, bias };
        let functions = [None, Some(Activation::Relu), Some(Activation::GeluTanh), Some(Activation::Silu)];
        // Sums of integers have only ReLU.
        let activation = if types == 5 && !fused { functions[function % 2] } else { functions[function] };
        let schedule = Schedule::grouped(group);
        let gemm =
            Gemm { target, a, b, tile, parts, any_size, any_ldd, activation, schedule, ..Gemm::new(tile) };
        // Copies of 16 bytes require sizes and strides of multiples of 16 bytes without tensor copies, strides with them.
        let whole = |size: usize, any: bool| if any { size } else { size.next_multiple_of(16) };
        let [m, n, k] = size;
        let size = if hopper {
            size
        } else {
            [whole(m, any_size), whole(n, any_size && any_ldd), whole(k, any_size)]
        };
        let [gap_a, gap_b, gap_d] = gaps;
        let of_operand = |gap| if any_size { gap } else { 16 * gap };
        let gaps = [of_operand(gap_a), of_operand(gap_b), if any_ldd { gap_d } else { 16 * gap_d }];
        Case { gemm, size, gaps, epilogue: fused.then_some(epilogue), types, seed }
    })
}

/// Normal numbers.
struct Normals(u64);

impl Normals {
    /// A number in 0..1, never 0 (SplitMix64).
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (((x ^ (x >> 31)) >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    fn next(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (TAU * self.uniform()).cos()
    }

    fn some(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| self.next()).collect()
    }
}

/// An element type, its numbers, and the relative error of sums and of results.
trait Numbers: Entry {
    /// The element nearest to a normal number.
    fn near(normal: f64) -> Self;
    fn number(self) -> f64;
    /// The largest error of a sum of products, relative to the sum of their absolute values: e4m3 is summed with about 14 bits.
    const SUM_ERROR: f64;
    /// The largest relative error of rounding.
    const ROUNDING: f64;
}

macro_rules! numbers {
    ($($t:ty, $sum:expr, $rounding:expr, |$x:ident| $near:expr, |$e:ident| $number:expr;)*) => {$(
        impl Numbers for $t {
            fn near($x: f64) -> Self {
                $near
            }
            fn number(self) -> f64 {
                let $e = self;
                $number
            }
            const SUM_ERROR: f64 = $sum;
            const ROUNDING: f64 = $rounding;
        }
    )*};
}

numbers! {
    bf16, 4e-6, 4e-3, |x| bf16::from_f32(x as f32), |x| x.to_f32().into();
    f16,  4e-6, 5e-4, |x| f16::from_f32(x as f32), |x| x.to_f32().into();
    e4m3, 5e-4, 7e-2, |x| e4m3::from_f32(x as f32), |x| x.to_f32().into();
    tf32, 4e-6, 5e-4, |x| tf32::from_f32(x as f32), |x| x.to_f32().into();
    f32,  4e-6, 2e-7, |x| x as f32, |x| x.into();
    i8,   0.0,  0.0,  |x| (20.0 * x).round() as i8, |x| x.into();
    i32,  0.0,  0.0,  |x| (20.0 * x).round() as i32, |x| x.into();
}

/// The elements after and, on a GPU, before each matrix, which nothing may change. They are NaN, or −1.
const CANARIES: usize = 64;

fn poison<T: TensorElement>() -> T {
    T::from_mem_bits(u64::MAX)
}

/// The product of a case: its operands in memory, and for each element of D the exact result and the largest error.
struct Expected<T, D> {
    a: Vec<T>,
    b: Vec<T>,
    c: Vec<D>,
    strides: [usize; 4],
    alpha: f32,
    beta: f32,
    rows: Vec<f32>,
    cols: Vec<f32>,
    bias: Vec<f32>,
    results: Vec<[f64; 2]>,
    len: usize,
}

fn function(activation: Option<Activation>, x: f64) -> f64 {
    match activation {
        None => x,
        Some(Activation::Relu) => x.max(0.0),
        Some(Activation::Silu) => x / (1.0 + (-x).exp()),
        Some(Activation::GeluTanh) => {
            let inner = FRAC_2_SQRT_PI / SQRT_2 * (x + 0.044_715 * x.powi(3));
            0.5 * x * (1.0 + inner.tanh())
        }
    }
}

fn expected<T: Numbers, D: Numbers>(case: &Case) -> Expected<T, D> {
    let Case { gemm, size: [m, n, k], gaps: [gap_a, gap_b, gap_d], epilogue, seed, .. } = *case;
    let mut normals = Normals(seed);
    let numbers = |elements: &[T]| elements.iter().map(|&x| x.number()).collect::<Vec<_>>();
    let some =
        |normals: &mut Normals, count| normals.some(count).into_iter().map(T::near).collect::<Vec<T>>();
    // A by rows, and B by columns.
    let (rows_of_a, cols_of_b) = (some(&mut normals, m * k), some(&mut normals, n * k));
    let (a, b) = (numbers(&rows_of_a), numbers(&cols_of_b));
    let c: Vec<D> = normals.some(m * n).into_iter().map(D::near).collect();
    let floats =
        |normals: &mut Normals, count| normals.some(count).iter().map(|&x| x as f32).collect::<Vec<f32>>();
    let (rows, cols, bias) = (floats(&mut normals, m), floats(&mut normals, n), floats(&mut normals, n));
    let (alpha, beta) = (normals.next() as f32, normals.next() as f32);
    let Epilogue { alpha: has_alpha, row_scales, col_scales, c: has_c, bias: has_bias } =
        epilogue.unwrap_or_default();
    let of = |present: bool, number: f32, otherwise: f64| if present { f64::from(number) } else { otherwise };
    let mut results = Vec::with_capacity(m * n);
    for (row, col) in (0..m).flat_map(|row| (0..n).map(move |col| (row, col))) {
        let [sum, sizes] = dot_with_size(&a[row * k..][..k], &b[col * k..][..k]);
        let factor =
            of(has_alpha, alpha, 1.0) * of(row_scales, rows[row], 1.0) * of(col_scales, cols[col], 1.0);
        let term = if has_c { f64::from(beta) * c[row * n + col].number() } else { 0.0 };
        let addend = of(has_bias, bias[col], 0.0);
        let x = factor * sum + term + addend;
        // The operations of the epilogue round to f32.
        let of_operands = 4e-7 * ((factor * sizes).abs() + term.abs() + addend.abs());
        let of_operands = if epilogue.is_some() { of_operands } else { 0.0 };
        let of_function = match gemm.activation {
            None | Some(Activation::Relu) => 0.0,
            Some(_) => 1e-3 * x.abs(),
        };
        let result = function(gemm.activation, x);
        let rounding =
            D::ROUNDING * result.abs() + if D::NAME == "i32" && epilogue.is_some() { 1.0 } else { 0.0 };
        // No function is steeper than 1.2.
        let error = 1.2 * ((factor * sizes).abs() * T::SUM_ERROR + of_operands) + of_function + rounding;
        results.push([result, error]);
    }
    let (in_a, in_b) = (Matrix::new(m, k, gemm.a, gap_a), Matrix::new(k, n, gemm.b, gap_b));
    let (in_c, in_d) = (Matrix::new(m, n, MatrixOrder::Row, 16), Matrix::new(m, n, MatrixOrder::Row, gap_d));
    Expected {
        a: in_a.filled(|row, i| rows_of_a[row * k + i]),
        b: in_b.filled(|i, col| cols_of_b[col * k + i]),
        c: in_c.filled(|row, col| c[row * n + col]),
        strides: [in_a.stride, in_b.stride, in_c.stride, in_d.stride],
        alpha,
        beta,
        rows,
        cols,
        bias,
        results,
        len: in_d.len(),
    }
}

/// Compares D, which is followed by canaries, with the expected results.
fn compare<T, D: Numbers>(case: &Case, expected: &Expected<T, D>, found: &[D]) -> Result<(), TestCaseError> {
    let ([m, n, _], [.., stride]) = (case.size, expected.strides);
    let untouched = poison::<D>().to_mem_bits();
    for (at, element) in found.iter().enumerate() {
        let (row, col) = (at / stride, at % stride);
        if row >= m || col >= n {
            prop_assert_eq!(element.to_mem_bits(), untouched, "row {}, column {} was written", row, col);
            continue;
        }
        let [exact, error] = expected.results[row * n + col];
        let number = element.number();
        let is_near = (number - exact).abs() <= error + f64::MIN_POSITIVE;
        prop_assert!(is_near, "row {row}, column {col}: expected {exact} ± {error}, found {number}");
    }
    Ok(())
}

/// Computes a case on every device of its target.
fn check<T, C, D>(case: &Case) -> Result<(), TestCaseError>
where
    T: Numbers + Product<T, C>,
    C: GemmSum + Convert<D> + Convert<f32>,
    D: Numbers + GemmResult,
{
    let Case { gemm, size, epilogue, .. } = case;
    let expected = expected::<T, D>(case);
    let Expected { a, b, c, alpha, beta, rows, cols, bias, len, .. } = &expected;
    let [m, n, k] = size.map(|size| size as u32);
    let [lda, ldb, ldc, ldd] = expected.strides.map(|stride| stride as u32);
    for device in devices::all() {
        let (major, minor) = device.capability();
        if !gemm.target.runs_on(major as u16, minor as u16) {
            continue;
        }
        let (on_a, on_b) = (device.upload(a).expect("room"), device.upload(b).expect("room"));
        let mut on_d = device.upload(&vec![poison::<D>(); len + CANARIES]).expect("room");
        match epilogue {
            None => {
                let kernel = gemm.kernel::<T, C, D>().expect("it builds");
                let launched = device.launch(&kernel, (&on_a, lda, &on_b, ldb, &mut on_d, ldd, m, n, k));
                prop_assert!(launched.is_ok(), "{}: {}", device.name(), launched.unwrap_err());
            }
            Some(epilogue) => {
                let kernel = gemm.fused_kernel::<T, C, D>(*epilogue).expect("it builds");
                let on_c = device.upload(c).expect("room");
                let [rows, cols, bias] = [rows, cols, bias].map(|x| device.upload(x).expect("room"));
                let operands = (
                    &on_a, lda, &on_b, ldb, &mut on_d, ldd, m, n, k, *alpha, *beta, &on_c, ldc, &bias, &rows,
                    &cols,
                );
                let launched = device.launch(&kernel, operands);
                prop_assert!(launched.is_ok(), "{}: {}", device.name(), launched.unwrap_err());
            }
        }
        compare(case, &expected, &device.download(&on_d).expect("copied"))?;
        // The operands are as before.
        for (what, is_same) in [
            ("A", same(&device.download(&on_a).expect("copied"), a)),
            ("B", same(&device.download(&on_b).expect("copied"), b)),
        ] {
            prop_assert!(is_same, "{what} was written");
        }
    }
    Ok(())
}

fn same<T: TensorElement>(found: &[T], expected: &[T]) -> bool {
    found.iter().map(|x| x.to_mem_bits()).eq(expected.iter().map(|x| x.to_mem_bits()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn products_of_random_shapes(case in cases()) {
        match case.types {
            0 => check::<bf16, f32, bf16>(&case)?,
            1 => check::<bf16, f32, f32>(&case)?,
            2 => check::<f16, f32, f32>(&case)?,
            3 => check::<e4m3, f32, bf16>(&case)?,
            4 => check::<tf32, f32, f32>(&case)?,
            _ => check::<i8, i32, i32>(&case)?,
        }
    }
}
