//! Prefetches and address conversions: `prefetch`, `isspacep`, `cvta`.

use std::panic::Location;

use crate::ptx::{
    checked::CheckedPtr,
    ptr::{Access, Const, Generic, Global, Local, Ptr, Readable, Shared, SharedCluster, Space},
    types::Element,
    val::Val,
};

/// The cache into which a prefetch loads a cache line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Prefetch {
    /// The L1 cache.
    L1,
    /// The L2 cache.
    L2,
    /// The L2 cache, with eviction priority `evict_last`. Only for global memory. Requires sm_80 or later.
    L2EvictLast,
    /// The L2 cache, with eviction priority `evict_normal`. Only for global memory. Requires sm_80 or later.
    L2EvictNormal,
}

impl Prefetch {
    const fn suffix(self) -> &'static str {
        match self {
            Self::L1 => ".L1",
            Self::L2 => ".L2",
            Self::L2EvictLast => ".L2::evict_last",
            Self::L2EvictNormal => ".L2::evict_normal",
        }
    }
}

/// A state space that supports prefetches: global, local or generic.
pub trait Prefetchable: Space {}

impl Prefetchable for Global {}
impl Prefetchable for Local {}
impl Prefetchable for Generic {}

impl<T: Element, S: Prefetchable, A: Readable> CheckedPtr<'_, T, S, A> {
    /// Prefetches the cache line that contains the element into the given cache if the element is in bounds.
    #[track_caller]
    pub fn prefetch(self, into: Prefetch) {
        let (k, address) = (self.kernel(), self.pointer.operand());
        let mnemonic = ["prefetch", S::PTX, into.suffix()];
        let _located = k.locate(Location::caller());
        k.emit_when(self.condition(), mnemonic, &[address]);
    }
}

impl<T: Element, S: Prefetchable, A: Readable> Ptr<'_, T, S, A> {
    /// Prefetches the cache line that contains the element at this address into the given cache.
    ///
    /// # Safety
    ///
    /// In every launch, the element must be within a live allocation.
    #[track_caller]
    #[allow(unsafe_code, reason = "declares an obligation; nothing unsafe is done here")]
    pub unsafe fn prefetch(self, into: Prefetch) {
        self.accessed().prefetch(into);
    }
}

/// A state space whose addresses can be converted to and from generic addresses.
pub trait GenericWindow: Space {
    /// Converts a 64-bit address in the space to the space's address type.
    #[doc(hidden)]
    #[track_caller]
    fn narrow(address: Val<'_, u64>) -> Val<'_, Self::Address>;
    /// Converts an address in the space to 64 bits.
    #[doc(hidden)]
    #[track_caller]
    fn widen(address: Val<'_, Self::Address>) -> Val<'_, u64>;
}

macro_rules! windows {
    ($($space:ident)*) => {$(
        impl GenericWindow for $space {
            #[track_caller]
            fn narrow(address: Val<'_, u64>) -> Val<'_, u64> {
                address
            }
            #[track_caller]
            fn widen(address: Val<'_, u64>) -> Val<'_, u64> {
                address
            }
        }
    )*};
}

windows! { Global Local Const }

macro_rules! narrow_windows {
    ($($space:ident)*) => {$(
        impl GenericWindow for $space {
            #[track_caller]
            fn narrow(address: Val<'_, u64>) -> Val<'_, u32> {
                address.cast()
            }
            #[track_caller]
            fn widen(address: Val<'_, u32>) -> Val<'_, u64> {
                address.cast()
            }
        }
    )*};
}

narrow_windows! { Shared SharedCluster }

impl<'k, T: Element, S: GenericWindow, A: Access> Ptr<'k, T, S, A> {
    /// Returns a generic pointer to the same memory.
    #[doc(alias = "cvta")]
    #[track_caller]
    pub fn generic(self) -> Ptr<'k, T, Generic, A> {
        let k = self.kernel();
        let address = S::widen(self.address());
        let generic = k.result(["cvta", S::PTX, ".u64"], &[address.operand(k)]);
        Ptr::new(k, generic, self.align())
    }
}

impl<'k, T: Element, A: Access> Ptr<'k, T, Generic, A> {
    /// Returns whether the address is in state space `S`.
    #[doc(alias = "isspacep")]
    #[track_caller]
    pub fn is_in<S: GenericWindow>(self) -> Val<'k, bool> {
        let k = self.kernel();
        k.result(["isspacep", S::PTX], &[self.address().operand(k)])
    }

    /// Returns a pointer in state space `S` to the same memory.
    ///
    /// # Safety
    ///
    /// The address must be in state space `S`; otherwise, the resulting address is undefined.
    #[doc(alias = "cvta.to")]
    #[track_caller]
    #[allow(unsafe_code, reason = "declares an obligation; nothing unsafe is done here")]
    pub unsafe fn to_space<S: GenericWindow>(self) -> Ptr<'k, T, S, A> {
        let k = self.kernel();
        k.count_unsafe_access();
        let address = k.result(["cvta.to", S::PTX, ".u64"], &[self.address().operand(k)]);
        Ptr::new(k, S::narrow(address), self.align())
    }
}
