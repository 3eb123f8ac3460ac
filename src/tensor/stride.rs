//! Distances between the elements of tensors in global memory.

use crate::ptx::{Dim, IntoDim, Val, sealed::Sealed};

/// The distance, in elements, between consecutive coordinates of an axis.
///
/// A stride is a constant or a register. A stride that may be 2³² or more requires 64 bits.
#[derive(Clone, Copy, Debug)]
pub enum Stride<'k> {
    /// A distance below 2³².
    Narrow(Val<'k, u32>),
    /// A 64-bit distance. Multiplying it by a coordinate takes more instructions.
    Wide(Val<'k, u64>),
}

impl From<u32> for Stride<'_> {
    fn from(stride: u32) -> Self {
        Self::Narrow(stride.into())
    }
}

impl<'k> From<Val<'k, u32>> for Stride<'k> {
    fn from(stride: Val<'k, u32>) -> Self {
        Self::Narrow(stride)
    }
}

impl<'k> From<Val<'k, u64>> for Stride<'k> {
    fn from(stride: Val<'k, u64>) -> Self {
        match stride.as_constant().map(u32::try_from) {
            Some(Ok(stride)) => stride.into(),
            _ => Self::Wide(stride),
        }
    }
}

impl Sealed for Stride<'_> {}

impl IntoDim for Stride<'_> {
    fn into_dim(self) -> Dim {
        match self {
            Self::Narrow(stride) => stride.into_dim(),
            Self::Wide(stride) => stride.into_dim(),
        }
    }
}

impl<'k> Stride<'k> {
    /// Returns the stride if it is constant.
    pub(crate) fn as_constant(self) -> Option<i64> {
        match self {
            Self::Narrow(stride) => stride.as_constant().map(Into::into),
            Self::Wide(stride) => stride.as_constant().and_then(|stride| stride.try_into().ok()),
        }
    }

    /// Returns a known divisor.
    pub(crate) fn divisor(self) -> u64 {
        match self {
            Self::Narrow(stride) => stride.divisor(),
            Self::Wide(stride) => stride.divisor(),
        }
    }

    /// Returns this stride times `extent`, as the stride of another axis.
    #[must_use]
    #[track_caller]
    pub(crate) fn times(self, extent: Val<'k, u32>) -> Self {
        match self {
            Self::Narrow(stride) if stride.as_constant() == Some(1) => extent.into(),
            Self::Narrow(stride) => stride.mul_wide(extent).into(),
            Self::Wide(stride) => (stride * extent.cast::<u64>()).into(),
        }
    }
}
