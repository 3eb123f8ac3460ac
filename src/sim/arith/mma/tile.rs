//! A whole instruction at once, with the bits of [`super::dot`].
//!
//! Operands are decoded once per tile. Eight columns of one row then go through the fused dot-add side by side in
//! fixed-size arrays without branches, which the compiler turns into vector code. Elements whose row or column
//! holds an infinity or NaN, or whose accumulator is one, take the readable path.

use super::arch::{Accumulator, Datapath, TensorArch};
use super::fused::{LOWEST_ALIGNMENT, fused_dot_add};
use crate::sim::arith::{Float, Round, unpacked::Exact};

/// Columns that are computed side by side.
const LANES: usize = 8;

/// The exponent of a zero: below every real one, so that it never decides the alignment.
const ZERO_EXPONENT: i16 = -8192;

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
    *d = *c;
    mma_rows(arch, ty, acc, Shape { n: N, k: K }, a.as_flattened(), b.as_flattened(), d.as_flattened_mut());
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
    for start in (0..shape.k).step_by(datapath.step) {
        let step = Step { datapath, ty, acc, shape, start };
        match datapath.step {
            8 => step.run::<8>(a, b, c),
            16 => step.run::<16>(a, b, c),
            _ => {
                for (a, c) in a.chunks_exact(shape.k).zip(c.chunks_exact_mut(shape.n)) {
                    step.run_readable(a, b, c);
                }
            }
        }
    }
}

/// One fused dot-add for all elements of a tile: products `start..start + datapath.step`.
struct Step {
    datapath: Datapath,
    ty: Float,
    acc: Accumulator,
    shape: Shape,
    start: usize,
}

impl Step {
    fn run<const K: usize>(&self, a: &[u16], b: &[u16], c: &mut [u32]) {
        let Shape { n, k } = self.shape;
        let (operands, accumulators) = (Decoder::new(self.ty), Decoder::new(self.acc.float()));
        let blocks: Vec<_> = b
            .chunks(LANES * k)
            .map(|raw| (raw, Columns::<K>::new(&operands, raw.chunks(k).map(|column| &column[self.start..]))))
            .collect();
        for (a, c) in a.chunks_exact(k).zip(c.chunks_exact_mut(n)) {
            let row = Row::<K>::new(&operands, &a[self.start..]);
            for ((raw, columns), c) in blocks.iter().zip(c.chunks_mut(LANES)) {
                let addend = Row::<LANES>::new(&accumulators, c);
                let sums = fused_sums(self.datapath.aligned_bits, &row, columns, &addend);
                if row.finite && columns.finite && addend.finite {
                    let rounded = match self.acc {
                        Accumulator::F32 => truncate_to_f32(&sums),
                        Accumulator::F16 => round_to_f16(&sums),
                    };
                    c.copy_from_slice(&rounded[..c.len()]);
                } else {
                    self.run_readable(a, raw, c);
                }
            }
        }
    }

    fn run_readable(&self, a: &[u16], b: &[u16], c: &mut [u32]) {
        let k = self.shape.k;
        let end = k.min(self.start + self.datapath.step);
        let words = |x: &[u16]| x[self.start..end].iter().map(|&bits| u32::from(bits)).collect::<Vec<_>>();
        let a = words(a);
        for (b, c) in b.chunks_exact(k).zip(c) {
            *c = fused_dot_add(self.datapath, (self.ty, self.ty), self.acc, &a, &words(b), *c);
        }
    }
}

/// Reads numbers of a format of at most 32 bits.
struct Decoder {
    fraction_bits: u32,
    magnitude: u32,
    infinity: u32,
    sign_shift: u32,
    bias: i32,
}

impl Decoder {
    fn new(ty: Float) -> Self {
        Self {
            fraction_bits: ty.fraction_bits(),
            magnitude: (ty.mask() & !ty.sign_bit()) as u32,
            infinity: ty.infinity() as u32,
            sign_shift: 32 - ty.bits(),
            bias: ty.bias(),
        }
    }

    /// The exponent without normalisation: the smallest normal one for subnormals.
    #[inline(always)]
    fn exponent(&self, bits: u32) -> i16 {
        let magnitude = bits & self.magnitude;
        let exponent = ((magnitude >> self.fraction_bits) as i32).max(1) - self.bias;
        if magnitude == 0 { ZERO_EXPONENT } else { exponent as i16 }
    }

