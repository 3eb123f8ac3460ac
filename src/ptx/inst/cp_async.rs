//! `cp.async`: asynchronous copies from global to shared memory (PTX ISA, "Asynchronous copy").

use super::cache_policy::CachePolicy;
use crate::ptx::{
    checked::CheckedPtr,
    kernel::Builder,
    operand::{Immediate, Operand},
    ptr::{Global, Ptr, Readable, Shared, Writable},
    types::Element,
    val::Val,
};

impl<'k, T: Element, W: Writable> Ptr<'k, T, Shared, W> {
    /// Starts copying `BYTES` bytes (4, 8 or 16) from global memory at `from` to this address. If the elements are out of bounds, nothing
    /// is read and zeros are written. Requires sm_80 or later.
    ///
    /// Both addresses must be known to be aligned to `BYTES` bytes. The elements must be either all in bounds or all out of bounds, as in
    /// [`CheckedPtr::load_vector`]. 16-byte copies bypass L1 (`.cg`); smaller copies do not (`.ca`).
    ///
    /// To wait for the copy, the thread must [commit](Builder::cp_async_commit_group) it to a group and
    /// [wait](Builder::cp_async_wait_group) for that group. The data is visible to other threads after a subsequent barrier.
    #[doc(alias = "cp.async")]
    #[track_caller]
    pub fn copy_async<const BYTES: u32>(self, from: CheckedPtr<'k, T, Global, impl Readable>) {
        self.copy_async_with::<BYTES>(from, CopyHints::default());
    }

    /// Starts copying as [`copy_async`](Self::copy_async) does, but with the given cache hints.
    #[doc(alias = "cp.async.L2::cache_hint")]
    #[track_caller]
    pub fn copy_async_with<const BYTES: u32>(
        self,
        from: CheckedPtr<'k, T, Global, impl Readable>,
        hints: CopyHints<'k>,
    ) {
        const { assert!(matches!(BYTES, 4 | 8 | 16), "cp.async copies 4, 8 or 16 bytes") };
        from.check_vector((BYTES / T::SIZE).max(1) as usize);
        self.copy_async_bytes(from, BYTES, CpAsyncCache::Best, BYTES.into(), hints);
    }

    /// Starts copying the first `valid` of `BYTES` bytes as [`copy_async`](Self::copy_async) does, and sets the remaining bytes to zero. If
    /// `valid` is 0, nothing is read. Requires sm_80 or later.
    ///
    /// # Safety
    ///
    /// In every launch, `valid` must be at most `BYTES`, and the first `valid` bytes at `from` must be within a live allocation.
    #[doc(alias = "cp.async")]
    #[track_caller]
    #[allow(unsafe_code, reason = "declares an obligation; nothing unsafe is done here")]
    pub unsafe fn copy_async_zero_fill<const BYTES: u32>(
        self,
        from: Ptr<'k, T, Global, impl Readable>,
        valid: impl Into<Val<'k, u32>>,
    ) {
        const { assert!(matches!(BYTES, 4 | 8 | 16), "cp.async copies 4, 8 or 16 bytes") };
        let (k, valid) = (self.kernel(), valid.into());
        k.count_unsafe_access();
        if let Some(found) = valid.as_constant().filter(|&found| found > BYTES) {
            k.refuse(format!("cp.async: expected at most {BYTES} valid bytes, found {found}"));
        }
        self.copy_async_bytes(from.checked(true), BYTES, CpAsyncCache::Best, valid, CopyHints::default());
    }
}

/// The number of bytes that a copy prefetches into the L2 cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PrefetchSize {
    /// 64 bytes.
    B64,
    /// 128 bytes.
    B128,
    /// 256 bytes.
    B256,
}

/// L2 cache hints for `cp.async`. Requires sm_80 or later.
#[derive(Clone, Copy, Debug, Default)]
pub struct CopyHints<'k> {
    /// The prefetch size. If it is `None`, the hardware decides.
    pub prefetch: Option<PrefetchSize>,
    /// The cache policy. If it is `None`, the default policy applies.
    pub policy: Option<CachePolicy<'k>>,
}

impl CopyHints<'_> {
    fn suffixes(&self) -> (&'static str, &'static str) {
        let prefetch = match self.prefetch {
            None => "",
            Some(PrefetchSize::B64) => ".L2::64B",
            Some(PrefetchSize::B128) => ".L2::128B",
            Some(PrefetchSize::B256) => ".L2::256B",
        };
        (if self.policy.is_some() { ".L2::cache_hint" } else { "" }, prefetch)
    }
}

/// The caches that `cp.async` uses (PTX ISA, "cp.async").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CpAsyncCache {
    /// Only L2 for 16-byte copies; L1 as well for smaller copies.
    Best,
    /// All levels: `.ca`.
    All,
    /// Only L2, for 16-byte copies: `.cg`.
    L2,
}

impl<'k, T: Element, W: Writable> Ptr<'k, T, Shared, W> {
    /// Starts copying the first `valid` of `bytes` bytes (4, 8 or 16) from global memory to this address, and sets the remaining bytes to
    /// zero. If `from` is out of bounds, all bytes become zero.
    #[track_caller]
    pub(crate) fn copy_async_bytes<R: Readable>(
        self,
        from: CheckedPtr<'k, T, Global, R>,
        bytes: u32,
        cache: CpAsyncCache,
        valid: Val<'k, u32>,
        hints: CopyHints<'k>,
    ) {
        let (k, inside, from) = (self.kernel(), from.condition(), from.pointer());
        let valid = if inside.as_constant() == Some(true) { valid } else { inside.select(valid, 0) };
        self.check_aligned(bytes);
        from.check_aligned(bytes);
        let l2_alone = cache == CpAsyncCache::L2 || (cache == CpAsyncCache::Best && bytes == 16);
        let level = if l2_alone { "cg" } else { "ca" };
        let mut operands = arrayvec::ArrayVec::<Operand<'_>, 5>::new();
        operands.extend([self.operand(), from.operand(), Operand::Imm(Immediate::new(bytes))]);
        // A policy must follow the number of valid bytes.
        if valid.as_constant() != Some(bytes) || hints.policy.is_some() {
            operands.push(valid.operand(k));
        }
        operands.extend(hints.policy.map(|policy| policy.operand(k)));
        let (policy, prefetch) = hints.suffixes();
        k.emit(format_args!("cp.async.{level}.shared.global{policy}{prefetch}"), &operands);
    }
}

impl Builder<'_> {
    /// Commits, as one group, all `cp.async` copies that this thread has started since its last commit. Requires sm_80 or later.
    #[doc(alias = "cp.async.commit_group")]
    #[track_caller]
    pub fn cp_async_commit_group(self) {
        self.emit(format_args!("cp.async.commit_group"), &[]);
    }

    /// Waits until at most the `pending` most recent `cp.async` groups of this thread are in flight. Requires sm_80 or later.
    #[doc(alias = "cp.async.wait_group")]
    #[track_caller]
    pub fn cp_async_wait_group(self, pending: u32) {
        self.emit(format_args!("cp.async.wait_group"), &[Operand::Imm(Immediate::new(pending))]);
    }

    /// Waits for all `cp.async` copies of this thread, whether committed or not. Requires sm_80 or later.
    #[doc(alias = "cp.async.wait_all")]
    #[track_caller]
    pub fn cp_async_wait_all(self) {
        self.emit(format_args!("cp.async.wait_all"), &[]);
    }
}
