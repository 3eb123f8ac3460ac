//! The differences between generations of tensor cores.

use crate::arith::Float;

/// A generation of tensor cores, named by its first compute capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TensorArch {
    /// Volta.
    Sm70,
    /// Turing.
    Sm75,
    /// Ampere.
    Sm80,
    /// Ada.
    Sm89,
    /// Hopper.
    Sm90,
    /// Blackwell, data center.
    Sm100,
    /// Blackwell, consumer.
    Sm120,
}

/// The type of C and D in a floating-point `mma`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Accumulator {
    /// Results truncated to f32.
    F32,
    /// Results rounded to nearest even in f16.
    F16,
}

impl Accumulator {
    /// Returns the number format of C and D.
    pub const fn float(self) -> Float {
        match self {
            Self::F32 => Float::F32,
            Self::F16 => Float::F16,
        }
    }
}

/// The constants of one fused dot-add.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Datapath {
    /// The number of fraction bits that are kept after alignment to the largest exponent.
    pub(super) aligned_bits: i32,
    /// The number of fraction bits of an f32 result; lower bits are truncated.
    pub(super) result_bits: i32,
    /// The number of products in one fused dot-add. An instruction with a larger K is a chain of such steps.
    pub(super) step: usize,
}

impl TensorArch {
    /// Returns the datapath for operands of one type, with `k` products per result.
    pub(super) fn datapath(self, ty: Float, k: usize) -> Datapath {
        let fp8 = matches!(ty, Float::E4m3 | Float::E5m2);
        let aligned_bits = match self {
            Self::Sm70 => 23,
            Self::Sm89 | Self::Sm90 if fp8 => 13,
            Self::Sm75 | Self::Sm80 | Self::Sm89 => 24,
            Self::Sm90 | Self::Sm100 | Self::Sm120 => 25,
        };
        // On Ampere and Ada, one step multiplies 16 bytes of a row; a larger K takes two steps.
        let step = match self {
            Self::Sm80 | Self::Sm89 => (128 / ty.bits() as usize).min(k),
            _ => k,
        };
        let result_bits = if aligned_bits == 13 { 13 } else { 23 };
        Datapath { aligned_bits, result_bits, step }
    }
}
