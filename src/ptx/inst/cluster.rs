//! Shared memory of other blocks in the cluster (`mapa`, `getctarank`, `st.async`, `red.async`) and the cluster barrier
//! (`barrier.cluster`).

use super::{
    mbarrier::Mbarrier,
    memory::{one_or_vector, vector},
    reduce_op::ReduceOp,
};
use crate::ptx::{
    kernel::Builder,
    operand::Operand,
    ptr::{Access, Generic, Ptr, Shared, SharedCluster, Writable},
    types::Element,
    val::Val,
};

impl<'k, T: Element, A: Access> Ptr<'k, T, Shared, A> {
    /// Returns the corresponding address in the shared memory of the block with rank `rank` in the cluster. That block must be running
    /// during every access through the address; to ensure this, synchronize the cluster before the first access and after the last.
    /// Requires sm_90 or later.
    #[doc(alias = "mapa")]
    #[track_caller]
    pub fn in_block(self, rank: impl Into<Val<'k, u32>>) -> Ptr<'k, T, SharedCluster, A> {
        let (k, base) = (self.kernel(), self.base());
        let operands = [Operand::Reg(base.in_register(k)), rank.into().operand(k)];
        self.in_space(k.result(format_args!("mapa.shared::cluster.u32"), &operands))
    }

    /// Converts this pointer to the cluster's shared state space (`.shared::cluster`). Emits no instruction.
    pub fn in_cluster(self) -> Ptr<'k, T, SharedCluster, A> {
        self.in_space(self.base())
    }
}

impl<'k, T: Element, A: Access> Ptr<'k, T, Generic, A> {
    /// Returns the corresponding generic address in the shared memory of the block with rank `rank` in the cluster. `self` must be an
    /// address in shared memory. The other block must be running during every access through the address. Requires sm_90 or later.
    #[doc(alias = "mapa.u64")]
    #[track_caller]
    pub fn in_block(self, rank: impl Into<Val<'k, u32>>) -> Self {
        let (k, base) = (self.kernel(), self.base());
        let operands = [Operand::Reg(base.in_register(k)), rank.into().operand(k)];
        self.in_space(k.result(format_args!("mapa.u64"), &operands))
    }

    /// Returns the cluster rank of the block whose shared memory contains the address. Requires sm_90 or later.
    #[doc(alias = "getctarank.u64")]
    #[track_caller]
    pub fn block_rank(self) -> Val<'k, u32> {
        let k = self.kernel();
        k.result(format_args!("getctarank.u64"), &[Operand::Reg(self.address().in_register(k))])
    }
}

impl<'k, T: Element, A> Ptr<'k, T, SharedCluster, A> {
    /// Returns the cluster rank of the block whose shared memory contains the address. Requires sm_90 or later.
    #[doc(alias = "getctarank")]
    #[track_caller]
    pub fn block_rank(self) -> Val<'k, u32> {
        let k = self.kernel();
        let address = Operand::Reg(self.address().in_register(k));
        k.result(format_args!("getctarank.shared::cluster.u32"), &[address])
    }

    /// Asynchronously stores `value` in the element, which must be 32 or 64 bits wide. Completion is signaled at `barrier`, which counts
    /// the stored bytes and must be in the shared memory of the same block as the element. Requires sm_90 or later.
    #[doc(alias = "st.async")]
    #[track_caller]
    pub fn store_async(self, value: impl Into<Val<'k, T::Reg>>, barrier: Mbarrier<'k, SharedCluster>)
    where
        A: Writable,
    {
        self.store_values_async([value.into()], barrier);
    }

    /// Asynchronously stores `N` adjacent elements (2 or 4, at most 16 bytes in total), as [`store_async`](Self::store_async) does. The
    /// address must be known to be aligned to the size of the vector.
    #[doc(alias = "st.async.v4")]
    #[track_caller]
    pub fn store_vector_async<const N: usize>(
        self,
        values: [Val<'k, T::Reg>; N],
        barrier: Mbarrier<'k, SharedCluster>,
    ) where
        A: Writable,
    {
        const { assert!(N == 2 || N == 4, "a vector store takes 2 or 4 elements") };
        const { assert!(N as u32 * T::SIZE <= 16, "a vector has at most 16 bytes") };
        self.store_values_async(values, barrier);
    }

    #[track_caller]
    fn store_values_async<const N: usize>(
        self,
        values: [Val<'k, T::Reg>; N],
        barrier: Mbarrier<'k, SharedCluster>,
    ) {
        const { assert!(T::SIZE == 4 || T::SIZE == 8, "st.async stores 32 or 64 bits") };
        self.check_aligned(N as u32 * T::SIZE);
        let k = self.kernel();
        let registers = values.map(|value| Operand::Reg(value.in_register(k)));
        let mnemonic =
            format_args!("st.async.shared::cluster.mbarrier::complete_tx::bytes{}.{}", vector(N), T::MEM);
        k.emit(mnemonic, &[self.operand(), one_or_vector(&registers), barrier.pointer().operand()]);
    }

    /// Asynchronously combines the element with `value`, using the operation `op`. Completion is signaled at `barrier`, which counts the
    /// bytes of the element and must be in the shared memory of the same block as the element. Requires sm_90 or later.
    ///
    /// The supported operations are:
    /// - `u32`: all operations
    /// - `i32`: all operations except [`Inc`](ReduceOp::Inc) and [`Dec`](ReduceOp::Dec)
    /// - other 32-bit types: bitwise operations
    /// - `u64` and `i64`: addition
    #[doc(alias = "red.async")]
    #[track_caller]
    pub fn reduce_async(
        self,
        op: ReduceOp,
        value: impl Into<Val<'k, T::Reg>>,
        barrier: Mbarrier<'k, SharedCluster>,
    ) where
        A: Writable,
    {
        let k = self.kernel();
        let instruction = "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes";
        if let Some(mnemonic) = op.checked::<T>(k, instruction) {
            let value = Operand::Reg(value.into().in_register(k));
            k.emit(format_args!("{mnemonic}"), &[self.operand(), value, barrier.pointer().operand()]);
        }
    }
}

impl Builder<'_> {
    /// Arrives at the cluster barrier without waiting. Every thread of the cluster must arrive exactly once before each wait; the lanes of
    /// a warp need not arrive together. A thread's writes before its arrival are visible to all threads of the cluster after
    /// [`barrier_cluster_wait`](Self::barrier_cluster_wait). Requires sm_90 or later.
    #[doc(alias = "barrier.cluster.arrive")]
    #[track_caller]
    pub fn barrier_cluster_arrive(self) {
        self.emit(format_args!("barrier.cluster.arrive"), &[]);
    }

    /// Arrives as [`barrier_cluster_arrive`](Self::barrier_cluster_arrive) does, but does not make the thread's earlier writes visible to
    /// other threads. Requires sm_90 or later.
    #[doc(alias = "barrier.cluster.arrive.relaxed")]
    #[track_caller]
    pub fn barrier_cluster_arrive_relaxed(self) {
        self.emit(format_args!("barrier.cluster.arrive.relaxed"), &[]);
    }

    /// Waits until all threads of the cluster have arrived at the cluster barrier. The lanes of a warp need not wait together. Requires
    /// sm_90 or later.
    #[doc(alias = "barrier.cluster.wait")]
    #[track_caller]
    pub fn barrier_cluster_wait(self) {
        self.emit(format_args!("barrier.cluster.wait"), &[]);
    }
}
