//! Division: quotients, rounded toward zero or up, and remainders (`div`, `rem`).
//!
//! ptxas translates an integer division by a constant into the same 15 to 20 instructions as a division by a variable. The builder
//! therefore divides nonnegative integers by powers of two with shifts and masks, and 32-bit and 64-bit unsigned integers by other
//! constants with multiplications, unless no 64-bit reciprocal is exact enough.

use super::{
    Operands::{In, Known},
    operands,
    reciprocal::{Reciprocal, Rounded},
};
use crate::ptx::{
    facts,
    fold::{Integer, Mode, Number, Numeric, exact},
    kernel::Builder,
    types::{bf16, bf16x2, f16, f16x2},
    val::Val,
};

/// A type that supports division. Integer quotients are truncated toward zero. Quotients of f32, f64, f16, bf16, f16x2 and bf16x2 are
/// correctly rounded. bf16 and bf16x2 require sm_80 or later.
pub trait Divide: Number {
    #[doc(hidden)]
    fn quotient<'k>(dividend: Val<'k, Self>, divisor: Val<'k, Self>) -> Val<'k, Self>;
}

/// An integer type that supports division and remainders.
pub trait IntegerDivision: Integer + Divide + PartialOrd {}

impl<T: Integer + Divide + PartialOrd> IntegerDivision for T {}

macro_rules! quotients {
    ($($($t:ty)*, $divide:expr;)*) => {$($(
        impl Divide for $t {
            #[track_caller]
            fn quotient<'k>(dividend: Val<'k, Self>, divisor: Val<'k, Self>) -> Val<'k, Self> {
                dividend.native_quotient(divisor, $divide)
            }
        }
    )*)*};
}

quotients! {
    u16 i16 u32 i32 u64 i64, Integer::fold_div;
    f32 f64, |a, b| exact::div(a, b, Mode::RN);
}

/// Divides 16-bit floating-point numbers in f32, because PTX has no `div` for them. Rounding twice gives the same result as rounding once,
/// because the significand of f32 has more than twice as many bits.
macro_rules! halves {
    ($($t:ident, $pair:ident;)*) => {$(
        impl Divide for $t {
            #[track_caller]
            fn quotient<'k>(dividend: Val<'k, Self>, divisor: Val<'k, Self>) -> Val<'k, Self> {
                (dividend.cast::<f32>() / divisor.cast::<f32>()).cast()
            }
        }

        impl Divide for $pair {
            #[track_caller]
            fn quotient<'k>(dividend: Val<'k, Self>, divisor: Val<'k, Self>) -> Val<'k, Self> {
                let ((low, high), (by_low, by_high)) = (dividend.unpack_f32(), divisor.unpack_f32());
                Val::pack_f32(low / by_low, high / by_high)
            }
        }
    )*};
}

halves! {
    f16,  f16x2;
    bf16, bf16x2;
}

impl<'k, T: IntegerDivision> Val<'k, T> {
    /// Returns `⌈self / divisor⌉`. `divisor` must be positive.
    #[track_caller]
    pub fn ceil_div(self, divisor: impl Into<Self>) -> Self {
        let divisor = divisor.into();
        let result = self.rounded_up_quotient(divisor).with_facts_of(self).with_facts_of(divisor);
        // (x · 64) / 64 is x, about which other facts are known.
        if self.origin().is_some_and(|(base, _)| base.has_register_of(&result)) {
            return result;
        }
        let by = divisor.as_constant().filter(|&by| by != T::ZERO);
        let registers = (result.reg(), self.reg(), by);
        if let ((Some((result, k)), Some((source, _)), Some(by)), true) =
            (registers, self.is_natural(divisor))
        {
            let by = by.to_bits();
            let (most, local) = (self.known().most().div_ceil(by), self.is_local());
            let mut body = k.body();
            body.learn(result, facts::Known::at_most(most, 8 * T::BYTES), local);
            body.set_ceil_div(result, source, by);
            drop(body);
            // Facts that hold only in a branch must not be recorded for a register that is also used outside it.
            if let (false, Ok(by)) = (local, u32::try_from(by)) {
                return Val::from_reg(result, k).with_dim(|| Some(self.dim()?.ceil_div(by)));
            }
        }
        result
    }

