//! The state that the checks maintain at each level: grid, cluster, block and warp. The rules are in `check`.
//!
//! To add a kind of state, define its type in a file named after its subject, and add a field to the struct of its level. State is empty at
//! the start of each launch, cluster, block or warp. The state of memory (which bytes are defined) is stored with the memory.

pub(crate) mod byte_set;
pub(crate) mod clocks;
pub(crate) mod counted;
pub(crate) mod footprint;
pub(crate) mod global;
pub(crate) mod mbarrier;
pub(crate) mod place;
pub(crate) mod products;
pub(crate) mod races;
pub(crate) mod record;
pub(crate) mod undefined;
pub(crate) mod uniform;
pub(crate) mod visits;
pub(crate) mod volatile;
pub(crate) mod written;

use std::mem::take;

use crate::program::code::Code;
use crate::report::Checks;
use crate::report::fault::Fault;
use crate::shadow::counted::CountedCopies;
use crate::shadow::footprint::Touched;
use crate::shadow::global::{GlobalRaces, OwnWrites, ThreadRaces};
use crate::shadow::mbarrier::Mbarriers;
use crate::shadow::products::ProductRegisters;
use crate::shadow::races::Races;
use crate::shadow::undefined::Undefined;
use crate::shadow::uniform::UniformValues;
use crate::shadow::visits::End;
use crate::shadow::volatile::VolatileReads;

/// The state of all clusters of a launch, which may run concurrently.
#[derive(Debug, Default)]
pub(crate) struct GridShadow {
    /// The accesses to global memory, if they are checked.
    pub(crate) global: Option<GlobalRaces>,
    /// The bytes of global memory that are accessed, if requested.
    pub(crate) touched: Option<Touched>,
}

/// The state of the running cluster.
#[derive(Debug, Default)]
pub(crate) struct ClusterShadow {
    pub(crate) races: Races,
    /// Accesses to global memory by the cluster's threads, if they are checked.
    pub(crate) threads: Option<Box<ThreadRaces>>,
    /// The global memory that the cluster has written, where relevant.
    pub(crate) own_writes: OwnWrites,
    pub(crate) volatile_reads: VolatileReads,
    pub(crate) uniform: UniformValues,
    pub(crate) counted: CountedCopies,
    pub(crate) mbarriers: Mbarriers,
    /// The first read of uninitialized shared memory, with its warp and instruction.
    pub(crate) postponed: Option<(Box<Fault>, usize, u32)>,
}

/// The state of one block of the cluster.
#[derive(Debug, Default)]
pub(crate) struct BlockShadow {
    pub(crate) end: End,
    /// Whether a thread has executed `griddepcontrol.wait`.
    pub(crate) waited_for_grid: bool,
}

/// The state of one warp of the cluster.
#[derive(Debug, Default)]
pub(crate) struct WarpShadow {
    pub(crate) undefined: Undefined,
    pub(crate) products: ProductRegisters,
}

impl GridShadow {
    /// Creates the state for a launch of `clusters` clusters, which may write to allocations of these sizes.
    pub(crate) fn new(
        code: &Code,
        checks: Checks,
        allocations: impl Iterator<Item = u64>,
        clusters: u64,
    ) -> Self {
        let races = checks.contains(Checks::GLOBAL_RACES);
        let global = races.then(|| GlobalRaces::new(code, allocations, clusters)).flatten();
        Self { global, ..Self::default() }
    }
}

impl ClusterShadow {
    /// Resets the state for a cluster of `blocks` blocks with `threads` threads and `bytes` bytes of shared memory each.
    pub(crate) fn start(&mut self, code: &Code, checks: Checks, (blocks, threads): (u32, u32), bytes: usize) {
        // Large state is reused; all other state starts empty.
        *self = Self {
            races: take(&mut self.races),
            threads: take(&mut self.threads),
            own_writes: take(&mut self.own_writes),
            ..Self::default()
        };
        self.own_writes.clear();
        if checks.intersects(Checks::SHARED_RACES | Checks::PROXY_FENCES) {
            let shape = (blocks as usize, threads.div_ceil(32) as usize);
            let products = code.product_registers > 0;
            self.races.start(shape, bytes, usize::from(code.shared_unit), products);
        }
        let races = checks.contains(Checks::SHARED_RACES | Checks::GLOBAL_RACES);
        if races && code.writes_global && blocks * threads > 1 {
            let now = self.races.clocks.now();
            self.threads.get_or_insert_default().start(code, now);
        }
    }
}

impl WarpShadow {
    /// Resets the state for another warp.
    pub(crate) fn start(&mut self, code: &Code) {
        self.undefined.start(&code.watched);
        self.products.start(code.product_registers);
    }
}
