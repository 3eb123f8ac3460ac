//! The state shared by all blocks of a launch, and the state of one block.

use std::mem::take;
use std::sync::MutexGuard;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rustc_hash::FxHashMap;

use crate::arith::mma::TensorArch;
use crate::machine::barrier::{BarrierState, ClusterBarrier};
use crate::machine::bulk::BulkCopies;
use crate::machine::memory::Memory;
use crate::machine::printed::{OnPrint, Printed};
use crate::machine::trace::Tracer;
use crate::machine::wgmma::{Scratch, WgmmaGroups};
use crate::program::code::{Code, Special, Value};
use crate::program::module::Module;
use crate::program::spaces::{FUNCTION_WINDOW, LOCAL_WINDOW, PARAM_WINDOW, SHARED_BITS, SHARED_WINDOW};
use crate::report::fault::Elsewhere;
use crate::report::fault::{Fault, Outcome, Where};
use crate::report::{Checks, FindingKind};
use crate::report::{Counts, Site};
use crate::shadow::clocks::Clocks;
use crate::shadow::global::{Inside, Order};
use crate::shadow::written::Written;
use crate::shadow::{BlockShadow, ClusterShadow, GridShadow};

/// The state of a launch that does not change while it runs.
pub(crate) struct Machine<'a> {
    pub(crate) code: &'a Code,
    pub(crate) memory: &'a Memory,
    /// The contents of the parameter space.
    pub(crate) params: Vec<u32>,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) cluster: [u32; 3],
    pub(crate) explicit_cluster: bool,
    /// The size of a block's shared memory in bytes, and the offset of its dynamic part.
    pub(crate) shared_bytes: u32,
    pub(crate) dynamic_start: u32,
    /// The initial number of registers per thread, if the kernel specifies it (`.maxnreg`).
    pub(crate) registers: Option<u32>,
    /// The address of the workspace that cooperative groups of the whole grid use, if the kernel requires it.
    pub(crate) workspace: u64,
    /// The addresses of the module's variables.
    pub(crate) variables: Vec<u64>,
    pub(crate) tensor: TensorArch,
    pub(crate) checks: Checks,
    pub(crate) step_limit: u64,
    /// The maximum number of findings to collect; with 0, the run ends at the first finding.
    pub(crate) keep_going: usize,
    /// The seed of a random interleaving.
    pub(crate) seed: Option<u64>,
    pub(crate) shadow: GridShadow,
    /// The listener for printed strings, if any.
    pub(crate) print: Option<&'a OnPrint<'a>>,
    /// The tracer of executed instructions, if any.
    pub(crate) tracer: Option<Tracer<'a>>,
    /// Whether several blocks run simultaneously.
    pub(crate) parallel: bool,
    /// The number of the launch.
    pub(crate) launch: u64,
    /// The number of the next cluster to start.
    pub(crate) next_cluster: AtomicU64,
}

/// The number of registers per multiprocessor, and the maximum number per thread that `setmaxnreg` allows.
const REGISTERS: u32 = 1 << 16;
const MOST_REGISTERS: u32 = 256;

/// The number of multiprocessors of the simulated device, as on an H100.
pub(crate) const MULTIPROCESSORS: u32 = 132;

