//! The uniformity of every register of a kernel under construction.

use std::panic::Location;

use super::{
    Rule, Uniformity,
    carried::{Assumption, Set, Sets},
    condition::{Condition, ConditionKind, Divergence, OpenLoop, Reliance},
    rule::{self, Operation, ResultRule, Together},
    thread_index::{LANES, ThreadIndex},
};
use crate::ptx::{
    body::RegId,
    facts::COMMON_REGISTERS,
    operand::{AddressBase, Operand},
    types::RegClass,
};

/// The known uniformity of a register.
#[derive(Clone, Copy, Debug)]
struct Fact {
    level: Uniformity,
    /// The assumptions that the level depends on.
    set: Set,
    index: Option<ThreadIndex>,
    /// The number of conditions that enclose its definition.
    conditions: u32,
    /// The number of loops that enclose its definition.
    loops: u32,
    /// Whether loops and branches may write the register.
    changes: bool,
    /// The newest loop with an assumption about the register.
    assumed_in: u32,
    /// The line that last wrote the register, and the innermost loop that contains this line.
    written_at: Option<&'static Location<'static>>,
    written_in: u32,
}

/// The combined uniformity of an instruction's operands.
#[derive(Clone, Copy, Debug)]
struct Known {
    level: Uniformity,
    set: Set,
    index: Option<ThreadIndex>,
}

impl Known {
    const VARIES: Self = Self { level: Uniformity::NONE, set: Set::EMPTY, index: None };

    fn at(level: Uniformity) -> Self {
        Self { level, ..Self::VARIES }
    }
}

/// The uniformity of registers, and the conditions under which the current position is reached.
#[derive(Debug, Default)]
pub(crate) struct Tracker {
    facts: Facts,
    /// The shape of the block, if declared, and its number of threads.
    block: Option<[u32; 3]>,
    threads: Option<u64>,
    pub(super) conditions: Vec<Condition>,
    pub(super) loops: Vec<OpenLoop>,
    pub(super) loop_count: u32,
    /// Conditions under which threads have exited.
    pub(super) ended: Vec<Condition>,
    pub(super) sets: Sets,
    assumptions: Vec<Assumption>,
    pub(super) reliances: Vec<Reliance>,
    /// The uniformity of registers before it was raised by assumptions in open branches and loops, and the depth of each assumption.
    raised: Vec<(usize, RegId, Uniformity, Set)>,
}

/// The uniformity of the registers of each class.
#[derive(Debug, Default)]
pub(crate) struct Facts([Vec<Fact>; RegClass::ALL.len()]);

impl Facts {
    pub(crate) fn clear(&mut self) {
        self.0.iter_mut().for_each(Vec::clear);
    }
}

impl Tracker {
    /// Returns the tracker of a new kernel; `facts` must be empty.
    pub(crate) fn new(facts: Facts) -> Self {
        Self { facts, ..Self::default() }
    }

    /// Returns the facts, so that another kernel can reuse their memory.
    pub(crate) fn into_facts(self) -> Facts {
        self.facts
    }

    pub(crate) fn declare_block(&mut self, shape: [u32; 3]) {
        self.block = Some(shape);
        self.threads = Some(shape.iter().map(|&n| u64::from(n)).product());
    }

    /// Returns the level in normal form: a run that contains all threads of the block becomes `Block`.
    pub(super) fn normal(&self, level: Uniformity) -> Uniformity {
        match level {
            Uniformity::Threads(n) if self.threads.is_some_and(|all| u64::from(n) >= all) => {
                Uniformity::Block
            }
            level => level,
        }
    }

    /// Adds a fresh register of a class, at the end or in place of a retired one.
    pub(crate) fn fresh(&mut self, class: RegClass, index: usize) {
        let facts = &mut self.facts.0[class.index()];
        if facts.is_empty() {
            facts.reserve(COMMON_REGISTERS);
        }
        let fact = Fact {
            level: Uniformity::Grid,
            set: Set::EMPTY,
            index: None,
            conditions: self.conditions.len() as u32,
            loops: self.loops.len() as u32,
            changes: false,
            assumed_in: 0,
            written_at: None,
            written_in: 0,
        };
        match facts.get_mut(index) {
            Some(retired) => *retired = fact,
            None => facts.push(fact),
        }
    }

