//! Integer arithmetic that has no operator: saturation, upper halves of products, 24-bit multiplication, sums of absolute differences, dot
//! products.

use super::{
    Operands::{In, Known},
    arithmetic::WideProduct,
    float::kernel_of,
    operands,
};
use crate::ptx::{fold::Integer, val::Val};

/// Emits `mnemonic` on three values, or applies `fold` if all three are constants.
macro_rules! ternary {
    ($a:expr, $b:expr, $c:expr, $fold:expr, $($mnemonic:tt)+) => {{
        let (a, b, c) = ($a, $b, $c);
        match (a.as_constant(), b.as_constant(), c.as_constant(), kernel_of([a, b, c])) {
            (Some(a), Some(b), Some(c), _) => $fold(a, b, c).into(),
            (.., Some(k)) => a.ternary(k, format_args!($($mnemonic)+), b, c),
            (.., None) => a,
        }
    }};
}

impl<'k> Val<'k, i32> {
    /// Returns `self + other`, clamped to the range of `i32`.
    #[doc(alias = "add.sat")]
    #[track_caller]
    pub fn saturating_add(self, other: impl Into<Self>) -> Self {
        let other = other.into();
        match operands(self, other) {
            Known(a, b) => a.saturating_add(b).into(),
            In(k) => self.binary(k, format_args!("add.sat.s32"), other),
        }
    }

    /// Returns `self − other`, clamped to the range of `i32`.
    #[doc(alias = "sub.sat")]
    #[track_caller]
    pub fn saturating_sub(self, other: impl Into<Self>) -> Self {
        let other = other.into();
        match operands(self, other) {
            Known(a, b) => a.saturating_sub(b).into(),
            In(k) => self.binary(k, format_args!("sub.sat.s32"), other),
        }
    }

    /// Returns `addend` plus the upper half of the full-width product `self · factor`, clamped to the range of `i32`.
    #[doc(alias = "mad.hi.sat")]
    #[track_caller]
    pub fn saturating_mad_hi(self, factor: impl Into<Self>, addend: impl Into<Self>) -> Self {
        let fold = |a: i32, b: i32, c: i32| a.fold_mul_hi(b).saturating_add(c);
        ternary!(self, factor.into(), addend.into(), fold, "mad.hi.sat.s32")
    }

    /// Returns the smaller operand, or 0 if it is negative. Requires sm_90 or later.
    #[doc(alias = "min.relu")]
    #[track_caller]
    pub fn min_relu(self, other: impl Into<Self>) -> Self {
        let other = other.into();
        match operands(self, other) {
            Known(a, b) => a.min(b).max(0).into(),
            In(k) => self.binary(k, format_args!("min.relu.s32"), other),
        }
    }

    /// Returns the larger operand, or 0 if it is negative. Requires sm_90 or later.
    #[doc(alias = "max.relu")]
    #[track_caller]
    pub fn max_relu(self, other: impl Into<Self>) -> Self {
        let other = other.into();
        match operands(self, other) {
            Known(a, b) => a.max(b).max(0).into(),
            In(k) => self.binary(k, format_args!("max.relu.s32"), other),
        }
    }
}

impl<'k, T: WideProduct> Val<'k, T> {
    /// Returns `addend` plus the upper half of the full-width product `self · factor`. The sum wraps around.
    #[doc(alias = "mad.hi")]
    #[track_caller]
    pub fn mad_hi(self, factor: impl Into<Self>, addend: impl Into<Self>) -> Self {
        let fold = |a: T, b: T, c: T| a.fold_mul_hi(b).fold_add(c);
        ternary!(self, factor.into(), addend.into(), fold, "mad.hi.{}", T::PTX)
    }
}

impl<'k, T: Integer> Val<'k, T> {
    /// Returns `|self − other| + addend`. The sum wraps around.
    #[track_caller]
    pub fn sad(self, other: impl Into<Self>, addend: impl Into<Self>) -> Self {
        let fold = |a: T, b: T, c: T| a.fold_max(b).fold_sub(a.fold_min(b)).fold_add(c);
        ternary!(self, other.into(), addend.into(), fold, "sad.{}", T::PTX)
    }
}

/// A type that supports 24-bit multiplication: `u32` or `i32`.
pub trait Narrow24: Integer {
    /// Returns the low 24 bits, zero-extended or sign-extended.
    #[doc(hidden)]
    fn low24(self) -> i64;
}

impl Narrow24 for u32 {
    fn low24(self) -> i64 {
        i64::from(self & 0xff_ffff)
    }
}

impl Narrow24 for i32 {
    fn low24(self) -> i64 {
        i64::from(self << 8 >> 8)
    }
}

/// Returns the low 32 bits of a product of 24-bit numbers.
fn fold_mul24_lo<T: Narrow24>(a: T, b: T) -> T {
    T::from_bits((a.low24() * b.low24()) as u64)
}

/// Returns bits 16 to 47 of a product of 24-bit numbers.
fn fold_mul24_hi<T: Narrow24>(a: T, b: T) -> T {
    T::from_bits(((a.low24() * b.low24()) >> 16) as u64)
}

impl<'k, T: Narrow24> Val<'k, T> {
    /// Returns the low 32 bits of the product of the operands' low 24 bits.
    #[doc(alias = "mul24.lo")]
    #[track_caller]
    pub fn mul24_lo(self, other: impl Into<Self>) -> Self {
        let other = other.into();
        match operands(self, other) {
            Known(a, b) => fold_mul24_lo(a, b).into(),
            In(k) => self.binary(k, ["mul24.lo.", T::PTX], other),
        }
    }

