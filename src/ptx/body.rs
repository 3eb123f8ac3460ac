//! The text of a kernel's body while it is written, and the facts collected on the way.

use std::{
    cell::RefCell,
    collections::HashMap,
    fmt::{self, Write},
    panic::Location,
};

use super::{
    dim::Dim,
    entry::{Declaration, Entry},
    error::{BuildError, BuildErrorKind},
    operand::Operand,
    raw,
    shared::Arena,
    table::{self, Form},
    target::{Features, Target, Version},
    types::RegClass,
    uniform::{Divergence, Rule, Tracker, Uniformity},
};

/// A register's place in its kernel: class, number, and how often it had been overwritten when this name was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RegId {
    pub(crate) class: RegClass,
    pub(crate) index: u32,
    pub(crate) writes: u32,
}

impl RegId {
    /// In place of the number of writes: whatever it is now.
    const IN_PLACE: u32 = u32::MAX;

    /// The register by a name that stays valid when it is written: for its one owner, which writes it in place. Every
    /// instruction that has such a name for its result makes the handles that were taken before stale.
    pub(crate) fn in_place(self) -> Self {
        Self { writes: Self::IN_PLACE, ..self }
    }
}

impl fmt::Display for RegId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.class.prefix(), self.index)
    }
}

/// What is known of a register.
#[derive(Clone, Copy, Debug)]
struct RegFacts {
    /// Block of the text that defines it.
    block: u32,
    /// How often it was overwritten in place.
    writes: u32,
    /// A number that surely divides its value (integers only).
    divisor: u64,
    /// Index in [`Body::dims`] of how a launch computes its value.
    dim: Option<u32>,
    /// The emitted loop that it belongs to: innermost where it was made, or the one that carries it.
    in_loop: u32,
    /// Kernel parameter whose buffer it points to the start of.
    buffer: Option<usize>,
    /// Special register that it was read from.
    special: Option<&'static str>,
}

/// One emitted line: where its text ends, and the Rust line it came from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    pub(crate) end: usize,
    pub(crate) at: Option<&'static Location<'static>>,
}

/// A kernel's body under construction.
pub(crate) struct Body {
    /// What is being made.
    pub(crate) entry: Entry,
    pub(crate) target: Target,
    /// The caller's line that everything is attributed to for the time being.
    pub(crate) located: Option<&'static Location<'static>>,
    error: Option<BuildError>,
    registers: [Vec<RegFacts>; RegClass::ALL.len()],
    /// What launches can compute of registers' values.
    dims: Vec<Dim>,
    open_blocks: Vec<u32>,
    /// Blocks among them that are the bodies of emitted loops; 0 stands for the kernel itself.
    open_loops: Vec<u32>,
    blocks: u32,
    /// Divisors that registers had before one was assumed in an open block, which is named first.
    assumed: Vec<(u32, RegId, u64)>,
    labels: u32,
    /// Barriers of groups of threads: threads of a group, and the first barrier.
    barriers: Vec<(u32, u32)>,
    barriers_taken: u32,
    pub(crate) shared: Arena,
    guard: Option<(RegId, bool)>,
    /// Registers that hold special registers which never change.
    unchanging: HashMap<&'static str, RegId>,
    /// Forms of the mnemonics seen so far: kernels repeat few of them often.
    forms: HashMap<Box<str>, (&'static Form, Rule)>,
    /// Which threads agree on each register and on the conditions that are open.
    pub(crate) uniform: Tracker,
    mnemonic: String,
}

/// Column at which operands begin.
const OPERAND_COLUMN: usize = 24;

impl Body {
    pub(crate) fn new(entry: Entry) -> Self {
        Self {
            target: entry.target,
            entry,
            located: None,
            error: None,
            registers: Default::default(),
            dims: Vec::new(),
            open_blocks: vec![0],
            open_loops: vec![0],
            blocks: 1,
            assumed: Vec::new(),
            labels: 0,
            barriers: Vec::new(),
            barriers_taken: 0,
            shared: Arena::default(),
            guard: None,
            unchanging: HashMap::new(),
            forms: HashMap::new(),
            uniform: Tracker::default(),
            mnemonic: String::new(),
        }
    }

