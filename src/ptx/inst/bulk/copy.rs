//! Bulk copies of contiguous bytes: `cp.async.bulk`, `cp.reduce.async.bulk`, `cp.async.bulk.prefetch`.
#![allow(unsafe_code, reason = "declares obligations; nothing unsafe is done here")]

use super::{
    super::{
        mbarrier::Mbarrier,
        reduce_op::{BULK_REDUCTION, ReduceOp},
    },
    Hints,
};
use crate::ptx::{
    CheckedPtr,
    kernel::Builder,
    operand::Operand,
    ptr::{Global, Ptr, Readable, Shared, SharedCluster, SharedSpace, Space, Writable},
    types::Element,
    val::Val,
};

/// The granularity of addresses and sizes, in bytes.
const UNIT: u32 = 16;

/// Checks that both addresses and the size are known to be multiples of 16.
#[track_caller]
fn check<T: Element, S: Space, Z: Space, A, B>(
    to: Ptr<'_, T, S, A>,
    from: Ptr<'_, T, Z, B>,
    bytes: Val<'_, u32>,
) {
    to.check_aligned(UNIT);
    from.check_aligned(UNIT);
    check_size(to.kernel(), bytes);
}

/// The maximum constant size of a copy, in bytes, that ptxas accepts.
const MOST: u32 = (1 << 20) - UNIT;

#[track_caller]
fn check_size(k: Builder<'_>, bytes: Val<'_, u32>) {
    if !bytes.is_multiple_of(UNIT) {
        let known = bytes.divisor();
        k.refuse(format!(
            "bulk copy: expected a size known to be a multiple of 16 bytes, found one of {known}"
        ));
    }
    if let Some(found) = bytes.as_constant().filter(|&found| found > MOST) {
        k.refuse(format!("bulk copy: expected at most {MOST} bytes, found {found}"));
    }
}

impl<'k, T: Element, S: SharedSpace, W: Writable> Ptr<'k, T, S, W> {
    /// Starts copying `bytes` bytes from global memory at `from` to this address. Completion is signaled at `barrier`, which counts the
    /// copied bytes and must be in the shared memory of the same block as this address. Both addresses and `bytes` must be known to be
    /// multiples of 16. Requires sm_90 or later.
    ///
    /// # Safety
    ///
    /// In every launch, the `bytes` bytes at `from` must be within a single live allocation, and no thread may write to them until the copy
    /// is complete.
    #[doc(alias = "cp.async.bulk")]
    #[track_caller]
    pub unsafe fn copy_bulk<R: Readable>(
        self,
        from: Ptr<'k, T, Global, R>,
        bytes: impl Into<Val<'k, u32>>,
        barrier: Mbarrier<'k, S>,
        hints: Hints<'k>,
    ) {
        let (k, bytes) = (self.kernel(), bytes.into());
        k.count_unsafe_access();
        check(self, from, bytes);
        let (multicast, policy) = hints.suffixes();
        let mnemonic = format_args!(
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes{multicast}{policy}"
        );
        let mut operands = arrayvec::ArrayVec::<Operand<'_>, 6>::new();
        operands.extend([self.operand(), from.operand(), bytes.operand(k), barrier.pointer().operand()]);
        operands.extend(hints.operands(k));
        k.emit(mnemonic, &operands);
    }
}

impl<'k, T: Element, W: Writable> Ptr<'k, T, SharedCluster, W> {
    /// Starts copying `bytes` bytes from this block's shared memory at `from` to this address. Completion is signaled at `barrier`, which
    /// counts the copied bytes and must be in the shared memory of the same block as this address. Both addresses and `bytes` must be known
    /// to be multiples of 16. Requires sm_90 or later.
    #[doc(alias = "cp.async.bulk.shared::cluster.shared::cta")]
    #[track_caller]
    pub fn copy_bulk_shared<R: Readable>(
        self,
        from: Ptr<'k, T, Shared, R>,
        bytes: impl Into<Val<'k, u32>>,
        barrier: Mbarrier<'k, SharedCluster>,
    ) {
        let (k, bytes) = (self.kernel(), bytes.into());
        check(self, from, bytes);
        k.emit(
            format_args!("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes"),
            &[self.operand(), from.operand(), bytes.operand(k), barrier.pointer().operand()],
        );
    }

    /// Starts an asynchronous reduction that combines the elements in the `bytes` bytes at this address with those at `from` in this
    /// block's shared memory, using the operation `op`. The requirements of [`copy_bulk_shared`](Self::copy_bulk_shared) apply.
    ///
    /// The supported operations are:
    /// - `u32`: all operations
    /// - `i32`: all operations except [`Inc`](ReduceOp::Inc) and [`Dec`](ReduceOp::Dec)
    /// - other 32-bit types: bitwise operations
    /// - `u64` and `i64`: addition
    #[doc(alias = "cp.reduce.async.bulk")]
    #[track_caller]
    pub fn reduce_bulk_shared<R: Readable>(
        self,
        op: ReduceOp,
        from: Ptr<'k, T, Shared, R>,
        bytes: impl Into<Val<'k, u32>>,
        barrier: Mbarrier<'k, SharedCluster>,
    ) {
        let (k, bytes) = (self.kernel(), bytes.into());
        check(self, from, bytes);
        let instruction = "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes";
        if let Some(mnemonic) = op.checked::<T>(k, instruction) {
            let operands = [self.operand(), from.operand(), bytes.operand(k), barrier.pointer().operand()];
            k.emit(format_args!("{mnemonic}"), &operands);
        }
    }
}

