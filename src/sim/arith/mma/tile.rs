//! A whole instruction at once, with the bits of [`super::dot`].
//!
//! Operands are decoded once per tile. Eight columns of one row then go through the fused dot-add side by side in
//! fixed-size arrays without branches, which the compiler turns into vector code. Rows and columns that hold an
//! infinity or NaN, and infinite or NaN accumulators, take the readable path.

use super::arch::{Accumulator, Datapath, TensorArch};
use super::fused::{LOWEST_ALIGNMENT, fused_dot_add};
use crate::sim::arith::{Float, Round, unpacked::Exact};

/// Columns that are computed side by side.
const LANES: usize = 8;

/// The exponent of a zero: below every real one, so that it never decides the alignment.
const ZERO_EXPONENT: i32 = -(1 << 20);

/// `D = A · B + C` with the bits of [`super::dot`] for every element.
///
/// `a` holds the M rows of A, `b` the N columns of B, `c` and `d` the M rows of C and D (f16 in the low half of a
/// word). A and B are f16 or bf16.
#[doc(alias = "mma.sync")]
pub fn mma_tile<const M: usize, const N: usize, const K: usize>(
    arch: TensorArch,
    ty: Float,
    acc: Accumulator,
    a: &[[u16; K]; M],
    b: &[[u16; K]; N],
    c: &[[u32; N]; M],
    d: &mut [[u32; N]; M],
) {
    let shape = Shape { n: N, k: K };
    d.as_flattened_mut().copy_from_slice(c.as_flattened());
    mma_rows(arch, ty, acc, shape, a.as_flattened(), b.as_flattened(), d.as_flattened_mut());
}

/// Extents of a tile; M follows from the slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Columns of B, C and D.
    pub n: usize,
    /// Products per element.
    pub k: usize,
}

/// `C ← A · B + C` like [`mma_tile`], for extents known at run time.
///
/// `a` is M×K row by row, `b` N×K column by column, `c` M×N row by row; what is missing from the slices is not
/// computed.
pub fn mma_rows(
    arch: TensorArch,
    ty: Float,
    acc: Accumulator,
    shape: Shape,
    a: &[u16],
    b: &[u16],
    c: &mut [u32],
) {
    let datapath = arch.datapath(ty, shape.k);
    let columns: Vec<Columns> = b.chunks(LANES * shape.k).map(|b| Columns::new(ty, shape.k, b)).collect();
    let mut row = Row::default();
    for (a, c) in a.chunks_exact(shape.k).zip(c.chunks_mut(shape.n)) {
        row.decode(ty, a);
        for (columns, c) in columns.iter().zip(c.chunks_mut(LANES)) {
            columns.multiply_add(datapath, ty, acc, &row, c);
        }
    }
}

/// One row of A.
#[derive(Default)]
struct Row {
    raw: Vec<u32>,
    exponent: Vec<i32>,
    significand: Vec<f32>,
    finite: bool,
}

impl Row {
    fn decode(&mut self, ty: Float, a: &[u16]) {
        self.raw.clear();
        self.exponent.clear();
        self.significand.clear();
        self.finite = true;
        for &bits in a {
            let (exponent, significand, finite) = decode(ty, bits.into());
            self.raw.push(bits.into());
            self.exponent.push(exponent);
            self.significand.push(significand);
            self.finite &= finite;
        }
    }
}

/// Up to eight columns of B, side by side for each k.
struct Columns {
    raw: Vec<Vec<u32>>,
    exponent: Vec<[i32; LANES]>,
    significand: Vec<[f32; LANES]>,
    finite: [bool; LANES],
}

impl Columns {
    fn new(ty: Float, k: usize, b: &[u16]) -> Self {
        let mut columns = Self {
            raw: Vec::with_capacity(LANES),
            exponent: vec![[ZERO_EXPONENT; LANES]; k],
            significand: vec![[0.0; LANES]; k],
            finite: [true; LANES],
        };
        for (lane, column) in b.chunks_exact(k).enumerate() {
            columns.raw.push(column.iter().map(|&bits| bits.into()).collect());
            for (k, &bits) in column.iter().enumerate() {
                let (exponent, significand, finite) = decode(ty, bits.into());
                columns.exponent[k][lane] = exponent;
                columns.significand[k][lane] = significand;
                columns.finite[lane] &= finite;
            }
        }
        columns
    }

    fn multiply_add(&self, datapath: Datapath, ty: Float, acc: Accumulator, row: &Row, c: &mut [u32]) {
        for start in (0..row.raw.len()).step_by(datapath.step) {
            let range = start..row.raw.len().min(start + datapath.step);
            let mut addend = Addend::default();
            for (lane, &bits) in c.iter().enumerate() {
                addend.set(acc, lane, bits);
            }
            let sums = fused_sums(
                datapath.aligned_bits,
                2 * ty.fraction_bits() as i32,
                (&row.exponent[range.clone()], &row.significand[range.clone()]),
                (&self.exponent[range.clone()], &self.significand[range.clone()]),
                &addend,
            );
            let mut rounded = match acc {
                Accumulator::F32 => truncate_to_f32(&sums),
                Accumulator::F16 => round_to_f16(&sums),
            };
            for (lane, (c, rounded)) in c.iter_mut().zip(&mut rounded).enumerate() {
                *c = if row.finite && self.finite[lane] && addend.finite[lane] {
                    *rounded
                } else {
                    let (a, b) = (&row.raw[range.clone()], &self.raw[lane][range.clone()]);
                    fused_dot_add(datapath, (ty, ty), acc, a, b, *c)
                };
            }
        }
    }
}

