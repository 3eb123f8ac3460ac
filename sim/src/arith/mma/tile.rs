//! Products of whole matrices, bit-identical to [`super::TensorOp::dot`].
//!
//! Operands are decoded once. Eight columns of a row are then computed together, in fixed-size arrays without branches, which the compiler
//! turns into vector code. [`fused_dot_add`] computes the elements that have an infinity or NaN in their row, column or accumulator.

use super::arch::{Accumulator, Datapath};
use super::fused::{LOWEST_ALIGNMENT, fused_dot_add};
use super::op::Shape;
use crate::arith::{Float, Round, unpacked::Exact};

/// The number of columns that are computed together.
const LANES: usize = 8;

/// The exponent of zero, which is below all others so that zeros do not determine the alignment.
const ZERO_EXPONENT: i16 = -8192;

/// Computes `C ← A · B + C` by chains of fused dot-adds of `datapath.step` products each.
///
/// With `k_of`, A is sparse: it has half the width, and `k_of` contains, for each element of A, the index k of the element of B that it
/// multiplies.
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
    let mut selections = k_of.map(|k_of| k_of.chunks_exact(products));
    for (a, c) in a.chunks_exact(products).zip(c.chunks_exact_mut(shape.n)) {
        row.decode(&decoder, a);
        let selected = selections.as_mut().map(|rows| rows.next().unwrap_or_default());
        for (block, c) in blocks.iter().zip(c.chunks_mut(LANES)) {
            let block = match selected {
                None => block,
                Some(selected) => {
                    gathered.gather(block, selected, products);
                    &gathered
                }
            };
            step.run(a, &row, block, c);
        }
    }
}

/// The properties common to all fused dot-adds of an instruction.
struct Step {
    datapath: Datapath,
    ty: (Float, Float),
    acc: Accumulator,
    accumulators: Decoder,
}

impl Step {
    /// Computes the elements of one row in up to eight columns.
    fn run(&self, a: &[u32], row: &Row, block: &Block, c: &mut [u32]) {
        if let Ok(c) = c.try_into() {
            return self.run_lanes(a, row, block, c);
        }
        let mut lanes = [0; LANES];
        lanes[..c.len()].copy_from_slice(c);
        self.run_lanes(a, row, block, &mut lanes);
        c.copy_from_slice(&lanes[..c.len()]);
    }

    fn run_lanes(&self, a: &[u32], row: &Row, block: &Block, c: &mut [u32; LANES]) {
        for start in (0..a.len()).step_by(self.datapath.step) {
            let range = start..a.len().min(start + self.datapath.step);
            if row.finite && block.finite && self.accumulators.all_finite(c) {
                let addend = Lanes::new(&self.accumulators, c);
                let columns = &block.lanes[range.clone()];
                let sums = fused_sums(self.datapath.aligned_bits, &row.numbers[range], columns, &addend);
                *c = match self.acc {
                    Accumulator::F32 => truncate_to_f32(&sums, self.datapath.result_bits),
                    Accumulator::F16 => round_to_f16(&sums),
                };
            } else {
                for (lane, c) in c.iter_mut().enumerate() {
                    let b: Vec<u32> = block.raw[range.clone()].iter().map(|b| b[lane]).collect();
                    *c = fused_dot_add(self.datapath, self.ty, self.acc, &a[range.clone()], &b, *c);
                }
            }
        }
    }
}

/// Decodes numbers in a format of at most 32 bits.
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
    fn all_finite(&self, numbers: &[u32]) -> bool {
        // A signed maximum requires no branches; magnitudes have no sign bit.
        let largest = numbers.iter().map(|bits| (bits & self.magnitude) as i32).fold(0, i32::max);
        largest < self.infinity as i32
    }

    /// Returns the exponent before normalization; for subnormals, the exponent of the smallest normal number.
    #[inline(always)]
    fn exponent(&self, bits: u32) -> i16 {
        let magnitude = bits & self.magnitude;
        let exponent = ((magnitude >> self.fraction_bits) as i32).max(1) - self.bias;
        if magnitude == 0 { ZERO_EXPONENT } else { exponent as i16 }
    }

    /// Returns the value of a finite number: inserts its fields into an f32, and scales by the difference between the exponent biases.
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
        self.finite = decoder.all_finite(a);
    }
}

