//! Facts about registers: where each register is defined, how often it has been written, its possible values, and the instruction that
//! defined it.
//!
//! | file        | facts                                                                          |
//! | ---         | ---                                                                            |
//! | `integer`   | bits, divisors and an upper bound of a value, derived through instructions     |
//! | `order`     | which values are less than which: grid rule, loop counters, branches           |
//! | `condition` | the comparison that a predicate represents                                     |
//! | `numbering` | the instruction that computed a value, so that it is not emitted again         |
//! | `chain`     | constant steps from another register, which are combined into one instruction  |
//!
//! This module associates these facts with registers. An instruction that writes a register invalidates the facts about its value.

mod chain;
mod condition;
pub(crate) mod divisor;
mod integer;
mod numbering;
mod order;

use std::panic::Location;

use super::{
    body::{Body, RegId},
    dim::Dim,
    error::BuildErrorKind,
    operand::Operand,
    types::RegClass,
};
use chain::Origin;
pub(super) use chain::Step;
pub(super) use condition::{Compared, Condition};
pub(crate) use integer::Known;
pub(super) use numbering::{Numbered, Numbering, Recorded, is_commutative, is_pure};
pub(crate) use order::Inside;
pub(super) use order::Order;
use order::TermId;

/// The facts about a register.
#[derive(Clone, Copy, Debug)]
pub(super) struct RegFacts {
    /// The block that contains its definition.
    block: u32,
    /// The number of times handles to it have been invalidated; see [`Body::overwrite`].
    writes: u32,
    /// The number of instructions that have written it. The register and this version together identify an operand of an expression.
    version: u32,
    /// Whether several values share it, so that it must no longer be overwritten in place.
    shared: bool,
    /// Whether it may be written anywhere in the kernel, like the registers of a fragment. Expressions that read such a register are not
    /// recorded.
    variable: bool,
    /// Whether expressions that read it are left unrecorded even though it is not overwritten.
    recomputed: bool,
    /// The line that defines it, if it is the single result of an instruction, and the number of its uses as an operand.
    line: Option<u32>,
    uses: u32,
    /// The emitted loop that it belongs to: the innermost loop at its definition, or the loop that carries it; 0 if none.
    in_loop: u32,
    /// The index in `Body::values` of the facts about its value, if any.
    value: Option<u32>,
}

/// The facts about the value of a register, which are discarded when an instruction writes the register.
#[derive(Clone, Copy, Debug)]
pub(super) struct ValueFacts {
    /// The known facts about an integer.
    known: Known,
    /// Whether some of the known facts are assumed only in an open block, so that conclusions drawn from them must not be used outside the
    /// block. If not, `Body::assumed` does not contain the register.
    local: bool,
    /// The term that it equals, if another register may equal the same term.
    term: Option<TermId>,
    /// The register that it was computed from by a constant step, and that step.
    origin: Option<Origin>,
    /// The condition that it represents, as a predicate.
    condition: Option<u32>,
    /// The index in `Body::dims` of the expression that gives its value at launch.
    dim: Option<u32>,
    /// The kernel parameter whose buffer starts at this address.
    buffer: Option<u16>,
    /// The special register that it was read from.
    special: Option<&'static str>,
}

impl ValueFacts {
    /// Returns an empty set of facts about a value of `width` bits.
    fn nothing(width: u32) -> Self {
        Self {
            known: Known::nothing(width),
            local: false,
            term: None,
            origin: None,
            condition: None,
            dim: None,
            buffer: None,
            special: None,
        }
    }
}

impl Body {
    /// Returns a fresh register, defined in the innermost open block.
    pub(crate) fn fresh(&mut self, class: RegClass) -> RegId {
        let block = *self.open_blocks.last().unwrap_or(&0);
        let in_loop = self.innermost_loop();
        let regs = &mut self.registers[class.index()];
        if regs.is_empty() {
            regs.reserve(COMMON_REGISTERS);
        }
        let index = regs.len() - self.retired[class.index()] as usize;
        let facts = |writes, version| RegFacts {
            block,
            writes,
            version,
            shared: false,
            variable: false,
            recomputed: false,
            line: None,
            uses: 0,
            in_loop,
            value: None,
        };
        let writes = match regs.get_mut(index) {
            Some(retired) => {
                *retired = facts(retired.writes, retired.version + 1);
                self.retired[class.index()] -= 1;
                retired.writes
            }
            None => {
                regs.push(facts(0, 0));
                0
            }
        };
        self.uniform.fresh(class, index);
        RegId { class, index: index as u32, writes }
    }

    /// Releases `newest`, the newest register of its class, because the instruction that defined it now writes another register. The next
    /// fresh register reuses its number, and handles to the released register are rejected.
    pub(super) fn retire(&mut self, newest: RegId) {
        self.facts_mut(newest).writes += 1;
        self.retired[newest.class.index()] += 1;
    }