impl Machine<'_> {
    /// Returns whether only the results of the launch are of interest.
    pub(crate) fn is_unwatched(&self) -> bool {
        self.checks.is_empty()
            && self.tracer.is_none()
            && self.shadow.touched.is_none()
            && !self.memory.records_writes()
    }

    /// Returns the number of threads of a block.
    pub(crate) fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    /// Returns the number of warps of a block.
    pub(crate) fn warps(&self) -> u32 {
        self.threads().div_ceil(32)
    }

    /// Returns the maximum number of registers that each thread of a block can initially have. ptxas allocates multiples of eight.
    pub(crate) fn most_registers(&self) -> u32 {
        (REGISTERS / self.threads().max(1) / 8 * 8).min(MOST_REGISTERS)
    }

    /// Returns the location of an instruction of a warp; `block` contains the block's coordinates.
    pub(crate) fn site(
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

    /// Returns a location like [`site`](Self::site), but for any cluster of the grid.
    pub(crate) fn site_of(&self, module: &Module, place: Elsewhere) -> Site {
        let warps = self.warps() as usize;
        // Engines have greater numbers than all warps.
        let warp = place.warp.min(warps * self.cluster_size() as usize - 1);
        let block = self.block_of(place.cluster, (warp / warps) as u32);
        self.site(module, block, (warp % warps) as u32, place.pc, None)
    }

    /// Returns the grid coordinates of a block of a cluster.
    pub(crate) fn block_of(&self, cluster: u64, rank: u32) -> [u32; 3] {
        let [nx, ny, _] = self.clusters().map(u64::from);
        let origin = [cluster % nx, cluster / nx % ny, cluster / nx / ny];
        let [x, y, _] = self.cluster;
        let within = [rank % x, rank / x % y, rank / x / y];
        std::array::from_fn(|i| origin[i] as u32 * self.cluster[i] + within[i])
    }

    /// Returns empty counts for each instruction, if counting is enabled.
    pub(crate) fn empty_profile(&self) -> Vec<Counts> {
        let counting = self.checks.contains(Checks::COUNTS);
        vec![Counts::default(); if counting { self.code.instrs.len() } else { 0 }]
    }

    /// Returns the number of blocks in a cluster.
    pub(crate) fn cluster_size(&self) -> u32 {
        self.cluster.iter().product()
    }

    /// Returns the number of clusters along each axis.
    pub(crate) fn clusters(&self) -> [u32; 3] {
        std::array::from_fn(|i| self.grid[i] / self.cluster[i])
    }

    /// Returns the total number of clusters.
    pub(crate) fn cluster_count(&self) -> u64 {
        self.clusters().iter().map(|&n| u64::from(n)).product()
    }

    /// Takes the index of a cluster that has not started. The caller must start or cancel the cluster.
    pub(crate) fn take_cluster(&self) -> Option<u64> {
        let next = |n: u64| (n < self.cluster_count()).then_some(n + 1);
        self.next_cluster.fetch_update(Relaxed, Relaxed, next).ok()
    }

    /// Returns a thread's coordinates in its block.
    pub(crate) fn thread(&self, linear: u32) -> [u32; 3] {
        let [x, y, _] = self.block;
        [linear % x, linear / x % y, linear / x / y]
    }

    /// Returns the value of a slot in each lane when warp `warp` of a block starts.
    pub(crate) fn preset(&self, value: Value, cta: &Cta, warp: u32) -> [u64; 32] {
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
            Special::NWarpId => self.warps(),
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

/// The maximum number of reports about one instruction of a cluster.
const MOST_REPORTS: usize = 100;

/// The findings about one instruction: their kinds, and the other instructions involved, if any.
#[derive(Debug, Default)]
pub(crate) struct Reports(Vec<(FindingKind, Option<u32>)>);

impl Reports {
    fn is_news(&self, kind: FindingKind, other: Option<u32>) -> bool {
        self.0.len() < MOST_REPORTS && !self.0.contains(&(kind, other))
    }
}

/// One block's shared memory.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    pub(crate) words: Vec<u32>,
    pub(crate) bytes: u32,
    pub(crate) written: Written,
}

impl Shared {
    pub(crate) fn reset(&mut self, bytes: u32, track: bool) {
        let words = bytes.div_ceil(16) as usize * 4;
        self.bytes = bytes;
        self.words.clear();
        self.words.resize(words, 0);
        self.written.reset(if track { words } else { 0 });
    }
}

/// The state of one block except its warps.
#[derive(Debug, Default)]
pub(crate) struct Cta {
    pub(crate) id: [u32; 3],
    /// The linear index in the grid; x varies fastest.
    pub(crate) linear: u64,
    /// The rank in the cluster.
    pub(crate) rank: u32,
    pub(crate) shared: Shared,
    pub(crate) barriers: [BarrierState; 16],
    /// The number of threads that have not exited.
    pub(crate) live: u32,
    /// The number of registers in the block's pool that `setmaxnreg.dec` has released and no warp owns.
    pub(crate) free_registers: u32,
    /// The products in flight, by warpgroup.
    pub(crate) wgmma: Vec<WgmmaGroups>,
    pub(crate) shadow: BlockShadow,
}

impl Cta {
    /// Resets the state for block `rank` of a cluster. Large buffers are reused.
    fn start(&mut self, machine: &Machine<'_>, cluster: u64, rank: u32) {
        let id = machine.block_of(cluster, rank);
        let [x, y, z] = id.map(u64::from);
        let [gx, gy, _] = machine.grid.map(u64::from);
        let (shared, mut wgmma) = (take(&mut self.shared), take(&mut self.wgmma));
        wgmma.clear();
        wgmma.extend(WgmmaGroups::of_block(machine.warps() as usize));
        let linear = x + gx * (y + gy * z);
        *self = Self { id, linear, rank, shared, live: machine.threads(), wgmma, ..Self::default() };
        self.shared.reset(machine.shared_bytes, machine.checks.intersects(Checks::UNDEFINED));
    }
}

/// The state of a cluster except its warps, which an executing instruction may access in addition to its own warp.
pub(crate) struct Cluster<'a> {
    pub(crate) machine: &'a Machine<'a>,
    /// The blocks of the cluster.
    pub(crate) ctas: Vec<Cta>,
    /// The block of the executing warp.
    pub(crate) at: usize,
    /// The number of warp instructions that this cluster has executed.
    pub(crate) clock: u64,
    pub(crate) printed: Printed,
    pub(crate) cluster_barrier: ClusterBarrier,
    /// The counts by instruction. The list is empty if counting is disabled.
    pub(crate) profile: Vec<Counts>,
    /// Findings after which the run continues, each with its warp and instruction.
    pub(crate) noted: Vec<(Box<Fault>, usize, u32)>,
    /// The findings about each instruction of this cluster.
    pub(crate) reports: FxHashMap<u32, Reports>,
    /// The cluster's number in the grid.
    pub(crate) number: u64,
    pub(crate) scratch: Scratch,
    pub(crate) bulk: BulkCopies,
    /// The number of events for which a thread may be waiting.
    pub(crate) events: u64,
    /// The index of the executing warp in the cluster, and the index of the executing instruction.
    pub(crate) warp: usize,
    pub(crate) pc: u32,
    pub(crate) shadow: ClusterShadow,
}

