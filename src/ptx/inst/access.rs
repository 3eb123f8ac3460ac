//! Accesses through plain pointers. They are safe in shared and local memory, where no access can reach memory outside the cluster, and
//! `unsafe` elsewhere.
#![allow(unsafe_code, reason = "declares the unsafe accesses; nothing unsafe is done here")]

use super::{
    atomic::{Atomic, AtomicSpace, Reduction},
    memory::{Load, Store},
};
use crate::ptx::{
    checked::CheckedPtr,
    ptr::{Const, Generic, Global, Ptr, ReadWrite, Readable, SafeSpace, Space, Writable},
    types::Element,
    val::Val,
};

/// The last section of the documentation of every `unsafe` access.
macro_rules! safety {
    () => {
        "\n\n# Safety\n\nIn every launch, the accessed bytes must be within a single live allocation, which must be \
         writable if they are written to. No thread may write to the memory of an `In` parameter. \
         Accesses through a [slice](crate::ptx::Builder::slice) have no such requirements."
    };
}

/// Defines the methods that access memory through a pointer. They are `unsafe` if the last section of their documentation is given, and
/// safe otherwise.
macro_rules! accesses {
    ($space:ident $(: $unsafe:tt $safety:expr)?) => {
        /// Returns a pointer whose accesses are performed only if `condition` is true. If it is false, loads and atomic operations return
        /// 0.
        $(#[doc = $safety])?
        #[track_caller]
        pub $($unsafe)? fn when(self, condition: impl Into<Val<'k, bool>>) -> CheckedPtr<'k, T, $space, A> {
            self.accessed().when(condition)
        }

        /// Loads the element at this address.
        $(#[doc = $safety])?
        #[doc(alias = "ld")]
        #[track_caller]
        pub $($unsafe)? fn load(self) -> Val<'k, T::Reg>
        where
            A: Readable,
        {
            self.accessed().load()
        }

        /// Loads the element at this address with the given cache operator or memory ordering.
        $(#[doc = $safety])?
        #[track_caller]
        pub $($unsafe)? fn load_with(self, how: Load) -> Val<'k, T::Reg>
        where
            A: Readable,
        {
            self.accessed().load_with(how)
        }

        /// Loads `N` adjacent elements (2 or 4, at most 16 bytes in total) with one instruction. The address must be known to be aligned to
        /// the size of the vector.
        $(#[doc = $safety])?
        #[doc(alias = "ld.v4")]
        #[track_caller]
        pub $($unsafe)? fn load_vector<const N: usize>(self) -> [Val<'k, T::Reg>; N]
        where
            A: Readable,
        {
            self.accessed().load_vector()
        }

        /// Loads a vector as [`load_vector`](Self::load_vector) does, but with the given cache operator or memory ordering.
        $(#[doc = $safety])?
        #[track_caller]
        pub $($unsafe)? fn load_vector_with<const N: usize>(self, how: Load) -> [Val<'k, T::Reg>; N]
        where
            A: Readable,
        {
            self.accessed().load_vector_with(how)
        }

        /// Stores `value` in the element at this address.
        $(#[doc = $safety])?
        #[doc(alias = "st")]
        #[track_caller]
        pub $($unsafe)? fn store(self, value: impl Into<Val<'k, T::Reg>>)
        where
            A: Writable,
        {
            self.accessed().store(value);
        }

        /// Stores `value` in the element at this address with the given cache operator or memory ordering.
        $(#[doc = $safety])?
        #[track_caller]
        pub $($unsafe)? fn store_with(self, how: Store, value: impl Into<Val<'k, T::Reg>>)
        where
            A: Writable,
        {
            self.accessed().store_with(how, value);
        }

        /// Stores `N` adjacent elements (2 or 4, at most 16 bytes in total) with one instruction. The address must be known to be aligned
        /// to the size of the vector.
        $(#[doc = $safety])?
        #[doc(alias = "st.v4")]
        #[track_caller]
        pub $($unsafe)? fn store_vector<const N: usize>(self, values: [Val<'k, T::Reg>; N])
        where
            A: Writable,
        {
            self.accessed().store_vector(values);
        }

        /// Stores a vector as [`store_vector`](Self::store_vector) does, but with the given cache operator or memory ordering.
        $(#[doc = $safety])?
        #[track_caller]
        pub $($unsafe)? fn store_vector_with<const N: usize>(self, how: Store, values: [Val<'k, T::Reg>; N])
        where
            A: Writable,
        {
            self.accessed().store_vector_with(how, values);
        }
    };
}

/// Defines the methods for atomic operations through a pointer in the same way.
macro_rules! atomics {
    ($space:ident $(: $unsafe:tt $safety:expr)?) => {
        /// Returns a handle for atomic operations on the element at this address. By default, the operations are relaxed, and their scope
        /// is the block for `.shared::cta` memory, the cluster for `.shared::cluster` memory, and the device for other memory.
        ///
        /// Examples: `counter.atomic().add(1)`, `flag.atomic().order(Order::AcqRel).scope(MemoryScope::Sys).exchange(1)`.
        $(#[doc = $safety])?
        #[doc(alias = "atom")]
        #[track_caller]
        pub $($unsafe)? fn atomic(self) -> Atomic<'k, T, $space> {
            self.accessed().atomic()
        }

        /// Returns a handle for reductions (atomic operations that return no value) on the element at this address:
        /// `sum.reduction().add(x)`. By default, the reductions are relaxed, and their scope is the block for `.shared::cta` memory, the
        /// cluster for `.shared::cluster` memory, and the device for other memory.
        $(#[doc = $safety])?
        #[doc(alias = "red")]
        #[track_caller]
        pub $($unsafe)? fn reduction(self) -> Reduction<'k, T, $space> {
            self.accessed().reduction()
        }
    };
}

impl<'k, T: Element, S: Space, A> Ptr<'k, T, S, A> {
    /// Returns a pointer whose accesses are always performed. Only methods that are `unsafe`, or whose accesses are safe in the state
    /// space, may call this. Counts an unsafe access if accesses in the state space are unsafe.
    #[track_caller]
    pub(super) fn accessed(self) -> CheckedPtr<'k, T, S, A> {
        if !S::CONFINED {
            self.kernel().count_unsafe_access();
        }
        self.checked(true)
    }
}

impl<'k, T: Element, S: SafeSpace, A> Ptr<'k, T, S, A> {
    accesses! { S }
}

impl<'k, T: Element, S: SafeSpace + AtomicSpace> Ptr<'k, T, S, ReadWrite> {
    atomics! { S }
}

macro_rules! unsafe_spaces {
    ($($space:ident)*) => {$(
        impl<'k, T: Element, A> Ptr<'k, T, $space, A> {
            accesses! { $space: unsafe safety!() }
        }
    )*};
}

unsafe_spaces! { Global Const Generic }

impl<'k, T: Element> Ptr<'k, T, Global, ReadWrite> {
    atomics! { Global: unsafe safety!() }
}

impl<'k, T: Element> Ptr<'k, T, Generic, ReadWrite> {
    atomics! { Generic: unsafe safety!() }
}
