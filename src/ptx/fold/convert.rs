//! Conversion of constants between number formats, as `cvt` does it.

/// How a result that does not fit its format is rounded (PTX ISA, "Rounding Modifiers").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Rounding {
    /// To the nearest, ties to the even one: `.rn`, `.rni`.
    #[default]
    #[doc(alias = ".rn")]
    Rn,
    /// Towards zero: `.rz`, `.rzi`.
    #[doc(alias = ".rz")]
    Rz,
    /// Towards −∞: `.rm`, `.rmi`.
    #[doc(alias = ".rm")]
    Rm,
    /// Towards +∞: `.rp`, `.rpi`.
    #[doc(alias = ".rp")]
    Rp,
}

impl Rounding {
    /// Every mode.
    pub const ALL: [Self; 4] = [Self::Rn, Self::Rz, Self::Rm, Self::Rp];

    /// As the mnemonic has it: `".rn"`.
    pub(crate) const fn suffix(self) -> &'static str {
        match self {
            Self::Rn => ".rn",
            Self::Rz => ".rz",
            Self::Rm => ".rm",
            Self::Rp => ".rp",
        }
    }

    /// The modifier that rounds to an integer: `".rni"`.
    pub(crate) const fn integer_suffix(self) -> &'static str {
        match self {
            Self::Rn => ".rni",
            Self::Rz => ".rzi",
            Self::Rm => ".rmi",
            Self::Rp => ".rpi",
        }
    }

    /// Whether `quotient`, with `remainder` of `unit` left over, goes up by one.
    fn up(self, negative: bool, quotient: u128, remainder: u128, unit: u128) -> bool {
        match self {
            Self::Rn => 2 * remainder > unit || 2 * remainder == unit && quotient & 1 == 1,
            Self::Rz => false,
            Self::Rm => negative && remainder != 0,
            Self::Rp => !negative && remainder != 0,
        }
    }

    /// What a number too large for the format becomes: infinity, or the largest finite number.
    fn overflows_to_infinity(self, negative: bool) -> bool {
        match self {
            Self::Rn => true,
            Self::Rz => false,
            Self::Rm => negative,
            Self::Rp => !negative,
        }
    }
}

/// How a number type lays out its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Two's complement, or unsigned.
    Integer {
        /// Whether it has negative numbers.
        signed: bool,
        /// Width.
        bits: u32,
    },
    /// IEEE 754 binary, and bf16 likewise.
    Float {
        /// Width of the exponent field.
        exponent: u32,
        /// Width of the significand field, without the leading one.
        significand: u32,
    },
}

/// A number without a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exact {
    /// ± significand · 2^exponent.
    Finite {
        negative: bool,
        significand: u64,
        exponent: i32,
    },
    Infinite {
        negative: bool,
    },
    /// Not a number, with its significand field aligned to the top of 64 bits.
    Nan {
        negative: bool,
        payload: u64,
    },
}

impl Format {
    fn read(self, bits: u64) -> Exact {
        match self {
            Self::Integer { signed, bits: width } => {
                let unused = 64 - width;
                let negative = signed && (bits >> (width - 1)) & 1 == 1;
                let significand = if negative {
                    ((bits << unused) as i64 >> unused).unsigned_abs()
                } else {
                    bits << unused >> unused
                };
                Exact::Finite { negative, significand, exponent: 0 }
            }
            Self::Float { exponent: width, significand: digits } => {
                let negative = (bits >> (width + digits)) & 1 == 1;
                let field = (bits >> digits) & ((1 << width) - 1);
                let fraction = bits & ((1 << digits) - 1);
                let lowest = self.lowest_exponent() - digits as i32;
                match field {
                    0 => Exact::Finite { negative, significand: fraction, exponent: lowest },
                    f if f == (1 << width) - 1 && fraction == 0 => Exact::Infinite { negative },
                    f if f == (1 << width) - 1 => Exact::Nan { negative, payload: fraction << (64 - digits) },
                    f => Exact::Finite {
                        negative,
                        significand: fraction | 1 << digits,
                        exponent: lowest + f as i32 - 1,
                    },
                }
            }
        }
    }

    /// Exponent of the smallest normal number: −126 for f32.
    fn lowest_exponent(self) -> i32 {
        match self {
            Self::Float { exponent, .. } => 2 - (1 << (exponent - 1)),
            Self::Integer { .. } => 0,
        }
    }

    fn write(self, number: Exact, rounding: Rounding) -> u64 {
        match self {
            Self::Integer { signed, bits } => integer(number, rounding, signed, bits),
            Self::Float { exponent, significand } => self.float(number, rounding, exponent, significand),
        }
    }