    /// Returns a fresh register, defined outside the innermost open block, which is a branch.
    pub(crate) fn fresh_outside(&mut self, class: RegClass) -> RegId {
        let reg = self.fresh(class);
        let outer = self.open_blocks.len().saturating_sub(2);
        self.facts_mut(reg).block = self.open_blocks[outer];
        self.uniform.define_outside(reg);
        reg
    }

    fn facts(&self, reg: RegId) -> &RegFacts {
        &self.registers[reg.class.index()][reg.index as usize]
    }

    fn facts_mut(&mut self, reg: RegId) -> &mut RegFacts {
        &mut self.registers[reg.class.index()][reg.index as usize]
    }

    /// Returns the facts about the register's value, if any.
    fn value(&self, reg: RegId) -> Option<&ValueFacts> {
        self.facts(reg).value.map(|index| &self.values[index as usize])
    }

    /// Returns the facts about the register's value for modification, creating an empty set if necessary.
    fn value_mut(&mut self, reg: RegId) -> &mut ValueFacts {
        let next = self.values.len() as u32;
        let index = *self.facts_mut(reg).value.get_or_insert(next);
        if index == next {
            self.values.push(ValueFacts::nothing(width(reg.class)));
        }
        &mut self.values[index as usize]
    }

    // ── Writes ───────────────────────────────────────────────────────────────────────────────────────────────────

    /// Marks the register as overwritten, which invalidates older handles to it, and returns a new handle.
    pub(crate) fn overwrite(&mut self, reg: RegId) -> RegId {
        self.written(reg);
        let facts = self.facts_mut(reg);
        facts.writes += 1;
        RegId { writes: facts.writes, ..reg }
    }

    /// Discards the facts about the register's value, because an instruction writes it.
    pub(super) fn written(&mut self, reg: RegId) {
        // When the block is closed, the facts that preceded an assumption about the old value must not be restored for the new one.
        if self.is_local(reg) {
            self.assumed.retain(|(_, other, _)| (other.class, other.index) != (reg.class, reg.index));
        }
        let facts = self.facts_mut(reg);
        facts.version += 1;
        facts.value = None;
    }

    /// Records the next line as the definition of a register.
    pub(super) fn set_line(&mut self, reg: RegId) {
        self.facts_mut(reg).line = Some(self.entry.marks.len() as u32);
    }

    /// Counts a use of the register as an operand, and checks that its definition dominates the current position and that the handle is
    /// current.
    #[inline]
    pub(super) fn use_register(&mut self, reg: RegId, at: &'static Location<'static>) {
        let facts = self.facts_mut(reg);
        facts.uses += 1;
        let facts = *facts;
        if !self.is_current_in(&facts, reg) {
            self.reject_use(reg, at);
        }
    }

    /// Records that the register's owner may write it anywhere in the kernel, regardless of enclosing loops, so that no expression that
    /// reads it is computed once and reused. Existing handles become invalid: in a loop, a write that appears later in the code may execute
    /// earlier.
    pub(crate) fn set_variable(&mut self, reg: RegId) {
        let facts = self.facts(reg);
        // Tiles that are divided and joined pass on registers for which this has been recorded.
        if !(facts.variable && facts.value.is_none()) {
            self.overwrite(reg);
            self.facts_mut(reg).variable = true;
            self.uniform.set_changes(reg);
        }
    }

    /// Records that expressions that read the register are computed again for each use, so that their results do not occupy registers
    /// between uses.
    pub(crate) fn set_recomputed(&mut self, reg: RegId) {
        self.facts_mut(reg).recomputed = true;
    }

    /// Returns whether several values share the register. If so, a value must be moved to another register before it is overwritten.
    pub(crate) fn is_shared(&self, reg: RegId) -> bool {
        self.facts(reg).shared
    }

    // ── Definitions ──────────────────────────────────────────────────────────────────────────────────────────────

    /// Returns whether the register's definition dominates the current position and the handle is current.
    #[inline]
    pub(crate) fn is_current(&self, reg: RegId) -> bool {
        self.is_current_in(self.facts(reg), reg)
    }

    #[inline]
    fn is_current_in(&self, facts: &RegFacts, reg: RegId) -> bool {
        (facts.writes == reg.writes || reg.writes == RegId::IN_PLACE) && self.is_open(facts.block)
    }

    /// Returns whether a register can be used and still contains the value that it had at the given version.
    fn is_unchanged(&self, (reg, version): (RegId, u32)) -> bool {
        let facts = self.facts(reg);
        facts.version == version && !facts.variable && !facts.recomputed && self.is_current(reg)
    }