    /// The finished kernel, or the first mistake.
    pub(crate) fn finish(mut self, at: &'static Location<'static>) -> Result<Entry, BuildError> {
        let (fixed, dynamic, declaration) = self.shared.declaration(&self.shared_symbol());
        let (bytes, most) = (fixed + dynamic, self.target.max_shared_bytes());
        if bytes > most.into() {
            self.fail(BuildErrorKind::TooMuchShared { bytes, most, target: self.target }, at);
        }
        (self.entry.static_shared_bytes, self.entry.dynamic_shared_bytes) = (fixed as u32, dynamic as u32);
        self.entry.module_declarations.extend(declaration);
        self.entry.registers = std::array::from_fn(|i| self.registers[i].len() as u32);
        self.error.map_or(Ok(self.entry), Err)
    }

    /// Records the first error; later ones are most often its consequences.
    pub(crate) fn fail(&mut self, kind: BuildErrorKind, at: &'static Location<'static>) {
        if self.error.is_none() {
            self.error = Some(BuildError::new(&self.entry.name, kind, at));
        }
    }

    /// Records that a collective may not be reached by all of its threads.
    pub(crate) fn fail_if(&mut self, divergence: Option<Divergence>) {
        if let Some(Divergence { kind, at }) = divergence {
            self.fail(kind, at);
        }
    }

    /// Requires that all threads of each group of this kind reach what is written now, or none of them.
    pub(crate) fn require_together(&mut self, group: Uniformity, what: &str, at: &'static Location<'static>) {
        let divergence = self.uniform.require(group, what, at);
        self.fail_if(divergence);
    }

    /// Name of the kernel's shared memory.
    pub(crate) fn shared_symbol(&self) -> String {
        format!("{}_smem", self.entry.name)
    }

    // ── Registers ────────────────────────────────────────────────────────────────────────────────────────────────

    /// A fresh register, defined in the innermost open block.
    pub(crate) fn fresh(&mut self, class: RegClass) -> RegId {
        let block = *self.open_blocks.last().unwrap_or(&0);
        let in_loop = *self.open_loops.last().unwrap_or(&0);
        self.uniform.fresh(class);
        let regs = &mut self.registers[class.index()];
        regs.push(RegFacts { block, writes: 0, divisor: 1, dim: None, buffer: None, special: None, in_loop });
        RegId { class, index: regs.len() as u32 - 1, writes: 0 }
    }

    /// A fresh register, defined outside of the innermost open block, which is a branch.
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

    /// Marks the register as overwritten: older handles to it are refused from now on.
    pub(crate) fn overwrite(&mut self, reg: RegId) -> RegId {
        let facts = self.facts_mut(reg);
        facts.writes += 1;
        facts.divisor = 1;
        facts.special = None;
        facts.dim = None;
        facts.buffer = None;
        RegId { writes: facts.writes, ..reg }
    }

    /// How many registers of a class there are.
    pub(crate) fn registers_of(&self, class: RegClass) -> u32 {
        self.registers[class.index()].len() as u32
    }

    /// The register under its current name.
    pub(crate) fn current(&self, reg: RegId) -> RegId {
        RegId { writes: self.facts(reg).writes, ..reg }
    }

    /// Records how a launch computes the register's value.
    pub(crate) fn set_dim(&mut self, reg: RegId, dim: Dim) {
        self.facts_mut(reg).dim = Some(self.dims.len() as u32);
        self.dims.push(dim);
    }

    /// How a launch computes the register's value, if it can.
    pub(crate) fn dim(&self, reg: RegId) -> Option<Dim> {
        self.facts(reg).dim.map(|index| self.dims[index as usize].clone())
    }

    /// The parameter that a register was loaded from.
    pub(crate) fn parameter(&self, reg: RegId) -> Option<usize> {
        match self.dims[self.facts(reg).dim? as usize] {
            Dim::Param(parameter) => Some(parameter),
            _ => None,
        }
    }

    /// Records the parameter whose buffer a register points to the start of.
    pub(crate) fn set_buffer(&mut self, reg: RegId, parameter: usize) {
        self.facts_mut(reg).buffer = Some(parameter);
    }

    /// The parameter whose buffer a register points to the start of.
    pub(crate) fn buffer(&self, reg: RegId) -> Option<usize> {
        self.facts(reg).buffer
    }

    /// Records a number that divides the register's value until the open block is closed: a promise made in a branch holds
    /// in that branch.
    pub(crate) fn assume_divisor(&mut self, reg: RegId, divisor: u64) {
        let block = *self.open_blocks.last().unwrap_or(&0);
        if block != self.facts(reg).block {
            self.assumed.push((block, reg, self.divisor(reg)));
        }
        self.set_divisor(reg, divisor);
    }

