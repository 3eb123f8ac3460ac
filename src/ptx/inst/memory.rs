//! Memory: `ld`, `st`, scalar and vector, with cache operators and memory ordering.

use super::order::MemoryScope;
use crate::ptx::{
    operand::Operand,
    ptr::{Ptr, Readable, Space, Writable},
    types::{Element, Scalar},
    val::Val,
};

/// How a load uses the caches, or how it is ordered (PTX ISA, "Cache Operators", "Memory Consistency Model").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Load {
    /// Cached at all levels.
    #[default]
    Default,
    /// Cached at all levels, said explicitly.
    Ca,
    /// Cached at the global level, L2, alone.
    Cg,
    /// Streaming: likely used once.
    Cs,
    /// Last use.
    Lu,
    /// Not cached: fetched again each time.
    Cv,
    /// Through the read-only data cache: nobody writes this memory while the kernel runs. Global memory only.
    Nc,
    /// Not reordered or merged, as other threads may write at any time.
    Volatile,
    /// Coherent with other threads of the scope, but not ordered.
    Relaxed(MemoryScope),
    /// Ordered: what the writer released before is seen after.
    Acquire(MemoryScope),
}

impl Load {
    /// What stands before the state space, and what after it.
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

/// How a store uses the caches, or how it is ordered (PTX ISA, "Cache Operators", "Memory Consistency Model").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Store {
    /// Write-back at all coherent levels.
    #[default]
    Default,
    /// Write-back, said explicitly.
    Wb,
    /// Cached at the global level, L2, alone.
    Cg,
    /// Streaming: likely used once.
    Cs,
    /// Written through L2 to system memory.
    Wt,
    /// Not reordered or merged, as other threads may read at any time.
    Volatile,
    /// Coherent with other threads of the scope, but not ordered.
    Relaxed(MemoryScope),
    /// Ordered: whoever acquires it sees what was written before.
    Release(MemoryScope),
}

impl Store {
    /// What stands before the state space, and what after it.
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

impl<'k, T: Element, S: Space, A> Ptr<'k, T, S, A> {
    /// Loads the element.
    #[doc(alias = "ld")]
    #[track_caller]
    pub fn load(self) -> Val<'k, T::Reg>
    where
        A: Readable,
    {
        self.load_with(Load::Default)
    }

    /// Loads the element with a cache operator or an ordering.
    #[track_caller]
    pub fn load_with(self, how: Load) -> Val<'k, T::Reg>
    where
        A: Readable,
    {
        let (order, scope, cache) = how.suffixes();
        self.kernel().result(format_args!("ld{order}{scope}{}{cache}.{}", S::PTX, T::MEM), &[self.operand()])
    }

    /// Loads `N` neighbouring elements, 2 or 4, with one instruction. The address must be known to be aligned to all of them.
    #[doc(alias = "ld.v4")]
    #[track_caller]
    pub fn load_vector<const N: usize>(self) -> [Val<'k, T::Reg>; N]
    where
        A: Readable,
    {
        self.load_vector_with(Load::Default)
    }

    /// [`load_vector`](Self::load_vector) with a cache operator or an ordering.
    #[track_caller]
    pub fn load_vector_with<const N: usize>(self, how: Load) -> [Val<'k, T::Reg>; N]
    where
        A: Readable,
    {
        const { assert!(N == 2 || N == 4, "a vector load takes 2 or 4 elements") };
        self.check_aligned(N as u32 * T::SIZE);
        let k = self.kernel();
        let values = std::array::from_fn(|_| Val::from_reg(k.fresh(T::Reg::CLASS), k));
        let registers = values.map(|v: Val<'k, T::Reg>| v.operand(k));
        let (order, scope, cache) = how.suffixes();
        let mnemonic = format_args!("ld{order}{scope}{}{cache}.v{N}.{}", S::PTX, T::MEM);
        k.emit(mnemonic, &[Operand::Vector(&registers), self.operand()]);
        values
    }
}

impl<'k, T: Element, S: Space, A> Ptr<'k, T, S, A> {
    /// Stores the element.
    #[doc(alias = "st")]
    #[track_caller]
    pub fn store(self, value: impl Into<Val<'k, T::Reg>>)
    where
        A: Writable,
    {
        self.store_with(Store::Default, value);
    }

    /// Stores the element with a cache operator or an ordering.
    #[track_caller]
    pub fn store_with(self, how: Store, value: impl Into<Val<'k, T::Reg>>)
    where
        A: Writable,
    {
        let (order, scope, cache) = how.suffixes();
        let k = self.kernel();
        let value = value.into().operand(k);
        k.emit(format_args!("st{order}{scope}{}{cache}.{}", S::PTX, T::MEM), &[self.operand(), value]);
    }

    /// Stores `N` neighbouring elements, 2 or 4, with one instruction. The address must be known to be aligned to all of them.
    #[doc(alias = "st.v4")]
    #[track_caller]
    pub fn store_vector<const N: usize>(self, values: [Val<'k, T::Reg>; N])
    where
        A: Writable,
    {
        self.store_vector_with(Store::Default, values);
    }

    /// [`store_vector`](Self::store_vector) with a cache operator or an ordering.
    #[track_caller]
    pub fn store_vector_with<const N: usize>(self, how: Store, values: [Val<'k, T::Reg>; N])
    where
        A: Writable,
    {
        const { assert!(N == 2 || N == 4, "a vector store takes 2 or 4 elements") };
        self.check_aligned(N as u32 * T::SIZE);
        let k = self.kernel();
        let registers = values.map(|v| v.operand(k));
        let (order, scope, cache) = how.suffixes();
        let mnemonic = format_args!("st{order}{scope}{}{cache}.v{N}.{}", S::PTX, T::MEM);
        k.emit(mnemonic, &[self.operand(), Operand::Vector(&registers)]);
    }
}
