//! The checks of every access to global memory, against accesses by threads of the same cluster and by other clusters.

use crate::lanes::{Lanes64, lanes};
use crate::machine::bulk::GlobalRead;
use crate::machine::memory::Memory;
use crate::machine::{Cluster, Machine};
use crate::program::code::{Access, Addr, Code, Memory as MemoryOp, Op};
use crate::program::module::Module;
use crate::report::fault::{Elsewhere, Fault, Outcome, Where};
use crate::report::{Checks, Finding, FindingKind};
use crate::shadow::global::order::Reads;
use crate::shadow::global::{Accessor, Manner, Other, Thread};

/// Returns the message of a race; `what` names the two accesses.
fn message(address: u64, memory: &Memory, what: &str) -> String {
    format!("global memory race: {what} with nothing to order them, at {}", memory.describe(address))
}

/// Returns a description of the two accesses of a race between blocks.
fn between_blocks(writes: bool) -> &'static str {
    if writes { "a block writes what another accesses" } else { "a block reads what another writes" }
}

/// Returns the races between blocks that run concurrently.
pub(crate) fn races_between_blocks(machine: &Machine<'_>, module: &Module) -> Vec<Finding> {
    let Some(global) = machine.shadow.global.as_ref().filter(|global| global.order.is_none()) else {
        return vec![];
    };
    let finding = |(address, one, other, writes): (u64, Accessor, Accessor, bool)| Finding {
        kind: FindingKind::GlobalRace,
        message: message(address, machine.memory, between_blocks(writes)),
        site: machine.site_of(module, one.place()),
        other: Some(machine.site_of(module, other.place())),
        notes: vec![],
    };
    global.races().into_iter().map(finding).collect()
}

/// A function that returns the word at a byte offset in the value that a lane stores.
pub(crate) type Value<'a> = &'a dyn Fn(usize, u64) -> u32;

