//! What all blocks of a launch share, and the state of one block.

use std::collections::HashMap;
use std::sync::MutexGuard;

use super::arith::mma::TensorArch;
use super::barrier::{BarrierState, ClusterBarrier};
use super::check::counted::CountedCopies;
use super::check::global::{Elsewhere, GlobalRaces, Order, OwnWrites};
use super::check::races::Races;
use super::check::remote::End;
use super::check::undefined::Written;
use super::code::{Code, Special, Value};
use super::exec::bulk::BulkCopies;
use super::exec::mbarrier::Passing;
use super::exec::tensor::{Scratch, WgmmaGroups};
use super::fault::{Fault, Outcome, Where};
use super::launch::Checks;
use super::memory::{FUNCTION_WINDOW, LOCAL_WINDOW, Memory, PARAM_WINDOW, SHARED_BITS, SHARED_WINDOW};
use super::module::Module;
use super::report::{Counts, Site};
use super::trace::Tracer;

/// A launch: everything that stays the same while it runs.
pub(super) struct Machine<'a> {
    pub(super) code: &'a Code,
    pub(super) memory: &'a Memory,
    /// The parameter space.
    pub(super) params: Vec<u32>,
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    pub(super) cluster: [u32; 3],
    pub(super) explicit_cluster: bool,
    /// Bytes of shared memory of a block, and where its dynamic part starts.
    pub(super) shared_bytes: u32,
    pub(super) dynamic_start: u32,
    /// Registers of each thread at the start, if the kernel says so (`.maxnreg`).
    pub(super) registers: Option<u32>,
    /// What cooperative groups of the whole grid meet in, if the kernel asks for it.
    pub(super) workspace: u64,
    /// Addresses of the module's variables.
    pub(super) variables: Vec<u64>,
    pub(super) tensor: TensorArch,
    pub(super) checks: Checks,
    pub(super) step_limit: u64,
    /// Findings to collect before the run ends; 0 ends it at the first.
    pub(super) keep_going: usize,
    /// Of a random interleaving.
    pub(super) seed: Option<u64>,
    /// Who accessed global memory; absent when nobody asks.
    pub(super) global: Option<GlobalRaces>,
    /// Who wants to see instructions as they are executed.
    pub(super) tracer: Option<Tracer<'a>>,
    /// Several blocks run at once.
    pub(super) parallel: bool,
}

/// Registers of a multiprocessor, and of a thread that `setmaxnreg` gave the most.
const REGISTERS: u32 = 1 << 16;
const MOST_REGISTERS: u32 = 256;

/// Multiprocessors of the simulated part (an H100 has 132).
pub(super) const MULTIPROCESSORS: u32 = 132;

