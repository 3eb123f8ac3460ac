//! Loads and stores of scalars and vectors (`ld`, `st`), with cache operators and memory ordering.

use std::panic::Location;

use super::order::MemoryScope;
use crate::ptx::{
    checked::CheckedPtr,
    operand::Operand,
    ptr::{Readable, Space, Writable},
    types::{Element, Scalar},
    val::Val,
};

/// The cache operator or memory ordering of a load (PTX ISA, "Cache Operators", "Memory Consistency Model").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Load {
    /// Cached at all levels. For the memory of an `In` parameter, the same as [`Nc`](Self::Nc), except in a kernel with a [programmatic
    /// launch](crate::ptx::Builder::programmatic_launch).
    #[default]
    Default,
    /// Cached at all levels, even for the memory of an `In` parameter.
    Ca,
    /// Cached only at the global level (L2).
    Cg,
    /// Streaming: likely accessed once.
    Cs,
    /// Last use: the cache line is not needed afterward.
    Lu,
    /// Not cached: fetched again each time.
    Cv,
    /// Cached in the read-only data cache. No thread may write to the memory while the kernel runs. Global memory only.
    Nc,
    /// Never removed, duplicated or merged by the compiler, because other threads may write at any time.
    Volatile,
    /// Coherent with accesses by other threads in the scope, but imposes no order on other accesses.
    Relaxed(MemoryScope),
    /// If the load reads a value written by a release operation in the scope, the writes before the release are visible to the accesses
    /// after the load.
    Acquire(MemoryScope),
}

impl Load {
    /// Returns the suffixes for the ordering, its scope, and the cache operator. The first two precede the state space in the mnemonic; the
    /// last follows it.
    const fn suffixes(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Default => ("", "", ""),
            Self::Ca => ("", "", ".ca"),
            Self::Cg => ("", "", ".cg"),
            Self::Cs => ("", "", ".cs"),
            Self::Lu => ("", "", ".lu"),
            Self::Cv => ("", "", ".cv"),
            Self::Nc => ("", "", ".nc"),
            Self::Volatile => (".volatile", "", ""),
            Self::Relaxed(scope) => (".relaxed", scope.suffix(), ""),
            Self::Acquire(scope) => (".acquire", scope.suffix(), ""),
        }
    }
}

/// The cache operator or memory ordering of a store (PTX ISA, "Cache Operators", "Memory Consistency Model").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Store {
    /// Write-back at all coherent levels.
    #[default]
    Default,
    /// The same as [`Default`](Self::Default), with an explicit `.wb`.
    Wb,
    /// Cached only at the global level (L2).
    Cg,
    /// Streaming: likely accessed once.
    Cs,
    /// Write-through from L2 to system memory.
    Wt,
    /// Never reordered or merged, because other threads may read at any time.
    Volatile,
    /// Coherent with accesses by other threads in the scope, but imposes no order on other accesses.
    Relaxed(MemoryScope),
    /// Earlier writes are visible to threads in the scope that acquire the stored value.
    Release(MemoryScope),
}

impl Store {
    /// Returns the suffixes for the ordering, its scope, and the cache operator. The first two precede the state space in the mnemonic; the
    /// last follows it.
    const fn suffixes(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Default => ("", "", ""),
            Self::Wb => ("", "", ".wb"),
            Self::Cg => ("", "", ".cg"),
            Self::Cs => ("", "", ".cs"),
            Self::Wt => ("", "", ".wt"),
            Self::Volatile => (".volatile", "", ""),
            Self::Relaxed(scope) => (".relaxed", scope.suffix(), ""),
            Self::Release(scope) => (".release", scope.suffix(), ""),
        }
    }
}

impl<'k, T: Element, S: Space, A> CheckedPtr<'k, T, S, A> {
    /// Loads the element, or returns 0 if the element is out of bounds.
    ///
    /// The memory of an `In` parameter is read through the read-only cache (`ld.global.nc`), except in a kernel with a [programmatic
    /// launch](crate::ptx::Builder::programmatic_launch).
    #[doc(alias = "ld")]
    #[track_caller]
    pub fn load(self) -> Val<'k, T::Reg>
    where
        A: Readable,
    {
        self.load_with(Load::Default)
    }

    /// Loads the element as [`load`](Self::load) does, but returns `otherwise` if the element is out of bounds.
    #[track_caller]
    pub fn load_or(self, otherwise: T::Reg) -> Val<'k, T::Reg>
    where
        A: Readable,
    {
        let [value] = self.load_values(Load::Default, otherwise);
        value
    }

    /// Loads the element as [`load`](Self::load) does, but with the given cache operator or memory ordering.
    #[track_caller]
    pub fn load_with(self, how: Load) -> Val<'k, T::Reg>
    where
        A: Readable,
    {
        let [value] = self.load_values(how, T::Reg::from_bits(0));
        value
    }

