//! Memory pools.
//!
//! Memory is freed when the operation that frees it is executed, and is not reused, so a pool retains no memory. The amount that it reports
//! as reserved is the amount that a pool of NVIDIA's driver would retain, a multiple of 32 MiB (observed with driver version 580).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::code::{Code, Fallible};
use crate::driver::device::Device;
use crate::driver::registry::{Handle, Registry};

/// A pool.
#[derive(Debug)]
pub(crate) struct Pool {
    pub(crate) handle: Handle,
    pub(crate) device: Device,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The Boolean attributes that the program has set, by `CUmemPool_attribute`.
    switches: BTreeMap<u32, u64>,
    /// The number of reserved bytes that are retained when memory is freed.
    threshold: u64,
    reserved: Amount,
    used: Amount,
}

/// A number of bytes, with its peak.
#[derive(Debug, Default)]
struct Amount {
    current: u64,
    /// The peak since the program last reset it.
    high: u64,
}

impl Amount {
    fn set(&mut self, bytes: u64) {
        self.current = bytes;
        self.high = self.high.max(bytes);
    }

    /// Resets the peak. The only value that a program may set is 0.
    fn reset(&mut self, value: u64) -> Fallible {
        self.high = self.current;
        if value == 0 { Ok(()) } else { Err(Code::INVALID_VALUE) }
    }
}

impl State {
    /// Sets the number of bytes in use. Up to `retained` reserved bytes remain reserved.
    fn set_used(&mut self, bytes: u64, retained: u64) {
        self.used.set(bytes);
        self.reserved.set(bytes.next_multiple_of(UNIT).max(self.reserved.current.min(retained)));
    }
}

/// The granularity of reserved memory in bytes.
const UNIT: u64 = 32 << 20;

/// The Boolean attributes in `CUmemPool_attribute`. The others are 64 bits wide.
pub(crate) const SWITCHES: std::ops::RangeInclusive<u32> = 1..=3;
const RELEASE_THRESHOLD: u32 = 4;
const RESERVED_MEM_CURRENT: u32 = 5;
const RESERVED_MEM_HIGH: u32 = 6;
const USED_MEM_CURRENT: u32 = 7;
const USED_MEM_HIGH: u32 = 8;

static POOLS: Registry<Pool> = Registry::new(8);

/// The default pool and the current pool of each device.
static DEFAULTS: Mutex<BTreeMap<Device, [Handle; 2]>> = Mutex::new(BTreeMap::new());

impl Pool {
    pub(crate) fn create(device: Device) -> Arc<Self> {
        POOLS.add(|handle| Self { handle, device, state: Mutex::default() })
    }

    pub(crate) fn of(handle: Handle) -> Fallible<Arc<Self>> {
        POOLS.get(handle).map_err(|_| Code::INVALID_VALUE)
    }

    pub(crate) fn destroy(handle: Handle) -> Fallible {
        let mut defaults = DEFAULTS.lock().unwrap_or_else(PoisonError::into_inner);
        if defaults.values().any(|[default, _]| *default == handle) {
            return Err(Code::INVALID_VALUE);
        }
        POOLS.remove(handle).map_err(|_| Code::INVALID_VALUE)?;
        // If a device's current pool is destroyed, its default pool becomes current (CUDA Driver API, `cuMemPoolDestroy`).
        for [default, used] in defaults.values_mut().filter(|[_, used]| *used == handle) {
            *used = *default;
        }
        Ok(())
    }

    /// Returns the default pool and the current pool of a device.
    pub(crate) fn of_device(device: Device) -> [Handle; 2] {
        let mut defaults = DEFAULTS.lock().unwrap_or_else(PoisonError::into_inner);
        *defaults.entry(device).or_insert_with(|| [Self::create(device).handle; 2])
    }

    pub(crate) fn use_for(&self, device: Device) {
        let [default, _] = Self::of_device(device);
        DEFAULTS.lock().unwrap_or_else(PoisonError::into_inner).insert(device, [default, self.handle]);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records an allocation from the pool.
    pub(crate) fn add(&self, bytes: u64) {
        let mut state = self.lock();
        let used = state.used.current + bytes;
        state.set_used(used, u64::MAX);
    }

    /// Records that memory from a pool was freed, unless the pool has been destroyed.
    pub(crate) fn remove(handle: Handle, bytes: u64) {
        if let Ok(pool) = POOLS.get(handle) {
            let mut state = pool.lock();
            let (used, retained) = (state.used.current - bytes, state.threshold);
            state.set_used(used, retained);
        }
    }

    /// Releases reserved memory that is not in use, down to `bytes` bytes.
    pub(crate) fn trim_to(&self, bytes: u64) {
        let mut state = self.lock();
        let used = state.used.current;
        state.set_used(used, bytes.checked_next_multiple_of(UNIT).unwrap_or(bytes));
    }

    /// Returns the value of an attribute. Boolean attributes are 1 unless the program sets them; the others are numbers of bytes.
    pub(crate) fn attribute(&self, attribute: u32) -> Fallible<u64> {
        let state = self.lock();
        match attribute {
            _ if SWITCHES.contains(&attribute) => Ok(state.switches.get(&attribute).copied().unwrap_or(1)),
            RELEASE_THRESHOLD => Ok(state.threshold),
            RESERVED_MEM_CURRENT => Ok(state.reserved.current),
            RESERVED_MEM_HIGH => Ok(state.reserved.high),
            USED_MEM_CURRENT => Ok(state.used.current),
            USED_MEM_HIGH => Ok(state.used.high),
            _ => Err(Code::INVALID_VALUE),
        }
    }

    pub(crate) fn set_attribute(&self, attribute: u32, value: u64) -> Fallible {
        let mut state = self.lock();
        match attribute {
            _ if SWITCHES.contains(&attribute) => drop(state.switches.insert(attribute, value)),
            RELEASE_THRESHOLD => state.threshold = value,
            RESERVED_MEM_HIGH => state.reserved.reset(value)?,
            USED_MEM_HIGH => state.used.reset(value)?,
            _ => return Err(Code::INVALID_VALUE),
        }
        Ok(())
    }
}
