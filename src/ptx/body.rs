//! The body of a kernel under construction, and the facts collected about it.

use std::{
    cell::{Cell, RefCell},
    fmt::{self, Write},
    ops::Range,
    panic::Location,
};

use super::{
    dim::Dim,
    entry::{Declaration, Entry},
    error::{BuildError, BuildErrorKind},
    facts::{Condition, Known, Numbered, Numbering, Order, RegFacts, ValueFacts},
    in_place::Latest,
    lease::Terms,
    memo::Memo,
    mnemonic::{Mnemonic, MnemonicText, Mnemonics, Properties, loads_shared},
    operand::Operand,
    params::ParamDecl,
    raw,
    shared::Arena,
    table,
    target::{Features, Target, Version},
    text::Text,
    types::RegClass,
    uniform::{self, Divergence, Rule, Tracker, Uniformity},
};

/// A register handle: class, number, and the number of times the register had been overwritten when the handle was created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RegId {
    pub(crate) class: RegClass,
    pub(crate) index: u32,
    pub(crate) writes: u32,
}

impl RegId {
    /// The sentinel write count of a handle that remains valid after writes.
    pub(super) const IN_PLACE: u32 = u32::MAX;

    /// Returns a handle that remains valid after writes, for an exclusive owner that updates the register in place. An instruction that
    /// produces such a handle invalidates all earlier ordinary handles.
    pub(crate) fn in_place(self) -> Self {
        Self { writes: Self::IN_PLACE, ..self }
    }
}

impl fmt::Display for RegId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.class.prefix(), self.index)
    }
}

/// The end offset of an emitted line, and the Rust line that emitted it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    pub(crate) end: usize,
    pub(crate) at: Option<&'static Location<'static>>,
}

/// An assumption that, immediately before a given line, a register has the same value in all threads of a group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asserted {
    pub(crate) line: usize,
    pub(crate) reg: RegId,
    pub(crate) level: Uniformity,
    pub(crate) guard: Option<(RegId, bool)>,
    pub(crate) at: &'static Location<'static>,
}

/// A kernel's body under construction.
pub(crate) struct Body {
    /// The kernel under construction.
    pub(crate) entry: Entry,
    pub(super) text: Text,
    pub(crate) target: Target,
    /// The caller's source line to which emitted lines are currently attributed.
    pub(crate) located: Option<&'static Location<'static>>,
    error: Option<BuildError>,
    pub(super) registers: [Vec<RegFacts>; RegClass::ALL.len()],
    /// The facts about the values of registers, in the order they became known.
    pub(super) values: Vec<ValueFacts>,
    /// The expressions that launches evaluate to compute the values of registers.
    pub(super) dims: Vec<Dim>,
    pub(super) open_blocks: Vec<u32>,
    /// The number of `wgmma` groups that are known to have been committed. At the end of a block, it is restored to its value at the start
    /// of the block (`wgmma_groups_before`), because the block might not be executed.
    pub(super) wgmma_groups: u32,
    /// The last of these groups that is known to be complete; all groups before it are also complete.
    pub(super) wgmma_complete: Option<u32>,
    wgmma_groups_before: Vec<u32>,
    /// The open blocks that are bodies of emitted loops; 0 is the kernel itself.
    pub(super) open_loops: Vec<u32>,
    blocks: u32,
    /// The leases of handles, in the order of their creation.
    pub(super) leases: Vec<Terms>,
    /// For each assumption in an open block: the block, the register, and what was known about the register before the assumption.
    pub(super) assumed: Vec<(u32, RegId, (Known, bool))>,
    pub(super) order: Order,
    pub(super) conditions: Vec<Condition>,
    pub(super) numbering: Numbering,
    /// The latest instruction with a single result.
    pub(super) latest: Option<Latest>,
    /// For each class, the number of most recently created registers that no instruction uses; they are reused before new ones are created.
    pub(super) retired: [u32; RegClass::ALL.len()],
    /// Registers that a later instruction bypasses; the instructions that define them are removed if nothing else reads the registers.
    pub(super) bypassed: Vec<RegId>,
    labels: u32,
    /// The named barriers reserved for thread groups: for each group size in threads, the barriers of all groups of that size.
    barriers: Vec<(u32, Range<u32>)>,
    barriers_taken: u32,
    pub(crate) shared: Arena,
    guard: Option<(RegId, bool)>,
    mnemonics: Mnemonics,
    /// The first mnemonic in raw text that the table does not contain.
    unlisted: Option<Box<str>>,
    /// The uniformity of each register and of the open conditions.
    pub(crate) uniform: Tracker,
    /// The number of instructions emitted so far that may load from shared memory into registers.
    pub(crate) shared_loads: u32,
    /// The first line that depends on the absence of a cluster.
    pub(crate) without_cluster: Option<&'static Location<'static>>,
    /// Whether warpgroups have been given roles, and (`in_role`) whether the current position is in the code of a role.
    pub(crate) has_roles: bool,
    pub(crate) in_role: bool,
}

