//! Finds the registers that may contain undefined values, so that a checked run watches only these registers.
//!
//! A register is watched if a path in its function reaches a use of the register without a write, as determined by a forward analysis.
//! Registers that are loaded from memory with possibly undefined values, and registers that are computed from watched registers, are also
//! watched.

use std::collections::HashMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::program::code::properties::{Flow, Passes};
use crate::program::code::{
    Access, Code, Control, D, Guard, Memory, Op, P, R, Reg, Slots, Space, Tensor, WarpOp, Watch, Watched,
    WatchedRegister,
};

/// The registers that an instruction accesses.
#[derive(Debug, Default)]
pub(crate) struct Touches {
    /// Registers that are copied or used in computations.
    pub(crate) sources: Vec<Reg>,
    /// Registers whose values affect behavior: addresses, targets, operands of products.
    pub(crate) sinks: Vec<Reg>,
    pub(crate) writes: Vec<Reg>,
    /// All registers that are read.
    pub(crate) reads: Vec<Reg>,
    /// Whether the instruction is a floating-point `mul`, `add` or `sub` without a rounding modifier.
    pub(crate) contractible: bool,
}

impl Touches {
    /// Returns the registers that are written, followed by those that are read, without duplicates.
    pub(crate) fn registers(&self) -> Box<[Reg]> {
        let mut all: Vec<Reg> = vec![];
        for &reg in self.writes.iter().chain(&self.sources).chain(&self.sinks) {
            if !all.contains(&reg) {
                all.push(reg);
            }
        }
        all.into()
    }
}

/// The maximum total number of bits for all registers and basic blocks. Above this limit, the analysis is skipped.
const MAX_WORK: usize = 1 << 30;

/// Sets [`Look::watch`](crate::program::code::Look), once the code is complete.
pub(crate) fn mark(code: &mut Code, touches: &[Touches], names: &HashMap<Reg, Arc<str>>, starts: &[usize]) {
    let mut unwritten = Registers::none(code.slots);
    for (i, &start) in starts.iter().enumerate() {
        let end = starts.get(i + 1).copied().unwrap_or(code.instrs.len());
        unwritten.extend(undefined_uses(code, touches, start..end));
    }
    spread(code, touches, &mut unwritten);
    let mut watched = unwritten.clone();
    watched.extend(loaded(code, touches, partial_at_first(code)));
    watched.extend(matrices(code, touches));
    watched.extend(passed(code, touches));
    spread(code, touches, &mut watched);
    let numbers: FxHashMap<Reg, u32> = watched.iter().zip(0..).collect();
    let index =
        |regs: &[Reg]| -> Box<[u32]> { regs.iter().filter_map(|reg| numbers.get(reg).copied()).collect() };
    for (at, touches) in touches.iter().enumerate() {
        let guard = guard_of(code, at);
        let mut all = guard.iter().chain(&touches.sources).chain(&touches.sinks).chain(&touches.writes);
        if !all.clone().any(|&reg| watched.contains(reg)) {
            continue;
        }
        let shuffled = shuffled(&code.instrs[at].op);
        let written: Vec<Reg> = touches.writes.iter().copied().filter(|&reg| Some(reg) != shuffled).collect();
        code.meta[at].look.get_or_insert_default().watch = Some(Watch {
            guard: guard.and_then(|reg| numbers.get(&reg).copied()),
            sources: index(&touches.sources),
            sinks: index(&touches.sinks),
            writes: index(&written),
            always: all.any(|&reg| unwritten.contains(reg)),
        });
    }
    for callee in &mut code.callees {
        let own = |reg: &Reg| callee.saved.is_some_and(|range| lies_in(*reg, range));
        callee.watched = index(&watched.iter().filter(own).collect::<Vec<_>>());
    }
    let register = |reg: Reg| WatchedRegister {
        reg,
        name: names.get(&reg).cloned().unwrap_or_else(|| Arc::from("?")),
        unwritten: unwritten.contains(reg),
    };
    code.watched = Watched { registers: watched.iter().map(register).collect(), numbers };
}

/// A set of registers.
#[derive(Clone, Debug)]
struct Registers {
    slots: Slots,
    /// The members, by class and then by index.
    members: Vec<bool>,
    count: usize,
}

impl Registers {
    fn none(slots: Slots) -> Self {
        Self { slots, members: vec![false; (slots.r + 2 * slots.d + slots.p) as usize], count: 0 }
    }

