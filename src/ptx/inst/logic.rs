//! Logic and shifts on integers and untyped bits: `and`, `or`, `xor`, `not`, `shl`, `shr`.

use std::ops::{BitAnd, BitOr, BitXor, Not, Shl, Shr};

use super::{
    Operands::{In, Known},
    operands,
};
use crate::ptx::{
    divisor::{gcd, power_of_two},
    types::{B16, B32, B64, Scalar},
    val::Val,
};

/// A type whose bits logic and shift instructions work on: the integers and [`B16`], [`B32`], [`B64`].
pub trait Bits: Scalar {
    /// The untyped name of its width: `"b32"`.
    const UNTYPED: &'static str;
    /// Whether a right shift repeats the sign bit.
    const ARITHMETIC: bool;
}

macro_rules! bits {
    ($($t:ty, $untyped:literal, $arithmetic:expr;)*) => {$(
        impl Bits for $t {
            const UNTYPED: &'static str = $untyped;
            const ARITHMETIC: bool = $arithmetic;
        }
    )*};
}

bits! {
    u16, "b16", false;
    i16, "b16", true;
    u32, "b32", false;
    i32, "b32", true;
    u64, "b64", false;
    i64, "b64", true;
    B16, "b16", false;
    B32, "b32", false;
    B64, "b64", false;
}

/// All bits of the type set.
fn ones<T: Bits>() -> T {
    T::from_bits(u64::MAX)
}

impl<'k, T: Bits> Val<'k, T> {
    fn known_as(self, bits: T) -> bool {
        self.as_constant().is_some_and(|c| c.to_bits() == bits.to_bits())
    }

    /// `operator` on both, unless one of them is its neutral element or its absorbing one.
    #[track_caller]
    fn bitwise(
        self,
        operator: &str,
        other: Self,
        fold: fn(u64, u64) -> u64,
        neutral: T,
        absorbing: Option<T>,
    ) -> Self {
        match operands(self, other) {
            Known(a, b) => T::from_bits(fold(a.to_bits(), b.to_bits())).into(),
            In(_) if other.known_as(neutral) => self,
            In(_) if self.known_as(neutral) => other,
            In(_) if absorbing.is_some_and(|a| self.known_as(a) || other.known_as(a)) => {
                absorbing.unwrap_or(neutral).into()
            }
            In(k) => {
                k.result(format_args!("{operator}.{}", T::UNTYPED), &[self.operand(k), other.operand(k)])
            }
        }
    }

    #[track_caller]
    fn conjunction(self, other: Self) -> Self {
        // The low zeros of either side stay zero; those of a mask are zeros of the result.
        let zeros =
            |v: &Self| v.as_constant().map_or(power_of_two(v.divisor()), |c| power_of_two(c.to_bits()));
        let divisor = zeros(&self).max(zeros(&other));
        let result = self.bitwise("and", other, |a, b| a & b, ones(), Some(T::from_bits(0)));
        result.set_divisor(divisor.max(result.divisor()));
        result.with_dim(|| {
            // Clearing the low bits rounds down.
            let (value, mask) = match other.as_constant() {
                Some(mask) => (self, mask),
                None => (other, self.as_constant()?),
            };
            let cleared = !mask.to_bits() & (u64::MAX >> (64 - 8 * T::BYTES));
            let unit = u32::try_from(cleared).ok()?.checked_add(1)?;
            if unit.is_power_of_two() { Some(value.dim()?.round_down(unit)) } else { None }
        })
    }

    #[track_caller]
    fn disjunction(self, other: Self) -> Self {
        let divisor = power_of_two(gcd(self.divisor(), other.divisor()));
        let result = self.bitwise("or", other, |a, b| a | b, T::from_bits(0), Some(ones()));
        result.set_divisor(divisor.max(result.divisor()));
        result
    }

    #[track_caller]
    fn exclusive(self, other: Self) -> Self {
        let divisor = power_of_two(gcd(self.divisor(), other.divisor()));
        let result = self.bitwise("xor", other, |a, b| a ^ b, T::from_bits(0), None);
        result.set_divisor(divisor.max(result.divisor()));
        result
    }