    /// Loads `N` adjacent elements (2 or 4, at most 16 bytes in total) with one instruction, or returns zeros if they are out of bounds.
    /// The address must be known to be aligned to the size of the vector, and the elements must be either all in bounds or all out of
    /// bounds. For a slice, the index and the length must therefore be known to be multiples of `N`.
    #[doc(alias = "ld.v4")]
    #[track_caller]
    pub fn load_vector<const N: usize>(self) -> [Val<'k, T::Reg>; N]
    where
        A: Readable,
    {
        self.load_vector_with(Load::Default)
    }

    /// Loads a vector as [`load_vector`](Self::load_vector) does, but returns `otherwise` for every element if the vector is out of bounds.
    #[track_caller]
    pub fn load_vector_or<const N: usize>(self, otherwise: T::Reg) -> [Val<'k, T::Reg>; N]
    where
        A: Readable,
    {
        const { assert!(N == 2 || N == 4, "a vector load takes 2 or 4 elements") };
        self.check_vector(N);
        self.load_values(Load::Default, otherwise)
    }

    /// Loads a vector as [`load_vector`](Self::load_vector) does, but with the given cache operator or memory ordering.
    #[track_caller]
    pub fn load_vector_with<const N: usize>(self, how: Load) -> [Val<'k, T::Reg>; N]
    where
        A: Readable,
    {
        const { assert!(N == 2 || N == 4, "a vector load takes 2 or 4 elements") };
        self.check_vector(N);
        self.load_values(how, T::Reg::from_bits(0))
    }

    #[track_caller]
    fn load_values<const N: usize>(self, how: Load, otherwise: T::Reg) -> [Val<'k, T::Reg>; N] {
        let (k, at) = (self.kernel(), Location::caller());
        let inside = self.condition();
        let known = inside.as_constant();
        if known == Some(false) {
            return [otherwise.into(); N];
        }
        let values: [Val<'k, T::Reg>; N] = match known {
            Some(_) => std::array::from_fn(|_| Val::from_reg(k.fresh(T::Reg::CLASS), k)),
            None => {
                let _located = k.locate(at);
                std::array::from_fn(|_| k.copy_of(otherwise))
            }
        };
        let (registers, address) = (values.map(|value| value.operand(k)), self.pointer.operand());
        let how = if how == Load::Default && self.pointer.is_never_written() { Load::Nc } else { how };
        let (order, scope, cache) = how.suffixes();
        let mnemonic = ["ld", order, scope, S::PTX, cache, vector(N), ".", T::MEM];
        {
            let _located = k.locate(at);
            k.emit_when(inside, mnemonic, &[one_or_vector(&registers), address]);
        }
        values
    }

    /// Stores `value` in the element if the element is in bounds.
    #[doc(alias = "st")]
    #[track_caller]
    pub fn store(self, value: impl Into<Val<'k, T::Reg>>)
    where
        A: Writable,
    {
        self.store_with(Store::Default, value);
    }

    /// Stores `value` as [`store`](Self::store) does, but with the given cache operator or memory ordering.
    #[track_caller]
    pub fn store_with(self, how: Store, value: impl Into<Val<'k, T::Reg>>)
    where
        A: Writable,
    {
        self.store_values(how, [value.into()]);
    }

    /// Stores `N` adjacent elements with one instruction if they are in bounds. The size, alignment and bounds must meet the requirements
    /// of [`load_vector`](Self::load_vector).
    #[doc(alias = "st.v4")]
    #[track_caller]
    pub fn store_vector<const N: usize>(self, values: [Val<'k, T::Reg>; N])
    where
        A: Writable,
    {
        self.store_vector_with(Store::Default, values);
    }

    /// Stores a vector as [`store_vector`](Self::store_vector) does, but with the given cache operator or memory ordering.
    #[track_caller]
    pub fn store_vector_with<const N: usize>(self, how: Store, values: [Val<'k, T::Reg>; N])
    where
        A: Writable,
    {
        const { assert!(N == 2 || N == 4, "a vector store takes 2 or 4 elements") };
        self.check_vector(N);
        self.store_values(how, values);
    }

    #[track_caller]
    fn store_values<const N: usize>(self, how: Store, values: [Val<'k, T::Reg>; N]) {
        let (k, at) = (self.kernel(), Location::caller());
        let inside = self.condition();
        if inside.as_constant() == Some(false) {
            return;
        }
        let registers = {
            let _located = k.locate(at);
            values.map(|value| value.operand(k))
        };
        let address = self.pointer.operand();
        let (order, scope, cache) = how.suffixes();
        let mnemonic = ["st", order, scope, S::PTX, cache, vector(N), ".", T::MEM];
        let _located = k.locate(at);
        k.emit_when(inside, mnemonic, &[address, one_or_vector(&registers)]);
    }
}

/// Returns the suffix for a vector of `count` elements: `.v2`, `.v4`, or an empty string for one element.
pub(super) fn vector(count: usize) -> &'static str {
    match count {
        1 => "",
        2 => ".v2",
        _ => ".v4",
    }
}

pub(super) fn one_or_vector<'o>(registers: &'o [Operand<'static>]) -> Operand<'o> {
    match registers {
        [one] => *one,
        several => Operand::Vector(several),
    }
}
