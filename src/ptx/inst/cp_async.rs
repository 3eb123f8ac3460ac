//! `cp.async`: asynchronous copies from global to shared memory (PTX ISA, "Asynchronous copy").

use crate::ptx::{
    checked::CheckedPtr,
    kernel::Builder,
    operand::{Immediate, Operand},
    ptr::{Global, Ptr, Readable, Shared, Writable},
    types::Element,
    val::Val,
};

impl<'k, T: Element, W: Writable> Ptr<'k, T, Shared, W> {
    /// Starts to copy `BYTES` (4, 8 or 16) from a view of global memory to here; out of bounds, zeros are written and nothing
    /// is read. Both addresses must be known to be aligned to `BYTES`, and the elements must be entirely in or out of bounds,
    /// as for [`CheckedPtr::load_vector`].
    ///
    /// The data arrive after a [`Builder::cp_async_commit_group`] and a [`Builder::cp_async_wait_group`] of this thread; they
    /// are visible to other threads after a subsequent barrier. Copies of 16 bytes bypass L1 (`.cg`); smaller ones do not
    /// (`.ca`).
    #[doc(alias = "cp.async")]
    #[track_caller]
    pub fn copy_async<const BYTES: u32>(self, from: CheckedPtr<'k, T, Global, impl Readable>) {
        from.check_vector((BYTES / T::SIZE).max(1) as usize);
        self.emit_copy_async::<BYTES, _>(from.pointer(), from.condition().select(BYTES, 0));
    }

    /// Copies only the first `valid` bytes like [`copy_async`](Self::copy_async); the rest of the `BYTES` become zero. If
    /// `valid` is 0, nothing is read.
    ///
    /// # Safety
    ///
    /// In every launch, the first `valid` bytes must be in a live allocation.
    #[doc(alias = "cp.async")]
    #[track_caller]
    #[allow(unsafe_code, reason = "declares an obligation; nothing unsafe is done here")]
    pub unsafe fn copy_async_zero_fill<const BYTES: u32>(
        self,
        from: Ptr<'k, T, Global, impl Readable>,
        valid: impl Into<Val<'k, u32>>,
    ) {
        self.kernel().count_unsafe_access();
        self.emit_copy_async::<BYTES, _>(from, valid.into());
    }

    /// Emits the copy of the first `valid` bytes, which the caller has ensured to be in bounds.
    #[track_caller]
    fn emit_copy_async<const BYTES: u32, R: Readable>(
        self,
        from: Ptr<'k, T, Global, R>,
        valid: Val<'k, u32>,
    ) {
        const { assert!(matches!(BYTES, 4 | 8 | 16), "cp.async copies 4, 8 or 16 bytes") };
        self.copy_async_bytes(from, BYTES, CpAsyncCache::Best, valid);
    }
}

/// The caches that `cp.async` uses (PTX ISA, "cp.async").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CpAsyncCache {
    /// Only L2 for 16 bytes, L1 as well for fewer.
    Best,
    /// All levels: `.ca`.
    All,
    /// Only L2, for 16 bytes: `.cg`.
    L2,
}

impl<'k, T: Element, W: Writable> Ptr<'k, T, Shared, W> {
    /// Starts to copy the first `valid` of 4, 8 or 16 bytes from global memory to here; the rest become zero.
    #[track_caller]
    pub(crate) fn copy_async_bytes<R: Readable>(
        self,
        from: Ptr<'k, T, Global, R>,
        bytes: u32,
        cache: CpAsyncCache,
        valid: Val<'k, u32>,
    ) {
        let k = self.kernel();
        self.check_aligned(bytes);
        from.check_aligned(bytes);
        let l2_alone = cache == CpAsyncCache::L2 || (cache == CpAsyncCache::Best && bytes == 16);
        let level = if l2_alone { "cg" } else { "ca" };
        let mut operands = arrayvec::ArrayVec::<Operand<'_>, 4>::new();
        operands.extend([self.operand(), from.operand(), Operand::Imm(Immediate::new(bytes))]);
        if valid.as_constant() != Some(bytes) {
            operands.push(valid.operand(k));
        }
        k.emit(format_args!("cp.async.{level}.shared.global"), &operands);
    }
}

impl Builder<'_> {
    /// Commits all copies that this thread has started since the last commit as a group.
    #[doc(alias = "cp.async.commit_group")]
    #[track_caller]
    pub fn cp_async_commit_group(self) {
        self.emit(format_args!("cp.async.commit_group"), &[]);
    }

    /// Waits until at most the `pending` newest groups of this thread are in flight.
    #[doc(alias = "cp.async.wait_group")]
    #[track_caller]
    pub fn cp_async_wait_group(self, pending: u32) {
        self.emit(format_args!("cp.async.wait_group"), &[Operand::Imm(Immediate::new(pending))]);
    }

    /// Waits for all copies of this thread, whether committed or not.
    #[doc(alias = "cp.async.wait_all")]
    #[track_caller]
    pub fn cp_async_wait_all(self) {
        self.emit(format_args!("cp.async.wait_all"), &[]);
    }
}