impl Cluster<'_> {
    /// Checks a load of `bytes` bytes by each lane of `m`. The addresses are in bounds.
    #[inline]
    pub(super) fn check_global_load(
        &mut self,
        access: &Access,
        all: &Lanes64,
        bytes: u64,
        m: u32,
    ) -> Outcome<()> {
        self.record_bytes(all, bytes, m, Manner::Read, access.strong)?;
        // A strong load does not race with threads of the cluster.
        if !access.strong {
            self.check_threads(all, bytes, m, Manner::Read, |_, _| 0)?;
        }
        if self.machine.shadow.global.is_none() {
            return Ok(());
        }
        if access.meets_blocks {
            if let Some(mut order) = self.order() {
                let reads = if access.relaxed { Reads::Relaxed } else { Reads::Yes };
                for address in lanes(m).flat_map(|lane| access.words(all[lane])) {
                    order.strong(self.number, self.inside(), address, reads, false, false);
                }
            }
            return Ok(());
        }
        self.check_clusters(all, bytes, m, Manner::Read, &|_, _| 0)
    }

    /// Checks a store of `bytes` bytes by each lane of `m`; `value` returns the word at a byte offset in a lane's value.
    #[inline]
    pub(super) fn check_global_store(
        &mut self,
        access: &Access,
        all: &Lanes64,
        bytes: u64,
        m: u32,
        value: impl Fn(usize, u64) -> u32,
    ) -> Outcome<()> {
        let manner = if access.strong { Manner::Strong } else { Manner::Write };
        self.record_bytes(all, bytes, m, manner, access.strong)?;
        self.check_threads(all, bytes, m, manner, &value)?;
        if self.machine.shadow.global.is_none() {
            return Ok(());
        }
        if !access.meets_blocks {
            return self.check_clusters(all, bytes, m, Manner::Write, &value);
        }
        if let Some(mut order) = self.order() {
            let release = access.synchronizes;
            for address in lanes(m).flat_map(|lane| access.words(all[lane])) {
                order.strong(self.number, self.inside(), address, Reads::No, true, release);
            }
        }
        self.check_clusters(all, bytes, m, Manner::Strong, &value)
    }

    /// Checks atomics of the lanes of `m`.
    pub(super) fn check_global_atomics(
        &mut self,
        access: &Access,
        all: &Lanes64,
        m: u32,
        read: bool,
    ) -> Outcome<()> {
        let bytes = access.size();
        self.record_bytes(all, bytes, m, Manner::Atomic, true)?;
        self.check_threads(all, bytes, m, Manner::Atomic, |_, _| 0)?;
        if !access.meets_blocks {
            return self.check_clusters(all, bytes, m, Manner::Narrow, &|_, _| 0);
        }
        let (Some(global), Some(mut order)) = (&self.machine.shadow.global, self.order()) else {
            return self.check_clusters(all, bytes, m, Manner::Atomic, &|_, _| 0);
        };
        let (who, inside) = (Accessor::new(self.number, self.pc, self.warp), self.inside());
        let reads = if read { Reads::Yes } else { Reads::No };
        let mut found = None;
        for lane in lanes(m) {
            for address in access.words(all[lane]) {
                order.strong(self.number, inside, address, reads, true, access.synchronizes);
            }
            let other =
                global.access(&mut order, all[lane], bytes, who, Manner::Atomic, inside.clocks, |_| 0);
            found = found.or(other.map(|other| (lane, other)));
        }
        drop(order);
        self.global_race(found, all, Manner::Atomic)
    }

    /// Checks an access against earlier accesses by the threads of the cluster and by other clusters.
    pub(super) fn check_global(
        &mut self,
        all: &Lanes64,
        bytes: u64,
        m: u32,
        manner: Manner,
        value: Value<'_>,
    ) -> Outcome<()> {
        self.check_threads(all, bytes, m, manner, value)?;
        self.check_clusters(all, bytes, m, manner, value)
    }

    /// Checks an access against earlier accesses by the threads of the cluster.
    #[inline]
    fn check_threads(
        &mut self,
        all: &Lanes64,
        bytes: u64,
        m: u32,
        manner: Manner,
        value: impl Fn(usize, u64) -> u32,
    ) -> Outcome<()> {
        self.check_dependence(all, m, manner)?;
        let Some(threads) = &mut self.shadow.threads else { return Ok(()) };
        let (clocks, thread) = (&self.shadow.races.clocks, Thread { warp: self.warp, pc: self.pc });
        let found = match manner {
            Manner::Read => threads.read(clocks, all, bytes, m, thread),
            _ => threads.write(clocks, all, bytes, m, thread, manner, value),
        };
        match found {
            None => Ok(()),
            Some((lane, other)) => self.thread_race(all[lane], lane, other, manner),
        }
    }

    /// Reports a race of a lane with another thread of the cluster.
    #[cold]
    fn thread_race(&mut self, address: u64, lane: usize, other: Other, manner: Manner) -> Outcome<()> {
        if !self.is_news(FindingKind::GlobalRace, Some(other.pc)) {
            return Ok(());
        }
        let other_is_engine = other.warp == self.shadow.races.clocks.engine();
        let whose = match self.block_of(other.warp) == self.at {
            _ if other_is_engine => "the copy engine",
            true => "another of its block",
            false => "another of its cluster",
        };
        let what = match manner {
            Manner::Read => format!("a thread reads what {whose} writes"),
            _ => format!("a thread writes what {whose} accesses"),
        };
        let mut fault =
            Fault::at(FindingKind::GlobalRace, lane, message(address, self.machine.memory, &what));
        match other {
            Other { warp, pc, .. } if other_is_engine => {
                fault.other = Some(Where { warp, lane: 0, pc });
            }
            Other { warp, lane: Some(lane), pc } => fault.other = Some(Where { warp, lane, pc }),
            Other { warp, lane: None, pc } => {
                fault.elsewhere = Some(Elsewhere { cluster: self.number, warp, pc });
            }
        }
        self.note(fault)
    }

    /// Checks a completed read of global memory by the bulk copy engine, for the executing instruction.
    pub(super) fn check_engine_global_read(&mut self, read: &GlobalRead) -> Outcome<()> {
        if !self.machine.checks.contains(Checks::GLOBAL_RACES) {
            return Ok(());
        }
        let mut agent = self.warp;
        if self.racing() {
            let clocks = &mut self.shadow.races.clocks;
            agent = clocks.engine();
            clocks.inform(agent, &read.known);
            clocks.work(agent);
        }
        for &(address, bytes) in &read.runs {
            let (all, m) = ([address; 32], 1 << read.lane);
            if let Some(threads) = &mut self.shadow.threads {
                let thread = Thread { warp: agent, pc: self.pc };
                let found = threads.read(&self.shadow.races.clocks, &all, bytes, m, thread);
                if let Some((lane, other)) = found {
                    self.thread_race(address, lane, other, Manner::Read)?;
                }
            }
            self.check_clusters_by(agent, &all, bytes, m, Manner::Read, &|_, _| 0)?;
        }
        Ok(())
    }

    /// Checks an access against earlier accesses by other clusters.
    fn check_clusters(
        &mut self,
        all: &Lanes64,
        bytes: u64,
        m: u32,
        manner: Manner,
        value: Value<'_>,
    ) -> Outcome<()> {
        self.check_clusters_by(self.warp, all, bytes, m, manner, value)
    }

    /// Checks an access by a warp or an engine against earlier accesses by other clusters.
    fn check_clusters_by(
        &mut self,
        agent: usize,
        all: &Lanes64,
        bytes: u64,
        m: u32,
        manner: Manner,
        value: Value<'_>,
    ) -> Outcome<()> {
        let Some(global) = &self.machine.shadow.global else { return Ok(()) };
        let who = Accessor::new(self.number, self.pc, agent);
        let Some(mut order) = global.order() else {
            match manner {
                Manner::Read => global.read(&mut self.shadow.own_writes, all, bytes, m, who),
                _ => global.write(&mut self.shadow.own_writes, all, bytes, m, who, value),
            }
            return Ok(());
        };
        let clocks = self.clocks();
        let mut found = None;
        for lane in lanes(m) {
            let other =
                global.access(&mut order, all[lane], bytes, who, manner, clocks, |byte| value(lane, byte));
            found = found.or(other.map(|other| (lane, other)));
        }
        drop(order);
        self.global_race(found, all, manner)
    }

    /// Reports a race of a lane with another cluster, if one was found.
    fn global_race(
        &mut self,
        found: Option<(usize, Accessor)>,
        all: &Lanes64,
        manner: Manner,
    ) -> Outcome<()> {
        let news = |(_, other): &(usize, Accessor)| self.is_news(FindingKind::GlobalRace, Some(other.pc()));
        let Some((lane, other)) = found.filter(news) else { return Ok(()) };
        if manner == Manner::Read && is_update(self.machine.code, other.pc()) && self.is_seed() {
            return Ok(());
        }
        let message = message(all[lane], self.machine.memory, between_blocks(manner != Manner::Read));
        let mut fault = Fault::at(FindingKind::GlobalRace, lane, message);
        fault.elsewhere = Some(other.place());
        self.note(fault)
    }

    /// Returns whether a later atomic of the kernel updates the address that the executing load reads. If so, the value may be the initial
    /// value of an `atom.cas` loop, or may determine whether the atomic is needed.
    #[cold]
    fn is_seed(&self) -> bool {
        let code = self.machine.code;
        let Some(loaded) = code.instrs.get(self.pc as usize).and_then(|instr| loaded(&instr.op)) else {
            return false;
        };
        code.instrs.iter().skip(self.pc as usize + 1).any(|instr| updated(&instr.op) == Some(loaded))
    }
}

/// Returns whether an instruction is atomic.
fn is_update(code: &Code, pc: u32) -> bool {
    code.instrs.get(pc as usize).is_some_and(|instr| updated(&instr.op).is_some())
}

/// Returns the address from which an instruction loads.
fn loaded(op: &Op) -> Option<Addr> {
    match op {
        Op::Memory(MemoryOp::LdR(access, _) | MemoryOp::Ld(access, _)) => Some(access.addr),
        _ => None,
    }
}

/// Returns the address that an instruction updates atomically.
fn updated(op: &Op) -> Option<Addr> {
    match op {
        Op::Memory(MemoryOp::Atom(atom)) => Some(atom.access.addr),
        _ => None,
    }
}