/// The text and the largest tables of a kernel under construction. The next kernel built by the thread reuses their memory and therefore
/// requests little new memory from the system: the first access to each page of new memory takes as long as emitting several lines.
#[derive(Default)]
struct Tables {
    text: Text,
    registers: [Vec<RegFacts>; RegClass::ALL.len()],
    values: Vec<ValueFacts>,
    numbering: Numbering,
    uniform: uniform::Facts,
}

/// The maximum number of registers in a kernel whose tables are kept for the next kernel.
const MOST_KEPT: usize = 1 << 14;

impl Tables {
    /// Keeps the memory for the next kernel.
    fn keep(mut self) {
        if self.registers.iter().map(Vec::len).sum::<usize>() > MOST_KEPT {
            return;
        }
        self.text.truncate(0);
        self.registers.iter_mut().for_each(Vec::clear);
        self.values.clear();
        self.numbering.clear();
        self.uniform.clear();
        let _ = TABLES.try_with(|tables| tables.set(Some(self)));
    }
}

thread_local! {
    static TABLES: Cell<Option<Tables>> = const { Cell::new(None) };
}

impl Body {
    pub(crate) fn new(entry: Entry) -> Self {
        let Tables { text, registers, values, numbering, uniform } =
            TABLES.try_with(Cell::take).ok().flatten().unwrap_or_default();
        Self {
            target: entry.target,
            entry,
            text,
            located: None,
            error: None,
            registers,
            values,
            dims: Vec::new(),
            open_blocks: vec![0],
            wgmma_groups: 0,
            wgmma_complete: None,
            wgmma_groups_before: vec![0],
            open_loops: vec![0],
            blocks: 1,
            leases: Vec::new(),
            assumed: Vec::new(),
            order: Order::default(),
            conditions: Vec::new(),
            numbering,
            latest: None,
            retired: Default::default(),
            bypassed: Vec::new(),
            labels: 0,
            barriers: Vec::new(),
            barriers_taken: 0,
            shared: Arena::default(),
            guard: None,
            mnemonics: Mnemonics::new(),
            unlisted: None,
            uniform: Tracker::new(uniform),
            shared_loads: 0,
            without_cluster: None,
            has_roles: false,
            in_role: false,
        }
    }

    /// Returns the finished kernel, or the first error.
    pub(crate) fn finish(mut self, at: &'static Location<'static>) -> Result<Entry, BuildError> {
        self.leave_out_bypassed();
        self.entry.text = self.text.to_text();
        let (fixed, dynamic, declaration) = self.shared.declaration(&self.shared_symbol());
        let (bytes, max) = (fixed + dynamic, self.target.max_shared_bytes());
        if bytes > max.into() {
            self.fail(BuildErrorKind::TooMuchShared { bytes, max, target: self.target }, at);
        }
        (self.entry.static_shared_bytes, self.entry.dynamic_shared_bytes) = (fixed as u32, dynamic as u32);
        self.entry.module_declarations.extend(declaration);
        if let Some(name) = self.entry.repeated_symbol() {
            self.fail(BuildErrorKind::DuplicateName { name }, at);
        }
        self.entry.registers = std::array::from_fn(|i| self.registers[i].len() as u32);
        let Self { entry, error, text, registers, values, numbering, uniform, .. } = self;
        Tables { text, registers, values, numbering, uniform: uniform.into_facts() }.keep();
        error.map_or(Ok(entry), Err)
    }