/// The accumulators of eight columns.
#[derive(Default)]
struct Addend {
    exponent: [i32; LANES],
    significand: [f32; LANES],
    finite: [bool; LANES],
}

impl Addend {
    fn set(&mut self, acc: Accumulator, lane: usize, bits: u32) {
        let ty = acc.float();
        let (exponent, significand, finite) = decode(ty, bits);
        self.exponent[lane] = exponent;
        // As a number with 23 fraction bits.
        self.significand[lane] = significand * (1u32 << (23 - ty.fraction_bits())) as f32;
        self.finite[lane] = finite;
    }
}

/// The unnormalised exponent, the signed significand as an integer, and whether the number is finite.
fn decode(ty: Float, bits: u32) -> (i32, f32, bool) {
    let fraction_bits = ty.fraction_bits();
    let magnitude = bits & (ty.mask() & !ty.sign_bit()) as u32;
    let field = magnitude >> fraction_bits;
    let fraction = magnitude & ((1 << fraction_bits) - 1);
    let hidden = u32::from(field != 0) << fraction_bits;
    let significand = (fraction | hidden) as f32;
    let exponent = if magnitude == 0 { ZERO_EXPONENT } else { field.max(1) as i32 - ty.bias() };
    let signed = if bits & ty.sign_bit() as u32 != 0 { -significand } else { significand };
    (exponent, signed, magnitude < ty.infinity() as u32)
}

/// Exact sums of aligned, truncated terms: `sum · 2^(exponent)`.
struct Sums {
    sum: [f64; LANES],
    exponent: [i32; LANES],
}

/// 2^exponent as an f32, or 0 below 2^-126; the exponent is at most 127.
fn power_of_two(exponent: i32) -> f32 {
    f32::from_bits(((exponent + 127).max(0) as u32) << 23)
}

/// Aligns, truncates and adds the products of one row with eight columns.
fn fused_sums(
    aligned_bits: i32,
    product_fraction_bits: i32,
    (row_exponent, row_significand): (&[i32], &[f32]),
    (column_exponent, column_significand): (&[[i32; LANES]], &[[f32; LANES]]),
    addend: &Addend,
) -> Sums {
    let mut largest = addend.exponent.map(|e| e.max(LOWEST_ALIGNMENT));
    for (&ea, eb) in row_exponent.iter().zip(column_exponent) {
        for lane in 0..LANES {
            largest[lane] = largest[lane].max(ea + eb[lane]);
        }
    }
    let mut sum = [0.0; LANES];
    // A significand product has at most 22 bits and is below 4: scaled it is an f32 exactly, below 2^27, and
    // sixteen of them stay within i32.
    let up = aligned_bits - product_fraction_bits;
    for chunk in 0..row_exponent.len().div_ceil(16) {
        let range = chunk * 16..row_exponent.len().min(chunk * 16 + 16);
        let mut part = [0i32; LANES];
        for k in range {
            let (ea, sa) = (row_exponent[k], row_significand[k]);
            let (eb, sb) = (&column_exponent[k], &column_significand[k]);
            for lane in 0..LANES {
                let scale = power_of_two(ea + eb[lane] - largest[lane] + up);
                part[lane] += (sa * sb[lane] * scale) as i32;
            }
        }
        for lane in 0..LANES {
            sum[lane] += f64::from(part[lane]);
        }
    }
    for lane in 0..LANES {
        let scale = power_of_two(addend.exponent[lane] - largest[lane] + aligned_bits - 23);
        sum[lane] += f64::from((addend.significand[lane] * scale) as i32);
    }
    Sums { sum, exponent: largest.map(|e| e - aligned_bits) }
}

/// 2^exponent as an f64, for exponents of normal numbers.
fn wide_power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

fn truncate_to_f32(sums: &Sums) -> [u32; LANES] {
    std::array::from_fn(|lane| {
        let exact = sums.sum[lane] * wide_power_of_two(sums.exponent[lane]);
        let nearest = exact as f32;
        // One step toward zero if rounding went away from it, except where 2^128 was really reached.
        let away = f64::from(nearest).abs() > exact.abs() && exact.abs() < wide_power_of_two(128);
        let bits = nearest.to_bits() - u32::from(away);
        if bits << 1 == 0 { 0 } else { bits }
    })
}

fn round_to_f16(sums: &Sums) -> [u32; LANES] {
    std::array::from_fn(|lane| {
        let sum = sums.sum[lane] as i64;
        if sum == 0 {
            return 0;
        }
        let exact = Exact::new(sum < 0, sums.exponent[lane], u128::from(sum.unsigned_abs()));
        let bits = exact.pack(Float::F16, Round::Rn, false) as u32;
        if bits & 0x7fff == 0 { 0 } else { bits }
    })
}