    fn index(&self, reg: Reg) -> usize {
        let Slots { r, d, p } = self.slots;
        (match reg {
            Reg::R(R(i)) => i,
            Reg::D(D(i)) => r + i,
            Reg::P(P(i)) => r + d + i,
            Reg::Q(D(i)) => r + d + p + i,
        }) as usize
    }

    fn contains(&self, reg: Reg) -> bool {
        self.members[self.index(reg)]
    }

    fn extend(&mut self, regs: impl IntoIterator<Item = Reg>) {
        for reg in regs {
            let at = self.index(reg);
            self.count += usize::from(!std::mem::replace(&mut self.members[at], true));
        }
    }

    fn iter(&self) -> impl Iterator<Item = Reg> {
        let Slots { r, d, p } = self.slots;
        let class = |count: u32, reg: fn(u32) -> Reg| (0..count).map(reg);
        let all = class(r, |i| Reg::R(R(i)))
            .chain(class(d, |i| Reg::D(D(i))))
            .chain(class(p, |i| Reg::P(P(i))))
            .chain(class(d, |i| Reg::Q(D(i))));
        all.zip(&self.members).filter(|(_, member)| **member).map(|(reg, _)| reg)
    }
}

fn lies_in(reg: Reg, (from, to): (Slots, Slots)) -> bool {
    match reg {
        Reg::R(R(i)) => (from.r..to.r).contains(&i),
        Reg::D(D(i)) | Reg::Q(D(i)) => (from.d..to.d).contains(&i),
        Reg::P(P(i)) => (from.p..to.p).contains(&i),
    }
}

/// Returns the result register of a shuffle. Its undefined bits are those of the value in the source lane.
fn shuffled(op: &Op) -> Option<Reg> {
    match op {
        Op::Warp(WarpOp::Shfl(shfl)) => Some(Reg::R(shfl.d)),
        _ => None,
    }
}

/// Returns the registers that are loaded by the accesses that `by` selects.
fn loaded(code: &Code, touches: &[Touches], by: impl Fn(&Access) -> bool) -> Vec<Reg> {
    let loads = code.instrs.iter().zip(touches).filter(|(instr, _)| match &instr.op {
        Op::Memory(Memory::Ld(access, _) | Memory::LdR(access, _)) => by(access),
        _ => false,
    });
    loads.flat_map(|(_, touches)| touches.writes.iter().copied()).collect()
}

/// Returns the registers loaded by `ldmatrix`, and the sums of products whose operands are in shared memory.
fn matrices<'c>(code: &'c Code, touches: &'c [Touches]) -> impl Iterator<Item = Reg> + 'c {
    let is_load = |op: &Op| match op {
        Op::Memory(Memory::LdMatrix(_)) => true,
        Op::Tensor(tensor) => matches!(**tensor, Tensor::Wgmma(_)),
        _ => false,
    };
    let loads = code.instrs.iter().zip(touches).filter(move |(instr, _)| is_load(&instr.op));
    loads.flat_map(|(_, touches)| touches.writes.iter().copied())
}

/// Returns a predicate that selects loads from local and shared memory, which may never have been written.
fn partial_at_first(code: &Code) -> impl Fn(&Access) -> bool {
    let local = code.frame > 0 || code.callees.iter().any(|callee| callee.frame > 0);
    let shared = code.static_shared > 0 || code.uses_dynamic_shared;
    move |access| match access.space {
        Space::Local => true,
        Space::Generic => local || shared,
        Space::Shared | Space::SharedCluster => true,
        _ => false,
    }
}

/// Returns the registers that contain arguments and results of calls.
fn passed(code: &Code, touches: &[Touches]) -> Vec<Reg> {
    let places = code.callees.iter().flat_map(|callee| callee.params.iter().chain(&callee.returns));
    let mut regs: Vec<Reg> = places.filter_map(|place| place.register()).collect();
    for (instr, touches) in code.instrs.iter().zip(touches) {
        if let Op::Control(Control::Call(_)) = instr.op {
            regs.extend(touches.sources.iter().chain(&touches.writes));
        }
    }
    regs
}

fn guard_of(code: &Code, at: usize) -> Option<Reg> {
    match code.instrs[at].guard {
        Guard::Always => None,
        Guard::If(p) | Guard::Unless(p) => Some(Reg::P(p)),
    }
}