    /// Records the first error; later ones are usually its consequences.
    pub(crate) fn fail(&mut self, kind: BuildErrorKind, at: &'static Location<'static>) {
        if self.error.is_none() {
            self.error = Some(BuildError::new(&self.entry.name, kind, at));
        }
    }

    /// Records the error for a collective operation that some of the required threads may not reach.
    pub(crate) fn fail_if(&mut self, divergence: Option<Divergence>) {
        if let Some(Divergence { kind, at }) = divergence {
            self.fail(kind, at);
        }
    }

    /// Requires that, in each group of this kind, either all threads reach the current position or none do.
    pub(crate) fn require_together(&mut self, group: Uniformity, what: &str, at: &'static Location<'static>) {
        let divergence = self.uniform.require(group, what, at);
        self.fail_if(divergence);
    }

    /// Assumes that a register has the uniformity `level`. The simulator checks the assumption.
    pub(crate) fn assume_uniform(&mut self, reg: RegId, level: Uniformity, at: &'static Location<'static>) {
        if self.uniform.assume(reg, level) {
            let (line, guard) = (self.entry.marks.len(), self.guard);
            self.entry.asserted.push(Asserted { line, reg, level, guard, at });
        }
    }

    /// Returns the name of the variable for the kernel's shared memory.
    pub(crate) fn shared_symbol(&self) -> String {
        format!("{}_smem", self.entry.name)
    }

    // ── Blocks and labels ────────────────────────────────────────────────────────────────────────────────────────

    /// Opens a block. Registers that are defined in the block cannot be used after it is closed.
    pub(crate) fn open_block(&mut self) {
        self.open_blocks.push(self.blocks);
        self.wgmma_groups_before.push(self.wgmma_groups);
        // In a loop, groups of earlier iterations have the same numbers as those before the loop.
        self.wgmma_complete = None;
        self.blocks += 1;
    }

    /// Returns the number of the next block to be opened.
    pub(super) fn next_block(&self) -> u32 {
        self.blocks
    }

    /// Returns the number of the block that encloses the innermost one.
    pub(super) fn enclosing_block(&self) -> u32 {
        self.open_blocks.iter().rev().nth(1).copied().unwrap_or(0)
    }

    /// Opens the body of an emitted loop.
    pub(crate) fn open_loop(&mut self) {
        self.open_loops.push(self.blocks);
        self.open_block();
        self.uniform.open_loop();
    }

    pub(crate) fn close_loop(&mut self) {
        let divergence = self.uniform.close_loop();
        self.fail_if(divergence);
        self.close_block();
        self.open_loops.pop();
    }

    /// Opens the body of a loop with an iteration count that depends on the registers `bounds`.
    pub(crate) fn open_steps(&mut self, bounds: [Option<RegId>; 3], at: &'static Location<'static>) {
        self.uniform.open_steps(bounds.into_iter().flatten(), at);
        self.open_loop();
    }

    pub(crate) fn close_steps(&mut self) {
        self.close_loop();
        self.uniform.close_condition();
    }

    /// Returns whether the current position is in an emitted loop.
    pub(crate) fn in_loop(&self) -> bool {
        self.open_loops.len() > 1
    }

    /// Returns the number of the innermost open loop, or 0 if no loop is open.
    pub(crate) fn innermost_loop(&self) -> u32 {
        *self.open_loops.last().unwrap_or(&0)
    }

    pub(crate) fn close_block(&mut self) {
        if let Some(closed) = self.open_blocks.pop() {
            self.close_assumptions(closed);
        }
        self.wgmma_groups = self.wgmma_groups_before.pop().unwrap_or(0);
        self.wgmma_complete = None;
    }

