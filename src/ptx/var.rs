//! Variables: mutable registers, for values that emitted loops and branches update.

use std::marker::PhantomData;

use super::{body::RegId, kernel::Builder, operand::Operand, types::Scalar, val::Val};

/// A register that can be written repeatedly.
///
/// A [`Val`] never changes, so rebinding it inside an emitted loop takes effect only once, when the kernel is built. A `Var` is updated
/// each time the loop body is executed: [`get`](Self::get) reads it, and [`set`](Self::set) writes it.
#[derive(Clone, Copy, Debug)]
pub struct Var<'k, T: Scalar> {
    k: Builder<'k>,
    reg: RegId,
    kind: PhantomData<T>,
}

impl<'k> Builder<'k> {
    /// Creates a variable with the initial value `value`.
    #[track_caller]
    pub fn var<T: Scalar>(self, value: impl Into<Val<'k, T>>) -> Var<'k, T> {
        let var = Var { k: self, reg: self.fresh_changing(T::CLASS), kind: PhantomData };
        var.set(value);
        var
    }
}

impl<'k, T: Scalar> Var<'k, T> {
    /// Returns the current value in a separate register that later writes do not change.
    #[track_caller]
    pub fn get(self) -> Val<'k, T> {
        self.k.result(format_args!("mov.{}", T::MEM), &[Operand::Reg(self.reg)])
    }

    /// Returns the variable's register.
    pub(crate) fn register(self) -> RegId {
        self.reg
    }

    /// Sets the variable to `value`.
    #[track_caller]
    pub fn set(self, value: impl Into<Val<'k, T>>) {
        self.k.emit(format_args!("mov.{}", T::MEM), &[Operand::Reg(self.reg), value.into().source()]);
    }

    /// Replaces the current value with the result of applying `f` to it.
    #[track_caller]
    pub fn update(self, f: impl FnOnce(Val<'k, T>) -> Val<'k, T>) {
        let next = f(self.get());
        self.set(next);
    }
}
