//! Matrix operands: buffers, optionally with a stride between rows.

use crate::{
    kernels::Pointwise,
    ptx::Target,
    run::{BufferMut, BufferRef, CallError, Queue},
};

/// The number of elements above which a row is long: a multiple of 16, the largest group size.
const LONG_ROW: u32 = 1 << 20;

/// Only this crate implements the public traits.
mod sealed {
    pub trait Rows<'a, T> {}
    pub trait RowsMut<'a, T> {}
}

/// A matrix that a kernel reads: either a buffer, in which the rows are contiguous, or a pair `(buffer, stride)`, where `stride` is the
/// stride between rows in elements. For a column-major matrix, the same applies to columns instead of rows.
pub trait Rows<'a, T>: sealed::Rows<'a, T> {
    /// Returns the buffer and, if given, the stride.
    fn rows(self) -> (BufferRef<'a, T>, Option<u32>);
}

/// A matrix that a kernel writes: a buffer or a pair `(buffer, stride)`, as described in [`Rows`].
pub trait RowsMut<'a, T>: sealed::RowsMut<'a, T> {
    /// Returns the buffer and, if given, the stride.
    fn rows_mut(self) -> (BufferMut<'a, T>, Option<u32>);
}

impl<'a, T, B: Into<BufferRef<'a, T>>> sealed::Rows<'a, T> for B {}
impl<'a, T, B: Into<BufferRef<'a, T>>> Rows<'a, T> for B {
    fn rows(self) -> (BufferRef<'a, T>, Option<u32>) {
        (self.into(), None)
    }
}

impl<'a, T, B: Into<BufferRef<'a, T>>> sealed::Rows<'a, T> for (B, u32) {}
impl<'a, T, B: Into<BufferRef<'a, T>>> Rows<'a, T> for (B, u32) {
    fn rows(self) -> (BufferRef<'a, T>, Option<u32>) {
        (self.0.into(), Some(self.1))
    }
}

impl<'a, T, B: Into<BufferMut<'a, T>>> sealed::RowsMut<'a, T> for B {}
impl<'a, T, B: Into<BufferMut<'a, T>>> RowsMut<'a, T> for B {
    fn rows_mut(self) -> (BufferMut<'a, T>, Option<u32>) {
        (self.into(), None)
    }
}

impl<'a, T, B: Into<BufferMut<'a, T>>> sealed::RowsMut<'a, T> for (B, u32) {}
impl<'a, T, B: Into<BufferMut<'a, T>>> RowsMut<'a, T> for (B, u32) {
    fn rows_mut(self) -> (BufferMut<'a, T>, Option<u32>) {
        (self.0.into(), Some(self.1))
    }
}

/// Returns the error for arguments that the call does not support.
pub(super) fn refused(call: &'static str, expected: impl Into<String>, found: impl ToString) -> CallError {
    CallError::Refused { call, expected: expected.into(), found: found.to_string() }
}

/// Returns the product of the sizes, or an error if it does not fit in 32 bits.
pub(super) fn product(call: &'static str, sizes: &[u32]) -> Result<u32, CallError> {
    let product: u128 = sizes.iter().map(|&size| u128::from(size)).product();
    u32::try_from(product).map_err(|_| refused(call, "matrices of fewer than 2³² elements", product))
}

/// Returns the newest target whose kernels run on the device and on later devices.
pub(super) fn portable_target(call: &'static str, queue: Queue<'_>) -> Result<Target, CallError> {
    let (major, minor) = queue.cache().capability();
    Target::newest_portable(major, minor).ok_or_else(|| {
        refused(call, "a device of compute capability 7.5 or later", format!("{major}.{minor}"))
    })
}

/// Returns the sizes and row pitches with which to launch an elementwise kernel; see [`Pointwise::as_one_row`].
pub(super) fn flattened<const N: usize>(size: [u32; 2], pitches: [u32; N]) -> ([u32; 2], [u32; N]) {
    let [m, n] = Pointwise::as_one_row(size, &pitches);
    if [m, n] == size { (size, pitches) } else { ([m, n], [n; N]) }
}

/// Returns the sizes by which the kernel for an elementwise function is chosen. All long rows whose lengths
/// have the same remainder modulo 16 have the same tiling, so they count as one problem.
pub(super) fn sizes_of_problem<const N: usize>(sizes: [u32; N]) -> [u32; N] {
    sizes.map(|size| if size > LONG_ROW { LONG_ROW + size % 16 } else { size })
}
