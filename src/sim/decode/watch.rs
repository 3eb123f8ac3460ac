//! Finds the registers that may be read before they are written, so that a checked run watches only those.
//!
//! A forward analysis per function: a register is watched if some path reaches a use of it without passing a write.
//! What is computed from watched registers is watched too, so that an undefined value is reported where it decides
//! something (an address, a branch, a stored value), not where it is merely copied along.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::sim::code::{Code, Control, Guard, Op, Reg, Watch};

/// What an instruction does with registers.
#[derive(Debug, Default)]
pub(super) struct Touches {
    /// Read, and passed on into what is written.
    pub(super) sources: Vec<Reg>,
    /// Read, and decisive.
    pub(super) sinks: Vec<Reg>,
    pub(super) writes: Vec<Reg>,
    /// Read at all.
    pub(super) reads: Vec<Reg>,
}

impl Touches {
    /// What is written, then what is read, each once.
    pub(super) fn registers(&self) -> Box<[Reg]> {
        let mut all: Vec<Reg> = vec![];
        for &reg in self.writes.iter().chain(&self.sources).chain(&self.sinks) {
            if !all.contains(&reg) {
                all.push(reg);
            }
        }
        all.into()
    }
}

/// Bits of all registers and blocks together beyond which the analysis is not made.
const MAX_WORK: usize = 1 << 30;

/// Fills in [`Look::watch`](crate::sim::code::Look) of a complete code.
pub(super) fn mark(code: &mut Code, touches: &[Touches], names: &HashMap<Reg, Arc<str>>) {
    let mut starts: Vec<usize> =
        code.callees.iter().filter(|c| c.builtin.is_none()).map(|c| c.start as usize).collect();
    starts.push(0);
    starts.sort_unstable();
    starts.dedup();
    let mut watched: BTreeMap<Reg, u32> = BTreeMap::new();
    for (i, &start) in starts.iter().enumerate() {
        let end = starts.get(i + 1).copied().unwrap_or(code.instrs.len());
        for reg in undefined_uses(code, touches, start..end) {
            let next = watched.len() as u32;
            watched.entry(reg).or_insert(next);
        }
    }
    spread(code, touches, &mut watched);
    let index =
        |regs: &[Reg]| -> Box<[u32]> { regs.iter().filter_map(|reg| watched.get(reg).copied()).collect() };
    for (at, touches) in touches.iter().enumerate() {
        let guard = guard_of(code, at).and_then(|reg| watched.get(&reg).copied());
        let watch = Watch {
            guard,
            sources: index(&touches.sources),
            sinks: index(&touches.sinks),
            writes: index(&touches.writes),
            passes_on: matches!(code.instrs[at].op, Op::Alu(_)),
        };
        let any = watch.guard.is_some()
            || [&watch.sources, &watch.sinks, &watch.writes].iter().any(|l| !l.is_empty());
        if any {
            code.meta[at].look.get_or_insert_default().watch = Some(watch);
        }
    }
    let mut all = vec![Arc::from("?"); watched.len()];
    for (reg, index) in watched {
        if let Some(name) = names.get(&reg) {
            all[index as usize] = name.clone();
        }
    }
    code.watched = all;
}

fn guard_of(code: &Code, at: usize) -> Option<Reg> {
    match code.instrs[at].guard {
        Guard::Always => None,
        Guard::If(p) | Guard::Unless(p) => Some(Reg::P(p)),
    }
}

/// Adds to `watched` whatever is computed from it.
fn spread(code: &Code, touches: &[Touches], watched: &mut BTreeMap<Reg, u32>) {
    loop {
        let before = watched.len();
        for (at, touches) in touches.iter().enumerate() {
            let guard = guard_of(code, at);
            let tainted = touches.sources.iter().chain(&guard).any(|reg| watched.contains_key(reg));
            if !tainted || !matches!(code.instrs[at].op, Op::Alu(_)) {
                continue;
            }
            for &reg in &touches.writes {
                let next = watched.len() as u32;
                watched.entry(reg).or_insert(next);
            }
        }
        if watched.len() == before {
            return;
        }
    }
}

/// Where control may go after instruction `at`.
fn successors(code: &Code, at: usize) -> Vec<usize> {
    let instr = &code.instrs[at];
    let next = at + 1;
    let mut to = match &instr.op {
        Op::Control(Control::Branch(target)) => vec![*target as usize],
        Op::Control(Control::BranchIndexed(_, targets)) => targets.iter().map(|&t| t as usize).collect(),
        Op::Control(Control::Return | Control::Exit | Control::Trap) => vec![],
        _ => return vec![next],
    };
    if instr.guard != Guard::Always {
        to.push(next);
    }
    to
}

/// A set of small numbers.
type Bits = Vec<u64>;

fn set(bits: &mut Bits, i: usize) {
    bits[i / 64] |= 1 << (i % 64);
}

fn has(bits: &Bits, i: usize) -> bool {
    bits[i / 64] >> (i % 64) & 1 == 1
}

/// The registers of one function with a use that a path reaches before any write.
fn undefined_uses(code: &Code, touches: &[Touches], range: std::ops::Range<usize>) -> Vec<Reg> {
    let mut numbers: HashMap<Reg, usize> = HashMap::new();
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
    // Written on every path to the start of each block; unreached blocks count as all written.
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
            if changed || !std::mem::replace(&mut seen[target], true) {
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

/// Notes what instruction `at` writes on every path.
fn write(code: &Code, touches: &[Touches], at: usize, numbers: &HashMap<Reg, usize>, bits: &mut Bits) {
    if code.instrs[at].guard == Guard::Always {
        touches[at].writes.iter().for_each(|reg| set(bits, numbers[reg]));
    }
}

/// First instructions of basic blocks.
fn leaders(code: &Code, range: &std::ops::Range<usize>) -> Vec<usize> {
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
