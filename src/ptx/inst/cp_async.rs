//! `cp.async`: copies from global to shared memory that complete later (PTX ISA, "Asynchronous copy").

use crate::ptx::{
    checked::CheckedPtr,
    kernel::Builder,
    operand::{Immediate, Operand},
    ptr::{Global, Ptr, Readable, Shared, Writable},
    types::Element,
    val::Val,
};

impl<'k, T: Element, W: Writable> Ptr<'k, T, Shared, W> {
    /// Begins to copy `BYTES` (4, 8 or 16) from a view of global memory to here; zeros where the elements are outside, and then
    /// nothing is read. Both addresses must be known to be aligned to that many bytes, and the elements to be inside or outside
    /// together, as for [`CheckedPtr::load_vector`].
    ///
    /// The data arrive only at a [`Builder::cp_async_wait_group`] of this thread after a [`Builder::cp_async_commit_group`], and other
    /// threads see them after a barrier that follows. 16 bytes bypass L1 (`.cg`); fewer go through it (`.ca`).
    #[doc(alias = "cp.async")]
    #[track_caller]
    pub fn copy_async<const BYTES: u32>(self, from: CheckedPtr<'k, T, Global, impl Readable>) {
        from.check_vector((BYTES / T::SIZE).max(1) as usize);
        self.emit_copy_async::<BYTES, _>(from.pointer(), from.inside().select(BYTES, 0));
    }

    /// [`copy_async`](Self::copy_async) of only the first `valid` bytes; the rest of the `BYTES` become zero. With 0 nothing is read.
    ///
    /// # Safety
    ///
    /// In every launch, the first `valid` bytes must be inside an allocation that is live.
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

    /// Emits the copy of the first `valid` bytes, which the caller has shown to be inside.
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

/// Which caches `cp.async` uses (PTX ISA, "cp.async").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CpAsyncCache {
    /// L2 alone for 16 bytes, L1 too for fewer.
    Best,
    /// All levels: `.ca`.
    All,
    /// L2 alone, for 16 bytes: `.cg`.
    L2,
}

impl<'k, T: Element, W: Writable> Ptr<'k, T, Shared, W> {
    /// Begins to copy the first `valid` of 4, 8 or 16 bytes from global memory to here; the rest become zero.
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
    /// Makes all copies that this thread began since the last commit into one group.
    #[doc(alias = "cp.async.commit_group")]
    #[track_caller]
    pub fn cp_async_commit_group(self) {
        self.emit(format_args!("cp.async.commit_group"), &[]);
    }

    /// Waits until at most the `pending` newest groups of this thread are still under way.
    #[doc(alias = "cp.async.wait_group")]
    #[track_caller]
    pub fn cp_async_wait_group(self, pending: u32) {
        self.emit(format_args!("cp.async.wait_group"), &[Operand::Imm(Immediate::new(pending))]);
    }

    /// Waits for all of this thread's copies, committed or not.
    #[doc(alias = "cp.async.wait_all")]
    #[track_caller]
    pub fn cp_async_wait_all(self) {
        self.emit(format_args!("cp.async.wait_all"), &[]);
    }
}