    /// Records a number that surely divides the register's value.
    pub(crate) fn set_divisor(&mut self, reg: RegId, divisor: u64) {
        self.facts_mut(reg).divisor = divisor.max(1);
    }

    /// A number that surely divides the register's value.
    pub(crate) fn divisor(&self, reg: RegId) -> u64 {
        self.facts(reg).divisor
    }

    /// Records which special register `reg` was read from.
    pub(crate) fn set_special(&mut self, reg: RegId, name: &'static str) {
        self.facts_mut(reg).special = Some(name);
    }

    /// The special register that `reg` was read from.
    pub(crate) fn special(&self, reg: RegId) -> Option<&'static str> {
        self.facts(reg).special
    }

    /// The register that holds a special register, if it was read where it is known here.
    pub(crate) fn unchanging(&self, name: &str) -> Option<RegId> {
        let reg = *self.unchanging.get(name)?;
        (self.guard.is_none() && self.open_blocks.contains(&self.facts(reg).block)).then_some(reg)
    }

    /// Records that `reg` holds a special register.
    pub(crate) fn set_unchanging(&mut self, name: &'static str, reg: RegId) {
        self.unchanging.insert(name, reg);
    }

    /// Checks that the register's definition has run here and that the handle to it is current.
    fn check_use(&mut self, reg: RegId, at: &'static Location<'static>) {
        let facts = *self.facts(reg);
        if facts.writes != reg.writes && reg.writes != RegId::IN_PLACE {
            self.fail(BuildErrorKind::Overwritten { register: reg.to_string() }, at);
        } else if !self.open_blocks.contains(&facts.block) {
            self.fail(BuildErrorKind::NotDominated { register: reg.to_string() }, at);
        }
    }

    // ── Blocks and labels ────────────────────────────────────────────────────────────────────────────────────────