/// Decoded numbers of eight columns.
#[derive(Clone, Copy)]
struct Lanes {
    exponent: [i16; LANES],
    value: [f64; LANES],
}

impl Lanes {
    const ZERO: Self = Self { exponent: [ZERO_EXPONENT; LANES], value: [0.0; LANES] };

    #[inline(always)]
    fn new(decoder: &Decoder, bits: &[u32; LANES]) -> Self {
        Self {
            exponent: bits.map(|bits| decoder.exponent(bits)),
            value: bits.map(|bits| decoder.value(bits)),
        }
    }
}

/// Up to eight columns of B, raw and decoded, with elements of the same index k adjacent.
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
        Self { finite: decoder.all_finite(b), raw, lanes }
    }

    /// Replaces the contents with the elements of `from` at the indices k in `selected`; elements past the end of `from` are zero.
    fn gather(&mut self, from: &Self, selected: &[u16], products: usize) {
        self.raw.clear();
        self.lanes.clear();
        for k in selected.iter().map(|&k| usize::from(k)) {
            self.raw.push(from.raw.get(k).copied().unwrap_or_default());
            self.lanes.push(from.lanes.get(k).copied().unwrap_or(Lanes::ZERO));
        }
        self.raw.resize(products, Default::default());
        self.lanes.resize(products, Lanes::ZERO);
        self.finite = from.finite;
    }
}

/// Exact sums of aligned and truncated terms, and the exponents of the units to which the terms are truncated.
struct Sums {
    sum: [f64; LANES],
    unit: [i16; LANES],
}

/// Aligns, truncates and adds the products of one row with eight columns.
///
/// Products and sums are exact in f64: a term has at most 24 bits and is below 2^27 units.
fn fused_sums(aligned_bits: i32, row: &[(i16, f64)], columns: &[Lanes], addend: &Lanes) -> Sums {
    let mut largest = addend.exponent.map(|e| e.max(LOWEST_ALIGNMENT));
    for ((ea, _), b) in row.iter().zip(columns) {
        for (largest, eb) in largest.iter_mut().zip(&b.exponent) {
            *largest = (*largest).max(ea + eb);
        }
    }
    let unit = largest.map(|e| e - aligned_bits as i16);
    let bias = unit.map(|e| power_of_two(e + 27));
    let mut sum: [f64; LANES] = std::array::from_fn(|lane| truncate(addend.value[lane], bias[lane]));
    for ((_, a), b) in row.iter().zip(columns) {
        for lane in 0..LANES {
            sum[lane] += truncate(a * b.value[lane], bias[lane]);
        }
    }
    Sums { sum, unit }
}

/// Truncates `x` to a multiple of `bias` · 2^-27.
///
/// Adding `bias` with the sign of `x` moves the bits of `x` to fixed positions. A bit that this addition drops from an `x` below half a
/// unit does not affect the unit.
#[inline(always)]
fn truncate(x: f64, bias: f64) -> f64 {
    let bias = bias.copysign(x);
    f64::from_bits((x + bias).to_bits() & !((1 << 25) - 1)) - bias
}

/// Returns 2^exponent as an f64, for the exponents of normal numbers.
#[inline(always)]
fn power_of_two(exponent: i16) -> f64 {
    f64::from_bits(((i64::from(exponent) + 1023) as u64) << 52)
}

fn truncate_to_f32(sums: &Sums, result_bits: i32) -> [u32; LANES] {
    let dropped = (23 - result_bits) as u32;
    std::array::from_fn(|lane| {
        let exact = sums.sum[lane];
        let nearest = exact as f32;
        // Takes one step toward zero if rounding increased the magnitude, unless the exact sum is 2^128 or more.
        let away = f64::from(nearest).abs() > exact.abs() && exact.abs() < power_of_two(128);
        let bits = (nearest.to_bits() - u32::from(away)) >> dropped << dropped;
        if bits << 1 == 0 { 0 } else { bits }
    })
}

fn round_to_f16(sums: &Sums) -> [u32; LANES] {
    std::array::from_fn(|lane| {
        let units = (sums.sum[lane] * power_of_two(-sums.unit[lane])) as i64;
        if units == 0 {
            return 0;
        }
        let exact = Exact::new(units < 0, sums.unit[lane].into(), u128::from(units.unsigned_abs()));
        let bits = exact.pack(Float::F16, Round::Rn, false) as u32;
        if bits & 0x7fff == 0 { 0 } else { bits }
    })
}
