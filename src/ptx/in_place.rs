//! Values computed in place: the instruction that computes a register's next value writes the register itself.
//!
//! An instruction is emitted before the builder knows the destination of its result. If the result replaces the value of a register that
//! its owner writes in place, and no line follows the instruction, the result operand is renamed.

use std::ops::Range;

use super::{
    body::{Body, RegId},
    facts::Recorded,
    kernel::Builder,
    types::Scalar,
    val::Val,
};

/// The latest instruction with a single result.
#[derive(Clone, Debug)]
pub(super) struct Latest {
    pub(super) reg: RegId,
    /// The position of the result operand in the text.
    pub(super) operand: Range<usize>,
    /// The length of the text after the instruction.
    pub(super) end: usize,
    /// The recorded expression that later instructions would look up to find the result.
    pub(super) expression: Option<Recorded>,
}

impl Body {
    /// Renames the result of the latest instruction from `reg` to `to`, and returns whether this was possible. This requires that `reg` be
    /// a fresh register of the same class that no instruction has read.
    fn redirect(&mut self, reg: RegId, to: RegId) -> bool {
        let Some(latest) = self.latest.take_if(|latest| latest.end == self.text.len()) else {
            return false;
        };
        let is_newest = reg.index + 1 == self.registers_of(reg.class);
        // An assumption that the simulator checks refers to the register by its name.
        let is_asserted = self.entry.asserted.last().is_some_and(|asserted| asserted.reg == reg);
        if latest.reg != reg || reg.class != to.class || !is_newest || self.is_guarded() || is_asserted {
            return false;
        }
        latest.expression.inspect(|&expression| self.forget(expression));
        self.text.replace(latest.operand, to);
        let end = self.text.len();
        let at = self.entry.marks.last_mut().and_then(|line| {
            line.end = end;
            line.at
        });
        self.retire(reg);
        self.overwrite(to);
        if let Some(at) = at {
            self.uniform.write_unknown(to, at);
        }
        true
    }
}

impl<'k> Builder<'k> {
    /// Computes the next value of a register that its owner writes in place, and returns the register that contains the value: the same
    /// one, or a fresh one in a loop that does not carry the register, where every iteration starts from the old value.
    #[track_caller]
    pub(crate) fn replace<T: Scalar>(self, register: RegId, compute: impl FnOnce() -> Val<'k, T>) -> RegId {
        if !self.body().is_carried(register) {
            return self.owned(compute);
        }
        let before = self.body().registers_of(T::CLASS);
        let value = compute();
        if value.reg().is_some_and(|(reg, _)| (reg.class, reg.index) == (register.class, register.index)) {
            // The value is unchanged. A handle from before an earlier write is rejected; the owner's handle remains valid after later
            // writes.
            value.in_register(self);
            return register;
        }
        let computed = value.reg().map(|(reg, _)| reg).filter(|reg| reg.index >= before);
        let redirected = computed.is_some_and(|reg| self.body().redirect(reg, register));
        if !redirected {
            self.move_into(register, value);
        }
        register
    }
}
