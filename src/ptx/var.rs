//! Variables: registers that change, for values that emitted loops and branches update.

use std::marker::PhantomData;

use super::{body::RegId, kernel::Builder, operand::Operand, types::Scalar, val::Val};

/// A register that can be written again and again.
///
/// [`Val`]s never change, so rebinding one inside an emitted loop would happen once, on the host. A `Var` is the
/// value that the loop changes: read it with [`get`](Self::get), write it with [`set`](Self::set).
#[derive(Clone, Copy, Debug)]
pub struct Var<'k, T: Scalar> {
    k: Builder<'k>,
    reg: RegId,
    kind: PhantomData<T>,
}

impl<'k> Builder<'k> {
    /// A variable with a first value.
    #[track_caller]
    pub fn var<T: Scalar>(self, value: impl Into<Val<'k, T>>) -> Var<'k, T> {
        let var = Var { k: self, reg: self.fresh_changing(T::CLASS), kind: PhantomData };
        var.set(value);
        var
    }
}

impl<'k, T: Scalar> Var<'k, T> {
    /// The value as it is now, in a register of its own: later writes do not change it.
    #[track_caller]
    pub fn get(self) -> Val<'k, T> {
        self.k.result(format_args!("mov.{}", T::MEM), &[Operand::Reg(self.reg)])
    }

    /// The register that changes.
    pub(crate) fn register(self) -> RegId {
        self.reg
    }

    /// Writes the variable.
    #[track_caller]
    pub fn set(self, value: impl Into<Val<'k, T>>) {
        self.k.emit(format_args!("mov.{}", T::MEM), &[Operand::Reg(self.reg), value.into().source()]);
    }

    /// Writes what `f` makes of the value.
    #[track_caller]
    pub fn update(self, f: impl FnOnce(Val<'k, T>) -> Val<'k, T>) {
        let next = f(self.get());
        self.set(next);
    }
}