    /// Opens a block: registers defined in it are unknown after it is closed.
    pub(crate) fn open_block(&mut self) {
        self.open_blocks.push(self.blocks);
        self.blocks += 1;
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

    /// Opens the body of a loop whose number of iterations depends on these registers.
    pub(crate) fn open_steps(&mut self, bounds: [Option<RegId>; 3], at: &'static Location<'static>) {
        self.uniform.open_steps(bounds.into_iter().flatten(), at);
        self.open_loop();
    }

    pub(crate) fn close_steps(&mut self) {
        self.close_loop();
        self.uniform.close_condition();
    }

    /// Whether what is written now is written into an emitted loop.
    pub(crate) fn in_loop(&self) -> bool {
        self.open_loops.len() > 1
    }

    /// Says that the innermost open loop carries the register, and may so overwrite it.
    pub(crate) fn carry(&mut self, reg: RegId) {
        self.facts_mut(reg).in_loop = *self.open_loops.last().unwrap_or(&0);
    }

    /// Whether the register belongs to the innermost open loop: overwriting any other would add up over its iterations.
    pub(crate) fn is_carried(&self, reg: RegId) -> bool {
        self.open_loops.last() == Some(&self.facts(reg).in_loop)
    }

    pub(crate) fn close_block(&mut self) {
        let closed = self.open_blocks.pop();
        while let Some((_, reg, known)) = self.assumed.pop_if(|(block, ..)| Some(*block) == closed) {
            self.set_divisor(reg, known);
        }
    }

    /// The first of `count` barriers for groups of so many threads, or how many of the 15 named ones are taken.
    pub(crate) fn named_barriers(&mut self, threads: u32, count: u32) -> Result<u32, u32> {
        if let Some((_, first)) = self.barriers.iter().find(|(of, _)| *of == threads) {
            return Ok(*first);
        }
        let taken = self.barriers_taken;
        if taken + count > 15 {
            return Err(taken);
        }
        self.barriers_taken += count;
        self.barriers.push((threads, taken + 1));
        Ok(taken + 1)
    }

    /// A number for a group of labels, unique in the kernel.
    pub(crate) fn label(&mut self) -> u32 {
        self.labels += 1;
        self.labels
    }

    // ── Lines ────────────────────────────────────────────────────────────────────────────────────────────────────

    /// Sets the predicate that guards every instruction until it is set again; gives the one before.
    pub(crate) fn set_guard(&mut self, guard: Option<(RegId, bool)>) -> Option<(RegId, bool)> {
        std::mem::replace(&mut self.guard, guard)
    }

    /// Whether a predicate guards what is written now.
    pub(crate) fn is_guarded(&self) -> bool {
        self.guard.is_some()
    }

    /// Writes one instruction after looking it up in the table.
    pub(crate) fn instruction(
        &mut self,
        mnemonic: fmt::Arguments<'_>,
        operands: &[Operand<'_>],
        at: &'static Location<'static>,
    ) {
        let mut text = std::mem::take(&mut self.mnemonic);
        text.clear();
        let _ = text.write_fmt(mnemonic);
        let rule = self.require(&text, at);
        for operand in operands {
            operand.for_each_register(&mut |reg| self.check_use(reg, at));
        }
        if let Some(rule) = rule {
            let divergence = self.uniform.record(rule, &text, operands, at);
            self.fail_if(divergence);
        }
        let start = self.entry.text.len();
        self.begin_line(at);
        self.entry.text.push_str(&text);
        for (i, operand) in operands.iter().enumerate() {
            if i == 0 {
                let column = self.entry.text.len() - start;
                self.entry
                    .text
                    .extend(std::iter::repeat_n(' ', OPERAND_COLUMN.saturating_sub(column).max(1)));
            } else {
                self.entry.text.push_str(", ");
            }
            let _ = write!(self.entry.text, "{operand}");
        }
        self.entry.text.push(';');
        self.mnemonic = text;
        self.entry.instructions += 1;
        self.end_line(at);
        if let Some(result @ (Operand::Reg(_) | Operand::Vector(_) | Operand::Pair(..))) = operands.first() {
            result.for_each_register(&mut |reg| {
                if reg.writes == RegId::IN_PLACE {
                    self.overwrite(reg);
                }
            });
        }
    }

    /// Indents, and writes the guard if there is one.
    fn begin_line(&mut self, at: &'static Location<'static>) {
        self.entry.text.push_str("    ");
        if let Some((reg, negated)) = self.guard {
            self.check_use(reg, at);
            let _ = write!(self.entry.text, "@{}{reg} ", if negated { "!" } else { "" });
        }
    }

    fn end_line(&mut self, at: &'static Location<'static>) {
        self.entry.text.push('\n');
        self.entry.marks.push(Mark { end: self.entry.text.len(), at: Some(at) });
    }

    /// Raises `.version` to what an instruction needs, and refuses it if the target lacks it.
    pub(crate) fn require(&mut self, mnemonic: &str, at: &'static Location<'static>) -> Option<Rule> {
        let (form, rule) = match self.forms.get(mnemonic) {
            Some(known) => *known,
            None => match table::find(mnemonic) {
                Some(form) => {
                    let known = (form, Rule::of(mnemonic));
                    self.forms.insert(mnemonic.into(), known);
                    known
                }
                None => {
                    self.fail(BuildErrorKind::UnknownInstruction { mnemonic: mnemonic.to_string() }, at);
                    return None;
                }
            },
        };
        self.require_support(mnemonic, (form.version, form.needs), at);
        Some(rule)
    }

    /// Raises `.version`, and refuses what the target lacks.
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

    /// Writes a line that is no instruction: a label, a comment, a brace.
    pub(crate) fn line(&mut self, line: fmt::Arguments<'_>) {
        let _ = self.entry.text.write_fmt(line);
        self.entry.text.push('\n');
        self.entry.marks.push(Mark { end: self.entry.text.len(), at: None });
    }

    /// Writes raw text, marked as such; what it needs is known only where the table has its mnemonics.
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
            self.check_use(*reg, at);
        }
        for mnemonic in raw::mnemonics(text) {
            self.entry.instructions += 1;
            let divergence = self.uniform.require_raw(Rule::of(mnemonic), mnemonic, at);
            self.fail_if(divergence);
            if let Some(form) = table::find(mnemonic) {
                self.require_support(mnemonic, (form.version, form.needs), at);
            }
        }
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            self.begin_line(at);
            let _ = write!(self.entry.text, "{line} // raw");
            self.end_line(at);
        }
        Ok(())
    }

    /// Adds a module-scope declaration, once.
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

/// The cell that every handle of one kernel points to.
pub(crate) struct Ctx {
    pub(crate) body: RefCell<Body>,
}