    /// Shifts left; amounts above the width give 0.
    #[track_caller]
    fn shift_left(self, amount: Val<'k, u32>) -> Self {
        match operands(self, amount) {
            Known(a, n) => T::from_bits(a.to_bits().checked_shl(n).unwrap_or(0)).into(),
            In(_) if amount.known_as(0) => self,
            In(_) if self.known_as(T::from_bits(0)) => self,
            In(_) if amount.as_constant().is_some_and(|n| n >= 8 * T::BYTES) => T::from_bits(0).into(),
            In(k) => {
                let factor = amount.as_constant().map_or(1, |n| 1 << n);
                let divisor = self.divisor().saturating_mul(factor);
                let result: Self =
                    k.result(format_args!("shl.{}", T::UNTYPED), &[self.operand(k), amount.operand(k)]);
                result.set_divisor(divisor);
                result
            }
        }
    }

    /// Shifts right; amounts above the width give 0, or the sign everywhere for signed types.
    #[track_caller]
    fn shift_right(self, amount: Val<'k, u32>) -> Self {
        match operands(self, amount) {
            Known(a, n) => fold_shift_right(a, n).into(),
            In(_) if amount.known_as(0) => self,
            In(_) if self.known_as(T::from_bits(0)) => self,
            In(_) if !T::ARITHMETIC && amount.as_constant().is_some_and(|n| n >= 8 * T::BYTES) => {
                T::from_bits(0).into()
            }
            In(k) => {
                let divisor = match amount.as_constant().and_then(|n| 1u64.checked_shl(n)) {
                    Some(unit) if self.divisor().is_multiple_of(unit) => self.divisor() / unit,
                    _ => 1,
                };
                let result: Self =
                    k.result(format_args!("shr.{}", T::PTX), &[self.operand(k), amount.operand(k)]);
                result.set_divisor(divisor);
                result
            }
        }
    }
}

fn fold_shift_right<T: Bits>(value: T, amount: u32) -> T {
    let unused = 64 - 8 * T::BYTES;
    let bits = value.to_bits();
    T::from_bits(if T::ARITHMETIC {
        ((bits << unused) as i64 >> unused >> amount.min(63)) as u64
    } else {
        bits.checked_shr(amount).unwrap_or(0)
    })
}

impl<T: Bits> Not for Val<'_, T> {
    type Output = Self;

    #[track_caller]
    fn not(self) -> Self {
        match self.reg() {
            None => self.as_constant().map_or(self, |c| T::from_bits(!c.to_bits()).into()),
            Some((_, k)) => k.result(format_args!("not.{}", T::UNTYPED), &[self.operand(k)]),
        }
    }
}

macro_rules! operators {
    ($($op:ident, $method:ident, $other:ty, $body:ident;)*) => {$(
        impl<'k, T: Bits, R: Into<Val<'k, $other>>> $op<R> for Val<'k, T> {
            type Output = Self;

            #[track_caller]
            fn $method(self, other: R) -> Self {
                self.$body(other.into())
            }
        }
    )*};
}

operators! {
    BitAnd, bitand, T,   conjunction;
    BitOr,  bitor,  T,   disjunction;
    BitXor, bitxor, T,   exclusive;
    Shl,    shl,    u32, shift_left;
    Shr,    shr,    u32, shift_right;
}

/// `constant & value`, `constant << amount` and the like: the constant stands on the left.
macro_rules! constant_on_the_left {
    ($($t:ty)*) => {$(
        constant_on_the_left! { $t: BitAnd bitand $t, BitOr bitor $t, BitXor bitxor $t, Shl shl u32, Shr shr u32 }
    )*};
    ($t:ty: $($op:ident $method:ident $other:ty),*) => {$(
        impl<'k> $op<Val<'k, $other>> for $t {
            type Output = Val<'k, $t>;

            #[track_caller]
            fn $method(self, other: Val<'k, $other>) -> Val<'k, $t> {
                $op::$method(Val::from(self), other)
            }
        }
    )*};
}

constant_on_the_left! { u16 i16 u32 i32 u64 i64 }