    /// Returns the number of the first of `count` barriers for groups of `threads` threads. If too few of the 15 named barriers remain,
    /// returns the number of barriers in use as the error.
    pub(crate) fn named_barriers(&mut self, threads: u32, count: u32) -> Result<u32, u32> {
        if let Some((_, range)) = self.barriers.iter().find(|(of, _)| *of == threads) {
            return Ok(range.start);
        }
        let taken = self.barriers_taken;
        if taken + count > 15 {
            return Err(taken);
        }
        self.barriers_taken += count;
        self.barriers.push((threads, taken + 1..taken + 1 + count));
        Ok(taken + 1)
    }

    /// Records that the kernel uses a barrier explicitly, or returns the reason why it must not.
    pub(crate) fn choose_barrier(&mut self, barrier: u32) -> Result<(), String> {
        if barrier > 15 {
            return Err(format!("expected a barrier from 0 to 15, found {barrier}"));
        }
        if self.barriers.iter().any(|(_, range)| range.contains(&barrier)) {
            return Err(format!("expected a barrier that scopes and tiles do not use, found {barrier}"));
        }
        self.barriers_taken = self.barriers_taken.max(barrier);
        Ok(())
    }

    /// Returns a number, unique in the kernel, for a group of labels.
    pub(crate) fn label(&mut self) -> u32 {
        self.labels += 1;
        self.labels
    }

    // ── Lines ────────────────────────────────────────────────────────────────────────────────────────────────────

    /// Sets the predicate that guards all further instructions, and returns the previous one.
    pub(crate) fn set_guard(&mut self, guard: Option<(RegId, bool)>) -> Option<(RegId, bool)> {
        std::mem::replace(&mut self.guard, guard)
    }

    /// Returns whether a predicate guards the current position.
    pub(crate) fn is_guarded(&self) -> bool {
        self.guard.is_some()
    }

