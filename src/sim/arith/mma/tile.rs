//! A whole instruction at once, with the bits of [`super::TensorOp::dot`].
//!
//! Operands are decoded once. Eight columns of one row then go through the fused dot-add side by side in
//! fixed-size arrays without branches, which the compiler turns into vector code. Elements whose row or column
//! holds an infinity or NaN, or whose accumulator is one, take the readable path.

use super::arch::{Accumulator, Datapath};
use super::fused::{LOWEST_ALIGNMENT, fused_dot_add};
use super::op::Shape;
use crate::sim::arith::{Float, Round, unpacked::Exact};

/// Columns that are computed side by side.
const LANES: usize = 8;

/// The exponent of a zero: below every real one, so that it never decides the alignment.
const ZERO_EXPONENT: i16 = -8192;

/// `C ← A · B + C` by chains of fused dot-adds of `datapath.step` products each.
///
/// With `k_of`, A is sparse: half as wide, its elements meeting the k of B that `k_of` names.
#[expect(clippy::too_many_arguments, reason = "the operands of one instruction")]
pub(super) fn fused_rows(
    datapath: Datapath,
    ty: (Float, Float),
    acc: Accumulator,
    shape: Shape,
    a: &[u32],
    b: &[u32],
    k_of: Option<&[u16]>,
    c: &mut [u32],
) {
    let products = if k_of.is_some() { shape.k / 2 } else { shape.k };
    if products == 0 || shape.n == 0 {
        return;
    }
    let blocks: Vec<_> = b.chunks(LANES * shape.k).map(|b| Block::new(ty.1, shape.k, b)).collect();
    let decoder = Decoder::new(ty.0);
    let step = Step { datapath, ty, acc, accumulators: Decoder::new(acc.float()) };
    let mut row = Row::default();
    let mut gathered = Block::default();
    for (i, (a, c)) in a.chunks_exact(products).zip(c.chunks_exact_mut(shape.n)).enumerate() {
        row.decode(&decoder, a);
        let selected = k_of.map(|k_of| &k_of[i * products..][..products]);
        for (block, c) in blocks.iter().zip(c.chunks_mut(LANES)) {
            let block = match selected {
                None => block,
                Some(selected) => {
                    gathered.gather(block, selected);
                    &gathered
                }
            };
            step.run(a, &row, block, c);
        }
    }
}

/// What all fused dot-adds of an instruction share.
struct Step {
    datapath: Datapath,
    ty: (Float, Float),
    acc: Accumulator,
    accumulators: Decoder,
}

