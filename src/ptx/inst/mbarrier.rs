//! Barriers in shared memory: `mbarrier` (PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier").

use std::{fmt, panic::Location};

use super::order::MemoryScope;
use crate::ptx::{
    Features,
    kernel::Builder,
    operand::Operand,
    ptr::{Ptr, Shared, SharedCluster, Space},
    types::Scalar,
    val::Val,
};

/// A barrier in shared memory (`mbarrier`) that counts thread arrivals and the bytes transferred by asynchronous copies.
///
/// A phase of the barrier is complete when the expected number of arrivals has been reached and all expected bytes have been copied. Phases
/// have alternating parity, and the first has parity 0. A wait for parity `p` returns once the current phase has the other parity;
/// `wait(0)` on a new barrier therefore waits until the first phase is complete.
///
/// [`Builder::mbarriers`] allocates barriers. [`in_block`](Self::in_block) returns the corresponding barrier of another block of the
/// cluster, for which `S` is [`SharedCluster`]; threads can arrive at such a barrier but cannot wait on it. Barriers require sm_80 or
/// later; byte counts and clusters require sm_90 or later.
///
/// By default, arrivals are `.release` and waits are `.acquire`, with block scope. [`relaxed`](Self::relaxed) and [`scope`](Self::scope)
/// return handles to the same barrier with other semantics: `full.scope(MemoryScope::Cluster).wait(0)`.
///
/// ```
/// use warpwright::prelude::*;
///
/// let kernel = Kernel::<(Out<u32>,)>::build("handoff(out)", Target::SM_90, |k, (out,)| {
///     let block = k.block([64]);
///     k.grid([1]);
///     let (out, cell) = (k.slice(out, 32), k.shared::<u32>(32));
///     let full = k.mbarriers(1);
///     k.if_(block.thread().eq(0), || full.init(32));
///     block.sync();
///     k.if_else(
///         block.thread().lt(32),
///         || {
///             cell.at(block.thread()).store(block.thread() * 2);
///             full.arrive();
///         },
///         || {
///             full.wait(0);
///             let i = block.thread() - 32;
///             out.at(i).store(cell.at(31 - i).load());
///         },
///     );
/// })?;
/// # Ok::<(), warpwright::ptx::BuildError>(())
/// ```
#[doc(alias = "cuda::barrier")]
#[doc(alias = "semaphore")]
pub struct Mbarrier<'k, S: Space = Shared> {
    at: Ptr<'k, u64, S>,
    relaxed: bool,
    scope: Option<MemoryScope>,
}

impl<S: Space> Clone for Mbarrier<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: Space> Copy for Mbarrier<'_, S> {}

impl<S: Space> fmt::Debug for Mbarrier<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mbarrier({:?})", self.at)
    }
}

/// The maximum number of arrivals per phase (PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier").
const MOST_ARRIVALS: u32 = (1 << 20) - 1;

/// Returns `arrivals`, and rejects a constant that is out of range.
#[track_caller]
fn counted<'k>(k: Builder<'k>, arrivals: Val<'k, u32>) -> Val<'k, u32> {
    if let Some(found) = arrivals.as_constant().filter(|found| !(1..=MOST_ARRIVALS).contains(found)) {
        k.refuse(format!("mbarrier: expected 1 to {MOST_ARRIVALS} arrivals, found {found}"));
    }
    arrivals
}

impl<'k> Builder<'k> {
    /// Allocates an array of `count` barriers in shared memory and returns the first; [`Mbarrier::at`] returns the others. A thread must
    /// [`init`](Mbarrier::init) each barrier before any thread uses it.
    #[track_caller]
    pub fn mbarriers(self, count: u32) -> Mbarrier<'k> {
        Mbarrier::new(self.shared_aligned::<u64>(count, 8))
    }

    /// Returns the number of arrivals that the barrier's phase still expected immediately before the arrival that returned `state`.
    #[doc(alias = "mbarrier.pending_count")]
    #[track_caller]
    pub fn mbarrier_pending_count(self, state: Val<'k, u64>) -> Val<'k, u32> {
        self.result(format_args!("mbarrier.pending_count.b64"), &[state.operand(self)])
    }
}

impl<'k, S: Space> Mbarrier<'k, S> {
    pub(super) fn new(at: Ptr<'k, u64, S>) -> Self {
        Self { at, relaxed: false, scope: None }
    }

    /// Returns the barrier at index `index` in the array that starts at this barrier.
    #[track_caller]
    pub fn at(self, index: impl Into<Val<'k, u32>>) -> Self {
        Self { at: self.at.at(index), ..self }
    }