    /// Records that a fresh register is defined outside the innermost condition.
    pub(crate) fn define_outside(&mut self, reg: RegId) {
        let outer = self.conditions.len().saturating_sub(1) as u32;
        self.fact_mut(reg).conditions = outer;
    }

    /// Records that loops and branches may write a register from now on.
    pub(crate) fn set_changes(&mut self, reg: RegId) {
        self.fact_mut(reg).changes = true;
    }

    /// Returns the uniformity of a register at the current position.
    pub(crate) fn level(&mut self, reg: RegId) -> Uniformity {
        self.read(reg).level
    }

    fn fact(&self, reg: RegId) -> &Fact {
        &self.facts.0[reg.class.index()][reg.index as usize]
    }

    fn fact_mut(&mut self, reg: RegId) -> &mut Fact {
        &mut self.facts.0[reg.class.index()][reg.index as usize]
    }

    // ── Conditions on registers ──────────────────────────────────────────────────────────────────────────────────

    /// Opens a condition on a register.
    pub(crate) fn open_condition(
        &mut self,
        kind: ConditionKind,
        condition: RegId,
        at: &'static Location<'static>,
    ) {
        let Known { level, set, .. } = self.read(condition);
        self.push(kind, (level, set), at);
    }

    /// Opens a loop with an iteration count that depends on the registers `bounds`.
    pub(crate) fn open_steps(
        &mut self,
        bounds: impl IntoIterator<Item = RegId>,
        at: &'static Location<'static>,
    ) {
        let mut all = Known::at(Uniformity::Grid);
        for bound in bounds {
            let known = self.read(bound);
            all = self.meet(all, known);
        }
        self.push(ConditionKind::Steps, (all.level, all.set), at);
    }

    /// Returns the number of open conditions and loops.
    fn depth(&self) -> usize {
        self.conditions.len() + self.loops.len()
    }

    /// Raises the uniformity of a register by an assumption in the innermost branch or loop; returns whether it was lower.
    pub(crate) fn assume(&mut self, reg: RegId, level: Uniformity) -> bool {
        let known = self.read(reg);
        let raised = !known.level.covers(level);
        if raised {
            self.raised.push((self.depth(), reg, known.level, known.set));
            let fact = self.fact_mut(reg);
            (fact.level, fact.set) = (level, Set::EMPTY);
        }
        raised
    }

    /// Records that a register contains the quotient of `dividend` and a constant, computed by several instructions.
    pub(crate) fn set_quotient(&mut self, quotient: RegId, dividend: RegId, by: u64) {
        self.set_divided(quotient, dividend, |index| index.quotient(by));
    }

    /// Records that a register contains the remainder of `dividend` divided by a constant, computed by several instructions.
    pub(crate) fn set_remainder(&mut self, remainder: RegId, dividend: RegId, by: u64) {
        self.set_divided(remainder, dividend, |index| Some(index.remainder(by)));
    }

    fn set_divided(
        &mut self,
        result: RegId,
        dividend: RegId,
        divided: impl FnOnce(ThreadIndex) -> Option<(Uniformity, Option<ThreadIndex>)>,
    ) {
        let Known { level, set, index } = self.read(dividend);
        if let (Uniformity::NONE, Some((level, index))) = (level, index.and_then(divided)) {
            let level = self.normal(level);
            let fact = self.fact_mut(result);
            (fact.level, fact.set, fact.index) = (level, set, index);
        }
    }

    /// Discards the assumptions made in branches and loops that are now closed.
    pub(super) fn drop_assumed(&mut self) {
        let open = self.depth();
        while let Some((_, reg, level, set)) = self.raised.pop_if(|(depth, ..)| *depth > open) {
            let Fact { level: now, set: now_set, .. } = *self.fact(reg);
            let known =
                self.meet(Known { level, set, index: None }, Known { level: now, set: now_set, index: None });
            let fact = self.fact_mut(reg);
            (fact.level, fact.set) = (known.level, known.set);
        }
    }

