//! Cache policies and eviction priorities of the L2 cache: `createpolicy`, `applypriority`, `discard` (PTX ISA, "Cache Eviction Priority
//! Hints").
#![allow(unsafe_code, reason = "declares obligations; nothing unsafe is done here")]

use crate::ptx::{
    kernel::Builder,
    operand::{Immediate, Operand},
    ptr::{Global, Ptr, Writable},
    types::Element,
    val::Val,
};

/// The eviction priority of a cache line in the L2 cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Eviction {
    /// The line is evicted after other lines.
    Last,
    /// The default priority.
    Normal,
    /// The line is evicted before other lines.
    First,
    /// The line keeps its current priority.
    Unchanged,
}

impl Eviction {
    const fn suffix(self) -> &'static str {
        match self {
            Self::Last => ".L2::evict_last",
            Self::Normal => ".L2::evict_normal",
            Self::First => ".L2::evict_first",
            Self::Unchanged => ".L2::evict_unchanged",
        }
    }
}

/// An L2 cache policy: 64 opaque bits in a register. [`CopyHints`](super::CopyHints) passes it to `cp.async` copies, and
/// [`Hints`](super::Hints) passes it to bulk and tensor copies.
#[derive(Clone, Copy, Debug)]
pub struct CachePolicy<'k>(Val<'k, u64>);

impl<'k> CachePolicy<'k> {
    /// Returns the policy's bits, for use as loop state or in [`Builder::raw`].
    pub fn bits(self) -> Val<'k, u64> {
        self.0
    }

    /// Creates a policy from bits that [`bits`](Self::bits) returned or that were created outside the kernel.
    pub fn from_bits(bits: impl Into<Val<'k, u64>>) -> Self {
        Self(bits.into())
    }

    #[track_caller]
    pub(super) fn operand(self, k: Builder<'k>) -> Operand<'static> {
        Operand::Reg(self.0.in_register(k))
    }
}

impl<'k> Builder<'k> {
    /// Creates a policy that applies the priority `primary` to all accesses. Requires sm_80 or later.
    #[doc(alias = "createpolicy.fractional")]
    #[track_caller]
    pub fn cache_policy(self, primary: Eviction) -> CachePolicy<'k> {
        let mnemonic = ["createpolicy.fractional", primary.suffix(), ".b64"];
        CachePolicy(self.result(mnemonic, &[]))
    }

    /// Creates a policy that applies the priority `primary` to the given fraction of the accesses and `secondary` to the others. `fraction`
    /// must be greater than 0 and at most 1. `secondary` must be [`First`](Eviction::First) or [`Unchanged`](Eviction::Unchanged). Requires
    /// sm_80 or later.
    #[doc(alias = "createpolicy.fractional")]
    #[track_caller]
    pub fn cache_policy_fraction(
        self,
        primary: Eviction,
        fraction: impl Into<Val<'k, f32>>,
        secondary: Eviction,
    ) -> CachePolicy<'k> {
        let (primary, secondary) = (primary.suffix(), secondary.suffix());
        let mnemonic = format_args!("createpolicy.fractional{primary}{secondary}.b64");
        let fraction = fraction.into();
        if let Some(found) = fraction.as_constant().filter(|&found| !(found > 0.0 && found <= 1.0)) {
            self.refuse(format!(
                "cache policy: expected a fraction greater than 0 and at most 1, found {found}"
            ));
        }
        CachePolicy(self.result(mnemonic, &[fraction.operand(self)]))
    }

    /// Creates a policy for a range of global memory. The priority `primary` applies to the `bytes` bytes that start at `start`;
    /// `secondary` applies to the `window − bytes` bytes before them and the `window − bytes` bytes after them.
    ///
    /// Accesses with the policy must be within these `2 · window − bytes` bytes. `bytes` must be at most `window`, and `secondary` must be
    /// [`First`](Eviction::First) or [`Unchanged`](Eviction::Unchanged). Requires sm_80 or later.
    #[doc(alias = "createpolicy.range")]
    #[track_caller]
    pub fn cache_policy_range<T: Element, A>(
        self,
        start: Ptr<'k, T, Global, A>,
        (primary, bytes): (Eviction, impl Into<Val<'k, u32>>),
        (secondary, window): (Eviction, impl Into<Val<'k, u32>>),
    ) -> CachePolicy<'k> {
        let (primary, secondary) = (primary.suffix(), secondary.suffix());
        let mnemonic = format_args!("createpolicy.range.global{primary}{secondary}.b64");
        let (bytes, window) = (bytes.into(), window.into());
        if let (Some(bytes), Some(window)) = (bytes.as_constant(), window.as_constant())
            && bytes > window
        {
            self.refuse(format!(
                "cache policy: expected at most the {window} bytes of the window, found {bytes}"
            ));
        }
        let operands = [start.operand(), bytes.operand(self), window.operand(self)];
        CachePolicy(self.result(mnemonic, &operands))
    }

    /// Converts `bits`, a 64-bit access property created by a CUDA API, to a policy. Requires sm_80 or later.
    #[doc(alias = "createpolicy.cvt")]
    #[track_caller]
    pub fn cache_policy_of_access_property(self, bits: impl Into<Val<'k, u64>>) -> CachePolicy<'k> {
        CachePolicy(self.result(format_args!("createpolicy.cvt.L2.b64"), &[bits.into().operand(self)]))
    }
}

/// The number of bytes on which `discard` and `applypriority` operate.
const LINE: u32 = 128;

impl<'k, T: Element, A: Writable> Ptr<'k, T, Global, A> {
    /// Discards the 128 bytes at this address in the L2 cache without writing them back to memory. Their values are undefined until they
    /// are written again. Requires sm_80 or later.
    ///
    /// # Safety
    ///
    /// In every launch, the address must be a multiple of 128, and the 128 bytes must be within a single live allocation.
    #[doc(alias = "discard.L2")]
    #[track_caller]
    pub unsafe fn discard(self) {
        self.on_line("discard.global.L2");
    }
}

impl<'k, T: Element, A> Ptr<'k, T, Global, A> {
    /// Sets the eviction priority of the 128 bytes at this address to [`Normal`](Eviction::Normal). Requires sm_80 or later.
    ///
    /// # Safety
    ///
    /// In every launch, the address must be a multiple of 128, and the 128 bytes must be within a single live allocation.
    #[doc(alias = "applypriority")]
    #[track_caller]
    pub unsafe fn apply_normal_priority(self) {
        self.on_line("applypriority.global.L2::evict_normal");
    }

    #[track_caller]
    fn on_line(self, mnemonic: &str) {
        let k = self.kernel();
        k.count_unsafe_access();
        k.emit(format_args!("{mnemonic}"), &[self.operand(), Operand::Imm(Immediate::new(LINE))]);
    }
}