    /// Returns a pointer to the barrier.
    pub fn pointer(self) -> Ptr<'k, u64, S> {
        self.at
    }

    /// Returns a handle to the same barrier whose operations do not order the thread's other accesses (`.relaxed`). Requires sm_90 or
    /// later.
    #[must_use]
    #[doc(alias = ".relaxed")]
    pub fn relaxed(self) -> Self {
        Self { relaxed: true, ..self }
    }

    /// Returns a handle to the same barrier whose operations order accesses with respect to the threads in `scope`, which must be
    /// [`MemoryScope::Cta`] or [`MemoryScope::Cluster`]. Cluster scope requires sm_90 or later.
    #[must_use]
    #[track_caller]
    pub fn scope(self, scope: MemoryScope) -> Self {
        if !matches!(scope, MemoryScope::Cta | MemoryScope::Cluster) {
            self.at
                .kernel()
                .refuse(format!("expected `Cta` or `Cluster` as the scope of an mbarrier, found {scope:?}"));
        }
        Self { scope: Some(scope), ..self }
    }

    /// Adds `bytes` to the number of bytes that the current phase expects. Requires sm_90 or later.
    #[doc(alias = "mbarrier.expect_tx")]
    #[track_caller]
    pub fn expect_tx(self, bytes: impl Into<Val<'k, u32>>) {
        self.transaction("expect_tx", bytes.into());
    }

    /// Signals the completion of `bytes` bytes, as an asynchronous copy would. Requires sm_90 or later.
    #[doc(alias = "mbarrier.complete_tx")]
    #[track_caller]
    pub fn complete_tx(self, bytes: impl Into<Val<'k, u32>>) {
        self.transaction("complete_tx", bytes.into());
    }

    #[track_caller]
    fn transaction(self, operation: &str, bytes: Val<'k, u32>) {
        let k = self.at.kernel();
        // Transactions are always relaxed.
        let (order, scope) = match self.scope {
            Some(scope) => (".relaxed", scope.suffix()),
            None => ("", ""),
        };
        let mnemonic = format_args!("mbarrier.{operation}{order}{scope}{}.b64", S::PTX);
        k.emit(mnemonic, &[self.at.operand(), bytes.operand(k)]);
    }

    /// Returns the order and scope qualifiers of an operation whose default order is `order`.
    fn qualifiers(self, order: &'static str) -> (&'static str, &'static str) {
        match (self.relaxed, self.scope) {
            (false, None) => ("", ""),
            (false, Some(scope)) => (order, scope.suffix()),
            (true, scope) => (".relaxed", scope.unwrap_or(MemoryScope::Cta).suffix()),
        }
    }
}

impl<'k> Mbarrier<'k> {
    /// Returns the corresponding barrier in the shared memory of the block with rank `rank` in the cluster.
    #[doc(alias = "mapa")]
    #[track_caller]
    pub fn in_block(self, rank: impl Into<Val<'k, u32>>) -> Mbarrier<'k, SharedCluster> {
        let Self { at, relaxed, scope } = self;
        Mbarrier { at: at.in_block(rank), relaxed, scope }
    }

    /// Initializes the barrier so that each phase expects `arrivals` arrivals. `arrivals` must be between 1 and 2²⁰ − 1. Exactly one thread
    /// must execute the instruction. Other threads of the block may use the barrier only after the block has been synchronized, for example
    /// with [`sync_threads`](Builder::sync_threads). Threads of other blocks and the async proxy may use it only after
    /// [`fence_mbarrier_init`](Builder::fence_mbarrier_init) and a cluster-wide synchronization.
    #[doc(alias = "mbarrier.init")]
    #[track_caller]
    pub fn init(self, arrivals: impl Into<Val<'k, u32>>) {
        let (k, arrivals) = (self.at.kernel(), counted(self.at.kernel(), arrivals.into()));
        k.emit(format_args!("mbarrier.init.shared.b64"), &[self.at.operand(), arrivals.operand(k)]);
    }

    /// Invalidates the barrier, so that its memory can be used for other purposes.
    #[doc(alias = "mbarrier.inval")]
    #[track_caller]
    pub fn invalidate(self) {
        self.at.kernel().emit(format_args!("mbarrier.inval.shared.b64"), &[self.at.operand()]);
    }

    /// Triggers an arrival at the barrier when all `cp.async` copies that this thread has started are complete. Does not wait for the
    /// copies. The arrival is additional: the number of arrivals that the current phase expects is increased by one.
    #[doc(alias = "cp.async.mbarrier.arrive")]
    #[track_caller]
    pub fn arrive_after_copies(self) {
        self.at.kernel().emit(format_args!("cp.async.mbarrier.arrive.shared.b64"), &[self.at.operand()]);
    }

    /// Triggers an arrival as [`arrive_after_copies`](Self::arrive_after_copies) does, except that the arrival counts toward the number
    /// that [`init`](Self::init) specified.
    #[doc(alias = "cp.async.mbarrier.arrive.noinc")]
    #[track_caller]
    pub fn arrive_after_copies_counted(self) {
        let k = self.at.kernel();
        k.emit(format_args!("cp.async.mbarrier.arrive.noinc.shared.b64"), &[self.at.operand()]);
    }

    #[track_caller]
    fn arrival(self, operation: &str, space: &str, operand: Option<Val<'k, u32>>) -> Val<'k, u64> {
        let (k, (order, scope)) = (self.at.kernel(), self.qualifiers(".release"));
        let mut operands = arrayvec::ArrayVec::<Operand<'_>, 2>::new();
        operands.push(self.at.operand());
        operands.extend(operand.map(|operand| operand.operand(k)));
        k.result(format_args!("mbarrier.{operation}{order}{scope}{space}.b64"), &operands)
    }

    #[track_caller]
    fn poll<T: Scalar>(
        self,
        operation: &str,
        phase: Val<'k, T>,
        limit: Option<Val<'k, u32>>,
    ) -> Val<'k, bool> {
        let (k, (order, scope)) = (self.at.kernel(), self.qualifiers(".acquire"));
        let mut operands = arrayvec::ArrayVec::<Operand<'_>, 3>::new();
        operands.extend([self.at.operand(), phase.operand(k)]);
        operands.extend(limit.map(|limit| limit.operand(k)));
        k.result(format_args!("mbarrier.{operation}{order}{scope}.shared.b64"), &operands)
    }

    /// Polls the phase with parity `parity`, and rejects a constant that is neither 0 nor 1.
    #[track_caller]
    fn poll_parity(
        self,
        operation: &str,
        parity: Val<'k, u32>,
        limit: Option<Val<'k, u32>>,
    ) -> Val<'k, bool> {
        if let Some(found) = parity.as_constant().filter(|&found| found > 1) {
            self.at.kernel().refuse(format!("mbarrier: expected a parity of 0 or 1, found {found}"));
        }
        self.poll(operation, parity, limit)
    }

