//! Video instructions: arithmetic on the words, halves and bytes of 32-bit registers.
//!
//! See PTX ISA, "Scalar Video Instructions" and "SIMD Video Instructions". Operands are widened, combined without overflow, clamped if the
//! instruction saturates, and then combined with a third register. Recent hardware executes these instructions as sequences of other
//! instructions with the same results.

use std::cmp::Ordering;

use super::bits::Beyond;
use super::compare::Compare;

/// The part of a register that an operand or a result occupies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// All 32 bits.
    Word,
    /// `.h0` or `.h1`.
    Half(u32),
    /// `.b0` to `.b3`.
    Byte(u32),
}

impl Part {
    fn bits(self) -> u32 {
        match self {
            Self::Word => 32,
            Self::Half(_) => 16,
            Self::Byte(_) => 8,
        }
    }

    fn shift(self) -> u32 {
        match self {
            Self::Word => 0,
            Self::Half(i) => 16 * (i & 1),
            Self::Byte(i) => 8 * (i & 3),
        }
    }

    /// Returns the integer in this part of a register.
    fn read(self, signed: bool, register: u32) -> i128 {
        widen(signed, self.bits(), u64::from(register >> self.shift()))
    }

    /// Returns a register with this part replaced.
    fn write(self, register: u32, value: i128) -> u32 {
        let mask = (u32::MAX >> (32 - self.bits())) << self.shift();
        (register & !mask) | ((value as u32) << self.shift() & mask)
    }

    fn clamp(self, signed: bool, value: i128) -> i128 {
        clamp(signed, self.bits(), value)
    }
}

/// An operand `a` or `b`: a part of a register, of type `.s32` or `.u32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Source {
    /// Whether the type is `.s32`.
    pub signed: bool,
    /// The selected part.
    pub part: Part,
    /// The register.
    pub register: u32,
}

impl Source {
    fn value(self) -> i128 {
        self.part.read(self.signed, self.register)
    }
}

/// The operation of a video instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VideoOp {
    /// `vadd`.
    Add,
    /// `vsub`.
    Sub,
    /// `vabsdiff`.
    AbsDiff,
    /// `vmin`.
    Min,
    /// `vmax`.
    Max,
    /// `vavrg2`, `vavrg4`: half the sum, with ties rounded away from zero.
    Average,
    /// `vshl`, with a clamped or wrapped amount.
    ShiftLeft(Beyond),
    /// `vshr`, with a clamped or wrapped amount.
    ShiftRight(Beyond),
    /// `vset`: 1 if the comparison holds, otherwise 0.
    Set(Compare),
}

impl VideoOp {
    fn apply(self, a: i128, b: i128) -> i128 {
        let amount = |beyond| match beyond {
            Beyond::Clamp => b.clamp(0, 32),
            Beyond::Wrap => b & 31,
        };
        match self {
            Self::Add => a + b,
            Self::Sub => a - b,
            Self::AbsDiff => (a - b).abs(),
            Self::Min => a.min(b),
            Self::Max => a.max(b),
            Self::Average => (a + b + i128::from(a + b >= 0)) >> 1,
            Self::ShiftLeft(beyond) => a << amount(beyond),
            Self::ShiftRight(beyond) => a >> amount(beyond),
            Self::Set(compare) => i128::from(compare.holds(Some(a.cmp(&b)))),
        }
    }
}

/// The final step of a scalar video instruction, applied to its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Then {
    /// The result is written unchanged.
    Write,
    /// `.add`: the result is added to a register.
    Add(u32),
    /// `.min`: the minimum of the result and a register.
    Min(u32),
    /// `.max`: the maximum of the result and a register.
    Max(u32),
    /// The result replaces part of a register.
    Merge(Part, u32),
}

impl Then {
    fn finish(self, signed: bool, sat: bool, value: i128) -> u32 {
        let part = if let Self::Merge(part, _) = self { part } else { Part::Word };
        let value = if sat { part.clamp(signed, value) } else { value };
        let number = |register| Part::Word.read(signed, register);
        // Unclamped results wrap to 32 bits before they are combined with another register.
        let wrapped = number(value as u32);
        match self {
            Self::Write => value as u32,
            Self::Add(c) => (value as u32).wrapping_add(c),
            Self::Min(c) => wrapped.min(number(c)) as u32,
            Self::Max(c) => wrapped.max(number(c)) as u32,
            Self::Merge(part, c) => part.write(c, value),
        }
    }
}

/// Computes the result of a scalar video instruction; `signed` and `sat` are properties of the destination.
#[doc(alias = "vadd")]
#[doc(alias = "vsub")]
#[doc(alias = "vabsdiff")]
#[doc(alias = "vmin")]
#[doc(alias = "vmax")]
#[doc(alias = "vshl")]
#[doc(alias = "vshr")]
#[doc(alias = "vset")]
pub fn scalar(op: VideoOp, signed: bool, sat: bool, a: Source, b: Source, then: Then) -> u32 {
    then.finish(signed, sat, op.apply(a.value(), b.value()))
}

/// Computes `(a · b + c) >> shift`: `vmad` with `.shr7`, `.shr15` or no scaling.
///
/// `product_negated` negates `a · b`, `c_negated` negates `c`, and `plus_one` is `.po`.
#[doc(alias = "vmad")]
pub fn mad(
    sat: bool,
    (a, b): (Source, Source),
    (c, c_signed): (u32, bool),
    (product_negated, c_negated, plus_one): (bool, bool, bool),
    shift: u32,
) -> u32 {
    let negate = |negated, value: i128| if negated { -value } else { value };
    let product = negate(product_negated, a.value() * b.value());
    let addend = negate(c_negated, Part::Word.read(c_signed, c));
    let sum = product + addend + i128::from(plus_one);
    // The result is signed if any of its terms can be negative.
    let signed = a.signed || b.signed || c_signed || product_negated || c_negated;
    Then::Write.finish(signed, sat, sum >> shift.min(127))
}

