//! Chains: two consecutive multiplications, additions or shifts by constants become a single instruction on the first register.
//!
//! An intermediate instruction is emitted before the builder knows that a later instruction bypasses it. Instructions with results that
//! remain unread are removed when the kernel is finished.

use super::{Body, RegId, condition::Condition};

/// An operation with a constant operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ptx) enum Step {
    /// A multiplication by a constant, modulo 2^width.
    Times(u64),
    /// An addition of a constant, modulo 2^width.
    Plus(u64),
    /// A logical right shift by a constant.
    Right(u32),
}

/// The register that another register was computed from by a step, and its version when the step was recorded.
#[derive(Clone, Copy, Debug)]
pub(in crate::ptx) struct Origin {
    base: RegId,
    version: u32,
    step: Step,
}

impl Body {
    /// Records that `reg` was computed from `base` by `step`.
    pub(in crate::ptx) fn set_origin(&mut self, reg: RegId, base: RegId, step: Step) {
        let facts = self.facts(base);
        if !facts.variable {
            let origin = Origin { base, version: facts.version, step };
            self.value_mut(reg).origin = Some(origin);
        }
    }

    /// Returns the register from which `reg` was computed, if that register still has the same value, and the step.
    pub(in crate::ptx) fn origin(&self, reg: RegId) -> Option<(RegId, Step)> {
        let Origin { base, version, step } = self.value(reg)?.origin?;
        (self.facts(base).version == version && self.is_current(base)).then_some((base, step))
    }

    /// Records that an instruction bypassed `reg`: the line that defines it is removed if nothing else reads it.
    pub(in crate::ptx) fn bypass(&mut self, reg: RegId) {
        self.bypassed.push(reg);
    }

    /// Returns the registers read by the line that defines a bypassed register.
    fn operands_of(&self, reg: RegId) -> Vec<RegId> {
        let Some(value) = self.value(reg) else { return Vec::new() };
        let condition = value.condition.map(|number| self.conditions[number as usize]);
        let mut operands = Vec::from_iter(value.origin.map(|origin| origin.base));
        match condition {
            Some(Condition::Not(p)) => operands.push(p),
            Some(Condition::Compare(compared)) => {
                compared.operands.iter().for_each(|o| o.for_each_register(&mut |reg| operands.push(reg)));
            }
            Some(Condition::And(..) | Condition::Or(..)) | None => {}
        }
        operands
    }

    /// Removes the lines that define bypassed registers that nothing reads; a register that is read only by removed lines counts as unread.
    pub(in crate::ptx) fn leave_out_bypassed(&mut self) {
        let mut bypassed = std::mem::take(&mut self.bypassed);
        bypassed.sort_unstable_by_key(|&reg| std::cmp::Reverse(self.facts(reg).line));
        bypassed.dedup();
        let mut left_out = Vec::new();
        for reg in bypassed {
            let facts = self.facts(reg);
            // The number of a released register may belong to the result of another instruction.
            let is_unread = facts.uses == 0 && facts.writes == reg.writes;
            let Some(line) = facts.line.filter(|_| is_unread) else { continue };
            left_out.push(line as usize);
            for operand in self.operands_of(reg) {
                self.facts_mut(operand).uses -= 1;
            }
        }
        if left_out.is_empty() {
            return;
        }
        self.entry.instructions -= left_out.len() as u32;
        let mut asserted = std::mem::take(&mut self.entry.asserted);
        let line_of = |reg: RegId| self.facts(reg).line.map(|line| line as usize);
        asserted.retain_mut(|assumption| {
            let before = assumption.line;
            assumption.line -= left_out.iter().filter(|&&line| line < before).count();
            line_of(assumption.reg).is_none_or(|line| !left_out.contains(&line))
        });
        self.entry.asserted = asserted;
        let marks = &mut self.entry.marks;
        let text_of = |&line: &usize| if line == 0 { 0 } else { marks[line - 1].end }..marks[line].end;
        let parts: Vec<_> = left_out.iter().rev().map(text_of).collect();
        self.text.remove(&parts);
        let (mut parts, mut removed) = (parts.into_iter().peekable(), 0);
        marks.retain_mut(|mark| match parts.next_if(|part| part.end == mark.end) {
            Some(part) => {
                removed += part.len();
                false
            }
            None => {
                mark.end -= removed;
                true
            }
        });
    }
}
