//! The simulated devices.

use warpwright_sim::Arch;

use crate::code::{Code, Fallible};
use crate::config::config;

/// The ordinal of an existing device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Device(pub(crate) usize);

impl Device {
    pub(crate) fn new(ordinal: i32) -> Fallible<Self> {
        let found = usize::try_from(ordinal).ok().filter(|&ordinal| ordinal < config().devices);
        found.map(Self).ok_or(Code::INVALID_DEVICE)
    }

    pub(crate) fn ordinal(self) -> i32 {
        self.0 as i32
    }

    /// Returns the identifier, which is the same in each run and different for each device.
    pub(crate) fn uuid(self) -> [u8; 16] {
        let mut uuid = *b"warpwright sim 0";
        uuid[15] = uuid[15].wrapping_add(self.0 as u8);
        uuid
    }

    /// Returns the bus address: `0000:01:00.0` for the first device.
    pub(crate) fn bus_id(self) -> String {
        format!("0000:{:02x}:00.0", self.0 + 1)
    }
}

/// Returns the number of devices.
pub(crate) fn count() -> usize {
    config().devices
}

/// Returns the name, such as `warpwright simulator (sm_90)`.
pub(crate) fn name() -> String {
    let (major, minor) = config().arch.capability();
    format!("warpwright simulator (sm_{major}{minor})")
}

/// The memory size that each device reports, in bytes. The usable size is limited by the host's memory.
pub(crate) const MEMORY: usize = 80 << 30;

/// The limits of an architecture (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability").
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The number of multiprocessors of a typical chip.
    pub(crate) multiprocessors: i32,
    pub(crate) threads: i32,
    pub(crate) blocks: i32,
    /// The shared memory per multiprocessor in bytes.
    pub(crate) shared: i32,
    /// The shared memory per block in bytes, if the kernel opts in.
    pub(crate) shared_opt_in: i32,
    pub(crate) l2: i32,
}

pub(crate) fn limits() -> Limits {
    let arch = config().arch;
    let opt_in = arch.shared_limit() as i32;
    let (multiprocessors, threads, blocks, shared, l2) = match arch {
        Arch::Sm75 => (40, 1024, 16, 64, 4),
        Arch::Sm80 => (108, 2048, 32, 164, 40),
        Arch::Sm86 => (84, 1536, 16, 100, 6),
        Arch::Sm89 => (128, 1536, 24, 100, 72),
        Arch::Sm100 => (148, 2048, 32, 228, 126),
        Arch::Sm120 => (170, 1536, 24, 100, 96),
        // sm_90 and architectures newer than this table.
        _ => (132, 2048, 32, 228, 50),
    };
    let shared = shared << 10;
    Limits { multiprocessors, threads, blocks, shared, shared_opt_in: opt_in, l2: l2 << 20 }
}

/// Returns the shared memory per block in bytes that the system reserves: 1 KiB since compute capability 8.0.
pub(crate) fn reserved_shared() -> i32 {
    if config().arch.capability() >= (8, 0) { 1024 } else { 0 }
}
