//! What a launch is told: the architecture, the checks, the arguments.

use crate::arith::mma::TensorArch;

/// The architecture whose arithmetic is simulated; a module's `.target` plays no part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[non_exhaustive]
pub enum Arch {
    /// Turing.
    Sm75,
    /// Ampere (A100).
    Sm80,
    /// Ampere, consumer.
    Sm86,
    /// Ada.
    Sm89,
    /// Hopper.
    #[default]
    Sm90,
    /// Blackwell, data center.
    Sm100,
    /// Blackwell, consumer.
    Sm120,
}

impl Arch {
    /// The compute capability, major and minor: `(9, 0)`.
    pub fn capability(self) -> (u32, u32) {
        match self {
            Arch::Sm75 => (7, 5),
            Arch::Sm80 => (8, 0),
            Arch::Sm86 => (8, 6),
            Arch::Sm89 => (8, 9),
            Arch::Sm90 => (9, 0),
            Arch::Sm100 => (10, 0),
            Arch::Sm120 => (12, 0),
        }
    }

    /// Bytes of shared memory that a block can have (CUDA C++ Programming Guide, "Technical Specifications").
    pub(crate) fn shared_limit(self) -> u32 {
        1024 * match self {
            Arch::Sm75 => 64,
            Arch::Sm80 => 163,
            Arch::Sm86 | Arch::Sm89 | Arch::Sm120 => 99,
            Arch::Sm90 | Arch::Sm100 => 227,
        }
    }

    pub(crate) fn tensor(self) -> TensorArch {
        match self {
            Arch::Sm75 => TensorArch::Sm75,
            Arch::Sm80 | Arch::Sm86 => TensorArch::Sm80,
            Arch::Sm89 => TensorArch::Sm89,
            Arch::Sm90 => TensorArch::Sm90,
            Arch::Sm100 => TensorArch::Sm100,
            Arch::Sm120 => TensorArch::Sm120,
        }
    }
}

bitflags::bitflags! {
    /// What is watched beyond the rules that are always enforced (bounds, alignment, masks, deadlock).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct Checks: u32 {
        /// Reads of shared memory that no thread of the block has written; of what may be padding, its uses.
        const UNINITIALIZED_SHARED = 1;
        /// Threads that end while others of their block wait at a barrier for all.
        const BARRIERS = 1 << 1;
        /// Shuffles that read a lane that does not take part.
        const SHUFFLES = 1 << 2;
        /// Counts of executed instructions.
        const COUNTS = 1 << 3;
        /// Uses of registers nobody wrote, and of what was computed from them.
        const UNINITIALIZED_REGISTERS = 1 << 4;
        /// Accesses of shared memory, at least one a write, with no order between them.
        const SHARED_RACES = 1 << 5;
        /// Asynchronous reads of shared memory that no `fence.proxy.async` orders after ordinary writes.
        const PROXY_FENCES = 1 << 6;
        /// Accesses of global memory by different blocks, at least one a write, with no order between them.
        const GLOBAL_RACES = 1 << 7;
        /// Uses of what was loaded from local memory that the thread has not written, and of what was computed from it.
        const UNINITIALIZED_LOCAL = 1 << 8;
        /// Registers that a `wgmma` in flight writes or reads and that are touched before it was waited for.
        const WGMMA_IN_FLIGHT = 1 << 9;
        /// Asynchronous copies and products that nobody has waited for when their thread ends.
        const LEAKED_GROUPS = 1 << 10;
        /// Addresses converted to a state space in which they do not lie.
        const ADDRESS_CONVERSIONS = 1 << 11;
    }
}

impl Checks {
    /// Those for which undefined values are followed.
    pub(crate) const UNDEFINED: Self =
        Self::UNINITIALIZED_REGISTERS.union(Self::UNINITIALIZED_LOCAL).union(Self::UNINITIALIZED_SHARED);
}

/// One kernel argument: the bytes of its parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arg {
    pub(crate) bytes: Vec<u8>,
}

impl Arg {
    /// An argument of any type, as its little-endian bytes.
    pub fn bytes(bytes: impl Into<Vec<u8>>) -> Self {
        Self { bytes: bytes.into() }
    }
}

macro_rules! arg_from {
    ($($ty:ty),*) => {
        $(impl From<$ty> for Arg {
            fn from(value: $ty) -> Self {
                Self { bytes: value.to_le_bytes().to_vec() }
            }
        })*
    };
}

arg_from!(u8, i8, u16, i16, u32, i32, u64, i64, f32, f64, half::f16, half::bf16);
