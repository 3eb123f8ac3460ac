//! The result of a launch.

use std::time::Duration;

#[cfg(feature = "sim")]
use crate::sim;

/// A completed launch.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Launched {
    /// The number of blocks in x, y and z. If any of them is 0, the kernel did not run.
    pub grid: [u32; 3],
    /// On a GPU, the time between two events that are recorded before and after the kernel; in the simulator, the duration of the
    /// simulation.
    pub time: Duration,
    /// The time it took to compile or decode the kernel, or zero if an earlier launch already loaded the kernel.
    pub load_time: Duration,
    /// Information specific to the kind of device.
    pub details: Details,
}

/// Information specific to one kind of device.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Details {
    /// No information, because the grid was empty.
    Nothing,
    /// The simulator's report.
    #[cfg(feature = "sim")]
    Simulated(Box<sim::Report>),
    /// The attributes of the compiled kernel.
    #[cfg(feature = "cuda")]
    Compiled(crate::gpu::FunctionAttributes),
}

impl Launched {
    /// Returns the strings that the kernel printed with [`Builder::print`](crate::ptx::Builder::print), in order.
    ///
    /// On a GPU, the driver writes these strings to standard output, and the result is empty.
    pub fn printed(&self) -> &[String] {
        match &self.details {
            #[cfg(feature = "sim")]
            Details::Simulated(report) => &report.printed,
            _ => &[],
        }
    }

    pub(super) fn nothing(grid: [u32; 3]) -> Self {
        Self { grid, time: Duration::ZERO, load_time: Duration::ZERO, details: Details::Nothing }
    }
}
