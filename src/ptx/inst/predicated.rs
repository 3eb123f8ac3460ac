//! Loads that may not happen: under a predicate, with a value for where it does not hold.

use std::panic::Location;

use crate::ptx::{
    operand::Operand,
    ptr::{Ptr, Readable, Space},
    types::Element,
    val::{Repr, Val},
};

impl<'k, T: Element, S: Space, A> Ptr<'k, T, S, A> {
    /// Loads the element where `condition` holds; `otherwise` elsewhere, and then nothing is read.
    #[track_caller]
    pub fn load_if(self, condition: impl Into<Val<'k, bool>>, otherwise: T::Reg) -> Val<'k, T::Reg>
    where
        A: Readable,
    {
        match condition.into() {
            Val(Repr::Const(true)) => self.load(),
            Val(Repr::Const(false)) => otherwise.into(),
            condition => {
                let k = self.kernel();
                let value = k.copy_of(otherwise);
                let address = self.operand();
                let mnemonic = format_args!("ld{}.{}", S::PTX, T::MEM);
                k.located(Location::caller(), || {
                    k.when(condition, || k.emit(mnemonic, &[value.operand(k), address]));
                });
                value
            }
        }
    }

    /// Loads `N` neighbouring elements, 2 or 4, with one instruction where `condition` holds; `otherwise` for each
    /// elsewhere, and then nothing is read. The address must be known to be aligned to all of them.
    #[track_caller]
    pub fn load_vector_if<const N: usize>(
        self,
        condition: impl Into<Val<'k, bool>>,
        otherwise: T::Reg,
    ) -> [Val<'k, T::Reg>; N]
    where
        A: Readable,
    {
        match condition.into() {
            Val(Repr::Const(true)) => self.load_vector(),
            Val(Repr::Const(false)) => [otherwise.into(); N],
            condition => {
                self.check_aligned(N as u32 * T::SIZE);
                let k = self.kernel();
                let values: [Val<'k, T::Reg>; N] =
                    k.located(Location::caller(), || std::array::from_fn(|_| k.copy_of(otherwise)));
                let registers = values.map(|value| value.operand(k));
                let address = self.operand();
                let mnemonic = format_args!("ld{}.v{N}.{}", S::PTX, T::MEM);
                let operands = [Operand::Vector(&registers), address];
                k.located(Location::caller(), || k.when(condition, || k.emit(mnemonic, &operands)));
                values
            }
        }
    }
}
