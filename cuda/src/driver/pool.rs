//! Memory pools. Memory is freed when the operation that frees it is executed, so a pool does not retain memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::code::{Code, Fallible};
use crate::driver::device::Device;
use crate::driver::registry::{Handle, Registry};

/// A pool.
#[derive(Debug)]
pub(crate) struct Pool {
    pub(crate) handle: Handle,
    /// The values that the program has set, by `CUmemPool_attribute`.
    attributes: Mutex<BTreeMap<u32, u64>>,
}

static POOLS: Registry<Pool> = Registry::new(8);

/// The default pool of each device, and the pool in use.
static DEFAULTS: Mutex<BTreeMap<Device, [Handle; 2]>> = Mutex::new(BTreeMap::new());

impl Pool {
    pub(crate) fn create() -> Arc<Self> {
        POOLS.add(|handle| Self { handle, attributes: Mutex::default() })
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
        // A device whose pool is destroyed uses its default pool (CUDA Driver API, `cuMemPoolDestroy`).
        for [default, used] in defaults.values_mut().filter(|[_, used]| *used == handle) {
            *used = *default;
        }
        Ok(())
    }

    /// Returns the default pool of a device, and the pool in use.
    pub(crate) fn of_device(device: Device) -> [Handle; 2] {
        let mut defaults = DEFAULTS.lock().unwrap_or_else(PoisonError::into_inner);
        *defaults.entry(device).or_insert_with(|| [Self::create().handle; 2])
    }

    pub(crate) fn use_for(&self, device: Device) {
        let [default, _] = Self::of_device(device);
        DEFAULTS.lock().unwrap_or_else(PoisonError::into_inner).insert(device, [default, self.handle]);
    }

    /// Returns the value of an attribute: 1 to 3 are switches, which are on; the others are amounts of memory in bytes.
    pub(crate) fn attribute(&self, attribute: u32) -> Fallible<u64> {
        let set = self.attributes.lock().unwrap_or_else(PoisonError::into_inner).get(&attribute).copied();
        match attribute {
            1..=3 => Ok(set.unwrap_or(1)),
            4..=8 => Ok(set.unwrap_or(0)),
            _ => Err(Code::INVALID_VALUE),
        }
    }

    pub(crate) fn set_attribute(&self, attribute: u32, value: u64) -> Fallible {
        self.attribute(attribute)?;
        self.attributes.lock().unwrap_or_else(PoisonError::into_inner).insert(attribute, value);
        Ok(())
    }
}
