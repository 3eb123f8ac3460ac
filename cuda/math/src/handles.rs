//! Handles: integers that programs use to refer to objects.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::Address;

/// The objects of one kind, by handle. Handles start at 1 and are not reused.
pub(crate) struct Handles<T>(Mutex<Table<T>>);

struct Table<T> {
    last: Address,
    objects: BTreeMap<Address, Arc<Mutex<T>>>,
}

impl<T> Handles<T> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(Table { last: 0, objects: BTreeMap::new() }))
    }

    fn table<R>(&self, f: impl FnOnce(&mut Table<T>) -> R) -> R {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds an object and returns its handle.
    pub(crate) fn insert(&self, object: T) -> Address {
        self.table(|table| {
            table.last += 1;
            table.objects.insert(table.last, Arc::new(Mutex::new(object)));
            table.last
        })
    }

    /// Calls `f` with the object that a handle identifies, if the handle is valid.
    pub(crate) fn with<R>(&self, handle: Address, f: impl FnOnce(&mut T) -> R) -> Option<R> {
        let object = self.table(|table| table.objects.get(&handle).cloned())?;
        let mut object = object.lock().unwrap_or_else(PoisonError::into_inner);
        Some(f(&mut object))
    }

    /// Removes a handle and returns its object.
    pub(crate) fn remove(&self, handle: Address) -> Option<Arc<Mutex<T>>> {
        self.table(|table| table.objects.remove(&handle))
    }
}
