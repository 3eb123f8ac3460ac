//! The devices that a kernel is tried on: the simulator, and the GPU if there is one.
#![allow(dead_code, reason = "each test binary uses its own part")]

use warpwright::run::{AnyDevice, Choice, open};

use crate::require;

/// The simulator first, then the GPU if there is one.
pub(crate) fn all() -> Vec<AnyDevice> {
    let simulator = open(Choice::Sim).expect("the simulator needs nothing");
    std::iter::once(simulator).chain(open(Choice::Gpu)).collect()
}

/// The GPU; says that the test is skipped if there is none.
pub(crate) fn gpu() -> Option<AnyDevice> {
    open(Choice::Gpu).map_err(|why| require::skip("gpu", &why.to_string())).ok()
}

/// What `on` gives on every device, which must be the same to the bit.
pub(crate) fn everywhere<R: PartialEq + std::fmt::Debug>(on: impl Fn(&AnyDevice) -> R) -> R {
    let mut results = all().into_iter().map(|device| on(&device));
    let first = results.next().expect("there is always the simulator");
    for other in results {
        assert!(other == first, "the simulator and the GPU differ");
    }
    first
}