/// Adds all registers that are computed from registers in `watched`.
fn spread(code: &Code, touches: &[Touches], watched: &mut Registers) {
    loop {
        let before = watched.count;
        for (at, touches) in touches.iter().enumerate() {
            let guard = guard_of(code, at);
            let mut read = touches.sources.iter().chain(&guard);
            let tainted = read.any(|&reg| watched.contains(reg));
            if tainted && !matches!(code.instrs[at].op.properties().passes, Passes::Nothing) {
                watched.extend(touches.writes.iter().copied());
            }
        }
        if watched.count == before {
            return;
        }
    }
}

/// Returns the instructions to which control may flow after instruction `at`.
pub(crate) fn successors(code: &Code, at: usize) -> Vec<usize> {
    let instr = &code.instrs[at];
    let next = at + 1;
    let mut to = match instr.op.properties().flow {
        Flow::Next => return vec![next],
        Flow::To(targets) => targets.iter().map(|&target| target as usize).collect(),
        Flow::Ends => vec![],
    };
    if instr.guard != Guard::Always {
        to.push(next);
    }
    to
}

/// A set of small integers.
type Bits = Vec<u64>;

fn set(bits: &mut Bits, i: usize) {
    bits[i / 64] |= 1 << (i % 64);
}

fn has(bits: &Bits, i: usize) -> bool {
    bits[i / 64] >> (i % 64) & 1 == 1
}

/// Returns the registers of a function that may be read before any write to them.
fn undefined_uses(code: &Code, touches: &[Touches], range: std::ops::Range<usize>) -> Vec<Reg> {
    let mut numbers: FxHashMap<Reg, usize> = FxHashMap::default();
    let mut regs = vec![];
    for at in range.clone() {
        let t = &touches[at];
        for &reg in t.sources.iter().chain(&t.sinks).chain(&t.writes).chain(&guard_of(code, at)) {
            numbers.entry(reg).or_insert_with(|| {
                regs.push(reg);
                regs.len() - 1
            });
        }
    }
    let leaders = leaders(code, &range);
    let words = regs.len().div_ceil(64);
    if words * 64 * leaders.len() > MAX_WORK {
        return regs;
    }
    let block_of = |at: usize| leaders.partition_point(|&leader| leader <= at) - 1;
    let end_of = |block: usize| leaders.get(block + 1).copied().unwrap_or(range.end);
    // For each block, the registers that every path to its start writes; for unreached blocks, all registers.
    let mut before: Vec<Bits> = vec![vec![u64::MAX; words]; leaders.len()];
    before[0] = vec![0; words];
    let mut work = vec![0];
    let mut seen = vec![false; leaders.len()];
    seen[0] = true;
    while let Some(block) = work.pop() {
        let mut bits = before[block].clone();
        let end = end_of(block);
        for at in leaders[block]..end {
            write(code, touches, at, &numbers, &mut bits);
        }
        for to in successors(code, end - 1) {
            if !range.contains(&to) {
                continue;
            }
            let target = block_of(to);
            let old = &mut before[target];
            let changed = old.iter_mut().zip(&bits).fold(false, |changed, (old, new)| {
                let meet = *old & new;
                let differs = meet != *old;
                *old = meet;
                changed | differs
            });
            let first = !std::mem::replace(&mut seen[target], true);
            if first || changed {
                work.push(target);
            }
        }
    }
    let mut found = vec![false; regs.len()];
    for block in (0..leaders.len()).filter(|&b| seen[b]) {
        let mut bits = before[block].clone();
        for at in leaders[block]..end_of(block) {
            let t = &touches[at];
            for reg in t.sources.iter().chain(&t.sinks).chain(&guard_of(code, at)) {
                let number = numbers[reg];
                found[number] |= !has(&bits, number);
            }
            write(code, touches, at, &numbers, &mut bits);
        }
    }
    (0..regs.len()).filter(|&i| found[i]).map(|i| regs[i]).collect()
}

/// Records the registers that instruction `at` writes on every path.
fn write(code: &Code, touches: &[Touches], at: usize, numbers: &FxHashMap<Reg, usize>, bits: &mut Bits) {
    if code.instrs[at].guard == Guard::Always {
        touches[at].writes.iter().for_each(|reg| set(bits, numbers[reg]));
    }
}

/// Returns the first instructions of basic blocks.
pub(crate) fn leaders(code: &Code, range: &std::ops::Range<usize>) -> Vec<usize> {
    let mut leaders = vec![range.start];
    for at in range.clone() {
        let to = successors(code, at);
        if to != [at + 1] {
            leaders.push(at + 1);
            leaders.extend(to);
        }
    }
    leaders.retain(|leader| range.contains(leader));
    leaders.sort_unstable();
    leaders.dedup();
    leaders
}