    /// Returns the uniformity of values and of the enclosing conditions, which shows whether several groups of
    /// threads do the same work.
    pub(crate) fn shared_by(&mut self, values: impl IntoIterator<Item = RegId>) -> Uniformity {
        let mut level = Uniformity::Grid;
        for reg in values {
            level = level.meet(self.read(reg).level);
        }
        let left = self.loops.iter().flat_map(|l| &l.left);
        let conditions = self.conditions.iter().chain(left).chain(&self.ended);
        conditions.fold(level, |level, condition| level.meet(condition.level))
    }

    // ── Registers ────────────────────────────────────────────────────────────────────────────────────────────────

    #[inline(always)]
    fn meet(&mut self, a: Known, b: Known) -> Known {
        if a.level == Uniformity::NONE || b.level == Uniformity::NONE {
            return Known::VARIES;
        }
        let level = a.level.meet(b.level);
        let set = if level == Uniformity::NONE { Set::EMPTY } else { self.sets.union(a.set, b.set) };
        Known { level, set, index: None }
    }

    #[inline(always)]
    fn read(&mut self, reg: RegId) -> Known {
        self.assume_carried(reg);
        let fact = self.fact(reg);
        Known { level: fact.level, set: fact.set, index: fact.index }
    }

    /// Assumes that iterations of open loops preserve the uniformity of a register that outlives them.
    #[inline(always)]
    fn assume_carried(&mut self, reg: RegId) {
        let fact = self.fact(reg);
        let innermost = self.loops.last().map_or(0, |l| l.id);
        if fact.changes && fact.assumed_in < innermost {
            self.assume_in_loops(reg, innermost);
        }
    }

    /// Assumes that iterations of open loops preserve the uniformity of a register; `innermost` is the innermost of these loops.
    fn assume_in_loops(&mut self, reg: RegId, innermost: u32) {
        let fact = *self.fact(reg);
        let (mut set, register) = (fact.set, (reg.class.index(), reg.index as usize));
        for depth in fact.loops as usize..self.loops.len() {
            if self.loops[depth].id > fact.assumed_in {
                let number = self.assumptions.len() as u32;
                self.assumptions.push(Assumption { register, level: fact.level, under: set });
                self.loops[depth].assumptions.push(number);
                if fact.level != Uniformity::NONE {
                    set = self.sets.union(set, Set::one(number));
                }
            }
        }
        let fact = self.fact_mut(reg);
        (fact.set, fact.assumed_in) = (set, innermost);
    }

    /// Records that a register is written, under the conditions opened since its definition or the start of the innermost loop, whichever
    /// is later.
    #[inline]
    fn write(&mut self, reg: RegId, known: Known, at: &'static Location<'static>) {
        let innermost = self.loops.last().map_or(0, |l| l.id);
        let depth = self.conditions.len();
        let is_straight = innermost == 0 && depth == self.fact(reg).conditions as usize;
        // Conditions do not change what is known about a value that varies.
        let varies = known.level == Uniformity::NONE && known.index.is_none();
        let known = match (is_straight, varies) {
            (true, _) => known,
            (_, true) => {
                self.assume_carried(reg);
                known
            }
            _ => self.under_conditions(reg, known),
        };
        let level = self.normal(known.level);
        let integer = matches!(reg.class, RegClass::B16 | RegClass::B32 | RegClass::B64);
        let fact = self.fact_mut(reg);
        fact.level = level;
        fact.set = known.set;
        fact.index = known.index.filter(|_| integer && !fact.changes);
        fact.written_at = Some(at);
        fact.written_in = innermost;
    }

    /// Returns the uniformity of a register after a write under the conditions opened since its definition or the start of the innermost
    /// loop, whichever is later.
    fn under_conditions(&mut self, reg: RegId, mut known: Known) -> Known {
        self.assume_carried(reg);
        let &Fact { level, set, conditions, loops, changes, .. } = self.fact(reg);
        let outlives = (loops as usize) < self.loops.len();
        let mut first = conditions as usize;
        if outlives {
            first = first.max(self.loops.last().map_or(0, |l| l.conditions));
            if !changes {
                // The body may already have read the register without an assumption, so its uniformity becomes unknown.
                known = Known::VARIES;
            }
        }
        // Threads that have left an iteration of a loop keep the old value.
        if let Some((open, assumed)) = self.open_conditions(first, loops as usize) {
            known = self.meet(known, Known { level, set, index: None });
            known = self.meet(known, Known { level: open, set: assumed, index: None });
        }
        known
    }

