//! Operations with a constant operand that can be merged with an earlier such operation: `x * 4 << 2` is computed from `x` in one
//! instruction.

use crate::ptx::{
    dim::Dim,
    facts::{Known, Step},
    kernel::Builder,
    types::Scalar,
    val::Val,
};

/// The instruction that multiplies by a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Product {
    /// `mul.lo`.
    Multiplied,
    /// `shl` if the factor is a power of two, and `mul.lo` otherwise.
    Shifted,
}

/// Returns the unsigned type of the same width, or the type itself if it is not signed.
fn unsigned(ptx: &'static str) -> &'static str {
    match ptx {
        "s16" => "u16",
        "s32" => "u32",
        "s64" => "u64",
        other => other,
    }
}

impl<'k, T: Scalar> Val<'k, T> {
    /// Returns the value from which this one was computed in one step with a constant, and that step.
    pub(super) fn origin(self) -> Option<(Self, Step)> {
        let (reg, k) = self.reg()?;
        let (base, step) = k.body().origin(reg)?;
        Some((Self::from_reg(base, k), step))
    }

    fn with_origin(self, base: Self, step: Step) -> Self {
        if let (Some((reg, k)), Some((base, _))) = (self.reg(), base.reg()) {
            k.body().set_origin(reg, base, step);
        }
        self
    }

    /// Records that an instruction bypassed this value's register.
    pub(super) fn bypassed(self) {
        if let Some((reg, k)) = self.reg() {
            k.body().bypass(reg);
        }
    }

    /// Returns `self + addend`, modulo 2^width.
    #[track_caller]
    pub(super) fn plus(self, k: Builder<'k>, addend: T) -> Self {
        if let Some((base, Step::Plus(before))) = self.origin() {
            self.bypassed();
            return base.plus(k, T::from_bits(before.wrapping_add(addend.to_bits())));
        }
        let (bits, width) = (addend.to_bits(), 8 * T::BYTES);
        if bits == 0 {
            return self;
        }
        let result: Self = if bits >> (width - 1) == 1 {
            let less = T::from_bits(bits.wrapping_neg());
            let known = self.known().sub(Known::constant(less.to_bits(), width));
            k.integer(known, ["sub.", T::PTX], &[self.operand(k), Val::from(less).operand(k)])
        } else {
            let known = self.known().add(Known::constant(bits, width));
            k.integer::<T>(known, ["add.", T::PTX], &[self.operand(k), Val::from(addend).operand(k)])
                .with_dim(|| Some(self.dim()? + Dim::Const(bits)))
        };
        result.with_origin(self, Step::Plus(bits))
    }

    /// Returns `self · factor`, modulo 2^width, computed with the instruction that `written` specifies.
    #[track_caller]
    pub(super) fn times(self, k: Builder<'k>, factor: T, written: Product) -> Self {
        if let Some((base, Step::Times(before))) = self.origin() {
            self.bypassed();
            return base.times(k, T::from_bits(before.wrapping_mul(factor.to_bits())), written);
        }
        let (bits, width) = (factor.to_bits(), 8 * T::BYTES);
        if bits <= 1 {
            return if bits == 1 { self } else { T::from_bits(0).into() };
        }
        let known = self.known().mul(Known::constant(bits, width));
        let result: Self = if written == Product::Shifted && bits.is_power_of_two() {
            let amount = Val::from(bits.trailing_zeros());
            k.integer(known, ["shl.", T::CLASS.mov()], &[self.operand(k), amount.operand(k)])
        } else {
            let operands = [self.operand(k), Val::from(factor).operand(k)];
            match written {
                Product::Multiplied => k
                    .integer::<T>(known, ["mul.lo.", T::PTX], &operands)
                    .with_dim(|| Some(self.dim()? * Dim::Const(bits))),
                Product::Shifted => k.integer(known, format_args!("mul.lo.u{width}"), &operands),
            }
        };
        result.with_origin(self, Step::Times(bits))
    }

    /// Returns a value and a constant whose product equals `self · factor`. If `self` is itself a product with a constant, the constants
    /// are combined.
    pub(super) fn without_factor(self, factor: T) -> (Self, T) {
        match self.origin() {
            Some((base, Step::Times(before))) => {
                self.bypassed();
                (base, T::from_bits(before.wrapping_mul(factor.to_bits())))
            }
            _ => (self, factor),
        }
    }

    /// Returns the logical right shift `self >> amount`. `amount` must be at least 1 and less than the width.
    #[track_caller]
    pub(super) fn right(self, k: Builder<'k>, amount: u32) -> Self {
        let width = 8 * T::BYTES;
        let known = self.known().shr(amount);
        match self.origin() {
            _ if known.as_constant().is_some() => {}
            Some((base, Step::Right(before))) => {
                self.bypassed();
                let result = base.right(k, before + amount);
                result.learn(known, self.is_local());
                return result;
            }
            // Shifting right removes `amount` factors of 2 from a product that did not wrap around.
            Some((base, Step::Times(factor)))
                if factor.trailing_zeros() >= amount
                    && base
                        .settled()
                        .most()
                        .checked_mul(factor)
                        .is_some_and(|most| most <= u64::MAX >> (64 - width)) =>
            {
                self.bypassed();
                return base.times(k, T::from_bits(factor >> amount), Product::Shifted);
            }
            _ => {}
        }
        let result: Self =
            k.integer(known, ["shr.", unsigned(T::PTX)], &[self.operand(k), Val::from(amount).operand(k)]);
        if let (Some((reg, _)), Some((source, _))) = (result.reg(), self.reg()) {
            k.body().set_quotient(reg, source, 1 << amount);
        }
        result.with_origin(self, Step::Right(amount))
    }
}
