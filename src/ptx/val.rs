//! Values: constants known to the host, or registers of one kernel.

use std::fmt;

use super::sealed::Sealed;
use super::{
    body::RegId,
    facts::{Inside, Known, divisor::power_of_two, width},
    kernel::Builder,
    operand::{Immediate, Operand},
    types::Scalar,
};

/// A value of type `T` in kernel `'k`: a constant known to the host, or a register.
///
/// Values are `Copy` and immutable. Arithmetic on two constants is evaluated on the host and emits nothing. Any other operation emits an
/// instruction, unless the result is already known or in a register. A register of one kernel cannot be used in another: `'k` is invariant
/// and unique to each kernel.
///
/// For a value that changes across iterations of an emitted loop, use a [`Var`](super::Var) or loop state.
///
/// Comparisons are methods, because Rust's comparison operators return `bool`, not `Val<bool>`: [`lt`](Self::lt), [`le`](Self::le),
/// [`eq`](Self::eq) and so on. Conditions are combined with `&`, `|` and `!`. To bind a closure that takes values to a variable, use
/// [`Builder::function`].
#[derive(Clone, Copy)]
pub struct Val<'k, T: Scalar>(pub(crate) Repr<'k, T>);

#[derive(Clone, Copy)]
pub(crate) enum Repr<'k, T> {
    Const(T),
    Reg(RegId, Builder<'k>),
}

/// An untyped value, for loop state and raw lines.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Untyped {
    Const(Immediate),
    Reg(RegId),
}

impl Untyped {
    /// Returns whether the value is in this register.
    pub(crate) fn is_in(self, register: RegId) -> bool {
        matches!(self, Self::Reg(r) if r.class == register.class && r.index == register.index)
    }
}

impl<T: Scalar> Sealed for Val<'_, T> {}

/// A trait bound of Rust's comparison operators for [`Val`], which no [`Val`] satisfies. The name of the trait, which rustc prints in its
/// error message, lists the methods to call instead.
#[doc(hidden)]
pub trait CompareByMethodsEqNeLtLeGtGe: Sealed {}

macro_rules! compared_by_methods {
    ($($other:ty;)*) => {$(
        #[doc(hidden)]
        impl<'k, T: Scalar> PartialEq<$other> for Val<'k, T>
        where
            Val<'k, T>: CompareByMethodsEqNeLtLeGtGe,
        {
            fn eq(&self, _: &$other) -> bool {
                false
            }
        }

        #[doc(hidden)]
        impl<'k, T: Scalar> PartialOrd<$other> for Val<'k, T>
        where
            Val<'k, T>: CompareByMethodsEqNeLtLeGtGe,
        {
            fn partial_cmp(&self, _: &$other) -> Option<std::cmp::Ordering> {
                None
            }
        }
    )*};
}

compared_by_methods! {
    Self;
    T;
}

impl<'k, T: Scalar> Val<'k, T> {
    /// Creates a constant.
    pub const fn constant(value: T) -> Self {
        Self(Repr::Const(value))
    }

    /// Returns the constant, or `None` if the value is a register.
    pub fn as_constant(&self) -> Option<T> {
        match self.0 {
            Repr::Const(value) => Some(value),
            Repr::Reg(..) => None,
        }
    }

    pub(crate) fn from_reg(reg: RegId, k: Builder<'k>) -> Self {
        Self(Repr::Reg(reg, k))
    }

    pub(crate) fn reg(&self) -> Option<(RegId, Builder<'k>)> {
        match self.0 {
            Repr::Const(_) => None,
            Repr::Reg(reg, k) => Some((reg, k)),
        }
    }

