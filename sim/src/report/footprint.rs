//! The bytes of global memory that a launch or a host operation accesses.

use std::ops::Range;

/// The bytes of global memory that a launch or a host operation accesses, as address ranges in ascending order.
///
/// Strong accesses are atomics and accesses with `.volatile`, `.relaxed`, `.acquire` or `.release`; concurrent strong accesses do not race.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Bytes that are read by ordinary instructions.
    pub read: Vec<Range<u64>>,
    /// Bytes that are written by ordinary instructions.
    pub written: Vec<Range<u64>>,
    /// Bytes that are read by strong instructions other than atomics.
    pub strongly_read: Vec<Range<u64>>,
    /// Bytes that are written by strong instructions, including atomics.
    pub strongly_written: Vec<Range<u64>>,
}