    /// Returns whether the phase that `state` identifies is complete. `state` must be the result of an arrival in the current or the
    /// immediately preceding phase of this barrier.
    #[doc(alias = "mbarrier.test_wait")]
    #[track_caller]
    pub fn test_wait(self, state: Val<'k, u64>) -> Val<'k, bool> {
        self.poll("test_wait", state, None)
    }

    /// Returns whether the phase with the given parity is complete. The phase must be the current one or the immediately preceding one.
    #[doc(alias = "mbarrier.test_wait.parity")]
    #[track_caller]
    pub fn test_wait_parity(self, parity: impl Into<Val<'k, u32>>) -> Val<'k, bool> {
        self.poll_parity("test_wait.parity", parity.into(), None)
    }

    /// Suspends the thread until the phase that `state` identifies is complete, or until a system-dependent time has passed. `state` must
    /// be the result of an arrival in the current or the immediately preceding phase of this barrier. Returns whether the phase is
    /// complete. Requires sm_90 or later.
    #[doc(alias = "mbarrier.try_wait")]
    #[track_caller]
    pub fn try_wait(self, state: Val<'k, u64>) -> Val<'k, bool> {
        self.poll("try_wait", state, None)
    }

    /// Waits as [`try_wait`](Self::try_wait) does, but with a time limit of about `nanoseconds` nanoseconds. Requires sm_90 or later.
    #[track_caller]
    pub fn try_wait_for(self, state: Val<'k, u64>, nanoseconds: impl Into<Val<'k, u32>>) -> Val<'k, bool> {
        self.poll("try_wait", state, Some(nanoseconds.into()))
    }

    /// Suspends the thread until the phase with the given parity is complete, or until a system-dependent time has passed. Returns whether
    /// the phase is complete. Requires sm_90 or later.
    #[doc(alias = "mbarrier.try_wait.parity")]
    #[track_caller]
    pub fn try_wait_parity(self, parity: impl Into<Val<'k, u32>>) -> Val<'k, bool> {
        self.poll_parity("try_wait.parity", parity.into(), None)
    }

    /// Waits as [`try_wait_parity`](Self::try_wait_parity) does, but with a time limit of about `nanoseconds` nanoseconds. Requires sm_90
    /// or later.
    #[track_caller]
    pub fn try_wait_parity_for(
        self,
        parity: impl Into<Val<'k, u32>>,
        nanoseconds: impl Into<Val<'k, u32>>,
    ) -> Val<'k, bool> {
        self.poll_parity("try_wait.parity", parity.into(), Some(nanoseconds.into()))
    }

    /// Waits until the phase with the given parity is complete. Emits a loop of `try_wait` instructions, or of `test_wait` on targets older
    /// than sm_90.
    #[doc(alias = "mbarrier.try_wait")]
    #[track_caller]
    pub fn wait(self, parity: impl Into<Val<'k, u32>>) {
        let (k, parity) = (self.at.kernel(), parity.into());
        let suspends = k.target().features().contains(Features::HOPPER);
        let operation = if suspends { "try_wait.parity" } else { "test_wait.parity" };
        let _located = k.locate(Location::caller());
        k.loop_(|l| l.break_if(self.poll_parity(operation, parity, None)));
    }
}

/// Defines the methods that arrive at a barrier. At a barrier of this block, they return the state; at a barrier of another block, they
/// return nothing.
macro_rules! arrivals {
    ($space:ident, $counted:literal $(, $state:ty)?) => {
        impl<'k> Mbarrier<'k, $space> {
            /// Arrives at the barrier. At a barrier of this block, returns the state for [`test_wait`](Self::test_wait); at a barrier of
            /// another block, returns nothing.
            #[doc(alias = "mbarrier.arrive")]
            #[track_caller]
            pub fn arrive(self) $(-> $state)? {
                self.arrival("arrive", $space::PTX, None)
            }

            /// Arrives `count` times. Requires sm_90 or later.
            #[doc(alias = "mbarrier.arrive")]
            #[track_caller]
            pub fn arrive_count(self, count: impl Into<Val<'k, u32>>) $(-> $state)? {
                self.arrival("arrive", $counted, Some(counted(self.at.kernel(), count.into())))
            }

            /// Adds `bytes` to the number of bytes that the current phase expects, and arrives. Requires sm_90 or later.
            #[doc(alias = "mbarrier.arrive.expect_tx")]
            #[track_caller]
            pub fn arrive_expect_tx(self, bytes: impl Into<Val<'k, u32>>) $(-> $state)? {
                self.arrival("arrive.expect_tx", $space::PTX, Some(bytes.into()))
            }

            /// Arrives, and decrements the number of arrivals expected in later phases.
            #[doc(alias = "mbarrier.arrive_drop")]
            #[track_caller]
            pub fn arrive_drop(self) $(-> $state)? {
                self.arrival("arrive_drop", $space::PTX, None)
            }

            /// Arrives `count` times, and reduces the number of arrivals expected in later phases by `count`. Requires sm_90 or later.
            #[doc(alias = "mbarrier.arrive_drop")]
            #[track_caller]
            pub fn arrive_drop_count(self, count: impl Into<Val<'k, u32>>) $(-> $state)? {
                self.arrival("arrive_drop", $counted, Some(counted(self.at.kernel(), count.into())))
            }

            /// Adds `bytes` to the number of bytes that the current phase expects, and arrives as [`arrive_drop`](Self::arrive_drop) does.
            /// Requires sm_90 or later.
            #[doc(alias = "mbarrier.arrive_drop.expect_tx")]
            #[track_caller]
            pub fn arrive_drop_expect_tx(self, bytes: impl Into<Val<'k, u32>>) $(-> $state)? {
                self.arrival("arrive_drop.expect_tx", $space::PTX, Some(bytes.into()))
            }
        }
    };
}

// The forms with a count are spelled differently; the instruction table explains why.
arrivals! { Shared, ".shared::cta", Val<'k, u64> }
arrivals! { SharedCluster, ".shared::cluster" }

impl<'k> Mbarrier<'k> {
    /// Arrives `count` times and returns the state. The arrivals must not complete the phase: `count` must be less than the number of
    /// arrivals that the current phase still expects. The builder rejects [`relaxed`](Self::relaxed) handles and handles with cluster
    /// scope.
    #[doc(alias = "mbarrier.arrive.noComplete")]
    #[track_caller]
    pub fn arrive_no_complete(self, count: impl Into<Val<'k, u32>>) -> Val<'k, u64> {
        self.arrival("arrive.noComplete", ".shared", Some(counted(self.at.kernel(), count.into())))
    }

    /// Arrives as [`arrive_no_complete`](Self::arrive_no_complete) does, and reduces the number of arrivals expected in later phases by
    /// `count`.
    #[doc(alias = "mbarrier.arrive_drop.noComplete")]
    #[track_caller]
    pub fn arrive_drop_no_complete(self, count: impl Into<Val<'k, u32>>) -> Val<'k, u64> {
        self.arrival("arrive_drop.noComplete", ".shared", Some(counted(self.at.kernel(), count.into())))
    }
}

impl<'k> Mbarrier<'k, SharedCluster> {
    #[track_caller]
    fn arrival(self, operation: &str, space: &str, operand: Option<Val<'k, u32>>) {
        let (k, (order, scope)) = (self.at.kernel(), self.qualifiers(".release"));
        let mut operands = arrayvec::ArrayVec::<Operand<'_>, 3>::new();
        operands.extend([Operand::Name("_"), self.at.operand()]);
        operands.extend(operand.map(|operand| operand.operand(k)));
        k.emit(format_args!("mbarrier.{operation}{order}{scope}{space}.b64"), &operands);
    }
}