impl Step {
    /// The elements of one row in up to eight columns.
    fn run(&self, a: &[u32], row: &Row, block: &Block, c: &mut [u32]) {
        for start in (0..a.len()).step_by(self.datapath.step) {
            let range = start..a.len().min(start + self.datapath.step);
            let addend = Lanes::new(&self.accumulators, c);
            if row.finite && block.finite && addend.all_finite(&self.accumulators, c) {
                let sums = fused_sums(
                    self.datapath.aligned_bits,
                    &row.numbers[range.clone()],
                    &block.lanes[range],
                    &addend,
                );
                let rounded = match self.acc {
                    Accumulator::F32 => truncate_to_f32(&sums, self.datapath.result_bits),
                    Accumulator::F16 => round_to_f16(&sums),
                };
                c.copy_from_slice(&rounded[..c.len()]);
            } else {
                for (lane, c) in c.iter_mut().enumerate() {
                    let b: Vec<u32> = block.raw[range.clone()].iter().map(|b| b[lane]).collect();
                    *c = fused_dot_add(self.datapath, self.ty, self.acc, &a[range.clone()], &b, *c);
                }
            }
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
        let padding = ty.padding();
        // A format without infinity has its NaN at the top, above its largest finite number.
        Self {
            fraction_bits: ty.fraction_bits() + padding,
            magnitude: (ty.mask() & !ty.sign_bit()) as u32 >> padding << padding,
            infinity: ty.max_finite() as u32 + (1 << padding),
            sign_shift: 32 - ty.bits(),
            bias: ty.bias(),
        }
    }

    #[inline(always)]
    fn is_finite(&self, bits: u32) -> bool {
        bits & self.magnitude < self.infinity
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

/// A decoded row of A.
#[derive(Default)]
struct Row {
    numbers: Vec<(i16, f64)>,
    finite: bool,
}

impl Row {
    fn decode(&mut self, decoder: &Decoder, a: &[u32]) {
        self.numbers.clear();
        self.numbers.extend(a.iter().map(|&bits| (decoder.exponent(bits), decoder.value(bits))));
        self.finite = a.iter().all(|&bits| decoder.is_finite(bits));
    }
}

/// Decoded numbers of eight columns.
#[derive(Clone, Copy)]
struct Lanes {
    exponent: [i16; LANES],
    value: [f64; LANES],
}

impl Lanes {
    /// Decodes up to eight numbers; zeros follow.
    #[inline(always)]
    fn new(decoder: &Decoder, numbers: &[u32]) -> Self {
        let mut bits = [0; LANES];
        bits[..numbers.len()].copy_from_slice(numbers);
        Self {
            exponent: bits.map(|bits| decoder.exponent(bits)),
            value: bits.map(|bits| decoder.value(bits)),
        }
    }

    fn all_finite(&self, decoder: &Decoder, numbers: &[u32]) -> bool {
        numbers.iter().all(|&bits| decoder.is_finite(bits))
    }
}

/// Up to eight columns of B, side by side for each k, raw and decoded.
#[derive(Default)]
struct Block {
    raw: Vec<[u32; LANES]>,
    lanes: Vec<Lanes>,
    finite: bool,
}

impl Block {
    fn new(ty: Float, k: usize, b: &[u32]) -> Self {
        let decoder = Decoder::new(ty);
        let mut raw = vec![[0; LANES]; k];
        for (lane, column) in b.chunks_exact(k).enumerate() {
            for (raw, &bits) in raw.iter_mut().zip(column) {
                raw[lane] = bits;
            }
        }
        let lanes = raw.iter().map(|bits| Lanes::new(&decoder, bits)).collect();
        Self { finite: b.iter().all(|&bits| decoder.is_finite(bits)), raw, lanes }
    }

    /// Takes over the rows of another block that `selected` names.
    fn gather(&mut self, from: &Self, selected: &[u16]) {
        self.raw.clear();
        self.lanes.clear();
        self.raw.extend(selected.iter().map(|&k| from.raw[usize::from(k)]));
        self.lanes.extend(selected.iter().map(|&k| from.lanes[usize::from(k)]));
        self.finite = from.finite;
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
fn fused_sums(aligned_bits: i32, row: &[(i16, f64)], columns: &[Lanes], addend: &Lanes) -> Sums {
    let mut largest = addend.exponent.map(|e| e.max(LOWEST_ALIGNMENT));
    for ((ea, _), b) in row.iter().zip(columns) {
        for (largest, eb) in largest.iter_mut().zip(&b.exponent) {
            *largest = (*largest).max(ea + eb);
        }
    }
    let exponent = largest.map(|e| e - aligned_bits as i16);
    let scale = exponent.map(|e| power_of_two(-e));
    let mut sum = [0.0; LANES];
    for ((_, a), b) in row.iter().zip(columns) {
        for lane in 0..LANES {
            sum[lane] += truncate(a * b.value[lane] * scale[lane]);
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

fn truncate_to_f32(sums: &Sums, result_bits: i32) -> [u32; LANES] {
    let dropped = (23 - result_bits) as u32;
    std::array::from_fn(|lane| {
        let exact = sums.sum[lane] * power_of_two(sums.exponent[lane]);
        let nearest = exact as f32;
        // One step toward zero if rounding went away from it, except where 2^128 was really reached.
        let away = f64::from(nearest).abs() > exact.abs() && exact.abs() < power_of_two(128);
        let bits = (nearest.to_bits() - u32::from(away)) >> dropped << dropped;
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