impl Machine<'_> {
    /// Whether nobody wants to know more than results.
    pub(super) fn is_unwatched(&self) -> bool {
        self.checks.is_empty() && self.tracer.is_none()
    }

    pub(super) fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    /// Registers that each thread of a block can have at its start; the assembler counts them in eights.
    pub(super) fn most_registers(&self) -> u32 {
        (REGISTERS / self.threads().max(1) / 8 * 8).min(MOST_REGISTERS)
    }

    /// Where an instruction of a warp stands; `block` is the block's coordinates.
    pub(super) fn site(
        &self,
        module: &Module,
        block: [u32; 3],
        warp: u32,
        pc: u32,
        lane: Option<usize>,
    ) -> Site {
        let code = self.code;
        let meta = &code.meta[(pc as usize).min(code.meta.len() - 1)];
        Site {
            kernel: code.entry.to_string(),
            block,
            thread: lane.map(|lane| self.thread(warp * 32 + lane as u32)),
            warp,
            lane: lane.map(|lane| lane as u32),
            line: meta.line,
            column: meta.column,
            mnemonic: code.mnemonics[meta.mnemonic as usize].to_string(),
            source: module.source_of(code, meta),
            file: module.file().to_string(),
            text: module.line(meta.line).to_string(),
        }
    }

    /// The same for any cluster of the grid.
    pub(super) fn site_of(&self, module: &Module, place: Elsewhere) -> Site {
        let warps = self.threads().div_ceil(32) as usize;
        let rank = (place.warp / warps) as u32;
        self.site(module, self.block_of(place.cluster, rank), (place.warp % warps) as u32, place.pc, None)
    }

    /// The coordinates in the grid of a block of a cluster.
    pub(super) fn block_of(&self, cluster: u64, rank: u32) -> [u32; 3] {
        let [cx, cy, _] = self.clusters().map(u64::from);
        let origin = [cluster % cx, cluster / cx % cy, cluster / cx / cy];
        let [x, y, _] = self.cluster;
        let within = [rank % x, rank / x % y, rank / x / y];
        std::array::from_fn(|i| origin[i] as u32 * self.cluster[i] + within[i])
    }

    /// Room for the work of each instruction, if anybody counts.
    pub(super) fn empty_profile(&self) -> Vec<Counts> {
        let counting = self.checks.contains(Checks::COUNTS);
        vec![Counts::default(); if counting { self.code.instrs.len() } else { 0 }]
    }

    /// Blocks in a cluster.
    pub(super) fn cluster_size(&self) -> u32 {
        self.cluster.iter().product()
    }

    /// Clusters along each axis.
    pub(super) fn clusters(&self) -> [u32; 3] {
        std::array::from_fn(|i| self.grid[i] / self.cluster[i])
    }

    /// A thread's coordinates in its block.
    pub(super) fn thread(&self, linear: u32) -> [u32; 3] {
        let [x, y, _] = self.block;
        [linear % x, linear / x % y, linear / x / y]
    }

    /// What a slot holds in each lane when warp `warp` of a block starts.
    pub(super) fn preset(&self, value: Value, cta: &Cta, warp: u32) -> [u64; 32] {
        let shared = |offset: i64, generic: bool| {
            let window = if generic { SHARED_WINDOW } else { 0 };
            (window + (u64::from(cta.rank) << SHARED_BITS)).wrapping_add_signed(offset)
        };
        let uniform = match value {
            Value::Bits(bits) => bits,
            Value::Special(special) => return self.special(special, cta, warp),
            Value::Variable(index, offset) => {
                self.variables.get(index as usize).copied().unwrap_or(0).wrapping_add_signed(offset)
            }
            Value::Shared { offset, generic } => shared(offset, generic),
            Value::DynamicShared { offset, generic } => {
                shared(offset + i64::from(self.dynamic_start), generic)
            }
            Value::LocalGeneric(offset) => LOCAL_WINDOW.wrapping_add_signed(offset),
            Value::ParamGeneric(offset) => PARAM_WINDOW.wrapping_add_signed(offset),
            Value::Function(index) => FUNCTION_WINDOW + u64::from(index) * 16,
        };
        [uniform; 32]
    }

    fn special(&self, special: Special, cta: &Cta, warp: u32) -> [u64; 32] {
        let axis = |v: [u32; 3], i: u8| v[usize::from(i)];
        let size = self.cluster_size();
        let uniform = match special {
            Special::Tid(i) => {
                return std::array::from_fn(|lane| u64::from(axis(self.thread(warp * 32 + lane as u32), i)));
            }
            Special::LaneId => return std::array::from_fn(|lane| lane as u64),
            Special::LaneMaskEq => return std::array::from_fn(|lane| 1 << lane),
            Special::LaneMaskLt => return std::array::from_fn(|lane| (1 << lane) - 1),
            Special::LaneMaskLe => return std::array::from_fn(|lane| (2 << lane) - 1),
            Special::LaneMaskGt => return std::array::from_fn(|lane| 0xffff_ffff ^ ((2 << lane) - 1)),
            Special::LaneMaskGe => return std::array::from_fn(|lane| 0xffff_ffff ^ ((1 << lane) - 1)),
            Special::Ntid(i) => axis(self.block, i),
            Special::Ctaid(i) => axis(cta.id, i),
            Special::Nctaid(i) => axis(self.grid, i),
            Special::WarpId => warp,
            Special::NWarpId => self.threads().div_ceil(32),
            Special::SmId => (cta.linear % u64::from(MULTIPROCESSORS)) as u32,
            Special::NSmId => MULTIPROCESSORS,
            Special::GridId => 1,
            Special::ClusterId(i) => axis(cta.id, i) / axis(self.cluster, i),
            Special::NClusterId(i) => axis(self.clusters(), i),
            Special::ClusterCtaid(i) => axis(cta.id, i) % axis(self.cluster, i),
            Special::ClusterNctaid(i) => axis(self.cluster, i),
            Special::ClusterCtaRank => cta.rank,
            Special::ClusterNctaRank => size,
            Special::IsExplicitCluster => u32::from(self.explicit_cluster),
            Special::TotalSmemSize => self.shared_bytes,
            Special::DynamicSmemSize => self.shared_bytes - self.dynamic_start.min(self.shared_bytes),
            Special::Workspace { high } => (self.workspace >> if high { 32 } else { 0 }) as u32,
            Special::Zero => 0,
        };
        [u64::from(uniform); 32]
    }
}

