//! Logic and shifts of integers and untyped bits: `and`, `or`, `xor`, `not`, `shl`, `shr`.

use std::ops::{BitAnd, BitOr, BitXor, Not, Shl, Shr};

use super::{
    Operands::{In, Known},
    chain::Product,
    operands,
};
use crate::ptx::{
    facts::{self, divisor::power_of_two},
    types::{B16, B32, B64, Scalar},
    val::Val,
};

/// A type that supports logic and shift instructions: an integer type, [`B16`], [`B32`] or [`B64`].
pub trait Bits: Scalar {
    /// The untyped PTX type of the same width, such as `"b32"`.
    const UNTYPED: &'static str;
    /// Whether right shifts replicate the sign bit.
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

impl<'k, T: Bits> Val<'k, T> {
    fn known_as(self, bits: T) -> bool {
        self.as_constant().is_some_and(|c| c.to_bits() == bits.to_bits())
    }

    #[track_caller]
    fn conjunction(self, other: Self) -> Self {
        let (a, b) = (self.known(), other.known());
        match operands(self, other) {
            Known(a, b) => T::from_bits(a.to_bits() & b.to_bits()).into(),
            // The mask clears no bit that may be 1.
            In(_) if self.settled().possible() & !other.settled().certain() == 0 => self,
            In(_) if other.settled().possible() & !self.settled().certain() == 0 => other,
            In(k) => k
                .integer::<T>(a.and(b), ["and.", T::UNTYPED], &[self.operand(k), other.operand(k)])
                .with_dim(|| {
                    // Clearing the low bits rounds down to a multiple.
                    let (value, mask) = match other.as_constant() {
                        Some(mask) => (self, mask),
                        None => (other, self.as_constant()?),
                    };
                    let cleared = !mask.to_bits() & (u64::MAX >> (64 - 8 * T::BYTES));
                    let unit = u32::try_from(cleared).ok()?.checked_add(1)?;
                    if unit.is_power_of_two() { Some(value.dim()?.round_down(unit)) } else { None }
                }),
        }
    }

    #[track_caller]
    fn disjunction(self, other: Self) -> Self {
        let (a, b) = (self.known(), other.known());
        match operands(self, other) {
            Known(a, b) => T::from_bits(a.to_bits() | b.to_bits()).into(),
            In(_) if other.settled().possible() & !self.settled().certain() == 0 => self,
            In(_) if self.settled().possible() & !other.settled().certain() == 0 => other,
            In(k) => k.integer(a.or(b), ["or.", T::UNTYPED], &[self.operand(k), other.operand(k)]),
        }
    }

    #[track_caller]
    fn exclusive(self, other: Self) -> Self {
        let (a, b) = (self.known(), other.known());
        match operands(self, other) {
            Known(a, b) => T::from_bits(a.to_bits() ^ b.to_bits()).into(),
            In(_) if other.settled().as_constant() == Some(0) => self,
            In(_) if self.settled().as_constant() == Some(0) => other,
            In(k) => k.integer(a.xor(b), ["xor.", T::UNTYPED], &[self.operand(k), other.operand(k)]),
        }
    }

    /// Shifts left; the result is 0 if the amount is at least the width.
    #[track_caller]
    fn shift_left(self, amount: Val<'k, u32>) -> Self {
        let width = 8 * T::BYTES;
        match (operands(self, amount), amount.as_constant()) {
            (Known(a, n), _) => T::from_bits(a.to_bits().checked_shl(n).unwrap_or(0)).into(),
            (In(_), _) if self.known_as(T::from_bits(0)) => self,
            (In(_), Some(n)) if n >= width => T::from_bits(0).into(),
            (In(k), Some(n)) => self.times(k, T::from_bits(1 << n), Product::Shifted),
            (In(k), None) => {
                // Low zeros are preserved.
                let known = facts::Known::multiple_of(power_of_two(self.divisor()), width);
                k.integer(known, ["shl.", T::UNTYPED], &[self.operand(k), amount.operand(k)])
            }
        }
    }

    /// Shifts right; if the amount is at least the width, the result is 0 or, for signed types, copies of the sign bit.
    #[track_caller]
    fn shift_right(self, amount: Val<'k, u32>) -> Self {
        match (operands(self, amount), amount.as_constant()) {
            (Known(a, n), _) => fold_shift_right(a, n).into(),
            (In(_), Some(0)) => self,
            (In(_), _) if self.known_as(T::from_bits(0)) => self,
            (In(_), Some(n)) if !T::ARITHMETIC && n >= 8 * T::BYTES => T::from_bits(0).into(),
            (In(k), Some(n)) if !T::ARITHMETIC => self.right(k, n),
            (In(k), _) => {
                let known = match amount.as_constant() {
                    Some(n) => self.known().shr_signed(n),
                    None if T::ARITHMETIC => facts::Known::nothing(8 * T::BYTES),
                    None => facts::Known::at_most(self.known().most(), 8 * T::BYTES),
                };
                k.integer(known, ["shr.", T::PTX], &[self.operand(k), amount.operand(k)])
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
            Some((_, k)) => k.integer(self.known().not(), ["not.", T::UNTYPED], &[self.operand(k)]),
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

/// Implements operators with a constant on the left: `constant & value`, `constant << amount`.
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
