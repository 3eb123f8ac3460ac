//! Number formats and rounding modes.

/// The rounding mode for results that their format cannot represent exactly (PTX ISA, "Rounding Modifiers").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Round {
    /// To nearest, ties to even: `.rn` (and `.rni` when rounding to an integer).
    #[doc(alias = ".rn")]
    Rn,
    /// To nearest, ties away from zero: `.rna`.
    #[doc(alias = ".rna")]
    Rna,
    /// Toward zero: `.rz` (`.rzi`).
    #[doc(alias = ".rz")]
    Rz,
    /// Toward minus infinity: `.rm` (`.rmi`).
    #[doc(alias = ".rm")]
    Rm,
    /// Toward plus infinity: `.rp` (`.rpi`).
    #[doc(alias = ".rp")]
    Rp,
}

impl Round {
    /// Returns whether a magnitude is rounded up by one unit, given the lowest bit that is kept (`odd`) and the discarded part.
    ///
    /// `half` compares the discarded part with half a unit; `inexact` is true if the discarded part is nonzero.
    pub(super) fn up(self, sign: bool, odd: bool, half: std::cmp::Ordering, inexact: bool) -> bool {
        use std::cmp::Ordering::{Equal, Greater};
        match self {
            Self::Rn => half == Greater || (half == Equal && odd),
            Self::Rna => half != std::cmp::Ordering::Less,
            Self::Rz => false,
            Self::Rm => inexact && sign,
            Self::Rp => inexact && !sign,
        }
    }

    /// Returns whether a magnitude above the largest finite number becomes infinity instead of that number.
    pub(super) fn overflows_to_inf(self, sign: bool) -> bool {
        match self {
            Self::Rn | Self::Rna => true,
            Self::Rz => false,
            Self::Rm => sign,
            Self::Rp => !sign,
        }
    }
}

/// A floating-point format (PTX ISA, "Fundamental Types", "Alternate Floating-Point Data Formats").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Float {
    /// IEEE binary16: 5 exponent bits, 10 fraction bits.
    F16,
    /// bfloat16: 8 exponent bits, 7 fraction bits.
    Bf16,
    /// IEEE binary32: 8 exponent bits, 23 fraction bits.
    F32,
    /// IEEE binary64: 11 exponent bits, 52 fraction bits.
    F64,
    /// 32 bits. Tensor cores read the sign, 8 exponent bits and 10 fraction bits, and ignore the low 13 bits.
    Tf32,
    /// 8 bits: 4 exponent bits, 3 fraction bits; no infinity; NaN is `0x7f`.
    E4m3,
    /// 8 bits: 5 exponent bits, 2 fraction bits, with infinity.
    E5m2,
    /// 6 bits: 2 exponent bits, 3 fraction bits, finite only.
    E2m3,
    /// 6 bits: 3 exponent bits, 2 fraction bits, finite only.
    E3m2,
    /// 4 bits: 2 exponent bits, 1 fraction bit, finite only.
    E2m1,
    /// 8 exponent bits, no sign, no fraction: 2^(e-127); `0xff` is NaN.
    Ue8m0,
}

/// The meaning of the largest exponent field of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Specials {
    /// Fraction 0 is infinity; any other fraction is NaN.
    InfNan,
    /// Only the all-ones pattern is NaN; everything else is finite.
    OneNan,
    /// Every pattern is finite.
    None,
}

impl Float {
    /// Returns the number of exponent bits.
    pub const fn exponent_bits(self) -> u32 {
        match self {
            Self::F16 | Self::E5m2 => 5,
            Self::Bf16 | Self::F32 | Self::Tf32 | Self::Ue8m0 => 8,
            Self::F64 => 11,
            Self::E4m3 => 4,
            Self::E3m2 => 3,
            Self::E2m3 | Self::E2m1 => 2,
        }
    }

    /// Returns the number of stored fraction bits (for tf32: the 10 significant ones).
    pub const fn fraction_bits(self) -> u32 {
        match self {
            Self::F16 | Self::Tf32 => 10,
            Self::Bf16 => 7,
            Self::F32 => 23,
            Self::F64 => 52,
            Self::E4m3 | Self::E2m3 => 3,
            Self::E5m2 | Self::E3m2 => 2,
            Self::E2m1 => 1,
            Self::Ue8m0 => 0,
        }
    }

    /// Returns the number of bits of a value (32 for tf32).
    pub const fn bits(self) -> u32 {
        match self {
            Self::F16 | Self::Bf16 => 16,
            Self::F32 | Self::Tf32 => 32,
            Self::F64 => 64,
            Self::E4m3 | Self::E5m2 | Self::Ue8m0 => 8,
            Self::E2m3 | Self::E3m2 => 6,
            Self::E2m1 => 4,
        }
    }

    /// Returns the exponent bias.
    pub const fn bias(self) -> i32 {
        (1 << (self.exponent_bits() - 1)) - 1
    }

    pub(super) const fn specials(self) -> Specials {
        match self {
            Self::F16 | Self::Bf16 | Self::F32 | Self::F64 | Self::Tf32 | Self::E5m2 => Specials::InfNan,
            Self::E4m3 | Self::Ue8m0 => Specials::OneNan,
            Self::E2m3 | Self::E3m2 | Self::E2m1 => Specials::None,
        }
    }