impl<'a> Cluster<'a> {
    pub(crate) fn new(machine: &'a Machine<'a>) -> Self {
        Self {
            machine,
            ctas: vec![],
            at: 0,
            clock: 0,
            printed: Printed::default(),
            cluster_barrier: ClusterBarrier::default(),
            profile: vec![],
            noted: vec![],
            reports: FxHashMap::default(),
            number: 0,
            scratch: Scratch::default(),
            bulk: BulkCopies::default(),
            events: 0,
            warp: 0,
            pc: 0,
            shadow: ClusterShadow::default(),
        }
    }

    /// Resets the state for cluster `number` of the grid. Large buffers are reused.
    pub(crate) fn start(&mut self, number: u64) {
        let machine = self.machine;
        let (blocks, threads) = (machine.cluster_size(), machine.threads());
        *self = Self {
            number,
            ctas: take(&mut self.ctas),
            profile: take(&mut self.profile),
            scratch: take(&mut self.scratch),
            shadow: take(&mut self.shadow),
            ..Self::new(machine)
        };
        let bytes = machine.shared_bytes as usize;
        self.shadow.start(machine.code, machine.checks, (blocks, threads), bytes);
        self.ctas.resize_with(blocks as usize, Cta::default);
        (0..blocks).for_each(|rank| self.ctas[rank as usize].start(machine, number, rank));
    }

    pub(crate) fn cta(&mut self) -> &mut Cta {
        &mut self.ctas[self.at]
    }

    /// Returns the instruction that the warp's first lane is executing, and the code to which it belongs.
    pub(crate) fn here(&self) -> (&'a Code, Where) {
        (self.machine.code, Where { warp: self.warp, lane: 0, pc: self.pc })
    }

    /// Returns the executing warp and the clocks of its cluster, as required by the methods of [`Order`].
    pub(crate) fn inside(&self) -> Inside<'_> {
        Inside { warp: self.warp, clocks: self.clocks() }
    }

    /// Returns the clocks of the cluster's warps, if races in shared memory are checked.
    pub(crate) fn clocks(&self) -> Option<&Clocks> {
        self.machine.checks.contains(Checks::SHARED_RACES).then_some(&self.shadow.races.clocks)
    }

    /// Returns the order of clusters that take turns, if races in global memory are checked.
    pub(crate) fn order(&self) -> Option<MutexGuard<'a, Order>> {
        self.machine.shadow.global.as_ref()?.order()
    }

    /// Returns the block of a warp of the cluster.
    pub(crate) fn block_of(&self, warp: usize) -> usize {
        warp / self.machine.warps() as usize
    }

    /// Records a finding after which the run can continue, or returns it as an error if findings are not collected.
    pub(crate) fn note(&mut self, fault: Box<Fault>) -> Outcome<()> {
        let (warp, pc) = (self.warp, self.pc);
        self.note_at(fault, warp, pc)
    }

    /// Records a finding like [`note`](Self::note), but for an instruction of any warp.
    pub(crate) fn note_at(&mut self, fault: Box<Fault>, warp: usize, pc: u32) -> Outcome<()> {
        if self.machine.keep_going == 0 && !fault.kind.is_note() {
            return Err(fault);
        }
        let at = fault.site.map_or(pc, |site| site.pc);
        let other = fault.other.map(|other| other.pc).or(fault.elsewhere.map(|other| other.pc));
        let reports = self.reports.entry(at).or_default();
        if reports.is_news(fault.kind, other) {
            reports.0.push((fault.kind, other));
            self.noted.push((fault, warp, pc));
        }
        Ok(())
    }

    /// Returns whether a finding about the executing instruction is new. An instruction may violate a rule millions of times.
    pub(crate) fn is_news(&self, kind: FindingKind, other: Option<u32>) -> bool {
        self.reports.get(&self.pc).is_none_or(|reports| reports.is_news(kind, other))
    }
}
