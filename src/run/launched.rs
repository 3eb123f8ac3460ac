//! What a launch tells afterwards.

use std::time::Duration;

#[cfg(feature = "sim")]
use crate::sim;

/// A kernel that ran.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Launched {
    /// Blocks in x, y and z; with a zero among them nothing ran.
    pub grid: [u32; 3],
    /// Time from first to last instruction: by the GPU's own clock, or what the simulation took.
    pub time: Duration,
    /// Time that the device took to compile or decode the kernel; zero if it had it from an earlier launch.
    pub load_time: Duration,
    /// What only this kind of device can tell.
    pub details: Details,
}

/// What only one kind of device can tell about a launch.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Details {
    /// The grid was empty.
    Nothing,
    /// What the simulator counted.
    #[cfg(feature = "sim")]
    Simulated(Box<sim::Report>),
    /// What the driver's compiler made of the kernel.
    #[cfg(feature = "cuda")]
    Compiled(crate::gpu::FunctionAttributes),
}

impl Launched {
    pub(super) fn nothing(grid: [u32; 3]) -> Self {
        Self { grid, time: Duration::ZERO, load_time: Duration::ZERO, details: Details::Nothing }
    }
}
