//! Matrices as buffers.

use crate::{
    ptx::Target,
    run::{BufferMut, BufferRef, CallError, Queue},
};

/// A matrix that a kernel reads: a buffer whose rows are contiguous, or a pair of a buffer and the distance between its rows (or its columns, if these
/// are contiguous) in elements.
pub trait Rows<'a, T> {
    /// Returns the buffer and the distance, if any.
    fn rows(self) -> (BufferRef<'a, T>, Option<u32>);
}

/// A matrix that a kernel writes: a buffer, or a pair, as for [`Rows`].
pub trait RowsMut<'a, T> {
    /// Returns the buffer and the distance, if any.
    fn rows_mut(self) -> (BufferMut<'a, T>, Option<u32>);
}

impl<'a, T, B: Into<BufferRef<'a, T>>> Rows<'a, T> for B {
    fn rows(self) -> (BufferRef<'a, T>, Option<u32>) {
        (self.into(), None)
    }
}

impl<'a, T, B: Into<BufferRef<'a, T>>> Rows<'a, T> for (B, u32) {
    fn rows(self) -> (BufferRef<'a, T>, Option<u32>) {
        (self.0.into(), Some(self.1))
    }
}

impl<'a, T, B: Into<BufferMut<'a, T>>> RowsMut<'a, T> for B {
    fn rows_mut(self) -> (BufferMut<'a, T>, Option<u32>) {
        (self.into(), None)
    }
}

impl<'a, T, B: Into<BufferMut<'a, T>>> RowsMut<'a, T> for (B, u32) {
    fn rows_mut(self) -> (BufferMut<'a, T>, Option<u32>) {
        (self.0.into(), Some(self.1))
    }
}

/// Returns the error of sizes that no kernel is made for.
pub(super) fn refused(call: &'static str, expected: impl Into<String>, found: impl ToString) -> CallError {
    CallError::Refused { call, expected: expected.into(), found: found.to_string() }
}

/// Returns the newest target whose kernels the device runs that also later devices run.
pub(super) fn portable_target(call: &'static str, queue: Queue<'_>) -> Result<Target, CallError> {
    let (major, minor) = queue.cache().capability();
    let [of_major, of_minor] = [major, minor].map(|number| u16::try_from(number).unwrap_or(u16::MAX));
    // Devices of 12.x run kernels for sm_90, but have less shared memory.
    let shared = if of_major == 12 { Target::SM_120A } else { Target::SM_90 }.max_shared_bytes();
    let runs = |target: &&Target| {
        !target.is_specific() && target.runs_on(of_major, of_minor) && target.max_shared_bytes() <= shared
    };
    let newest = Target::ALL.iter().rev().find(runs).copied();
    newest.ok_or_else(|| {
        refused(call, "a device of compute capability 7.5 or later", format!("{major}.{minor}"))
    })
}
