//! Conditions: the comparisons that predicates represent, and the facts that hold in the blocks they guard.

use super::{Body, Known, RegId};
use crate::ptx::{inst::Comparison, operand::Operand};

/// The condition that a predicate register represents.
#[derive(Clone, Copy, Debug)]
pub(in crate::ptx) enum Condition {
    /// A comparison.
    Compare(Compared),
    /// Both predicates hold.
    And(RegId, RegId),
    /// At least one of the predicates holds.
    Or(RegId, RegId),
    /// The predicate does not hold.
    Not(RegId),
}

/// A comparison of two operands of type `ptx`, with the versions of the operands that are registers.
#[derive(Clone, Copy, Debug)]
pub(in crate::ptx) struct Compared {
    pub(in crate::ptx) comparison: Comparison,
    pub(in crate::ptx) ptx: &'static str,
    pub(in crate::ptx) operands: [Operand<'static>; 2],
    versions: [u32; 2],
}

impl Body {
    /// Records the condition that a predicate represents.
    pub(in crate::ptx) fn set_condition(&mut self, predicate: RegId, condition: Condition) {
        let number = self.conditions.len() as u32;
        self.conditions.push(condition);
        self.value_mut(predicate).condition = Some(number);
    }

    /// Records that a predicate is the result of a comparison.
    pub(in crate::ptx) fn set_compared(
        &mut self,
        predicate: RegId,
        comparison: Comparison,
        ptx: &'static str,
        operands: [Operand<'static>; 2],
    ) {
        let versions = operands.map(|operand| self.version(operand));
        self.set_condition(predicate, Condition::Compare(Compared { comparison, ptx, operands, versions }));
    }

    fn version(&self, operand: Operand<'_>) -> u32 {
        if let Operand::Reg(reg) = operand { self.facts(reg).version } else { 0 }
    }

    /// Returns the condition that a predicate represents, if its operands still have the values that were compared.
    pub(in crate::ptx) fn condition(&self, predicate: RegId) -> Option<Condition> {
        let condition = self.conditions[self.value(predicate)?.condition? as usize];
        match condition {
            Condition::Compare(compared) => {
                let unchanged = |(operand, version): (Operand<'static>, u32)| match operand {
                    Operand::Reg(reg) => self.is_unchanged((reg, version)),
                    _ => true,
                };
                compared.operands.into_iter().zip(compared.versions).all(unchanged).then_some(condition)
            }
            _ => Some(condition),
        }
    }

    /// Records that, in the innermost open block, a predicate holds if `holds` is true, and does not hold otherwise.
    pub(in crate::ptx) fn assume_condition(&mut self, predicate: RegId, holds: bool) {
        match self.condition(predicate) {
            Some(Condition::And(a, b)) if holds => {
                self.assume_condition(a, true);
                self.assume_condition(b, true);
            }
            Some(Condition::Or(a, b)) if !holds => {
                self.assume_condition(a, false);
                self.assume_condition(b, false);
            }
            Some(Condition::Not(p)) => self.assume_condition(p, !holds),
            Some(Condition::Compare(compared)) => self.assume_compared(compared, holds),
            _ => {}
        }
    }

    fn assume_compared(&mut self, compared: Compared, holds: bool) {
        let Compared { comparison, ptx, operands: [a, b], .. } = compared;
        let comparison = if holds { comparison } else { comparison.opposite() }.ordered();
        let signed = match ptx.as_bytes()[0] {
            b'u' => false,
            b's' => true,
            _ => return,
        };
        match comparison {
            Comparison::Lt => self.assume_less(a, b, true, signed),
            Comparison::Le => self.assume_less(a, b, false, signed),
            Comparison::Gt => self.assume_less(b, a, true, signed),
            Comparison::Ge => self.assume_less(b, a, false, signed),
            Comparison::Eq => {
                self.assume_equal(a, b);
                self.assume_equal(b, a);
            }
            _ => {}
        }
    }

    fn assume_equal(&mut self, a: Operand<'_>, b: Operand<'_>) {
        if let Operand::Reg(reg) = a {
            let known = self.known_of(b, self.known(reg).width());
            self.assume(reg, known);
        }
    }

    /// Assumes `a < b` if `strictly` is true, and `a <= b` otherwise. For signed numbers, nothing is recorded unless `a`, and therefore
    /// `b`, is known not to be negative.
    fn assume_less(&mut self, a: Operand<'_>, b: Operand<'_>, strictly: bool, signed: bool) {
        let width = [a, b]
            .into_iter()
            .find_map(|x| if let Operand::Reg(reg) = x { Some(self.known(reg).width()) } else { None });
        let Some(width) = width else { return };
        if signed {
            if !self.known_of(a, width).is_nonnegative() {
                return;
            }
            if let Operand::Reg(reg) = b {
                self.assume(reg, Known::at_most(u64::MAX >> (65 - width), width));
            }
        }
        if strictly {
            self.assume_below(a, b);
        } else if let Operand::Reg(reg) = a {
            let most = self.known_of(b, width).most();
            self.assume(reg, Known::at_most(most, width));
        }
    }
}