    /// Returns the high 32 bits of the 48-bit product of the operands' low 24 bits.
    #[doc(alias = "mul24.hi")]
    #[track_caller]
    pub fn mul24_hi(self, other: impl Into<Self>) -> Self {
        let other = other.into();
        match operands(self, other) {
            Known(a, b) => fold_mul24_hi(a, b).into(),
            In(k) => self.binary(k, ["mul24.hi.", T::PTX], other),
        }
    }

    /// Returns `self.mul24_lo(factor) + addend`. The sum wraps around.
    #[doc(alias = "mad24.lo")]
    #[track_caller]
    pub fn mad24_lo(self, factor: impl Into<Self>, addend: impl Into<Self>) -> Self {
        let fold = |a: T, b: T, c: T| fold_mul24_lo(a, b).fold_add(c);
        ternary!(self, factor.into(), addend.into(), fold, "mad24.lo.{}", T::PTX)
    }

    /// Returns `self.mul24_hi(factor) + addend`. The sum wraps around.
    #[doc(alias = "mad24.hi")]
    #[track_caller]
    pub fn mad24_hi(self, factor: impl Into<Self>, addend: impl Into<Self>) -> Self {
        let fold = |a: T, b: T, c: T| fold_mul24_hi(a, b).fold_add(c);
        ternary!(self, factor.into(), addend.into(), fold, "mad24.hi.{}", T::PTX)
    }
}

impl<'k> Val<'k, i32> {
    /// Returns `self.mul24_hi(factor) + addend`, clamped to the range of `i32`.
    #[doc(alias = "mad24.hi.sat")]
    #[track_caller]
    pub fn saturating_mad24_hi(self, factor: impl Into<Self>, addend: impl Into<Self>) -> Self {
        let fold = |a: i32, b: i32, c: i32| fold_mul24_hi(a, b).saturating_add(c);
        ternary!(self, factor.into(), addend.into(), fold, "mad24.hi.sat.s32")
    }
}

/// A 32-bit type that contains four 8-bit or two 16-bit integers: unsigned integers in `u32`, signed integers in `i32`.
pub trait Packed: Integer {
    /// Returns byte `i`, zero-extended or sign-extended.
    #[doc(hidden)]
    fn byte(self, i: u32) -> i64;
    /// Returns 16-bit half `i`, zero-extended or sign-extended.
    #[doc(hidden)]
    fn half(self, i: u32) -> i64;
}

impl Packed for u32 {
    fn byte(self, i: u32) -> i64 {
        i64::from((self >> (8 * i)) as u8)
    }
    fn half(self, i: u32) -> i64 {
        i64::from((self >> (16 * i)) as u16)
    }
}

impl Packed for i32 {
    fn byte(self, i: u32) -> i64 {
        i64::from((self >> (8 * i)) as i8)
    }
    fn half(self, i: u32) -> i64 {
        i64::from((self >> (16 * i)) as i16)
    }
}

impl<'k, A: Packed> Val<'k, A> {
    /// Returns `addend` plus the dot product of the four bytes of `self` and the four bytes of `other`, modulo 2³². The bytes of an operand
    /// are signed if its type is `i32`.
    #[track_caller]
    pub fn dp4a<B: Packed, C: Packed>(
        self,
        other: impl Into<Val<'k, B>>,
        addend: impl Into<Val<'k, C>>,
    ) -> Val<'k, C> {
        let fold = |a: A, b: B| (0..4).map(|i| a.byte(i) * b.byte(i)).sum();
        self.dot(other.into(), addend.into(), "dp4a", fold)
    }

    /// Returns `addend` plus the dot product of the two 16-bit halves of `self` and the low two bytes of `other`, modulo 2³². The halves or
    /// bytes of an operand are signed if its type is `i32`.
    #[doc(alias = "dp2a.lo")]
    #[track_caller]
    pub fn dp2a_lo<B: Packed, C: Packed>(
        self,
        other: impl Into<Val<'k, B>>,
        addend: impl Into<Val<'k, C>>,
    ) -> Val<'k, C> {
        let fold = |a: A, b: B| (0..2).map(|i| a.half(i) * b.byte(i)).sum();
        self.dot(other.into(), addend.into(), "dp2a.lo", fold)
    }

    /// Returns `addend` plus the dot product of the two 16-bit halves of `self` and the high two bytes of `other`, modulo 2³². The halves
    /// or bytes of an operand are signed if its type is `i32`.
    #[doc(alias = "dp2a.hi")]
    #[track_caller]
    pub fn dp2a_hi<B: Packed, C: Packed>(
        self,
        other: impl Into<Val<'k, B>>,
        addend: impl Into<Val<'k, C>>,
    ) -> Val<'k, C> {
        let fold = |a: A, b: B| (0..2).map(|i| a.half(i) * b.byte(i + 2)).sum();
        self.dot(other.into(), addend.into(), "dp2a.hi", fold)
    }

    #[track_caller]
    fn dot<B: Packed, C: Packed>(
        self,
        other: Val<'k, B>,
        addend: Val<'k, C>,
        ptx: &str,
        fold: impl Fn(A, B) -> i64,
    ) -> Val<'k, C> {
        let kernel = self.kernel().or(other.kernel()).or(addend.kernel());
        match (self.as_constant(), other.as_constant(), addend.as_constant(), kernel) {
            (Some(a), Some(b), Some(c), _) => {
                C::from_bits(c.to_bits().wrapping_add(fold(a, b) as u64)).into()
            }
            (.., Some(k)) => {
                let operands = [self.operand(k), other.operand(k), addend.operand(k)];
                k.result(format_args!("{ptx}.{}.{}", A::PTX, B::PTX), &operands)
            }
            (.., None) => addend,
        }
    }
}
