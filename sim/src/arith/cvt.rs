//! Conversions between scalar types: `cvt` (PTX ISA, "cvt").

use super::float::saturate;
use super::format::{Float, Int, Round, Ty};
use super::unpacked::{Exact, Unpacked};

/// The modifiers of `cvt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CvtMode {
    /// The rounding mode, which exact conversions ignore. For conversions from float to integer, and if `integer` is set, the mode is one
    /// of `.rni` to `.rpi`.
    pub round: Round,
    /// `.rni`, `.rzi`, `.rmi` and `.rpi` between floating-point types: rounds to an integral value.
    pub integer: bool,
    /// `.ftz`: subnormal f32 operands and results become zeros of the same sign.
    pub ftz: bool,
    /// `.sat`: clamps to the range of an integer type, or to [0, 1] for floating-point types.
    pub sat: bool,
    /// `.satfinite`: numbers that overflow, and infinities, become the largest finite number of the same sign.
    pub satfinite: bool,
    /// `.relu`: negative numbers become +0.
    pub relu: bool,
}

impl Default for CvtMode {
    /// Returns `.rn` without other modifiers.
    fn default() -> Self {
        Self { round: Round::Rn, integer: false, ftz: false, sat: false, satfinite: false, relu: false }
    }
}

/// Converts a value in the low bits of a register to another type.
///
/// - Integer to integer wraps, or clamps with `.sat`.
/// - Float to integer rounds and always clamps. NaN becomes 0 if both types are at most 32 bits wide; otherwise, only the highest bit of
///   the result is set (as on sm_90; the ISA does not specify this).
/// - Conversion of a float type to itself, without modifiers, is a move.
/// - Float to float converts NaN to the canonical NaN, except where sm_90 keeps the sign and the top bits of the payload: to and from f64
///   (quieted), bf16 to f32 (unchanged, unless `.ftz`), and to tf32 with `.rna`.
///
/// The result has the width of `to`; [`extend`] returns the contents of a wider register.
pub fn cvt(to: Ty, from: Ty, mode: CvtMode, bits: u64) -> u64 {
    match (to, from) {
        (Ty::Int(to), Ty::Int(from)) => int_to_int(to, mode, from.value(bits)),
        (Ty::Float(to), Ty::Int(from)) => int_to_float(to, mode, from.value(bits)),
        (Ty::Int(to), Ty::Float(from)) => float_to_int(to, from, mode, bits),
        (Ty::Float(to), Ty::Float(from)) => float_to_float(to, from, mode, bits),
    }
}

/// Converts two numbers and packs them, `high` above `low`: `cvt.rn.bf16x2.f32`, `cvt.rn.satfinite.e4m3x2.f32`, …
#[doc(alias = "cvt.rn.f16x2.f32")]
#[doc(alias = "cvt.rn.bf16x2.f32")]
pub fn cvt_pair(to: Float, from: Float, mode: CvtMode, high: u64, low: u64) -> u64 {
    let one = |bits| cvt(to.into(), from.into(), mode, bits);
    one(high) << packed_bits(to) | one(low)
}

/// Converts a packed pair to another type: `cvt.rn.f16x2.e4m3x2`, `cvt.rn.satfinite.e5m2x2.f16x2`, …
#[doc(alias = "cvt.rn.f16x2.e4m3x2")]
pub fn cvt_packed(to: Float, from: Float, mode: CvtMode, pair: u64) -> u64 {
    let half = |shift: u32| pair >> shift & from.mask();
    cvt_pair(to, from, mode, half(packed_bits(from)), half(0))
}

/// Rounds an f32 stochastically (`cvt.rs`), up or down in magnitude depending on `random`. f16 uses 13 bits of `random`; other types use
/// 16.
///
/// The number is rounded up if the sum of the first discarded bits and the random bits is at least one unit. Overflow and infinity result
/// in the largest finite number, even without `.satfinite` (as measured on a B200; the PTX ISA does not specify this).
#[doc(alias = "cvt.rs")]
pub fn cvt_stochastic(to: Float, relu: bool, bits: u32, random: u32) -> u64 {
    let digits = if to == Float::F16 { 13 } else { 16 };
    let value = Unpacked::new(Float::F32, bits.into());
    let sign = if value.sign() { to.sign_bit() } else { 0 };
    let result = match value {
        Unpacked::Nan => to.canonical_nan(),
        Unpacked::Zero { .. } => sign,
        Unpacked::Inf { .. } => sign | to.max_finite(),
        Unpacked::Finite(x) => x.pack_stochastic(to, digits, random & ((1 << digits) - 1)),
    };
    limit(to, CvtMode { relu, ..CvtMode::default() }, result)
}

/// Returns the number of bits that an element occupies in a packed operand. 6-bit formats occupy a byte.
pub(crate) fn packed_bits(ty: Float) -> u32 {
    if ty.bits() == 6 { 8 } else { ty.bits() }
}

/// Returns the contents of a 64-bit register after a value of type `int` is written to it: the value is sign- or zero-extended.
///
/// See PTX ISA, "Operand Size Exceeding Instruction-Type Size".
pub fn extend(int: Int, bits: u64) -> u64 {
    int.value(bits) as u64
}

