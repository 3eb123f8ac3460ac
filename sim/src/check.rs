//! Checkers: what a checked run watches beyond the rules that every run enforces.

pub(super) mod clocks;
pub(super) mod counted;
pub(super) mod counting;
pub(super) mod global;
pub(super) mod look;
pub(super) mod products;
pub(super) mod races;
pub(super) mod remote;
pub(super) mod shared;
pub(super) mod undefined;