/// One block's shared memory.
#[derive(Debug, Default)]
pub(super) struct Shared {
    pub(super) words: Vec<u32>,
    pub(super) bytes: u32,
    pub(super) written: Written,
}

impl Shared {
    pub(super) fn reset(&mut self, bytes: u32, track: bool) {
        let words = bytes.div_ceil(16) as usize * 4;
        self.bytes = bytes;
        self.words.clear();
        self.words.resize(words, 0);
        self.written.reset(if track { words } else { 0 });
    }
}

/// The state of one block beside its warps.
#[derive(Debug, Default)]
pub(super) struct Cta {
    pub(super) id: [u32; 3],
    /// Position in the grid, x fastest.
    pub(super) linear: u64,
    /// Rank in its cluster.
    pub(super) rank: u32,
    pub(super) shared: Shared,
    pub(super) barriers: [BarrierState; 16],
    /// Threads that have not ended.
    pub(super) live: u32,
    /// Registers of its pool that no warp has: what `setmaxnreg.dec` gave back.
    pub(super) free_registers: u32,
    pub(super) end: End,
    /// By warpgroup.
    pub(super) wgmma: Vec<WgmmaGroups>,
}

/// What executing an instruction may touch beside its own warp.
pub(super) struct Cx<'a> {
    pub(super) machine: &'a Machine<'a>,
    /// The blocks of the cluster.
    pub(super) ctas: Vec<Cta>,
    /// The block whose warp executes.
    pub(super) at: usize,
    /// Warp instructions executed so far by this cluster.
    pub(super) clock: u64,
    pub(super) printed: Vec<String>,
    pub(super) cluster_barrier: ClusterBarrier,
    /// Work by instruction; empty when nobody counts.
    pub(super) profile: Vec<Counts>,
    /// Mistakes after which the run goes on, with warp and instruction.
    pub(super) noted: Vec<(Box<Fault>, usize, u32)>,
    /// The cluster's number in the grid.
    pub(super) unit: u64,
    /// What it wrote of global memory, where that matters.
    pub(super) written: OwnWrites,
    pub(super) scratch: Scratch,
    pub(super) bulk: BulkCopies,
    /// How often something happened that a waiting thread might be waiting for.
    pub(super) events: u64,
    /// The executing warp's number in the cluster, and the instruction.
    pub(super) warp: usize,
    pub(super) pc: u32,
    pub(super) races: Races,
    pub(super) counted: CountedCopies,
    pub(super) mbarriers: HashMap<(usize, usize), Passing>,
    /// The first read of shared memory nobody wrote, with its warp and instruction.
    pub(super) postponed: Option<(Box<Fault>, usize, u32)>,
}

impl<'a> Cx<'a> {
    pub(super) fn cta(&mut self) -> &mut Cta {
        &mut self.ctas[self.at]
    }

    /// The executing instruction, of the warp's first lane, and the code that it is part of.
    pub(super) fn here(&self) -> (&'a Code, Where) {
        (self.machine.code, Where { warp: self.warp, lane: 0, pc: self.pc })
    }

    /// The order of clusters that take turns, where races in global memory are looked for.
    pub(super) fn order(&self) -> Option<MutexGuard<'a, Order>> {
        self.machine.global.as_ref()?.order()
    }

    /// The block of a warp of the cluster.
    pub(super) fn block_of(&self, warp: usize) -> usize {
        warp / self.machine.threads().div_ceil(32) as usize
    }

    /// A mistake after which the run can go on: noted, or an error if nobody collects them.
    pub(super) fn note(&mut self, fault: Box<Fault>) -> Outcome<()> {
        let (warp, pc) = (self.warp, self.pc);
        self.note_at(fault, warp, pc)
    }

    /// The same for another warp's instruction.
    pub(super) fn note_at(&mut self, fault: Box<Fault>, warp: usize, pc: u32) -> Outcome<()> {
        if self.machine.keep_going == 0 {
            return Err(fault);
        }
        // One instruction may be wrong a million times.
        let told = |(old, _, at): &(Box<Fault>, usize, u32)| *at == pc && old.kind == fault.kind;
        if !self.noted.iter().any(told) {
            self.noted.push((fault, warp, pc));
        }
        Ok(())
    }
}