fn int_to_int(to: Int, mode: CvtMode, value: i128) -> u64 {
    if mode.sat { to.clamp(value) } else { to.wrap(value) }
}

fn int_to_float(to: Float, mode: CvtMode, value: i128) -> u64 {
    let bits = match value {
        0 => 0,
        _ => Exact::new(value < 0, 0, value.unsigned_abs()).pack(to, mode.round, false),
    };
    if mode.sat { saturate(to, bits) } else { bits }
}

fn float_to_int(to: Int, from: Float, mode: CvtMode, bits: u64) -> u64 {
    match Unpacked::new(from, from.flush(mode.ftz, bits)) {
        Unpacked::Nan if from.bits() <= 32 && to.bits() <= 32 => 0,
        Unpacked::Nan => 1 << (to.bits() - 1),
        Unpacked::Inf { sign } => to.wrap(if sign { to.min() } else { to.max() }),
        Unpacked::Zero { .. } => 0,
        Unpacked::Finite(x) if x.top() > 64 => to.wrap(if x.sign { to.min() } else { to.max() }),
        Unpacked::Finite(x) => {
            let magnitude = x.round_to(0, mode.round).0 as i128;
            to.clamp(if x.sign { -magnitude } else { magnitude })
        }
    }
}

fn float_to_float(to: Float, from: Float, mode: CvtMode, bits: u64) -> u64 {
    if to == Float::Tf32 && mode.round == Round::Rna {
        return round_bits_to_tf32(mode, bits as u32);
    }
    if to == from && mode == (CvtMode { round: mode.round, ..CvtMode::default() }) {
        return bits & to.mask();
    }
    // `.ftz` has no effect on conversions to f16.
    let ftz = mode.ftz && to != Float::F16;
    let bits = from.flush(ftz && from == Float::F32, bits);
    let value = match Unpacked::new(from, bits) {
        Unpacked::Nan => return if mode.sat { 0 } else { converted_nan(to, from, ftz, bits) },
        Unpacked::Finite(x) if mode.integer => integral(x, mode.round),
        x => x,
    };
    let sign = if value.sign() { to.sign_bit() } else { 0 };
    let result = match value {
        Unpacked::Nan => to.canonical_nan(),
        Unpacked::Zero { .. } => sign,
        Unpacked::Inf { .. } => sign | to.infinity(),
        Unpacked::Finite(x) => x.pack(to, mode.round, ftz && to == Float::F32),
    };
    limit(to, mode, result)
}

/// Applies `.sat`, `.satfinite` and `.relu` to a converted number.
pub(super) fn limit(to: Float, mode: CvtMode, bits: u64) -> u64 {
    let magnitude = bits & to.mask() & !to.sign_bit();
    if to.is_nan(bits) {
        return if mode.sat { 0 } else { bits };
    }
    if mode.sat {
        return saturate(to, bits);
    }
    if mode.relu && bits & to.sign_bit() != 0 {
        return 0;
    }
    if mode.satfinite && magnitude > to.max_finite() {
        return bits & to.sign_bit() | to.max_finite();
    }
    bits
}

/// Returns the NaN to which a NaN is converted.
fn converted_nan(to: Float, from: Float, ftz: bool, bits: u64) -> u64 {
    if from == Float::Bf16 && to == Float::F32 && !ftz {
        return bits << 16;
    }
    if from != Float::F64 && to != Float::F64 {
        return to.canonical_nan();
    }
    // Conversions between f64 and bf16 pass through f32, which makes NaNs canonical.
    let (from, bits) = match from {
        Float::F64 | Float::F16 => (from, bits),
        Float::Bf16 if !ftz => (Float::F32, bits << 16),
        Float::F32 if !ftz => (Float::F32, bits),
        _ => (Float::F32, Float::F32.canonical_nan()),
    };
    let sign = if bits & from.sign_bit() != 0 { to.sign_bit() } else { 0 };
    let payload = bits << (64 - from.fraction_bits()) >> (64 - to.fraction_bits());
    sign | to.infinity() | 1 << (to.fraction_bits() - 1) | payload
}

/// Implements `cvt.rna.tf32.f32`: adds half a unit to the bit pattern, regardless of its value, and drops the low bits.
///
/// `.satfinite` subtracts a unit from results at or above infinity, including NaNs.
fn round_bits_to_tf32(mode: CvtMode, bits: u32) -> u64 {
    let unit = 1 << Float::Tf32.padding();
    let infinite = bits & 0x7fff_ffff >= 0x7f80_0000;
    let rounded = if infinite { bits } else { bits + unit / 2 } & !(unit - 1);
    let over = mode.satfinite && rounded & 0x7fff_ffff >= 0x7f80_0000;
    u64::from(if over { rounded - unit } else { rounded })
}

/// Returns a number rounded to an integral value, with its sign.
fn integral(x: Exact, round: Round) -> Unpacked {
    if x.exponent >= 0 {
        return Unpacked::Finite(x);
    }
    match x.round_to(0, round).0 {
        0 => Unpacked::Zero { sign: x.sign },
        magnitude => Unpacked::Finite(Exact::new(x.sign, 0, magnitude)),
    }
}
