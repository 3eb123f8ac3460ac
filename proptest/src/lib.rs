//! Generators of layouts, atoms and fragments for property tests that use [`warpwright`].
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
