//! The result of a launch.

use std::time::Duration;

#[cfg(feature = "sim")]
use crate::sim;

/// A completed launch.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Launched {
    /// The number of blocks in x, y and z; if one of the numbers is zero, the kernel did not run.
    pub grid: [u32; 3],
    /// The time between two events recorded on the GPU's stream, one before and one after the kernel, or the duration of the simulation.
    pub time: Duration,
    /// The time it took to compile or decode the kernel; zero if an earlier launch had loaded the kernel.
    pub load_time: Duration,
    /// Information specific to the kind of device.
    pub details: Details,
}

/// Information specific to one kind of device.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Details {
    /// The grid was empty.
    Nothing,
    /// The simulator's report.
    #[cfg(feature = "sim")]
    Simulated(Box<sim::Report>),
    /// The attributes of the compiled kernel.
    #[cfg(feature = "cuda")]
    Compiled(crate::gpu::FunctionAttributes),
}

impl Launched {
    /// Returns the texts that the kernel printed ([`Builder::print`](crate::ptx::Builder::print)), in order; none for a GPU, whose driver writes
    /// them to standard output.
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