/// The selection of elements by a SIMD video instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lanes {
    /// The number of lanes: 2 halves or 4 bytes.
    pub count: u32,
    /// For each lane of `a`, the selected element of `b:a`; the lower elements are those of `a`.
    pub a: [u32; 4],
    /// For each lane of `b`, the selected element of `b:a`.
    pub b: [u32; 4],
    /// The mask of the lanes that are written or accumulated.
    pub mask: u32,
}

impl Lanes {
    /// Returns the default selection: all elements of `a` and all of `b`, in order.
    pub fn straight(count: u32) -> Self {
        let count = if count == 2 { 2 } else { 4 };
        Self { count, a: [0, 1, 2, 3], b: [0, 1, 2, 3].map(|i| i + count), mask: 0xf }
    }
}

/// Computes the result of a SIMD video instruction: `vadd2`, `vabsdiff4`, `vset4`, …
///
/// `signed` specifies whether the destination, `a` and `b` are signed. Lanes outside the mask are copied from `c`. With `accumulate`
/// (`.add`), the results of the lanes in the mask are instead added to `c`.
#[doc(alias = "vadd4")]
#[doc(alias = "vabsdiff4")]
pub fn simd(
    op: VideoOp,
    lanes: Lanes,
    signed: (bool, bool, bool),
    sat: bool,
    accumulate: bool,
    [a, b, c]: [u32; 3],
) -> u32 {
    let (count, bits) = if lanes.count == 2 { (2, 16) } else { (4, 8) };
    let pair = u64::from(b) << 32 | u64::from(a);
    let element = |signed, index: u32| widen(signed, bits, pair >> (bits * (index % (2 * count))));
    let results = (0..count).filter(|lane| lanes.mask >> lane & 1 != 0).map(|lane| {
        let at = lane as usize;
        let value = op.apply(element(signed.1, lanes.a[at]), element(signed.2, lanes.b[at]));
        (lane, if sat { clamp(signed.0, bits, value) } else { value })
    });
    if accumulate {
        return results.fold(c, |sum, (_, value)| sum.wrapping_add(value as u32));
    }
    results.fold(c, |word, (lane, value)| {
        let part = if bits == 16 { Part::Half(lane) } else { Part::Byte(lane) };
        part.write(word, value)
    })
}

fn widen(signed: bool, bits: u32, value: u64) -> i128 {
    let high = value << (64 - bits);
    if signed { i128::from(high as i64 >> (64 - bits)) } else { i128::from(high >> (64 - bits)) }
}

fn clamp(signed: bool, bits: u32, value: i128) -> i128 {
    let (low, high) = if signed { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) };
    match value.cmp(&low) {
        Ordering::Less => low,
        _ => value.min(high),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(signed: bool, register: u32) -> Source {
        Source { signed, part: Part::Word, register }
    }

    #[test]
    fn sums_are_clamped_to_the_destination() {
        let (a, b) = (word(true, u32::MAX), word(true, 0x8000_0000));
        assert_eq!(scalar(VideoOp::Add, true, true, a, b, Then::Write), 0x8000_0000);
        assert_eq!(scalar(VideoOp::Add, false, true, a, b, Then::Write), 0);
        assert_eq!(scalar(VideoOp::Add, true, false, a, b, Then::Write), 0x7fff_ffff);
    }

    #[test]
    fn a_byte_is_merged_clamped_to_a_byte() {
        let a = Source { signed: false, part: Part::Byte(1), register: 0x0000_f000 };
        let b = Source { signed: false, part: Part::Half(1), register: 0x0020_0000 };
        let merged = scalar(VideoOp::Add, false, true, a, b, Then::Merge(Part::Byte(2), 0x1122_3344));
        assert_eq!(merged, 0x11ff_3344);
    }

    #[test]
    fn byte_lanes_do_not_carry_into_each_other() {
        let straight = Lanes::straight(4);
        let unsigned = (false, false, false);
        let operands = [0x01ff_80f0, 0x0102_8020, 0];
        assert_eq!(simd(VideoOp::Add, straight, unsigned, false, false, operands), 0x0201_0010);
        assert_eq!(simd(VideoOp::Add, straight, unsigned, true, false, operands), 0x02ff_ffff);
        assert_eq!(simd(VideoOp::AbsDiff, straight, unsigned, false, true, operands), 0xfd + 0xd0);
    }

    #[test]
    fn masked_lanes_keep_the_third_operand() {
        let lanes = Lanes { mask: 0b10, ..Lanes::straight(2) };
        let operands = [0xffff_0001, 0x0001_0001, 0x1234_5678];
        assert_eq!(simd(VideoOp::Max, lanes, (true, true, true), false, false, operands), 0x0001_5678);
    }

    #[test]
    fn a_scaled_product_is_rounded_by_plus_one() {
        let (a, b) = (word(false, 0xff), word(false, 0x81));
        assert_eq!(mad(false, (a, b), (0, false), (false, false, false), 7), (0xff * 0x81) >> 7);
        assert_eq!(mad(false, (a, b), (1, false), (true, false, true), 0), (2i32 - 0xff * 0x81) as u32);
    }
}
