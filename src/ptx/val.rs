//! Values: host-known constants or registers of one kernel.

use std::fmt;

use super::{
    body::RegId,
    kernel::Builder,
    operand::{Immediate, Operand},
    types::Scalar,
};

/// A value of type `T` in kernel `'k`: a constant that the host knows, or a register.
///
/// Values are `Copy` and never change. Arithmetic on two constants happens on the host and emits nothing; anything
/// else emits one instruction into the kernel that the register belongs to. A register of one kernel does not fit
/// into another: `'k` is unique to each kernel and invariant.
///
/// A value that must change across iterations of an emitted loop is a [`Var`](super::Var) or loop state.
///
/// Comparison is by methods, as Rust's operators give a `bool` and not a `Val<bool>`: [`lt`](Self::lt), [`le`](Self::le),
/// [`eq`](Self::eq) and their like. Conditions are joined by `&`, `|` and `!`. A closure of values that is bound to a
/// variable is a [`Builder::function`].
#[derive(Clone, Copy)]
pub struct Val<'k, T: Scalar>(pub(crate) Repr<'k, T>);

#[derive(Clone, Copy)]
pub(crate) enum Repr<'k, T> {
    Const(T),
    Reg(RegId, Builder<'k>),
}

/// A value with its type forgotten, as loop state and raw lines see it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Untyped {
    Const(Immediate),
    Reg(RegId),
}

impl<'k, T: Scalar> Val<'k, T> {
    /// A constant.
    pub const fn constant(value: T) -> Self {
        Self(Repr::Const(value))
    }

    /// The constant, if the host knows it.
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

    /// The value in a register of its own kernel, moved there if it is a constant.
    #[track_caller]
    pub(crate) fn in_register(self, k: Builder<'k>) -> RegId {
        match self.0 {
            Repr::Reg(reg, _) => reg,
            Repr::Const(value) => {
                let reg = k.fresh(T::CLASS);
                k.emit(
                    format_args!("mov.{}", T::MEM),
                    &[Operand::Reg(reg), Operand::Imm(Immediate::new(value))],
                );
                k.body().set_divisor(reg, divisor_of(value));
                reg
            }
        }
    }

    /// The value as an operand: a register, or an immediate where the type allows one.
    #[track_caller]
    pub(crate) fn operand(self, k: Builder<'k>) -> Operand<'static> {
        match self.0 {
            Repr::Const(value) if T::IMMEDIATE => Operand::Imm(Immediate::new(value)),
            _ => Operand::Reg(self.in_register(k)),
        }
    }

    /// The special register that the value was read from.
    pub(crate) fn special(&self) -> Option<&'static str> {
        self.reg().and_then(|(reg, k)| k.body().special(reg))
    }

    /// A constant as `mov` takes it, whatever its type.
    pub(crate) fn immediate(self) -> Option<Operand<'static>> {
        self.as_constant().map(|value| Operand::Imm(Immediate::new(value)))
    }

    pub(crate) fn untyped(&self) -> Untyped {
        match self.0 {
            Repr::Const(value) => Untyped::Const(Immediate::new(value)),
            Repr::Reg(reg, _) => Untyped::Reg(reg),
        }
    }

    /// A number that surely divides this integer: 1 if nothing is known, 0 for the constant 0.
    pub(crate) fn divisor(&self) -> u64 {
        match self.0 {
            Repr::Const(value) => divisor_of(value),
            Repr::Reg(reg, k) => k.body().divisor(reg),
        }
    }

    /// Whether `divisor` surely divides this integer.
    pub fn is_multiple_of(&self, divisor: u32) -> bool {
        self.divisor().is_multiple_of(u64::from(divisor.max(1)))
    }

    /// Whether both are the same register or the same constant, and so surely equal.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self.0, other.0) {
            (Repr::Const(a), Repr::Const(b)) => a.to_bits() == b.to_bits(),
            (Repr::Reg(a, _), Repr::Reg(b, _)) => a == b,
            _ => false,
        }
    }

    /// Records a number that surely divides this integer.
    pub(crate) fn set_divisor(&self, divisor: u64) {
        if let Repr::Reg(reg, k) = self.0 {
            k.body().set_divisor(reg, divisor);
        }
    }

    /// Assumes that `divisor` divides this integer, until the end of the branch or loop in which it is assumed. No launch
    /// checks it.
    #[track_caller]
    #[must_use]
    pub fn assume_multiple_of(self, divisor: u32) -> Self {
        if let Repr::Reg(reg, k) = self.0 {
            let mut body = k.body();
            let both = super::divisor::lcm(body.divisor(reg), divisor.max(1).into());
            body.assume_divisor(reg, both);
        }
        self
    }

    /// Promises that `divisor` divides this integer, wherever the kernel is launched.
    ///
    /// For a kernel parameter the precondition is stored with the kernel and checked at every launch, also if it is stated in
    /// a branch: use [`assume_multiple_of`](Self::assume_multiple_of) for what holds in the branch only. For any other
    /// register it is that. The widths of vector accesses follow from it.
    #[track_caller]
    pub fn multiple_of(self, divisor: u32) -> Self {
        if let Repr::Reg(reg, k) = self.0 {
            k.promise_multiple(reg, divisor.max(1));
        }
        self
    }
}

/// What surely divides a constant; 1 for anything but an integer.
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

impl<'k> Val<'k, u32> {
    /// STUB
    pub(crate) fn upper_bound(&self) -> Option<u64> {
        match self.as_constant() {
            Some(v) => Some(v.into()),
            None => self.special().is_some().then_some(1 << 16),
        }
    }
    /// STUB
    pub(crate) fn tile_is_inside(&self, tile: u32, extent: Val<'k, u32>) -> bool {
        match (self.as_constant(), extent.as_constant()) {
            (Some(a), Some(b)) => (u64::from(a) + 1) * u64::from(tile) <= b.into(),
            _ => false,
        }
    }
}