    fn float(self, number: Exact, rounding: Rounding, width: u32, digits: u32) -> u64 {
        let sign = |negative: bool| u64::from(negative) << (width + digits);
        let infinity = ((1 << width) - 1) << digits;
        match number {
            Exact::Infinite { negative } => sign(negative) | infinity,
            Exact::Nan { negative, payload } => {
                sign(negative) | infinity | 1 << (digits - 1) | payload >> (64 - digits)
            }
            Exact::Finite { negative, significand: 0, .. } => sign(negative),
            Exact::Finite { negative, significand, exponent } => {
                let lowest = self.lowest_exponent();
                let leading = (exponent + 63 - significand.leading_zeros() as i32).max(lowest);
                let rounded = scale(negative, significand, exponent - (leading - digits as i32), rounding);
                // The leading one of a normal number adds one to the exponent field, and so does a carry out of rounding.
                let finite = u128::from((leading - lowest) as u32) << digits;
                let bits = finite + rounded;
                sign(negative)
                    | match bits >= u128::from(infinity) {
                        false => bits as u64,
                        true if rounding.overflows_to_infinity(negative) => infinity,
                        true => infinity - 1,
                    }
            }
        }
    }
}

/// `significand · 2^exponent`, rounded to an integer; exponents beyond 64 give some number above 2^64.
fn scale(negative: bool, significand: u64, exponent: i32, rounding: Rounding) -> u128 {
    let significand = u128::from(significand);
    if exponent >= 0 {
        return significand << exponent.min(63);
    }
    let shift = exponent.unsigned_abs().min(100);
    let unit = 1 << shift;
    let (quotient, remainder) = (significand / unit, significand % unit);
    quotient + u128::from(rounding.up(negative, quotient, remainder, unit))
}

/// The nearest integer that the type has; NaN as [`nan_as_integer`] has it.
fn integer(number: Exact, rounding: Rounding, signed: bool, bits: u32) -> u64 {
    let (least, most) = match signed {
        true => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
        false => (0, (1i128 << bits) - 1),
    };
    let value = match number {
        Exact::Infinite { negative } => {
            if negative {
                least
            } else {
                most
            }
        }
        Exact::Nan { .. } => 0,
        Exact::Finite { negative, significand, exponent } => {
            let rounded = scale(negative, significand, exponent, rounding).min(1 << 100) as i128;
            if negative { -rounded } else { rounded }
        }
    };
    value.clamp(least, most) as u64
}

/// NaN as an integer: 0, but 2^(width − 1) if either side has 64 bits (PTX ISA, "cvt").
fn nan_as_integer(from: Format, to: Format) -> Option<u64> {
    match (from, to) {
        (Format::Float { significand, .. }, Format::Integer { bits, .. }) => {
            Some(if significand == 52 || bits == 64 { 1 << (bits - 1) } else { 0 })
        }
        _ => None,
    }
}

/// A number type that `cvt` converts from and to.
pub trait Numeric: super::Number {
    /// How it lays out its bits.
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

/// The constant in another format: integers wrap into integers, floats saturate into integers, anything rounds into floats.
pub(crate) fn convert<T: Numeric, U: Numeric>(value: T, rounding: Rounding) -> U {
    let number = T::FORMAT.read(value.to_bits());
    let bits = match (T::FORMAT, U::FORMAT, number) {
        (Format::Integer { .. }, Format::Integer { .. }, Exact::Finite { negative, significand, .. }) => {
            if negative {
                significand.wrapping_neg()
            } else {
                significand
            }
        }
        (from, to, Exact::Nan { .. }) => {
            nan_as_integer(from, to).unwrap_or_else(|| nan(from, to, value.to_bits(), number))
        }
        (_, to, _) => to.write(number, rounding),
    };
    U::from_bits(bits)
}

/// NaN in another float format: a bf16 is the upper half of its f32; f64 and bf16 sources keep sign and payload as far as they fit where f64 takes part;
/// anything else gives the canonical NaN. (The manual leaves the payload open; this is what an H200 does.)
fn nan(from: Format, to: Format, value: u64, number: Exact) -> u64 {
    let digits = |f| if let Format::Float { significand, .. } = f { significand } else { 0 };
    let canonical = |digits: u32| Exact::Nan { negative: false, payload: u64::MAX << (64 - digits) };
    match (digits(from), digits(to)) {
        (7, 23) => value << 16,
        (52, _) | (7, 52) => to.write(number, Rounding::Rz),
        (_, 52) => to.write(canonical(23), Rounding::Rz),
        (_, digits) => to.write(canonical(digits), Rounding::Rz),
    }
}

/// The integer clamped into the range of another integer type, or the number clamped to 0 … 1 in a float format, NaN giving 0: `.sat`.
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

/// The float rounded to an integral value of its own format; a zero keeps its sign.
pub(crate) fn round_to_integral<T: Numeric>(value: T, rounding: Rounding) -> T {
    match T::FORMAT.read(value.to_bits()) {
        Exact::Finite { negative, significand, exponent } if exponent < 0 => {
            let significand = scale(negative, significand, exponent, rounding) as u64;
            T::from_bits(T::FORMAT.write(Exact::Finite { negative, significand, exponent: 0 }, Rounding::Rz))
        }
        Exact::Nan { .. } => convert::<T, T>(value, rounding),
        _ => value,
    }
}
