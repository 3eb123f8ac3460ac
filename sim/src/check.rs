//! Checkers: what a checked run watches beyond the rules that every run enforces.

pub(crate) mod access;
pub(crate) mod counted;
pub(crate) mod counting;
mod dependence;
mod footprint;
pub(crate) mod global;
pub(crate) mod look;
pub(crate) mod products;
pub(crate) mod remote;
pub(crate) mod shared;
pub(crate) mod undefined;
pub(crate) mod uniform;
mod volatile;