    /// Emits one instruction after looking it up in the table.
    pub(crate) fn instruction(
        &mut self,
        mnemonic: &dyn MnemonicText,
        operands: &[Operand<'_>],
        at: &'static Location<'static>,
    ) {
        let Some(known) = self.mnemonic(mnemonic, at) else { return };
        self.use_operands(operands, at);
        let rule = known.properties.rule;
        let (results, sources) = rule.results_and_sources(operands);
        let divergence = self.uniform.record(rule, self.mnemonics.text(known), results, sources, at);
        self.fail_if(divergence);
        self.write(known, None, operands, at);
        if let Some(result @ (Operand::Reg(_) | Operand::Vector(_) | Operand::Words(_) | Operand::Pair(..))) =
            operands.first()
        {
            result.for_each_register(&mut |reg| {
                if reg.writes == RegId::IN_PLACE {
                    self.overwrite(reg);
                } else {
                    self.written(reg);
                }
            });
        }
    }

    /// Emits one instruction with a single result in a fresh register of `class`, or returns the register of an earlier instruction with
    /// the same result.
    pub(crate) fn result(
        &mut self,
        class: RegClass,
        mnemonic: &dyn MnemonicText,
        operands: &[Operand<'_>],
        at: &'static Location<'static>,
    ) -> RegId {
        let Some(known) = self.mnemonic(mnemonic, at) else { return self.fresh(class) };
        let (reg, expression) = match self.number(known, class, operands) {
            Some(Numbered::Known(reg)) => {
                operands
                    .iter()
                    .for_each(|operand| operand.for_each_register(&mut |reg| self.check_use(reg, at)));
                return reg;
            }
            Some(Numbered::New(reg, expression)) => (reg, Some(expression)),
            None => (self.fresh(class), None),
        };
        self.use_operands(operands, at);
        let (rule, text) = (known.properties.rule, self.mnemonics.text(known));
        let divergence = self.uniform.record(rule, text, Some(&Operand::Reg(reg)), operands, at);
        self.fail_if(divergence);
        self.set_line(reg);
        let operand = self.write(known, Some(reg), operands, at);
        self.latest = Some(Latest { reg, operand, end: self.text.len(), expression });
        reg
    }

    /// Returns a mnemonic, or rejects an unrecognized one, as in [`require`](Self::require).
    #[inline]
    fn mnemonic(&mut self, text: &dyn MnemonicText, at: &'static Location<'static>) -> Option<Mnemonic> {
        let known = match text.find(&mut self.mnemonics) {
            Some(known) => known,
            None => self.mnemonic_by_text(text, at)?,
        };
        self.shared_loads += u32::from(known.properties.loads_shared);
        Some(known)
    }

    /// Returns a mnemonic whose parts have not been recorded, and records them.
    fn mnemonic_by_text(
        &mut self,
        text: &dyn MnemonicText,
        at: &'static Location<'static>,
    ) -> Option<Mnemonic> {
        let start = self.text.len();
        text.push_to(&mut self.text);
        let known = match self.mnemonics.find(self.text.since(start)) {
            Some(known) => Some(known),
            None => {
                let mnemonic = String::from_utf8_lossy(self.text.since(start)).into_owned();
                self.require(&mnemonic, at)
            }
        };
        self.text.truncate(start);
        if let (Some(known), Some(parts)) = (known, text.parts()) {
            self.mnemonics.add_parts(parts, known);
        }
        known
    }

    /// Checks and counts the uses of registers as operands.
    #[inline]
    fn use_operands(&mut self, operands: &[Operand<'_>], at: &'static Location<'static>) {
        for operand in operands {
            operand.for_each_register(&mut |reg| self.use_register(reg, at));
        }
    }

    /// Writes the operands of an instruction, with `result` first, and returns the position of the first operand in the text.
    fn write(
        &mut self,
        mnemonic: Mnemonic,
        result: Option<RegId>,
        operands: &[Operand<'_>],
        at: &'static Location<'static>,
    ) -> Range<usize> {
        let (first, rest) = match result {
            Some(reg) => (Some(Operand::Reg(reg)), operands),
            None => (operands.first().copied(), operands.get(1..).unwrap_or_default()),
        };
        self.text.push_line_start(self.mnemonics.line_start(mnemonic), self.guard, first.is_some());
        let mut position = 0..0;
        if let Some(operand) = first {
            position.start = self.text.len();
            operand.push_to(&mut self.text);
            position.end = self.text.len();
        }
        for operand in rest {
            self.text.push_str(", ");
            operand.push_to(&mut self.text);
        }
        self.text.push_str(";");
        self.entry.instructions += 1;
        self.end_line(at);
        position
    }

    /// Ends the line of an instruction.
    #[inline]
    fn end_line(&mut self, at: &'static Location<'static>) {
        if let Some((guard, _)) = self.guard {
            self.use_register(guard, at);
        }
        self.text.push_str("\n");
        self.entry.marks.push(Mark { end: self.text.len(), at: Some(at) });
    }

    /// Raises `.version` as an instruction requires, and rejects the instruction if the target does not support it.
    pub(crate) fn require(&mut self, mnemonic: &str, at: &'static Location<'static>) -> Option<Mnemonic> {
        if let Some(known) = self.mnemonics.find(mnemonic.as_bytes()) {
            return Some(known);
        }
        let Some(properties) = Properties::of(mnemonic) else {
            self.fail(BuildErrorKind::UnknownInstruction { mnemonic: mnemonic.to_string() }, at);
            return None;
        };
        self.require_support(mnemonic, (properties.form.version, properties.form.needs), at);
        Some(self.mnemonics.add(mnemonic, properties))
    }

    /// Returns the mnemonic of an emitted instruction that may access global memory: the first such instruction in the table or, if there
    /// is none, the first raw one that is not in the table.
    pub(crate) fn global_access(&self) -> Option<&str> {
        let mut mnemonics = self.mnemonics.iter();
        let first = mnemonics.find(|(text, known)| known.properties.form.may_access_global(text));
        first.map(|(text, _)| text).or(self.unlisted.as_deref())
    }

    /// Returns the number assigned to a special register whose value never changes, if the kernel has already used the register.
    pub(super) fn special_number(&mut self, name: &str) -> Option<u32> {
        self.mnemonics.find(name.as_bytes()).filter(|known| known.properties.pure).map(|known| known.number)
    }

    /// Raises `.version`, and rejects an instruction if the target lacks the features that it needs.
    pub(crate) fn require_support(
        &mut self,
        mnemonic: &str,
        (version, needs): (Version, Features),
        at: &'static Location<'static>,
    ) {
        self.entry.version = self.entry.version.max(version);
        let missing = needs.difference(self.target.features());
        if missing != Features::empty() {
            let kind = BuildErrorKind::Unsupported {
                mnemonic: mnemonic.to_string(),
                needs: missing,
                lowest: needs.lowest_target(),
                target: self.target,
            };
            self.fail(kind, at);
        }
    }

    /// Writes a line that is not an instruction, such as a label, a comment or a brace.
    pub(crate) fn line(&mut self, line: fmt::Arguments<'_>) {
        let _ = self.text.write_fmt(line);
        self.text.push_str("\n");
        self.entry.marks.push(Mark { end: self.text.len(), at: None });
    }

    /// Writes raw text, marked as such; its requirements are known only for mnemonics in the table.
    pub(crate) fn raw(
        &mut self,
        text: &str,
        registers: &[RegId],
        at: &'static Location<'static>,
    ) -> Result<(), String> {
        if let Some(problem) = raw::shape_problem(text, self.guard.is_some()) {
            return Err(problem);
        }
        for reg in registers {
            self.use_register(*reg, at);
        }
        for mnemonic in raw::mnemonics(text) {
            self.entry.instructions += 1;
            self.shared_loads += u32::from(loads_shared(mnemonic));
            let divergence = self.uniform.require_raw(Rule::of(mnemonic), mnemonic, at);
            self.fail_if(divergence);
            if table::find(mnemonic).is_some() {
                self.require(mnemonic, at);
            } else {
                self.unlisted.get_or_insert_with(|| mnemonic.into());
            }
        }
        // Under a guard, the text is one instruction, possibly with comments around it; the guard precedes its first line.
        let guard = self.set_guard(None);
        let mut before_code = guard;
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let is_comment = line.starts_with("//");
            self.set_guard(if is_comment { None } else { before_code.take() });
            self.text.push_indent(self.guard);
            let _ = write!(self.text, "{line} // raw");
            self.end_line(at);
        }
        self.set_guard(guard);
        Ok(())
    }

    /// Adds a module-scope declaration unless the kernel already has it.
    pub(crate) fn declare(&mut self, declaration: Declaration, at: &'static Location<'static>) {
        if declaration.name == self.entry.name || declaration.name == self.shared_symbol() {
            self.fail(BuildErrorKind::DuplicateName { name: declaration.name }, at);
            return;
        }
        match self.entry.module_declarations.iter().find(|d| d.name == declaration.name) {
            None => self.entry.module_declarations.push(declaration),
            Some(same) if *same == declaration => {}
            Some(_) => self.fail(BuildErrorKind::DuplicateName { name: declaration.name }, at),
        }
    }
}

/// The cell that all handles of a kernel refer to.
pub(crate) struct Ctx {
    pub(crate) body: RefCell<Body>,
    pub(crate) memo: RefCell<Memo>,
}

impl Ctx {
    /// Starts a kernel; an error in the signature becomes its first error.
    pub(crate) fn new(
        signature: &str,
        target: Target,
        params: Vec<ParamDecl>,
        at: &'static Location<'static>,
    ) -> Self {
        let (entry, problem) = Entry::new(signature, target, params);
        let mut body = Body::new(entry);
        if let Some(kind) = problem {
            body.fail(kind, at);
        }
        Self { body: RefCell::new(body), memo: RefCell::new(Memo::of_previous_kernel()) }
    }

    /// Ends the kernel, and returns it or the first error.
    pub(crate) fn finish(self, at: &'static Location<'static>) -> Result<Entry, BuildError> {
        self.memo.into_inner().keep();
        let mut body = self.body.into_inner();
        body.instruction(&["ret"], &[], at);
        body.finish(at)
    }
}
