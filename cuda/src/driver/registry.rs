//! Handles for objects that the program has created.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::code::{Code, Fallible};

/// An opaque pointer of the interface, which is never dereferenced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub(crate) struct Handle(pub(crate) usize);

impl Handle {
    pub(crate) const NULL: Self = Self(0);

    /// Returns the 1-based number of the object among the objects of its kind.
    pub(crate) fn number(self) -> u32 {
        (self.0 as u32) / STEP as u32
    }
}

/// The live objects of one kind, by handle. Handles are not reused, so that stale handles are recognized.
#[derive(Debug)]
pub(crate) struct Registry<T> {
    /// The number that distinguishes the handles of this kind from those of other kinds.
    kind: usize,
    live: Mutex<Live<T>>,
}

#[derive(Debug)]
struct Live<T> {
    created: usize,
    objects: BTreeMap<Handle, Arc<T>>,
}

/// The distance between consecutive handles, which resemble the addresses of small objects.
const STEP: usize = 64;

impl<T> Registry<T> {
    pub(crate) const fn new(kind: u8) -> Self {
        Self { kind: kind as usize, live: Mutex::new(Live { created: 0, objects: BTreeMap::new() }) }
    }

    fn lock(&self) -> MutexGuard<'_, Live<T>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Creates an object by calling `make` with a new handle, and adds it.
    pub(crate) fn add(&self, make: impl FnOnce(Handle) -> T) -> Arc<T> {
        let mut live = self.lock();
        live.created += 1;
        let handle = Handle(((0x5700 | self.kind) << 32) + live.created * STEP);
        let object = Arc::new(make(handle));
        live.objects.insert(handle, Arc::clone(&object));
        object
    }

    /// Returns the object with the given handle.
    pub(crate) fn get(&self, handle: Handle) -> Fallible<Arc<T>> {
        self.lock().objects.get(&handle).cloned().ok_or(Code::INVALID_HANDLE)
    }

    /// Removes the object with the given handle.
    pub(crate) fn remove(&self, handle: Handle) -> Fallible<Arc<T>> {
        self.lock().objects.remove(&handle).ok_or(Code::INVALID_HANDLE)
    }

    /// Returns the objects that satisfy a condition.
    pub(crate) fn select(&self, condition: impl Fn(&T) -> bool) -> Vec<Arc<T>> {
        self.lock().objects.values().filter(|object| condition(object)).cloned().collect()
    }

    /// Removes the objects that satisfy a condition.
    pub(crate) fn remove_all(&self, condition: impl Fn(&T) -> bool) {
        let removed: Vec<_> = {
            let mut live = self.lock();
            let gone: Vec<Handle> = live
                .objects
                .iter()
                .filter(|(_, object)| condition(object))
                .map(|(handle, _)| *handle)
                .collect();
            gone.iter().filter_map(|handle| live.objects.remove(handle)).collect()
        };
        // Dropped without holding the lock, because an object may own others.
        drop(removed);
    }
}
