//! Analyses of decoded code for checked runs.

pub(crate) mod contract;
pub(crate) mod cycles;
pub(crate) mod in_flight;
pub(crate) mod products;
pub(crate) mod watch;