    /// Returns whether the current position is in a block; block 0, the kernel's body, contains every position.
    #[inline]
    fn is_open(&self, block: u32) -> bool {
        block == 0 || self.open_blocks.last() == Some(&block) || self.open_blocks.contains(&block)
    }

    /// Checks that the register's definition dominates the current position and that the handle is current.
    #[inline]
    pub(super) fn check_use(&mut self, reg: RegId, at: &'static Location<'static>) {
        if !self.is_current(reg) {
            self.reject_use(reg, at);
        }
    }

    #[cold]
    fn reject_use(&mut self, reg: RegId, at: &'static Location<'static>) {
        let (register, writes) = (reg.to_string(), self.facts(reg).writes);
        let is_overwritten = writes != reg.writes && reg.writes != RegId::IN_PLACE;
        let kind = if is_overwritten {
            BuildErrorKind::Overwritten { register }
        } else {
            BuildErrorKind::NotDominated { register }
        };
        self.fail(kind, at);
    }

    /// Records that the innermost open loop carries the register, and may therefore overwrite it.
    pub(crate) fn carry(&mut self, reg: RegId) {
        self.facts_mut(reg).in_loop = self.innermost_loop();
    }

    /// Returns the loop whose next iteration overwrites the register, if any: the innermost loop at its definition, or the loop that
    /// carries it.
    pub(crate) fn loop_of(&self, reg: RegId) -> Option<u32> {
        Some(self.facts(reg).in_loop).filter(|&in_loop| in_loop != 0)
    }

    /// Returns whether the register belongs to the innermost open loop. Accumulating into any other register would add up the results of
    /// all iterations.
    pub(crate) fn is_carried(&self, reg: RegId) -> bool {
        self.innermost_loop() == self.facts(reg).in_loop
    }

    // ── Origins ──────────────────────────────────────────────────────────────────────────────────────────────────

    /// Returns the number of registers of a class that are in use.
    pub(crate) fn registers_of(&self, class: RegClass) -> u32 {
        self.registers[class.index()].len() as u32 - self.retired[class.index()]
    }

    /// Returns the current handle to the register.
    pub(crate) fn current(&self, reg: RegId) -> RegId {
        RegId { writes: self.facts(reg).writes, ..reg }
    }

    /// Records the expression that gives the register's value at launch.
    pub(crate) fn set_dim(&mut self, reg: RegId, dim: Dim) {
        let index = self.dims.len() as u32;
        self.value_mut(reg).dim = Some(index);
        self.dims.push(dim);
    }

    /// Returns the expression, if any, that gives the register's value at launch.
    pub(crate) fn dim(&self, reg: RegId) -> Option<Dim> {
        self.value(reg)?.dim.map(|index| self.dims[index as usize].clone())
    }

    /// Returns the index of the parameter that the register was loaded from, if any.
    pub(crate) fn parameter(&self, reg: RegId) -> Option<usize> {
        match self.dims[self.value(reg)?.dim? as usize] {
            Dim::Param(parameter) => Some(parameter),
            _ => None,
        }
    }

    /// Returns the register that an integer parameter was loaded into at the start of the kernel, if it has not been overwritten.
    pub(crate) fn parameter_register(&self, parameter: usize) -> Option<RegId> {
        [RegClass::B32, RegClass::B64].into_iter().find_map(|class| {
            let registers = (0..self.registers_of(class)).map(|index| RegId { class, index, writes: 0 });
            registers.into_iter().find(|&reg| {
                let facts = self.facts(reg);
                self.parameter(reg) == Some(parameter) && (facts.block, facts.writes) == (0, 0)
            })
        })
    }

    /// Records that the register contains the start address of the buffer of parameter `parameter`.
    pub(crate) fn set_buffer(&mut self, reg: RegId, parameter: usize) {
        self.value_mut(reg).buffer = u16::try_from(parameter).ok();
    }

    /// Returns the index of the parameter whose buffer starts at the address in the register, if any.
    pub(crate) fn buffer(&self, reg: RegId) -> Option<usize> {
        self.value(reg)?.buffer.map(usize::from)
    }

    /// Records the special register that `reg` was read from.
    pub(crate) fn set_special(&mut self, reg: RegId, name: &'static str) {
        self.value_mut(reg).special = Some(name);
    }