    /// The value, if it is finite: the fields put into those of an f32, then moved by the difference of the biases.
    #[inline(always)]
    fn value(&self, bits: u32) -> f64 {
        let sign = bits << self.sign_shift & 1 << 31;
        let magnitude = (bits & self.magnitude) << (23 - self.fraction_bits);
        f64::from(f32::from_bits(sign | magnitude)) * power_of_two((127 - self.bias) as i16)
    }
}

/// Decoded numbers that share a row, or a column.
struct Row<const K: usize> {
    exponent: [i16; K],
    value: [f64; K],
    finite: bool,
}

impl<const K: usize> Row<K> {
    /// Decodes up to K numbers; zeros follow.
    fn new<T: Copy + Into<u32>>(decoder: &Decoder, numbers: &[T]) -> Self {
        let mut bits = [0; K];
        for (bits, &number) in bits.iter_mut().zip(numbers) {
            *bits = number.into();
        }
        Self {
            exponent: bits.map(|bits| decoder.exponent(bits)),
            value: bits.map(|bits| decoder.value(bits)),
            finite: bits
                .iter()
                .fold(true, |finite, bits| finite & (bits & decoder.magnitude < decoder.infinity)),
        }
    }
}

/// Up to eight decoded columns of B, side by side for each k.
struct Columns<const K: usize> {
    exponent: [[i16; LANES]; K],
    value: [[f64; LANES]; K],
    finite: bool,
}

impl<const K: usize> Columns<K> {
    fn new<'a>(decoder: &Decoder, columns: impl Iterator<Item = &'a [u16]>) -> Self {
        let mut block =
            Self { exponent: [[ZERO_EXPONENT; LANES]; K], value: [[0.0; LANES]; K], finite: true };
        for (lane, column) in columns.take(LANES).enumerate() {
            let column = Row::<K>::new(decoder, column);
            block.finite &= column.finite;
            for k in 0..K {
                block.exponent[k][lane] = column.exponent[k];
                block.value[k][lane] = column.value[k];
            }
        }
        block
    }
}

/// Exact sums of aligned, truncated terms: `sum · 2^exponent`.
struct Sums {
    sum: [f64; LANES],
    exponent: [i16; LANES],
}

/// Aligns, truncates and adds the products of one row with eight columns.
///
/// Products, scaled ones and sums are all exact in f64.
fn fused_sums<const K: usize>(
    aligned_bits: i32,
    row: &Row<K>,
    columns: &Columns<K>,
    addend: &Row<LANES>,
) -> Sums {
    let mut largest = addend.exponent.map(|e| e.max(LOWEST_ALIGNMENT));
    for (&ea, eb) in row.exponent.iter().zip(&columns.exponent) {
        for lane in 0..LANES {
            largest[lane] = largest[lane].max(ea + eb[lane]);
        }
    }
    let exponent = largest.map(|e| e - aligned_bits as i16);
    let scale = exponent.map(|e| power_of_two(-e));
    let mut sum = [0.0; LANES];
    for (&a, b) in row.value.iter().zip(&columns.value) {
        for lane in 0..LANES {
            sum[lane] += truncate(a * b[lane] * scale[lane]);
        }
    }
    for lane in 0..LANES {
        sum[lane] += truncate(addend.value[lane] * scale[lane]);
    }
    Sums { sum, exponent }
}

/// Drops the fraction of a number below 2^27 in magnitude with at most 24 significant bits.
///
/// In 2^27 + x the units of x have a fixed place; a bit lost from x < 1/2 does not reach it.
#[inline(always)]
fn truncate(x: f64) -> f64 {
    const BIAS: f64 = (1u32 << 27) as f64;
    let units = (x.abs() + BIAS).to_bits() & !((1 << 25) - 1);
    (f64::from_bits(units) - BIAS).copysign(x)
}

/// 2^exponent as an f64, for exponents of normal numbers.
#[inline(always)]
fn power_of_two(exponent: i16) -> f64 {
    f64::from_bits(((i64::from(exponent) + 1023) as u64) << 52)
}

fn truncate_to_f32(sums: &Sums) -> [u32; LANES] {
    std::array::from_fn(|lane| {
        let exact = sums.sum[lane] * power_of_two(sums.exponent[lane]);
        let nearest = exact as f32;
        // One step toward zero if rounding went away from it, except where 2^128 was really reached.
        let away = f64::from(nearest).abs() > exact.abs() && exact.abs() < power_of_two(128);
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
        let exact = Exact::new(sum < 0, sums.exponent[lane].into(), u128::from(sum.unsigned_abs()));
        let bits = exact.pack(Float::F16, Round::Rn, false) as u32;
        if bits & 0x7fff == 0 { 0 } else { bits }
    })
}