    pub(crate) fn kernel(&self) -> Option<Builder<'k>> {
        self.reg().map(|(_, k)| k)
    }

    /// Returns the value in a register of kernel `k`, emitting a `mov` for a constant.
    #[track_caller]
    pub(crate) fn in_register(self, k: Builder<'k>) -> RegId {
        match self.0 {
            Repr::Reg(reg, _) => reg,
            Repr::Const(value) => {
                let moved: Self = k.result(["mov.", T::MEM], &[self.source()]);
                moved.learn(Known::constant(value.to_bits(), width(T::CLASS)), false);
                moved.in_register(k)
            }
        }
    }

    /// Returns the value as an operand: a register, or an immediate if the type allows it.
    #[track_caller]
    pub(crate) fn operand(self, k: Builder<'k>) -> Operand<'static> {
        match self.0 {
            Repr::Const(value) if T::IMMEDIATE => Operand::Imm(Immediate::new(value)),
            _ => Operand::Reg(self.in_register(k)),
        }
    }

    /// Returns the value as an operand of `mov`, which accepts constants of any type as immediates.
    pub(crate) fn source(self) -> Operand<'static> {
        match self.0 {
            Repr::Const(value) => Operand::Imm(Immediate::new(value)),
            Repr::Reg(reg, _) => Operand::Reg(reg),
        }
    }

    /// Returns the special register that the value was read from, if any.
    pub(crate) fn special(&self) -> Option<&'static str> {
        self.reg().and_then(|(reg, k)| k.body().special(reg))
    }

    /// Returns the value as an immediate operand of `mov`, which accepts any type, if the value is a constant.
    pub(crate) fn immediate(self) -> Option<Operand<'static>> {
        self.as_constant().map(|value| Operand::Imm(Immediate::new(value)))
    }

    pub(crate) fn untyped(&self) -> Untyped {
        match self.0 {
            Repr::Const(value) => Untyped::Const(Immediate::new(value)),
            Repr::Reg(reg, _) => Untyped::Reg(reg),
        }
    }

    /// Returns the known facts about this integer, as an unsigned number.
    pub(crate) fn known(&self) -> Known {
        match self.0 {
            Repr::Const(value) => Known::constant(value.to_bits(), width(T::CLASS)),
            Repr::Reg(reg, k) => k.body().known(reg),
        }
    }

    /// Returns the facts that hold wherever the register is defined, not only in an open block; only these may be used for
    /// folding.
    pub(crate) fn settled(&self) -> Known {
        if self.is_local() { Known::nothing(width(T::CLASS)) } else { self.known() }
    }

    /// Returns whether some facts about this integer are assumed in an open block.
    pub(crate) fn is_local(&self) -> bool {
        self.reg().is_some_and(|(reg, k)| k.body().is_local(reg))
    }

    /// Returns whether the two values are in the same register.
    pub(crate) fn has_register_of(&self, other: &Self) -> bool {
        matches!((self.0, other.0), (Repr::Reg(reg, _), Repr::Reg(other, _)) if (reg.class, reg.index) == (other.class, other.index))
    }

    /// Returns this value, which was computed using facts about `source`. The value is copied if these facts are assumed in an open block
    /// and the register is defined outside that block, because value numbering could otherwise reuse the register after the block, where
    /// the facts need not hold.
    #[track_caller]
    pub(crate) fn with_facts_of<U: Scalar>(self, source: Val<'k, U>) -> Self {
        let (Some((reg, k)), Some((of, _))) = (self.reg(), source.reg()) else { return self };
        let outlives = k.body().outlives_facts(reg, of);
        if outlives { k.copy_of(self) } else { self }
    }

    /// Records derived facts about this integer; if `local`, they depend on assumptions in an open block.
    pub(crate) fn learn(&self, known: Known, local: bool) {
        if let Repr::Reg(reg, k) = self.0 {
            k.body().learn(reg, known, local);
        }
    }

    /// Returns a known divisor of this integer: 1 if none is known, 0 for the constant 0.
    pub(crate) fn divisor(&self) -> u64 {
        match self.0 {
            Repr::Const(value) => divisor_of(value),
            Repr::Reg(reg, k) => k.body().known(reg).divisor(),
        }
    }

    /// Returns a known upper bound on this integer, as an unsigned number, if it is less than the maximum of its type.
    ///
    /// The bound is derived from the block's shape, masks, shifts, products and sums that cannot wrap around, loop counters, and the
    /// comparisons that guard the current position.
    #[allow(dead_code, reason = "a query for tensors")]
    pub(crate) fn upper_bound(&self) -> Option<u64> {
        let known = self.known();
        (known.most() < u64::MAX >> (64 - 8 * T::BYTES)).then_some(known.most())
    }

    /// Returns whether this integer, as an unsigned number, is known to be less than `other`. This can follow from the bounds of the two
    /// integers, the grid rule, a loop that counts up to `other`, or a comparison that guards the current position.
    pub(crate) fn is_below(&self, other: &Self) -> bool {
        match self.kernel().or(other.kernel()) {
            Some(k) => k.body().is_below(self.source(), other.source()),
            None => self.known().most() < other.known().most(),
        }
    }

    /// Returns whether this integer is known to be a multiple of `divisor`. A `divisor` of 0 is treated as 1.
    pub fn is_multiple_of(&self, divisor: u32) -> bool {
        self.divisor().is_multiple_of(u64::from(divisor.max(1)))
    }

    /// Returns whether `self` and `other` are the same register, or constants with the same bits.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self.0, other.0) {
            (Repr::Const(a), Repr::Const(b)) => a.to_bits() == b.to_bits(),
            (Repr::Reg(a, _), Repr::Reg(b, _)) => a == b,
            _ => false,
        }
    }

    /// Returns whether the value is a constant or is in a register that must not be overwritten because other values share it.
    pub(crate) fn is_shared(&self) -> bool {
        self.reg().is_none_or(|(reg, k)| k.body().is_shared(reg))
    }

    /// Returns the facts that follow if `divisor` divides this integer, given the known facts `before`. For a signed number that may be
    /// negative, these are only the facts that follow from the power of two in `divisor`.
    fn multiple(before: Known, divisor: u32) -> Known {
        let divisor = u64::from(divisor.max(1));
        let natural = !Self::is_signed() || before.is_nonnegative();
        Known::multiple_of(if natural { divisor } else { power_of_two(divisor) }, before.width())
    }

    fn is_signed() -> bool {
        T::PTX.starts_with('s')
    }

    /// Declares that this integer, a kernel parameter, is a multiple of `divisor`. Every launch checks this assumption. A known divisor
    /// permits wider vector accesses and can make predicates unnecessary.
    ///
    /// If the integer is not already known to be a multiple of `divisor`, the builder rejects a computed value, which no launch can check;
    /// use [`assume_multiple_of`](Self::assume_multiple_of) instead. It also rejects a floating-point parameter whose bits are
    /// reinterpreted as an integer, and a signed parameter whose bits are reinterpreted as unsigned. Constants are not checked. A `divisor`
    /// of 0 is treated as 1.
    #[track_caller]
    pub fn multiple_of(self, divisor: u32) -> Self {
        if let Repr::Reg(reg, k) = self.0 {
            // The assumption holds everywhere, so the facts that it is derived from must also hold everywhere.
            let known = Self::multiple(self.settled(), divisor);
            k.assume_multiple(reg, divisor.max(1), Self::is_signed(), known);
        }
        self
    }

    /// Assumes that this integer is a multiple of `divisor`, until the end of the current branch or loop. A `divisor` of 0 is treated as 1.
    ///
    /// # Safety
    ///
    /// The assumption must hold in every launch, because the builder relies on it to omit predicates that keep accesses within their
    /// buffers.
    #[track_caller]
    #[allow(unsafe_code, reason = "declares an obligation; nothing unsafe is done here")]
    pub unsafe fn assume_multiple_of(self, divisor: u32) -> Self {
        if let Repr::Reg(reg, k) = self.0 {
            k.count_unsafe_access();
            let known = Self::multiple(self.known(), divisor);
            k.body().assume(reg, known);
        }
        self
    }
}

