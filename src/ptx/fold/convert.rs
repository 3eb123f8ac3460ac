//! Conversion of constants between number formats, as performed by `cvt`.

use super::format::{Exact, Format, Rounding, scale};
use crate::ptx::types::tf32;

/// Returns the integer that NaN is converted to: 2^(width − 1) if the source or destination type is 64 bits wide, and 0 otherwise (PTX ISA,
/// "cvt").
fn nan_as_integer(from: Format, to: Format) -> Option<u64> {
    match (from, to) {
        (Format::Float { significand, .. }, Format::Integer { bits, .. }) => {
            Some(if significand == 52 || bits == 64 { 1 << (bits - 1) } else { 0 })
        }
        _ => None,
    }
}

/// A numeric type that `cvt` converts to and from.
#[diagnostic::on_unimplemented(
    note = "`cast` converts between integers, f16, bf16, f32 and f64; `to_minifloat` and `to_f32` convert to and from 8-bit floats, and \
            `to_tf32` converts to tf32"
)]
pub trait Numeric: super::Number {
    /// The format of the type's bits.
    const FORMAT: Format;
}

macro_rules! numerics {
    ($($t:ty, $format:expr;)*) => {$(
        impl Numeric for $t {
            const FORMAT: Format = $format;
        }
    )*};
}

numerics! {
    u16,          Format::Integer { signed: false, bits: 16 };
    i16,          Format::Integer { signed: true, bits: 16 };
    u32,          Format::Integer { signed: false, bits: 32 };
    i32,          Format::Integer { signed: true, bits: 32 };
    u64,          Format::Integer { signed: false, bits: 64 };
    i64,          Format::Integer { signed: true, bits: 64 };
    half::f16,    Format::Float { exponent: 5, significand: 10 };
    half::bf16,   Format::Float { exponent: 8, significand: 7 };
    f32,          Format::Float { exponent: 8, significand: 23 };
    f64,          Format::Float { exponent: 11, significand: 52 };
}

/// Converts a constant to another format. Conversions between integers wrap around, conversions from floating-point numbers to integers
/// saturate, and conversions to floating-point formats round.
pub(crate) fn convert<T: Numeric, U: Numeric>(value: T, rounding: Rounding) -> U {
    let number = T::FORMAT.read(value.to_bits());
    let bits = match (T::FORMAT, U::FORMAT, number) {
        (Format::Integer { .. }, Format::Integer { .. }, Exact::Finite { negative, significand, .. }) => {
            (if negative { significand.wrapping_neg() } else { significand }) as u64
        }
        (from, to, Exact::Nan { .. }) => {
            nan_as_integer(from, to).unwrap_or_else(|| nan(from, to, value.to_bits(), number))
        }
        (_, to, _) => to.write(number, rounding),
    };
    U::from_bits(bits)
}

/// Converts NaN to another floating-point format. From bf16 to f32, the bits become the upper half of the result. To and from f64, sign and
/// payload are preserved. All other conversions return the canonical NaN. (The manual leaves the payload unspecified; this is the behavior
/// of an H200.)
fn nan(from: Format, to: Format, value: u64, number: Exact) -> u64 {
    let digits = |f| if let Format::Float { significand, .. } = f { significand } else { 0 };
    let canonical = |digits: u32| Exact::Nan { negative: false, payload: u64::MAX << (64 - digits) };
    match (digits(from), digits(to)) {
        (7, 23) => value << 16,
        (52, _) | (_, 52) => to.write(number, Rounding::Rz),
        (_, digits) => to.write(canonical(digits), Rounding::Rz),
    }
}

/// Rounds a constant to tf32; NaN becomes the canonical NaN.
pub(crate) fn to_tf32(value: f32, rounding: Rounding) -> tf32 {
    const DIGITS: u32 = 10;
    let format = Format::Float { exponent: 8, significand: DIGITS };
    match f32::FORMAT.read(value.to_bits().into()) {
        Exact::Nan { .. } => tf32::NAN,
        number => tf32::from_bits((format.write(number, rounding) as u32) << (23 - DIGITS)),
    }
}

/// Converts a constant with saturation, `.sat`: clamps it to the range of an integer type, or to the range from 0 to 1 in a floating-point
/// format, where NaN becomes 0.
pub(crate) fn saturate<T: Numeric, U: Numeric>(value: T, rounding: Rounding) -> U {
    let number = T::FORMAT.read(value.to_bits());
    let bits = match (U::FORMAT, number) {
        (Format::Integer { .. }, Exact::Nan { .. }) => return convert(value, rounding),
        (to @ Format::Integer { .. }, _) => to.write(number, rounding),
        (
            Format::Float { .. },
            Exact::Nan { .. } | Exact::Infinite { negative: true } | Exact::Finite { negative: true, .. },
        ) => 0,
        (Format::Float { .. }, Exact::Infinite { negative: false }) => U::ONE.to_bits(),
        (to, number) => to.write(number, rounding).min(U::ONE.to_bits()),
    };
    U::from_bits(bits)
}

/// Rounds a floating-point number to an integral value of the same format; a zero keeps its sign.
pub(crate) fn round_to_integral<T: Numeric>(value: T, rounding: Rounding) -> T {
    match T::FORMAT.read(value.to_bits()) {
        Exact::Finite { negative, significand, exponent } if exponent < 0 => {
            let significand = scale(negative, significand, exponent, rounding);
            T::from_bits(T::FORMAT.write(Exact::Finite { negative, significand, exponent: 0 }, Rounding::Rz))
        }
        Exact::Nan { .. } => convert::<T, T>(value, rounding),
        _ => value,
    }
}
