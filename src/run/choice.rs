//! Selection of a device: the first GPU, or the simulator.

use std::{fmt, str::FromStr};

use super::{
    buffer::Store,
    device::{Backend, Device, Request},
    error::RunError,
    launched::Launched,
};

#[cfg(feature = "cuda")]
use super::gpu_device::GpuDevice;
#[cfg(feature = "sim")]
use super::simulator::Simulator;

/// The device to use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DeviceChoice {
    /// The first GPU (ordinal 0), or the simulator if this GPU is not usable.
    #[default]
    Auto,
    /// The simulator.
    Sim,
    /// The first GPU.
    Gpu,
}

impl fmt::Display for DeviceChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Sim => "sim",
            Self::Gpu => "gpu",
        })
    }
}

/// An unrecognized device name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected `auto`, `sim` or `gpu`, found `{found}`")]
pub struct UnknownDevice {
    found: String,
}

impl FromStr for DeviceChoice {
    type Err = UnknownDevice;

    fn from_str(text: &str) -> Result<Self, UnknownDevice> {
        let all = [Self::Auto, Self::Sim, Self::Gpu];
        all.into_iter()
            .find(|c| c.to_string() == text)
            .ok_or_else(|| UnknownDevice { found: text.to_string() })
    }
}

/// A simulator or a GPU.
#[derive(Debug)]
#[non_exhaustive]
pub enum AnyDevice {
    /// The simulator.
    #[cfg(feature = "sim")]
    Sim(Simulator),
    /// A GPU.
    #[cfg(feature = "cuda")]
    Gpu(GpuDevice),
}

/// Opens the first GPU (ordinal 0), or the simulator if this GPU is not usable.
///
/// In the latter case, [`Device::describe`] states the reason.
#[cfg(feature = "sim")]
pub fn open_default() -> AnyDevice {
    match gpu() {
        Ok(gpu) => gpu,
        Err(why) => AnyDevice::Sim(Simulator::new().with_reason(&why.to_string())),
    }
}

/// Opens the requested device.
///
/// # Errors
/// Returns an error if a GPU is requested but the first GPU is not usable, or if the simulator is requested in a build without the `sim`
/// feature. In such a build, [`Auto`](DeviceChoice::Auto) also fails without a usable GPU.
pub fn open(choice: DeviceChoice) -> Result<AnyDevice, RunError> {
    match choice {
        #[cfg(feature = "sim")]
        DeviceChoice::Auto => Ok(open_default()),
        #[cfg(feature = "sim")]
        DeviceChoice::Sim => Ok(AnyDevice::Sim(Simulator::new())),
        #[cfg(not(feature = "sim"))]
        DeviceChoice::Sim => Err(RunError::NoSimulator),
        #[cfg(not(feature = "sim"))]
        DeviceChoice::Auto => gpu(),
        DeviceChoice::Gpu => gpu(),
    }
}

#[cfg(feature = "cuda")]
fn gpu() -> Result<AnyDevice, RunError> {
    Ok(AnyDevice::Gpu(GpuDevice::new(0)?))
}

#[cfg(not(feature = "cuda"))]
fn gpu() -> Result<AnyDevice, RunError> {
    Err(RunError::NoCuda)
}

/// Forwards a call to the device.
macro_rules! delegate {
    ($any:expr, $device:ident => $call:expr) => {
        match $any {
            #[cfg(feature = "sim")]
            AnyDevice::Sim($device) => $call,
            #[cfg(feature = "cuda")]
            AnyDevice::Gpu($device) => $call,
        }
    };
}

impl Device for AnyDevice {
    fn name(&self) -> String {
        delegate!(self, device => device.name())
    }

    fn describe(&self) -> String {
        delegate!(self, device => device.describe())
    }

    fn capability(&self) -> (u32, u32) {
        delegate!(self, device => device.capability())
    }

    fn multiprocessors(&self) -> u32 {
        delegate!(self, device => device.multiprocessors())
    }
}

impl Backend for AnyDevice {
    fn allocate(&self, bytes: &[u8]) -> Result<Store, RunError> {
        delegate!(self, device => device.allocate(bytes))
    }

    fn allocate_filled(&self, bytes: usize, byte: u8) -> Result<Store, RunError> {
        delegate!(self, device => device.allocate_filled(bytes, byte))
    }

    fn read(&self, store: &Store, bytes: usize) -> Result<Vec<u8>, RunError> {
        delegate!(self, device => device.read(store, bytes))
    }

    fn address(&self, store: &Store) -> Option<u64> {
        delegate!(self, device => device.address(store))
    }

    fn run<'a>(&'a self, request: Request<'_, 'a>) -> Result<Launched, RunError> {
        delegate!(self, device => device.run(request))
    }
}