impl<'k, T: Element, W: Writable> Ptr<'k, T, Global, W> {
    /// Starts copying `bytes` bytes from shared memory at `from` to this address. The copy belongs to the
    /// [group](Builder::cp_async_bulk_commit_group) that this thread commits next. Requires sm_90 or later.
    ///
    /// Both addresses and `bytes` must be known to be multiples of 16. Threads that have written to these bytes of shared memory must first
    /// execute a [`fence_proxy_async`](Builder::fence_proxy_async).
    ///
    /// # Safety
    ///
    /// In every launch, the `bytes` bytes at this address must be within a single live, writable allocation.
    #[doc(alias = "cp.async.bulk.global.shared::cta")]
    #[track_caller]
    pub unsafe fn copy_bulk_out<R: Readable>(
        self,
        from: Ptr<'k, T, Shared, R>,
        bytes: impl Into<Val<'k, u32>>,
        hints: Hints<'k>,
    ) {
        let (_, policy) = hints.suffixes();
        let mnemonic = format!("cp.async.bulk.global.shared::cta.bulk_group{policy}");
        self.emit_bulk(&mnemonic, from, bytes.into(), hints);
    }

    /// Starts an asynchronous reduction that combines the elements in the `bytes` bytes at this address with those at `from` in shared
    /// memory, using the operation `op`. The requirements of [`copy_bulk_out`](Self::copy_bulk_out) apply, and the reduction likewise
    /// belongs to the group that this thread commits next.
    ///
    /// The supported operations are:
    /// - addition: 32-bit and 64-bit integers, f16, bf16, f32 and f64
    /// - minimum and maximum: 32-bit and 64-bit integers, f16 and bf16
    /// - [`Inc`](ReduceOp::Inc) and [`Dec`](ReduceOp::Dec): `u32`
    /// - bitwise operations: 32-bit and 64-bit types
    ///
    /// # Safety
    ///
    /// See [`copy_bulk_out`](Self::copy_bulk_out).
    #[doc(alias = "cp.reduce.async.bulk")]
    #[track_caller]
    pub unsafe fn reduce_bulk_out<R: Readable>(
        self,
        op: ReduceOp,
        from: Ptr<'k, T, Shared, R>,
        bytes: impl Into<Val<'k, u32>>,
        hints: Hints<'k>,
    ) {
        let (_, policy) = hints.suffixes();
        let instruction = format!("{BULK_REDUCTION}{policy}");
        if let Some(mnemonic) = op.checked::<T>(self.kernel(), &instruction) {
            self.emit_bulk(&mnemonic, from, bytes.into(), hints);
        }
    }

    #[track_caller]
    fn emit_bulk<R: Readable>(
        self,
        mnemonic: &str,
        from: Ptr<'k, T, Shared, R>,
        bytes: Val<'k, u32>,
        hints: Hints<'k>,
    ) {
        let k = self.kernel();
        k.count_unsafe_access();
        check(self, from, bytes);
        hints.without_multicast(k);
        let mut operands = arrayvec::ArrayVec::<Operand<'_>, 5>::new();
        operands.extend([self.operand(), from.operand(), bytes.operand(k)]);
        operands.extend(hints.operands(k));
        k.emit(format_args!("{mnemonic}"), &operands);
    }
}

impl<'k, T: Element, W: Writable> CheckedPtr<'k, T, Global, W> {
    /// Combines elements as [`Ptr::reduce_bulk_out`] does if they are in bounds. The elements must be either all in bounds or all out of
    /// bounds.
    #[track_caller]
    pub(crate) fn reduce_bulk_out<R: Readable>(self, op: ReduceOp, from: Ptr<'k, T, Shared, R>, bytes: u32) {
        let k = self.kernel();
        if let Some(mnemonic) = op.checked::<T>(k, BULK_REDUCTION) {
            check(self.pointer(), from, bytes.into());
            let operands = [self.pointer().operand(), from.operand(), Val::from(bytes).operand(k)];
            k.if_(self.condition(), || k.emit(format_args!("{mnemonic}"), &operands));
        }
    }
}

impl<'k, T: Element, R: Readable> Ptr<'k, T, Global, R> {
    /// Starts prefetching the `bytes` bytes at this address into the L2 cache. The address and `bytes` must be known to be multiples of 16.
    /// Requires sm_90 or later.
    ///
    /// # Safety
    ///
    /// In every launch, the `bytes` bytes at this address must be within a single live allocation.
    #[doc(alias = "cp.async.bulk.prefetch")]
    #[track_caller]
    pub unsafe fn prefetch_bulk(self, bytes: impl Into<Val<'k, u32>>, hints: Hints<'k>) {
        let (k, bytes) = (self.kernel(), bytes.into());
        k.count_unsafe_access();
        self.check_aligned(UNIT);
        check_size(k, bytes);
        hints.without_multicast(k);
        let (_, policy) = hints.suffixes();
        let mut operands = arrayvec::ArrayVec::<Operand<'_>, 4>::new();
        operands.extend([self.operand(), bytes.operand(k)]);
        operands.extend(hints.operands(k));
        k.emit(format_args!("cp.async.bulk.prefetch.L2.global{policy}"), &operands);
    }
}
