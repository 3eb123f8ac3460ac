//! Signs and classes of numbers: `neg`, `abs`, `copysign`, `testp`.

use std::ops::Neg;

use super::{
    Operands::{In, Known},
    operands,
    permute::lop3_table,
};
use crate::ptx::{
    fold::{Number, Numeric, exact},
    types::{RegClass, bf16, bf16x2, f16, f16x2},
    val::Val,
};

/// A type that can represent negative numbers: a signed integer or floating-point type.
pub trait Signed: Number {
    #[doc(hidden)]
    fn fold_neg(self) -> Self;
    #[doc(hidden)]
    fn fold_abs(self) -> Self;
}

macro_rules! signed {
    ($($t:ty, $neg:expr, $abs:expr;)*) => {$(
        impl Signed for $t {
            fn fold_neg(self) -> Self {
                let neg: fn($t) -> $t = $neg;
                neg(self)
            }
            fn fold_abs(self) -> Self {
                let abs: fn($t) -> $t = $abs;
                abs(self)
            }
        }
    )*};
}

signed! {
    i16,    i16::wrapping_neg,                i16::wrapping_abs;
    i32,    i32::wrapping_neg,                i32::wrapping_abs;
    i64,    i64::wrapping_neg,                i64::wrapping_abs;
    f16,    exact::neg,                       exact::abs;
    bf16,   exact::neg,                       exact::abs;
    f32,    exact::neg,                       exact::abs;
    f64,    exact::neg,                       exact::abs;
    f16x2,  |a| f16x2(a.0.map(exact::neg)),   |a| f16x2(a.0.map(exact::abs));
    bf16x2, |a| bf16x2(a.0.map(exact::neg)),  |a| bf16x2(a.0.map(exact::abs));
}

impl<'k, T: Signed> Val<'k, T> {
    /// Returns the absolute value. For an integer type, the minimum value is returned unchanged. bf16 requires sm_80 or later.
    #[track_caller]
    pub fn abs(self) -> Self {
        match self.reg() {
            None => self.as_constant().map_or(self, |c| c.fold_abs().into()),
            Some((_, k)) => k.result(["abs.", T::PTX], &[self.operand(k)]),
        }
    }
}

impl<'k, T: Signed> Neg for Val<'k, T> {
    type Output = Self;

    #[track_caller]
    fn neg(self) -> Self {
        match self.reg() {
            None => self.as_constant().map_or(self, |c| c.fold_neg().into()),
            Some((_, k)) => k.result(["neg.", T::PTX], &[self.operand(k)]),
        }
    }
}

/// A floating-point type of 32 or 64 bits: `f32` or `f64`.
pub trait Real: Numeric + Signed + PartialOrd {}

impl Real for f32 {}
impl Real for f64 {}

/// The class of a floating-point number (PTX ISA, "testp").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Neither infinite nor NaN.
    Finite,
    /// ±∞.
    Infinite,
    /// Not NaN.
    Number,
    /// NaN.
    NotANumber,
    /// Not subnormal, infinite or NaN. On an H200, this class includes zero; according to the PTX ISA, it does not.
    Normal,
    /// Nonzero, with a magnitude less than that of the smallest normal number.
    Subnormal,
}

impl Class {
    const fn suffix(self) -> &'static str {
        match self {
            Self::Finite => "finite",
            Self::Infinite => "infinite",
            Self::Number => "number",
            Self::NotANumber => "notanumber",
            Self::Normal => "normal",
            Self::Subnormal => "subnormal",
        }
    }

    /// Returns whether the f32 (`bytes` = 4) or f64 (`bytes` = 8) with the bits `bits` is in this class.
    fn holds(self, bits: u64, bytes: u32) -> bool {
        let digits = if bytes == 4 { 23 } else { 52 };
        let most = (1 << (8 * bytes - 1 - digits)) - 1;
        let field = bits >> digits & most;
        let fraction = bits & ((1 << digits) - 1);
        match self {
            Self::Finite => field != most,
            Self::Infinite => field == most && fraction == 0,
            Self::Number => field != most || fraction == 0,
            Self::NotANumber => field == most && fraction != 0,
            // According to the manual, zeros are not normal; on an H200, they are.
            Self::Normal => (field != 0 || fraction == 0) && field != most,
            Self::Subnormal => field == 0 && fraction != 0,
        }
    }
}

impl<'k, T: Real> Val<'k, T> {
    /// Returns whether the number belongs to the given class: `x.is(Class::Finite)`.
    #[doc(alias = "testp")]
    #[track_caller]
    pub fn is(self, class: Class) -> Val<'k, bool> {
        match self.reg() {
            None => self.as_constant().is_some_and(|c| class.holds(c.to_bits(), T::BYTES)).into(),
            Some((_, k)) => k.result(["testp.", class.suffix(), ".", T::PTX], &[self.operand(k)]),
        }
    }
}

/// A floating-point type that supports `copysign`: f16, bf16, f32, f64, f16x2 or bf16x2.
pub trait SignBits: Signed {
    #[doc(hidden)]
    const SIGNS: u64;
}

macro_rules! sign_bits {
    ($($t:ty, $signs:literal;)*) => {$(
        impl SignBits for $t {
            const SIGNS: u64 = $signs;
        }
    )*};
}

sign_bits! {
    f16,    0x8000;
    bf16,   0x8000;
    f32,    0x8000_0000;
    f64,    0x8000_0000_0000_0000;
    f16x2,  0x8000_8000;
    bf16x2, 0x8000_8000;
}

impl<'k, T: SignBits> Val<'k, T> {
    /// Returns `self` with the sign of `sign`. Emits `copysign` for f32 and f64, and bitwise operations for other types.
    #[track_caller]
    pub fn copysign(self, sign: impl Into<Self>) -> Self {
        let sign = sign.into();
        let k = match operands(self, sign) {
            Known(a, s) => return T::from_bits(a.to_bits() & !T::SIGNS | s.to_bits() & T::SIGNS).into(),
            In(k) => k,
        };
        let (a, s) = (self.operand(k), sign.operand(k));
        match T::CLASS {
            // The first source provides the sign (PTX ISA, "copysign").
            RegClass::F32 | RegClass::F64 => k.result(["copysign.", T::PTX], &[s, a]),
            RegClass::Half => {
                let mask = |signs: u64| Val::from(signs as u16).operand(k);
                let part = |x, bits| k.result::<T>(format_args!("and.b16"), &[x, mask(bits)]).operand(k);
                k.result(format_args!("or.b16"), &[part(a, !T::SIGNS), part(s, T::SIGNS)])
            }
            _ => {
                let table = lop3_table(|a, s, signs| a & !signs | s & signs);
                let [signs, table] = [T::SIGNS as u32, table.into()].map(|x| Val::<u32>::from(x).operand(k));
                k.result(format_args!("lop3.b32"), &[a, s, signs, table])
            }
        }
    }
}