    /// Emits [`ceil_div`](Self::ceil_div) as the shortest instruction sequence whose intermediate results do not wrap around.
    #[track_caller]
    fn rounded_up_quotient(self, divisor: Self) -> Self {
        let width = 8 * T::BYTES;
        if let Known(a, b) = operands(self, divisor) {
            let up = if a > T::ZERO { T::ONE } else { T::ZERO };
            return a.fold_sub(up).fold_div(b).fold_add(up).into();
        }
        let (known, by) = (self.known(), divisor.known());
        let natural = self.is_natural(divisor);
        let largest = u64::MAX >> (64 - width + u32::from(T::SIGNED));
        match divisor.as_constant().map(|by| by.to_bits()) {
            Some(by) if natural && by > 0 && self.divisor().is_multiple_of(by) => T::quotient(self, divisor),
            _ if natural
                && known
                    .most()
                    .checked_add(by.most().saturating_sub(1))
                    .is_some_and(|sum| sum <= largest) =>
            {
                T::quotient(self.sum(divisor.difference(T::ONE.into())), divisor)
            }
            // The sum is computed in twice the width, shifted so that its upper half is the quotient; thus no bit is lost.
            Some(by) if T::PTX == "u32" && by.is_power_of_two() => {
                let up = 32 - by.trailing_zeros();
                let wide = self.cast::<u32>();
                wide.mad_wide(1u32 << up, (by - 1) << up).unpack().1.cast()
            }
            _ => {
                let one: Self = if natural { self.min(T::ONE) } else { self.max(T::ZERO).min(T::ONE) };
                T::quotient(self.difference(one), divisor).sum(one)
            }
        }
    }
}

impl<'k, T: Divide + Numeric> Val<'k, T> {
    #[track_caller]
    fn native_quotient(self, other: Self, fold: fn(T, T) -> T) -> Self {
        match operands(self, other) {
            Known(a, b) => fold(a, b).into(),
            In(_) if T::EXACT && other.is_constant(T::ONE) => self,
            In(k) if self.is_natural(other) => {
                let by_constant = match other.as_constant() {
                    Some(by) => self.quotient_by(k, by),
                    None => None,
                };
                let result = match by_constant {
                    Some(result) => result,
                    None => self.natural_quotient(k, other),
                };
                if let Some((reg, _)) = result.reg() {
                    k.body().assume_divided(self.source(), other.source(), Some(reg), None);
                }
                result
            }
            In(k) => self.binary(k, ["div", T::ROUND, ".", T::PTX], other),
        }
    }

    /// Emits the division of natural numbers.
    #[track_caller]
    fn natural_quotient(self, k: Builder<'k>, divisor: Self) -> Self {
        let operands = [self.operand(k), divisor.operand(k)];
        let result: Self = k.integer(self.known().div(divisor.known()), ["div.", T::PTX], &operands);
        // Division by 0 gives a quotient that is larger than the dividend.
        let by = divisor.as_constant().filter(|&by| by != T::ZERO);
        if let (Some((quotient, _)), Some((dividend, _)), Some(by)) = (result.reg(), self.reg(), by) {
            k.body().set_quotient(quotient, dividend, by.to_bits());
        }
        result
    }
}

impl<'k, T: IntegerDivision> Val<'k, T> {
    #[track_caller]
    pub(super) fn remainder(self, other: Self) -> Self {
        match operands(self, other) {
            Known(a, b) => a.fold_rem(b).into(),
            In(_) if other.is_constant(T::ONE) => T::ZERO.into(),
            In(_) if self.is_natural_everywhere(other) && self.settled().most() < other.settled().least() => {
                self
            }
            In(k) if self.is_natural(other) => {
                let known = self.known().rem(other.known());
                let by_constant = match other.as_constant() {
                    Some(by) => self.remainder_by(k, by, known),
                    None => None,
                };
                let result = match by_constant {
                    Some(result) => result,
                    None => k.integer(known, ["rem.", T::PTX], &[self.operand(k), other.operand(k)]),
                };
                if let Some((reg, _)) = result.reg() {
                    k.body().assume_divided(self.source(), other.source(), None, Some(reg));
                }
                result
            }
            In(k) => self.binary(k, ["rem.", T::PTX], other),
        }
    }

