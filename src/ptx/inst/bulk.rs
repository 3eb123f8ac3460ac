//! Hints and groups of the async proxy's bulk copies (PTX ISA, "Non-Tensor copy instructions", "Tensor copy instructions").
//!
//! Each copy is issued by one thread. Copies to shared memory signal completion at an [`Mbarrier`](super::Mbarrier). For copies from shared
//! to global memory, the issuing thread waits on groups of copies.

mod copy;
mod edit;
mod map;
mod tensor;

use arrayvec::ArrayVec;

use super::cache_policy::CachePolicy;
use crate::ptx::{
    kernel::Builder,
    operand::{Immediate, Operand},
    val::Val,
};

pub use edit::{MapField, TensorMapEdit};
pub use map::{BufferMap, MapUse, TensorMapPtr};
pub(crate) use map::{MAP_ALIGN, MAP_BYTES};

/// Optional operands of a bulk copy: a cache policy, and the blocks of the cluster that receive the data.
///
/// `Hints::default()` sets neither; `Hints::default().multicast(mask).policy(policy)` sets both.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hints<'k> {
    multicast: Option<Val<'k, u16>>,
    policy: Option<CachePolicy<'k>>,
}

impl<'k> Hints<'k> {
    /// Copies to the same offset in the shared memory of each block whose bit in the mask `blocks` is set; bit i represents the block with
    /// rank i in the cluster. Completion is signaled at the barrier at the same offset in each of these blocks. Only copies from global to
    /// shared memory support multicast. Requires sm_90a or sm_100a, because multicast is slow when compiled for plain `sm_90`.
    #[must_use]
    #[doc(alias = ".multicast::cluster")]
    pub fn multicast(self, blocks: impl Into<Val<'k, u16>>) -> Self {
        Self { multicast: Some(blocks.into()), ..self }
    }

    /// Applies a cache policy to the copy's accesses to global memory.
    #[must_use]
    #[doc(alias = ".L2::cache_hint")]
    pub fn policy(self, policy: CachePolicy<'k>) -> Self {
        Self { policy: Some(policy), ..self }
    }

    /// Returns the suffixes of the mnemonic for the hints that are set.
    fn suffixes(&self) -> (&'static str, &'static str) {
        let multicast = if self.multicast.is_some() { ".multicast::cluster" } else { "" };
        (multicast, if self.policy.is_some() { ".L2::cache_hint" } else { "" })
    }

    /// Returns the operands for the hints that are set, in the order of the instruction.
    #[track_caller]
    fn operands(&self, k: Builder<'k>) -> ArrayVec<Operand<'static>, 2> {
        let mut operands = ArrayVec::new();
        operands.extend(self.multicast.map(|blocks| Operand::Reg(blocks.in_register(k))));
        operands.extend(self.policy.map(|policy| policy.operand(k)));
        operands
    }

    /// Records an error if a multicast mask is set: only copies into shared memory support multicast.
    #[track_caller]
    fn without_multicast(&self, k: Builder<'k>) {
        if self.multicast.is_some() {
            k.refuse("expected no multicast for a copy that does not write to shared memory".into());
        }
    }
}

impl Builder<'_> {
    /// Commits, as one group, all bulk copies and reductions from shared to global memory that this thread has started since its last
    /// commit. Requires sm_90 or later.
    #[doc(alias = "cp.async.bulk.commit_group")]
    #[track_caller]
    pub fn cp_async_bulk_commit_group(self) {
        self.emit(format_args!("cp.async.bulk.commit_group"), &[]);
    }

    /// Waits until at most the `pending` most recent bulk groups of this thread are in flight; all older groups are then complete. Requires
    /// sm_90 or later.
    #[doc(alias = "cp.async.bulk.wait_group")]
    #[track_caller]
    pub fn cp_async_bulk_wait_group(self, pending: u32) {
        self.emit(format_args!("cp.async.bulk.wait_group"), &[Operand::Imm(Immediate::new(pending))]);
    }

    /// Waits until all but the `pending` most recent bulk groups of this thread have finished reading from shared memory, which may then be
    /// overwritten. Requires sm_90 or later.
    #[doc(alias = "cp.async.bulk.wait_group.read")]
    #[track_caller]
    pub fn cp_async_bulk_wait_group_read(self, pending: u32) {
        self.emit(format_args!("cp.async.bulk.wait_group.read"), &[Operand::Imm(Immediate::new(pending))]);
    }
}
