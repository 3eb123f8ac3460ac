//! Generators for property tests of [`warpwright`]'s layouts and fragments.
//!
//! ```
//! use proptest::prelude::*;
//!
//! proptest!(|(layout in warpwright_proptest::layout::layout())| {
//!     prop_assert!(layout.index(layout.size() - 1) < layout.cosize());
//! });
//! ```
#![forbid(unsafe_code)]

pub mod atoms;
pub mod layout;