    /// Returns the smallest multiple of `unit` that is at least `self`; the result wraps around on overflow. `unit` must be positive.
    #[track_caller]
    pub fn round_up(self, unit: impl Into<Self>) -> Self {
        let unit = unit.into();
        self.ceil_div(unit).product(unit)
    }
}

/// Division of nonnegative integers by constants.
impl<'k, T: Divide + Numeric> Val<'k, T> {
    /// Returns the quotient, computed without a division, or `None` if a division is necessary: if `by` is 0, for signed and 16-bit
    /// integers unless `by` is a power of two, and for some 64-bit divisors.
    #[track_caller]
    fn quotient_by(self, k: Builder<'k>, by: T) -> Option<Self> {
        let (by, width) = (by.to_bits(), 8 * T::BYTES);
        let twos = by.trailing_zeros();
        if by.is_power_of_two() {
            return Some(self.right(k, twos));
        }
        if by == 0 || width < 32 || !T::PTX.starts_with('u') {
            return None;
        }
        let known = self.known().div(facts::Known::constant(by, width));
        if let Some(constant) = known.as_constant().filter(|_| !self.is_local()) {
            return Some(T::from_bits(constant).into());
        }
        let (most, odd) = (self.known().most(), by >> twos);
        let direct = Reciprocal::new(by, most, T::BYTES).filter(|direct| direct.rounded == Rounded::Up);
        let (dividend, Reciprocal { factor, rounded, shift }) =
            match (direct, Reciprocal::new(odd, most >> twos, T::BYTES)) {
                // Powers of two are divided out first only if that saves the last shift, or if the reciprocal is otherwise not exact enough.
                (Some(direct), odd) if odd.is_none_or(|odd| odd.shift > 0 || direct.shift == 0) => {
                    (self, direct)
                }
                (_, Some(odd)) if twos > 0 => (self.right(k, twos), odd),
                (_, odd) => (self, odd?),
            };
        let high = match rounded {
            Rounded::Up => {
                let known = dividend.known().mul_high(facts::Known::constant(factor, width));
                let factor = Self::from(T::from_bits(factor));
                k.integer::<T>(known, ["mul.hi.", T::PTX], &[dividend.operand(k), factor.operand(k)])
            }
            Rounded::Down => {
                let factor = factor as u32;
                dividend.cast::<u32>().mad_wide(factor, u64::from(factor)).unpack().1.cast()
            }
        };
        let result = if shift > 0 { high.right(k, shift) } else { high };
        result.learn(known, self.is_local());
        if let (Some((quotient, _)), Some((dividend, _))) = (result.reg(), self.reg()) {
            let mut body = k.body();
            body.set_quotient(quotient, dividend, by);
            body.uniform.set_quotient(quotient, dividend, by);
        }
        Some(result)
    }

    /// Returns the remainder, computed without a division, or `None` if a division is necessary. `known` contains the facts about the
    /// remainder.
    #[track_caller]
    fn remainder_by(self, k: Builder<'k>, by: T, known: facts::Known) -> Option<Self> {
        if by.to_bits().is_power_of_two() {
            let mask = Self::from(T::from_bits(by.to_bits() - 1));
            return Some(k.integer(known, ["and.", T::CLASS.mov()], &[self.operand(k), mask.operand(k)]));
        }
        let multiple = self.quotient_by(k, by)?.product(by.into());
        let result: Self = k.integer(known, ["sub.", T::PTX], &[self.operand(k), multiple.operand(k)]);
        if let (Some((remainder, _)), Some((dividend, _))) = (result.reg(), self.reg()) {
            k.body().uniform.set_remainder(remainder, dividend, by.to_bits());
        }
        Some(result)
    }
}