    /// Records that unparsed text writes a register.
    pub(crate) fn write_unknown(&mut self, reg: RegId, at: &'static Location<'static>) {
        self.write(reg, Known::VARIES, at);
    }

    /// Records that a register is at least this uniform.
    pub(crate) fn set_level(&mut self, reg: RegId, level: Uniformity) {
        let level = self.normal(level);
        let fact = self.fact_mut(reg);
        if !fact.level.covers(level) {
            fact.level = level;
        }
    }

    /// Returns whether the five lowest bits of a register are known to be the lane index.
    pub(crate) fn is_lane(&self, reg: RegId) -> bool {
        self.fact(reg).index.is_some_and(|index| index.lane)
    }

    /// Records that a register contains the index of the thread in its block.
    pub(crate) fn set_thread_index(&mut self, reg: RegId) {
        self.fact_mut(reg).index = Some(ThreadIndex::WHOLE);
    }

    // ── Loops ────────────────────────────────────────────────────────────────────────────────────────────────────

    /// Closes the innermost loop, and checks the assumptions against the values written by its body.
    pub(crate) fn close_loop(&mut self) -> Option<Divergence> {
        let closed = self.loops.pop()?;
        let first_number = closed.assumptions.first().copied().unwrap_or(u32::MAX);
        let own = |number: u32| number >= first_number && closed.assumptions.contains(&number);
        // The uniformity of each register at the end of the body, apart from its dependence on the other registers.
        let facts: Vec<Fact> = closed
            .assumptions
            .iter()
            .map(|&a| self.facts_of(self.assumptions[a as usize].register))
            .collect();
        let mut levels: Vec<Uniformity> = closed
            .assumptions
            .iter()
            .zip(&facts)
            .map(|(&a, fact)| self.assumptions[a as usize].level.meet(fact.level))
            .collect();
        let position = |number: u32| closed.assumptions.iter().position(|&a| a == number);
        loop {
            let before = levels.clone();
            for (i, fact) in facts.iter().enumerate() {
                for on in self.sets.members(fact.set).filter_map(position) {
                    levels[i] = levels[i].meet(levels[on]);
                }
            }
            if levels == before {
                break;
            }
        }
        // Threads that leave the loop in different iterations leave with different values.
        let mut exit = Known::at(Uniformity::Grid);
        for condition in &closed.left {
            exit = self.meet(exit, Known { level: condition.level, set: condition.set, index: None });
        }
        let mut divergence = None;
        for (i, &number) in closed.assumptions.iter().enumerate() {
            let Assumption { register, level, under } = self.assumptions[number as usize];
            let (class, index) = register;
            if facts[i].written_in < closed.id {
                let fact = &mut self.facts.0[class][index];
                (fact.level, fact.set) = (level, under);
                continue;
            }
            let outer: Vec<u32> = self.sets.members(facts[i].set).filter(|&on| !own(on)).collect();
            let written = self.sets.of(outer);
            let under = self.sets.union(under, written);
            if levels[i] != level {
                let relied =
                    self.reliances.iter().filter(|r| self.sets.members(r.set).any(|on| on == number));
                let mut errors =
                    relied.filter_map(|r| r.violated(self.normal(levels[i]), facts[i].written_at));
                divergence = divergence.or(errors.next());
            }
            self.rely_under(number, under);
            let mut known = self.meet(Known { level: levels[i], set: under, index: None }, exit);
            let first = self.loops.last().map_or(0, |l| l.conditions).max(facts[i].conditions as usize);
            for j in first..self.conditions.len() {
                let Condition { level, set, .. } = self.conditions[j];
                known = self.meet(known, Known { level, set, index: None });
            }
            let fact = &mut self.facts.0[class][index];
            (fact.level, fact.set, fact.index) = (known.level, known.set, None);
        }
        self.drop_assumed();
        divergence
    }

    fn facts_of(&self, (class, index): (usize, usize)) -> Fact {
        self.facts.0[class][index]
    }

    /// Replaces reliance on an assumption of a closed loop with reliance on the assumptions under which it was checked.
    fn rely_under(&mut self, number: u32, under: Set) {
        for i in 0..self.reliances.len() {
            let set = self.reliances[i].set;
            if self.sets.members(set).any(|on| on == number) {
                self.reliances[i].set = self.sets.union(set, under);
            }
        }
    }