    /// Returns the special register that `reg` was read from, if any.
    pub(crate) fn special(&self, reg: RegId) -> Option<&'static str> {
        self.value(reg)?.special
    }

    // ── Values ───────────────────────────────────────────────────────────────────────────────────────────────────

    /// Returns whether the recorded facts about the register apply to the value of this handle: the register has not been overwritten
    /// since, and it is not variable.
    pub(super) fn has_facts(&self, reg: RegId) -> bool {
        let facts = self.facts(reg);
        !facts.variable && (facts.writes == reg.writes || reg.writes == RegId::IN_PLACE)
    }

    /// Returns the known facts about the value of this handle, or an empty set if the value has been overwritten.
    pub(crate) fn known(&self, reg: RegId) -> Known {
        let value = self.value(reg).filter(|_| self.has_facts(reg));
        value.map_or_else(|| Known::nothing(width(reg.class)), |value| value.known)
    }

    /// Returns the facts about an operand's value. A constant is treated as a value of `width` bits.
    fn known_of(&self, operand: Operand<'_>, width: u32) -> Known {
        match operand {
            Operand::Reg(reg) => self.known(reg),
            Operand::Imm(constant) => Known::constant(constant.bits(), width),
            _ => Known::nothing(width),
        }
    }

    /// Returns whether some facts about the register's value are assumed in an open block.
    pub(crate) fn is_local(&self, reg: RegId) -> bool {
        self.value(reg).is_some_and(|value| value.local)
    }

    /// Returns whether the register outlives the facts about `source`, because it is defined outside the block that assumes them.
    pub(crate) fn outlives_facts(&self, reg: RegId, source: RegId) -> bool {
        let is_source = |other: RegId| (other.class, other.index) == (source.class, source.index);
        let assumed = self.assumed.iter().rev().find(|(_, other, _)| is_source(*other));
        let assumed = assumed.map_or(self.facts(source).block, |(block, ..)| *block);
        let depth = |block| self.open_blocks.iter().position(|&open| open == block);
        self.is_local(source) && depth(self.facts(reg).block) < depth(assumed)
    }

    /// Returns whether some facts about an operand are assumed in an open block.
    pub(super) fn any_local(&self, operands: &[Operand<'_>]) -> bool {
        let mut local = false;
        operands.iter().for_each(|operand| operand.for_each_register(&mut |reg| local |= self.is_local(reg)));
        local
    }

    /// Records facts about the register's value that are assumed until the innermost open block is closed. Assumptions in a branch hold
    /// only in that branch.
    pub(crate) fn assume(&mut self, reg: RegId, known: Known) {
        self.learn(reg, known, true);
    }

    /// Records derived facts about the register's value. If `local` is true, they depend on assumptions in the open block and hold until it
    /// is closed; otherwise, they hold wherever the register is defined.
    pub(crate) fn learn(&mut self, reg: RegId, known: Known, local: bool) {
        if !local {
            self.set_known(reg, known);
            return;
        }
        let block = *self.open_blocks.last().unwrap_or(&0);
        let RegFacts { block: defined_in, variable, .. } = *self.facts(reg);
        let value = self.value_mut(reg);
        let (before, after) = ((value.known, value.local), value.known.and_also(known));
        if after == before.0 || variable {
            return;
        }
        (value.known, value.local) = (after, true);
        if defined_in != block {
            self.assumed.push((block, reg, before));
        }
    }

    /// Records facts about the register's value that hold wherever it is defined.
    pub(crate) fn set_known(&mut self, reg: RegId, known: Known) {
        if known == Known::nothing(width(reg.class)) {
            return;
        }
        let value = self.value_mut(reg);
        if value.known != known {
            value.known = value.known.and_also(known);
        }
        if !value.local {
            return;
        }
        let same = |other: &RegId| other.class == reg.class && other.index == reg.index;
        for (_, _, (before, _)) in self.assumed.iter_mut().filter(|(_, other, _)| same(other)) {
            *before = before.and_also(known);
        }
    }

    /// Records a known divisor of the register's value.
    pub(crate) fn set_divisor(&mut self, reg: RegId, divisor: u64) {
        self.set_known(reg, Known::multiple_of(divisor, width(reg.class)));
    }

    /// Discards the assumptions of a block.
    pub(super) fn close_assumptions(&mut self, block: u32) {
        while let Some((_, reg, before)) = self.assumed.pop_if(|(assumed_in, ..)| *assumed_in == block) {
            let value = self.value_mut(reg);
            (value.known, value.local) = before;
        }
        self.order.close(block);
    }
}

/// The number of registers per class that suffices for most kernels. Reserving capacity for them avoids copies of their facts.
pub(super) const COMMON_REGISTERS: usize = 1024;

/// Returns the width of a register in bits. Facts are recorded only about integers.
pub(crate) const fn width(class: RegClass) -> u32 {
    match class {
        RegClass::Pred => 1,
        RegClass::B16 | RegClass::Half => 16,
        RegClass::B32 | RegClass::F32 => 32,
        RegClass::B64 | RegClass::F64 | RegClass::B128 => 64,
    }
}