impl<'k> Val<'k, u32> {
    /// Declares that this integer, a kernel parameter, is at most `most`. Every launch checks this assumption.
    ///
    /// If the integer is not already known to be at most `most`, the builder rejects a computed value and the reinterpreted bits of a
    /// floating-point or signed parameter, because a launch can check only the numeric value of an unsigned parameter. Constants are not
    /// checked.
    #[must_use]
    #[track_caller]
    pub fn at_most(self, most: u32) -> Self {
        if let Repr::Reg(reg, k) = self.0 {
            k.assume_limit(reg, most);
        }
        self
    }

    /// Returns which part of tile `self` is known to be within `extent`. The tile consists of the `tile` elements that start at element
    /// `self · tile`.
    ///
    /// The result follows from bounds or from `self < ⌈extent / tile⌉`, which the grid rule, a loop or a comparison may imply. In the
    /// latter case, the first element is within the extent; the whole tile is within the extent if `tile` is known to divide the extent.
    pub(crate) fn tile_is_inside(self, tile: u32, extent: Self) -> Inside {
        let first = self.as_constant().map(|index| u64::from(index) * u64::from(tile));
        match (self.kernel().or(extent.kernel()), first, extent.as_constant().map(u64::from)) {
            (Some(k), ..) => k.body().inside(self.source(), tile.into(), extent.source()),
            (None, Some(first), Some(extent)) if first + u64::from(tile) <= extent => Inside::Whole,
            (None, Some(first), Some(extent)) if first < extent => Inside::First,
            (None, ..) => Inside::Unknown,
        }
    }

    /// Returns whether `self + other` is known to fit in 32 bits, because of the bounds of the two integers or because they have no common
    /// bits.
    pub(crate) fn sum_fits(&self, other: &Self) -> bool {
        let (a, b) = (self.known(), other.known());
        a.most() + b.most() <= u32::MAX.into() || a.possible() & b.possible() == 0
    }

    /// Returns whether `self · by` is known to fit in 32 bits, because of the bound of `self` or because the product is known to be less
    /// than a 32-bit number.
    pub(crate) fn product_fits(self, by: u32) -> bool {
        self.known().most().saturating_mul(by.into()) <= u32::MAX.into()
            || self.kernel().is_some_and(|k| k.body().is_multiple_below_32_bits(self.source(), by.into()))
    }
}

/// Returns the absolute value of an integer constant, which is its largest divisor. Returns 0 for the constant 0, and 1 for other types.
fn divisor_of<T: Scalar>(value: T) -> u64 {
    match T::PTX.as_bytes()[0] {
        b'u' => value.to_bits(),
        b's' => {
            let unused = 64 - 8 * T::BYTES;
            ((value.to_bits() << unused) as i64 >> unused).unsigned_abs()
        }
        _ => 1,
    }
}

impl<T: Scalar> From<T> for Val<'_, T> {
    fn from(value: T) -> Self {
        Self::constant(value)
    }
}

impl<T: Scalar> fmt::Debug for Val<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Repr::Const(value) => write!(f, "{value:?}"),
            Repr::Reg(reg, _) => write!(f, "{reg}: {}", T::PTX),
        }
    }
}
