//! Launch options (architecture and contraction) and kernel arguments.

use std::str::FromStr;

use crate::arith::mma::TensorArch;

/// The simulated architecture. It determines the arithmetic of matrix instructions and the maximum shared memory per block, regardless of
/// the module's `.target`.
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
    /// Returns the compute capability as (major, minor): `(9, 0)` for sm_90.
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

    /// Returns the maximum shared memory per block in bytes (CUDA C++ Programming Guide, "Technical Specifications").
    pub fn shared_limit(self) -> u32 {
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

/// An unrecognized architecture name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected `sm_75`, `sm_80`, `sm_86`, `sm_89`, `sm_90`, `sm_100` or `sm_120`, found `{found}`")]
pub struct UnknownArch {
    found: String,
}

/// Parses a name such as `sm_90`, `sm_90a` or `sm_103f`. An architecture without its own variant is parsed as the variant with the same
/// arithmetic; for example, `sm_103f` is parsed as [`Arch::Sm100`].
impl FromStr for Arch {
    type Err = UnknownArch;

    fn from_str(name: &str) -> Result<Self, UnknownArch> {
        let number = name.strip_prefix("sm_").map(|rest| rest.trim_end_matches(['a', 'f']));
        match number.and_then(|digits| digits.parse().ok()) {
            Some(75) => Ok(Arch::Sm75),
            Some(80 | 87 | 88) => Ok(Arch::Sm80),
            Some(86) => Ok(Arch::Sm86),
            Some(89) => Ok(Arch::Sm89),
            Some(90) => Ok(Arch::Sm90),
            Some(100 | 101 | 103 | 110) => Ok(Arch::Sm100),
            Some(120 | 121) => Ok(Arch::Sm120),
            _ => Err(UnknownArch { found: name.to_string() }),
        }
    }
}

/// Whether a `mul` and a dependent `add` or `sub`, both without rounding modifiers, are fused into one `fma`. The PTX ISA allows this but
/// does not require it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Contract {
    /// Fuses the pairs that ptxas 13.0 fuses: most pairs within a basic block.
    #[default]
    Ptxas,
    /// Never fuses a pair, so both results are rounded.
    Never,
}

/// A kernel argument, stored as the bytes of its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arg {
    pub(crate) bytes: Vec<u8>,
}

impl Arg {
    /// Creates an argument of any type from its little-endian bytes.
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