    /// Returns the number of unused bits below the fraction (13 for tf32, otherwise 0).
    pub(super) const fn padding(self) -> u32 {
        match self {
            Self::Tf32 => 13,
            _ => 0,
        }
    }

    /// Returns the mask of the sign bit.
    pub const fn sign_bit(self) -> u64 {
        match self {
            Self::Ue8m0 => 0,
            _ => 1 << (self.bits() - 1),
        }
    }

    /// Returns a mask of all bits of the type: the low [`bits`](Self::bits) bits are 1.
    pub const fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }

    /// Returns the bits of +infinity, or of the largest finite number for formats without infinity.
    pub const fn infinity(self) -> u64 {
        match self.specials() {
            Specials::InfNan => ((1 << self.exponent_bits()) - 1) << (self.bits() - 1 - self.exponent_bits()),
            Specials::OneNan | Specials::None => self.max_finite(),
        }
    }

    /// Returns the bits of the largest finite number.
    pub const fn max_finite(self) -> u64 {
        let all = self.mask() & !self.sign_bit();
        match self.specials() {
            Specials::InfNan => (self.infinity() - 1) & !((1 << self.padding()) - 1),
            Specials::OneNan => all - 1,
            Specials::None => all,
        }
    }

    /// Returns the NaN that operations produce: all ones below the sign bit (for tf32, the low 13 bits are zero), except for f64
    /// (`0xfff8000000000000`).
    ///
    /// For formats without NaN, this is the largest finite number, which is also all ones and to which conversions map NaN.
    pub const fn canonical_nan(self) -> u64 {
        match self {
            Self::F64 => 0xfff8_0000_0000_0000,
            Self::Ue8m0 => 0xff,
            _ => (self.mask() & !self.sign_bit()) >> self.padding() << self.padding(),
        }
    }

    /// Returns whether the bits are a NaN.
    pub const fn is_nan(self, bits: u64) -> bool {
        let magnitude = bits & self.mask() & !self.sign_bit();
        match self.specials() {
            Specials::InfNan => magnitude > self.infinity(),
            Specials::OneNan => magnitude == self.mask() & !self.sign_bit(),
            Specials::None => false,
        }
    }

    /// Returns whether the bits are a nonzero number smaller in magnitude than the smallest normal number.
    pub const fn is_subnormal(self, bits: u64) -> bool {
        let magnitude = bits & self.mask() & !self.sign_bit();
        magnitude != 0 && magnitude >> (self.fraction_bits() + self.padding()) == 0
    }

    /// Replaces a subnormal number with a zero of the same sign if `ftz` is set.
    pub(super) const fn flush(self, ftz: bool, bits: u64) -> u64 {
        if ftz && self.is_subnormal(bits) { bits & self.sign_bit() } else { bits }
    }
}

/// An integer format (PTX ISA, "Fundamental Types").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are the types of the PTX ISA")]
pub enum Int {
    U8,
    S8,
    U16,
    S16,
    U32,
    S32,
    U64,
    S64,
}

impl Int {
    /// Returns the number of bits.
    pub const fn bits(self) -> u32 {
        match self {
            Self::U8 | Self::S8 => 8,
            Self::U16 | Self::S16 => 16,
            Self::U32 | Self::S32 => 32,
            Self::U64 | Self::S64 => 64,
        }
    }

    /// Returns whether the type is signed.
    pub const fn signed(self) -> bool {
        matches!(self, Self::S8 | Self::S16 | Self::S32 | Self::S64)
    }

    /// Returns a mask of all bits of the type: the low [`bits`](Self::bits) bits are 1.
    pub const fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }

    /// Returns the number represented by the low bits of a register.
    pub const fn value(self, bits: u64) -> i128 {
        let spare = 64 - self.bits();
        if self.signed() {
            (((bits << spare) as i64) >> spare) as i128
        } else {
            ((bits << spare) >> spare) as i128
        }
    }

    /// Returns the smallest number of the type.
    pub const fn min(self) -> i128 {
        if self.signed() { -(1 << (self.bits() - 1)) } else { 0 }
    }

    /// Returns the largest number of the type.
    pub const fn max(self) -> i128 {
        if self.signed() { (1 << (self.bits() - 1)) - 1 } else { (1 << self.bits()) - 1 }
    }

    /// Returns the bits of a number, wrapping modulo 2^bits.
    pub const fn wrap(self, value: i128) -> u64 {
        value as u64 & self.mask()
    }

    /// Returns the bits of a number, clamped to the range of the type.
    pub fn clamp(self, value: i128) -> u64 {
        self.wrap(value.clamp(self.min(), self.max()))
    }
}

/// A scalar type that `cvt` supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ty {
    /// An integer.
    Int(Int),
    /// A floating-point number.
    Float(Float),
}

impl From<Int> for Ty {
    fn from(int: Int) -> Self {
        Self::Int(int)
    }
}

impl From<Float> for Ty {
    fn from(float: Float) -> Self {
        Self::Float(float)
    }
}
