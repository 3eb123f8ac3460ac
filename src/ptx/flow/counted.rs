//! Counted loops: their steps, and the instructions before and after their bodies.

use std::ops::Range;

use crate::ptx::{
    facts::{
        Known,
        divisor::{gcd, power_of_two},
    },
    inst::IntegerDivision,
    kernel::Builder,
    operand::Operand,
    state::Slots,
    val::Val,
};

/// An integer type for loop counters: `u32`, `i32`, `u64` or `i64`.
pub trait Counter: IntegerDivision {
    /// The smallest value of the type.
    const MIN: Self;
    /// The largest value of the type.
    const MAX: Self;
}

macro_rules! counters {
    ($($t:ty)*) => {$(
        impl Counter for $t {
            const MIN: Self = Self::MIN;
            const MAX: Self = Self::MAX;
        }
    )*};
}

counters! { u32 i32 u64 i64 }

/// The range of a counted loop: `start..end`, or `n` for the range `0..n`. The step is 1 unless [`by`](Self::by) sets another step.
#[derive(Clone, Copy, Debug)]
pub struct Steps<'k, T: Counter> {
    start: Val<'k, T>,
    end: Val<'k, T>,
    step: Val<'k, T>,
}

impl<'k, T: Counter> Steps<'k, T> {
    /// Creates the range `start..end` with step 1.
    pub fn new(start: impl Into<Val<'k, T>>, end: impl Into<Val<'k, T>>) -> Self {
        Self { start: start.into(), end: end.into(), step: T::ONE.into() }
    }

    /// Sets the step, which must be positive; the builder rejects a constant that is not positive.
    #[must_use]
    pub fn by(self, step: impl Into<Val<'k, T>>) -> Self {
        Self { step: step.into(), ..self }
    }

    /// Returns the start and the end if both are constants.
    fn constants(&self) -> Option<(T, T)> {
        self.start.as_constant().zip(self.end.as_constant())
    }
}

/// Returns whether incrementing a counter that is below `end` is known not to overflow.
fn steps_within<'k, T: Counter>(start: Val<'k, T>, end: Val<'k, T>, step: Val<'k, T>) -> bool {
    let Some(constant) = step.as_constant() else { return false };
    let unit = constant.to_bits();
    let past = end.known().most().checked_add(unit - 1);
    unit == 1
        || start.is_natural(end) && past.is_some_and(|past| past <= T::MAX.to_bits())
        // Known divisors are those of unsigned numbers: a divisor of `start` + 2³² (or 2⁶⁴) divides a negative `start` only if the divisor
        // is a power of two.
        || (unit.is_power_of_two() || start.is_natural(end))
            && [start, end].iter().all(|x| x.known().divisor().is_multiple_of(unit))
}

impl<'k, T: Counter> From<Val<'k, T>> for Steps<'k, T> {
    fn from(count: Val<'k, T>) -> Self {
        Self::new(T::ZERO, count)
    }
}

impl<T: Counter> From<T> for Steps<'_, T> {
    fn from(count: T) -> Self {
        Self::new(T::ZERO, count)
    }
}

impl<'k, T: Counter> From<Range<Val<'k, T>>> for Steps<'k, T> {
    fn from(range: Range<Val<'k, T>>) -> Self {
        Self::new(range.start, range.end)
    }
}

impl<T: Counter> From<Range<T>> for Steps<'_, T> {
    fn from(range: Range<T>) -> Self {
        Self::new(range.start, range.end)
    }
}

/// A counted loop under construction.
pub(super) struct Counted<'k, T: Counter> {
    k: Builder<'k>,
    steps: Steps<'k, T>,
    label: u32,
    /// The bound that the counter is compared with before each increment, if an increment past the end may overflow. If the counter is
    /// below the bound, another iteration follows.
    last: Option<Val<'k, T>>,
}

impl<'k, T: Counter> Counted<'k, T> {
    /// Checks the steps, and creates a loop. Returns `None` if the loop is known to have no iterations or its step is invalid.
    #[track_caller]
    pub(super) fn new(k: Builder<'k>, steps: Steps<'k, T>) -> Option<Self> {
        let Steps { start, end, step } = steps;
        if step.as_constant().is_some_and(|step| step <= T::ZERO) {
            k.refuse(format!("expected a positive loop step, found {step:?}"));
            return None;
        }
        if steps.constants().is_some_and(|(start, end)| start >= end) {
            return None;
        }
        let label = k.body().label();
        let last = if steps_within(start, end, step) { None } else { Some(end.max(step + T::MIN) - step) };
        Some(Self { k, steps, label, last })
    }

    /// Emits the instructions before the body, and returns the counter.
    #[track_caller]
    pub(super) fn open(&self, slots: &Slots) -> Val<'k, T> {
        let Self { k, steps: Steps { start, end, step }, label, .. } = *self;
        let counter = k.fresh(T::CLASS);
        k.body().uniform.set_changes(counter);
        k.emit(["mov.", T::MEM], &[Operand::Reg(counter), start.operand(k)]);
        if self.steps.constants().is_none() {
            k.branch_if(end.le(start), format_args!("$endfor{label}"));
        }
        k.place(format_args!("$for{label}"));
        let bounds = [start, end, step].map(|bound| bound.reg().map(|(reg, _)| reg));
        let at = k.here();
        k.body().open_steps(bounds, at);
        slots.carry(k);
        let i = Val::from_reg(counter, k);
        let unit = gcd(start.known().divisor(), step.known().divisor());
        if start.is_natural(end) {
            i.learn(Known::multiple_of(unit, 8 * T::BYTES), false);
            // The counter is invalid after the loop, so the bound holds wherever the counter can be read.
            i.learn(
                Known::at_most(end.known().most().saturating_sub(1), 8 * T::BYTES),
                start.is_local() || end.is_local(),
            );
            k.body().assume_below(i.source(), end.source());
        } else {
            i.learn(Known::multiple_of(power_of_two(unit), 8 * T::BYTES), false);
        }
        i
    }

    /// Emits the instructions after the body.
    #[track_caller]
    pub(super) fn close(self, i: Val<'k, T>, slots: &Slots) {
        let Self { k, steps: Steps { end, step, .. }, label, last } = self;
        let counter = i.in_register(k);
        let next = [Operand::Reg(counter), Operand::Reg(counter), step.operand(k)];
        let goes_on = match last {
            Some(last) => {
                let goes_on = i.lt(last);
                k.emit(["add.", T::PTX], &next);
                goes_on
            }
            None => {
                k.emit(["add.", T::PTX], &next);
                i.lt(end)
            }
        };
        k.branch_if(goes_on, format_args!("$for{label}"));
        k.body().close_steps();
        slots.carry(k);
        // The counter is invalid after the loop: escaped handles are rejected.
        k.body().overwrite(counter);
        k.place(format_args!("$endfor{label}"));
    }
}
