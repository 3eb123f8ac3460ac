//! Advice and prefetches for ranges of memory, which are recorded but have no other effect.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// `CUmemLocation`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Location {
    /// The type (`CUmemLocationType`): 0 for none, [`Location::DEVICE`], [`Location::HOST`], and greater values for NUMA nodes of the host.
    pub(crate) ty: i32,
    pub(crate) id: i32,
}

impl Location {
    pub(crate) const DEVICE: i32 = 1;
    pub(crate) const HOST: i32 = 2;

    /// Returns the location for a device ordinal or for `CU_DEVICE_CPU`.
    pub(crate) fn of_device(device: i32) -> Self {
        if device < 0 { Self { ty: Self::HOST, id: 0 } } else { Self { ty: Self::DEVICE, id: device } }
    }

    /// Returns the device ordinal, `CU_DEVICE_CPU`, or `CU_DEVICE_INVALID`.
    pub(crate) fn device(self) -> i32 {
        match self.ty {
            Self::DEVICE => self.id,
            Self::HOST => -1,
            _ => -2,
        }
    }
}

/// Advice, or a prefetch.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Setting {
    ReadMostly(bool),
    /// The preferred location; type 0 if the advice was withdrawn.
    Preferred(Location),
    AccessedBy(Location, bool),
    Prefetched(Location),
}

/// The state of a range of memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) read_mostly: bool,
    pub(crate) preferred: Location,
    pub(crate) accessed_by: Vec<Location>,
    pub(crate) prefetched: Location,
}

/// The settings of ranges, in call order.
static SETTINGS: Mutex<Vec<(Range<u64>, Setting)>> = Mutex::new(vec![]);

fn lock() -> MutexGuard<'static, Vec<(Range<u64>, Setting)>> {
    SETTINGS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Records a setting of a range.
pub(crate) fn set(range: Range<u64>, setting: Setting) {
    lock().push((range, setting));
}

/// Removes the settings of memory that is freed.
pub(crate) fn forget(range: &Range<u64>) {
    lock().retain(|(set, _)| set.end <= range.start || range.end <= set.start);
}

impl State {
    fn at(address: u64, settings: &[(Range<u64>, Setting)]) -> Self {
        let mut state = Self::default();
        for (_, setting) in settings.iter().filter(|(range, _)| range.contains(&address)) {
            match *setting {
                Setting::ReadMostly(on) => state.read_mostly = on,
                Setting::Preferred(location) => state.preferred = location,
                Setting::Prefetched(location) => state.prefetched = location,
                Setting::AccessedBy(location, on) => {
                    state.accessed_by.retain(|known| *known != location);
                    state.accessed_by.extend(on.then_some(location));
                }
            }
        }
        state
    }

    /// Returns the state that all bytes of a range share. Settings that differ between bytes are returned as if there were no advice.
    pub(crate) fn of(range: &Range<u64>) -> Self {
        let settings = lock();
        // The state changes only at the ends of ranges.
        let ends = settings.iter().flat_map(|(set, _)| [set.start, set.end]);
        let inside = ends.filter(|end| range.contains(end)).map(|end| Self::at(end, &settings));
        inside.fold(Self::at(range.start, &settings), |mut common, other| {
            common.read_mostly &= other.read_mostly;
            common.accessed_by.retain(|location| other.accessed_by.contains(location));
            if common.preferred != other.preferred {
                common.preferred = Location::default();
            }
            if common.prefetched != other.prefetched {
                common.prefetched = Location::default();
            }
            common
        })
    }
}
