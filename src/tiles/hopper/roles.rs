//! Warpgroup roles: one warpgroup loads, and the others compute.

use std::{fmt, panic::Location};

use crate::ptx::{Builder, Entry, Lease, Scope, Val, WarpGroup};

/// The thread that fills rings: the first thread of the producer warpgroup. It alone executes the producer's code, which therefore must not
/// synchronize threads.
#[derive(Clone, Copy, Debug)]
pub struct Producer<'k> {
    k: Builder<'k>,
    lease: Lease,
}

/// One of `C` consumer warpgroups, all of which execute the same code.
#[derive(Clone, Copy, Debug)]
pub struct Consumer<'k, const C: usize> {
    group: WarpGroup<'k>,
    rank: Val<'k, u32>,
    lease: Lease,
}

/// The number of registers per multiprocessor, and the maximum number per thread (CUDA C++ Programming Guide, "Technical Specifications per
/// Compute Capability").
const REGISTERS: u32 = 1 << 16;
const MOST_REGISTERS: u32 = 255;

impl<'k> Producer<'k> {
    /// Rejects the use of the role outside of its code.
    #[track_caller]
    pub(super) fn check(self) {
        self.k.check_lease(self.lease);
    }

    /// Returns the builder of the kernel.
    #[track_caller]
    pub fn kernel(self) -> Builder<'k> {
        self.check();
        self.k
    }
}

impl<'k, const C: usize> Consumer<'k, C> {
    /// Rejects the use of the role outside of its code.
    #[track_caller]
    pub(super) fn check(self) {
        self.group.kernel().check_lease(self.lease);
    }

    /// Returns the warpgroup.
    #[track_caller]
    pub fn group(self) -> WarpGroup<'k> {
        self.check();
        self.group
    }

    /// Returns the index of this warp in its warpgroup. Each warp owns 16 of the 64 rows of a tile.
    #[track_caller]
    pub fn warp(self) -> Val<'k, u32> {
        self.check();
        self.group.kernel().warp_of(self.group).0
    }

    /// Returns the index of this warpgroup among the consumers.
    #[track_caller]
    pub fn rank(self) -> Val<'k, u32> {
        self.check();
        self.rank
    }
}

/// The producer's role in [`Builder::specialize`]: the number of registers per thread, and the code. Returned by [`producer`].
pub struct ProducerRole<F> {
    registers: u32,
    work: F,
}

/// The consumers' role in [`Builder::specialize`]: the number of registers per thread, and the code. Returned by [`consumers`].
pub struct Consumers<const C: usize, F> {
    registers: u32,
    work: F,
}

impl<F> fmt::Debug for ProducerRole<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "producer of {} registers", self.registers)
    }
}

impl<const C: usize, F> fmt::Debug for Consumers<C, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{C} consumers of {} registers", self.registers)
    }
}

/// Returns the producer's role: a warpgroup with `registers` registers per thread, one thread of which executes `work`.
pub fn producer<'k, F: FnOnce(Producer<'k>)>(registers: u32, work: F) -> ProducerRole<F> {
    ProducerRole { registers, work }
}

/// Returns the role of `C` consumer warpgroups with `registers` registers per thread, all of which execute `work`.
pub fn consumers<'k, const C: usize, F: FnOnce(Consumer<'k, C>)>(registers: u32, work: F) -> Consumers<C, F> {
    Consumers { registers, work }
}

impl<'k> Builder<'k> {
    /// Divides the block into a producer warpgroup (the first one) and `C` consumer warpgroups, and redistributes registers among them.
    ///
    /// The call does not compile if `C` is greater than 7. The block must have 128 · (1 + `C`) threads, all of which must execute the emitted code. `setmaxnreg` sets the number of registers
    /// per thread of each role, which must be a multiple of 8 from 24 to 256. Requires sm_90a, sm_100a or sm_120a.
    ///
    /// The builder rejects:
    ///
    /// - a block of a different size;
    /// - a [`min_blocks`](Self::min_blocks) other than 1;
    /// - a call inside a role;
    /// - block-wide barriers and returns in either role;
    /// - roles that together require more registers than the block has ([`max_registers`](Self::max_registers) reduces this number);
    /// - a producer with more registers per thread than a thread has at launch.
    ///
    /// When both roles have finished, all blocks of a cluster wait for each other, because they fill and release each other's stages.
    #[doc(alias = "setmaxnreg")]
    #[doc(alias = "warp specialization")]
    #[track_caller]
    pub fn specialize<const C: usize>(
        self,
        producer: ProducerRole<impl FnOnce(Producer<'k>)>,
        consumers: Consumers<C, impl FnOnce(Consumer<'k, C>)>,
    ) {
        const { assert!(C <= 7, "a block has at most eight warpgroups") };
        let k = self;
        let _located = k.locate(Location::caller());
        if k.body().in_role {
            k.refuse("expected roles outside of other roles, found nested ones".into());
            return;
        }
        let block = k.this_block();
        let expected = 128 * (1 + C as u32);
        if block.size() != expected {
            let found = block.size();
            k.refuse(format!(
                    "expected a block of {expected} threads for a producer and {C} consumer warpgroups, found {found}"
                ));
        }
        let Entry { min_blocks, max_registers, .. } = k.body().entry;
        if let Some(found) = min_blocks.filter(|&blocks| blocks != 1) {
            k.refuse(format!(
                "expected roles in a kernel with `min_blocks(1)`, whose registers they share, found `min_blocks({found})`"
            ));
        }
        let declared = max_registers.map_or(MOST_REGISTERS, |most| most / 8 * 8);
        let limit = (REGISTERS / expected / 8 * 8).min(declared).min(MOST_REGISTERS);
        // If the roles required more registers than the block has, `setmaxnreg.inc` would wait forever.
        let (launched, found) = (
            limit * (1 + C as u32),
            C as u64 * u64::from(consumers.registers) + u64::from(producer.registers),
        );
        if found > launched.into() {
            k.refuse(format!(
                    "expected roles of at most {launched} registers in total, counting one thread per warpgroup, found {found}"
                ));
        }
        // `setmaxnreg.dec` cannot increase the number of registers. ptxas starts threads with the consumers' number of registers, within
        // the limit.
        let started = limit.min(consumers.registers);
        if producer.registers > started {
            k.refuse(format!(
                "expected at most {started} registers per producer thread, the number at launch, found {}",
                producer.registers
            ));
        }
        // ptxas must know the number of registers per thread before the redistribution: the maximum for one resident block.
        k.min_blocks(1);
        k.body().has_roles = true;
        k.body().in_role = true;
        let group = k.warp_group();
        let index = group.rank();
        k.if_else(
            index.eq(0),
            || {
                k.comment("producer");
                k.setmaxnreg_dec(producer.registers);
                k.if_(block.thread().eq(0), || {
                    k.unlocated(|| (producer.work)(Producer { k, lease: k.lease() }));
                });
                // The other lanes wait for the producer, so that the warp has reconverged at the barrier of the cluster.
                k.warp().sync();
            },
            || {
                k.comment("consumers");
                k.setmaxnreg_inc(consumers.registers);
                k.unlocated(|| (consumers.work)(Consumer { group, rank: index - 1, lease: k.lease() }));
                // Copies from shared memory must have finished reading before the block ends.
                k.cp_async_bulk_wait_group_read(0);
            },
        );
        k.body().in_role = false;
        if k.cluster_shape().is_some() {
            k.this_cluster().sync();
        };
    }
}