    // ── Instructions ─────────────────────────────────────────────────────────────────────────────────────────────

    /// Records the uniformity of an instruction's results, and checks that all required threads reach it.
    pub(crate) fn record(
        &mut self,
        rule: Rule,
        mnemonic: &str,
        results: Option<&Operand<'_>>,
        sources: &[Operand<'_>],
        at: &'static Location<'static>,
    ) -> Option<Divergence> {
        let together = match rule.together {
            Together::Any => None,
            Together::Warp => Some(Uniformity::WARP),
            Together::WarpGroup => Some(Uniformity::WARP_GROUP),
            Together::Cluster => Some(Uniformity::Cluster),
            Together::Mask => sources
                .last()
                .and_then(Operand::immediate_bits)
                .is_some_and(|mask| mask as u32 == u32::MAX)
                .then_some(Uniformity::WARP),
            Together::Barrier => Some(self.barrier_group(rule, sources)),
        };
        let divergence = together.and_then(|group| self.require(group, mnemonic, at));
        let Some(results) = results else { return divergence };
        let known = match rule.result {
            ResultRule::Absent => return divergence,
            ResultRule::Varies => Known::VARIES,
            ResultRule::Grid => Known::at(Uniformity::Grid),
            ResultRule::Barrier => Known::at(self.barrier_group(rule, sources)),
            ResultRule::Operands(operation) => self.compute(operation, sources),
            ResultRule::Elect => self.under_mask(sources),
            ResultRule::Warp { counts_lanes } => self.reduced(sources, counts_lanes),
            ResultRule::Shuffle { from_lane } => self.shuffled(sources, from_lane),
        };
        match (results, rule.result) {
            // Whether this is the elected lane, or whether the source is in range, differs between lanes.
            (Operand::Pair(value, flag), ResultRule::Elect | ResultRule::Shuffle { .. }) => {
                self.write(*value, known, at);
                self.write(*flag, Known::VARIES, at);
            }
            _ => results.for_each_register(&mut |reg| self.write(reg, known, at)),
        }
        divergence
    }

    /// Checks that the threads that must execute an instruction together reach it, for an instruction with unknown operands. For a barrier,
    /// only the threads of the warp are checked.
    pub(crate) fn require_raw(
        &mut self,
        rule: Rule,
        mnemonic: &str,
        at: &'static Location<'static>,
    ) -> Option<Divergence> {
        match rule.together {
            Together::Any | Together::Mask => None,
            Together::Warp | Together::Barrier => self.require(Uniformity::WARP, mnemonic, at),
            Together::WarpGroup => self.require(Uniformity::WARP_GROUP, mnemonic, at),
            Together::Cluster => self.require(Uniformity::Cluster, mnemonic, at),
        }
    }

    /// Returns the threads that must reach a barrier together: the block, or only the warp if the operands specify another number of
    /// threads.
    fn barrier_group(&self, rule: Rule, sources: &[Operand<'_>]) -> Uniformity {
        let numbers = match (rule.result, sources) {
            // The last operand is the predicate.
            (ResultRule::Barrier, [numbers @ .., _]) => numbers,
            _ => sources,
        };
        match numbers.get(1).map(Operand::immediate_bits) {
            None => Uniformity::Block,
            Some(count) if count.is_some() && count == self.threads => Uniformity::Block,
            Some(_) => Uniformity::WARP,
        }
    }

    /// Returns the uniformity of a value that all lanes of a mask, the last operand, compute together. `counts_lanes` states whether it
    /// depends on the number of lanes even if all have the same value.
    fn reduced(&mut self, sources: &[Operand<'_>], counts_lanes: bool) -> Known {
        let all = self.compute(Operation::Any, sources);
        if !all.level.covers(Uniformity::WARP) {
            return self.under_mask(sources);
        }
        if !counts_lanes {
            return all;
        }
        // A partial warp has fewer lanes than the others.
        let whole_warps = self.threads.is_some_and(|threads| threads.is_multiple_of(LANES));
        if whole_warps { all } else { Self::in_warp(all) }
    }

    /// Returns the uniformity of a result that depends on the lanes of a mask, the last operand.
    fn under_mask(&mut self, sources: &[Operand<'_>]) -> Known {
        let mask = sources.last().map_or(Known::VARIES, |mask| self.operand(mask));
        Self::in_warp(mask)
    }

    /// Returns the uniformity of a value from another lane; the operands are the value, the lane, the clamp and the mask.
    fn shuffled(&mut self, sources: &[Operand<'_>], from_lane: bool) -> Known {
        let [value, lane, clamp, _] = sources else { return Known::VARIES };
        let value = self.operand(value);
        if value.level.covers(Uniformity::WARP) {
            return Known { index: None, ..value };
        }
        let lane = self.operand(lane);
        if from_lane && clamp.immediate_bits() == Some(31) { Self::in_warp(lane) } else { Known::VARIES }
    }

    /// Returns warp uniformity if `selector` is uniform in the warp, and no uniformity otherwise.
    fn in_warp(selector: Known) -> Known {
        match selector.level.covers(Uniformity::WARP) {
            true => Known { level: Uniformity::WARP, set: selector.set, index: None },
            false => Known::VARIES,
        }
    }

    /// Returns the uniformity of an operand.
    #[inline(always)]
    fn operand(&mut self, operand: &Operand<'_>) -> Known {
        match operand {
            Operand::Reg(reg) | Operand::Address { base: AddressBase::Reg(reg), .. } => self.read(*reg),
            Operand::Imm(_) | Operand::Address { base: AddressBase::Name(_), .. } => {
                Known::at(Uniformity::Grid)
            }
            other => self.inner_operands(other),
        }
    }

    fn inner_operands(&mut self, operand: &Operand<'_>) -> Known {
        match operand {
            Operand::Name(name) => self.special(name),
            _ => {
                let mut all = Known::at(Uniformity::Grid);
                operand.for_each_register(&mut |reg| {
                    let known = self.read(reg);
                    all = self.meet(all, known);
                });
                all
            }
        }
    }

    /// Returns the uniformity of a special register or of the address of a variable.
    fn special(&self, name: &str) -> Known {
        let shape = self.block.unwrap_or([1, 1, 1]);
        let [x, y, z] = shape;
        let index = |length: u32, flat: bool| {
            let limit = if flat { 32 } else { length.trailing_zeros() };
            let lane = flat || u64::from(length).is_multiple_of(LANES);
            let index = ThreadIndex { scale: 0, limit: limit as i32, whole: flat, lane };
            Known { index: Some(index), ..Known::VARIES }
        };
        match (name, self.block.is_some()) {
            ("%laneid", _) => {
                Known { index: Some(ThreadIndex { whole: false, ..ThreadIndex::WHOLE }), ..Known::VARIES }
            }
            ("%tid.x", true) => match x {
                1 => Known::at(Uniformity::Grid),
                _ => index(x, y * z == 1),
            },
            ("%tid.y", true) => match y {
                1 => Known::at(Uniformity::Grid),
                _ if x == 1 => index(y, z == 1),
                _ => Known::at(Uniformity::Threads(x)),
            },
            ("%tid.z", true) => match (z, x * y) {
                (1, _) => Known::at(Uniformity::Grid),
                (_, 1) => index(z, true),
                (_, run) => Known::at(Uniformity::Threads(run)),
            },
            _ => Known::at(rule::special(name)),
        }
    }

    /// Returns the uniformity of an operation on these operands.
    #[inline]
    fn compute(&mut self, operation: Operation, sources: &[Operand<'_>]) -> Known {
        let swapped;
        let sources = match sources {
            [constant @ Operand::Imm(_), other] if operation.commutes() => {
                swapped = [*other, *constant];
                &swapped[..]
            }
            sources => sources,
        };
        let Some((first, rest)) = sources.split_first() else { return Known::VARIES };
        let first = self.operand(first);
        let mut all = first;
        for operand in rest {
            let known = self.operand(operand);
            all = self.meet(all, known);
        }
        let of_index = first.index.and_then(|index| index.operated(operation, rest));
        match of_index {
            None => Known { index: None, ..all },
            Some((level, index)) => {
                // The other operands of these operations are constants, so `all.level` is the level of the first operand.
                let level = if all.level == Uniformity::NONE { level } else { all.level };
                Known { level, set: all.set, index }
            }
        }
    }
}
