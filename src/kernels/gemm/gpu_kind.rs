//! Kinds of GPUs to which measurements apply.

use std::fmt;

#[cfg(any(feature = "cuda", feature = "sim"))]
use crate::run::Device;

/// A kind of GPU, defined by the properties on which measurements depend. Measurements on one GPU also apply to other GPUs of the same
/// kind.
///
/// ```
/// use warpwright::kernels::GpuKind;
///
/// let gpu = GpuKind { name: "NVIDIA H200".into(), capability: (9, 0), multiprocessors: 132 };
/// assert_eq!(gpu.to_string(), "NVIDIA H200 (sm_90, 132 multiprocessors)");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GpuKind {
    /// The device name, such as `NVIDIA H200`.
    pub name: String,
    /// The compute capability, such as `(9, 0)`.
    pub capability: (u32, u32),
    /// The number of multiprocessors.
    pub multiprocessors: u32,
}

impl GpuKind {
    /// Returns the kind of a device. The simulator has its own device name, so its kind never equals that of a GPU.
    #[cfg(any(feature = "cuda", feature = "sim"))]
    pub fn of(device: &impl Device) -> Self {
        Self {
            name: device.name(),
            capability: device.capability(),
            multiprocessors: device.multiprocessors(),
        }
    }

    /// Returns whether another kind of GPU has the same compute capability and number of multiprocessors, so that the same kernels are
    /// usually fastest.
    pub(super) fn is_similar_to(&self, other: &Self) -> bool {
        (self.capability, self.multiprocessors) == (other.capability, other.multiprocessors)
    }
}

impl fmt::Display for GpuKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, capability: (major, minor), multiprocessors } = self;
        write!(f, "{name} (sm_{major}{minor}, {multiprocessors} multiprocessors)")
    }
}
