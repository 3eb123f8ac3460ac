//! Tracking of the bytes of global memory that have been written.

use std::ops::Range;

use crate::machine::memory::{Allocation, Memory, MemoryError};

impl Memory {
    /// Records which bytes of later allocations are written by kernels or by the host, so that loads from unwritten memory are reported as
    /// [`UninitializedGlobalRead`](crate::FindingKind::UninitializedGlobalRead). Writes to module variables, and to host memory from
    /// [`map`](Self::map) or [`register_host`](Self::register_host), are not recorded.
    #[must_use]
    pub fn record_writes(mut self) -> Self {
        self.records_writes = true;
        self
    }

    /// Returns the address ranges of the unwritten bytes among the `bytes` bytes that start at `address`. Returns an empty list if writes
    /// to the allocation are not recorded.
    ///
    /// # Errors
    /// Returns an error if the bytes are not all in one live allocation.
    pub fn unwritten(&self, address: u64, bytes: u64) -> Result<Vec<Range<u64>>, MemoryError> {
        let allocation = self.checked(address, bytes)?;
        let Some(written) = &allocation.written else { return Ok(vec![]) };
        let start = allocation.start;
        let runs = written.runs(address - start..address - start + bytes, false);
        Ok(runs.into_iter().map(|run| start + run.start..start + run.end).collect())
    }

    /// Copies `bytes` bytes from device address `from` to device address `to`. Copies of unwritten bytes also count as unwritten.
    ///
    /// # Errors
    /// Returns an error if the source bytes or the destination bytes are not all in one live allocation.
    #[doc(alias = "cudaMemcpyDeviceToDevice")]
    pub fn copy(&mut self, to: u64, from: u64, bytes: u64) -> Result<(), MemoryError> {
        let unwritten = self.unwritten(from, bytes)?;
        let mut contents = vec![0; bytes as usize];
        self.read(from, &mut contents)?;
        self.write(to, &contents)?;
        let allocation = self.checked(to, bytes)?;
        if let Some(written) = &allocation.written {
            for run in unwritten {
                let at = |address: u64| address - from + to - allocation.start;
                written.remove(at(run.start)..at(run.end));
            }
        }
        Ok(())
    }
}

impl Allocation {
    fn offsets(&self, addresses: Range<u64>) -> Range<u64> {
        addresses.start - self.start..addresses.end - self.start
    }

    /// Records that bytes are written.
    #[inline]
    pub(crate) fn mark_written(&self, addresses: Range<u64>) {
        if let Some(written) = &self.written {
            written.insert(self.offsets(addresses));
        }
    }

    /// Returns whether any byte is known to have never been written.
    #[inline]
    pub(crate) fn is_partly_unwritten(&self, addresses: Range<u64>) -> bool {
        self.written.as_ref().is_some_and(|written| !written.contains(self.offsets(addresses)))
    }

    /// Returns whether all bytes are known to have never been written.
    #[inline]
    pub(crate) fn is_unwritten(&self, addresses: Range<u64>) -> bool {
        self.written.as_ref().is_some_and(|written| !written.meets(self.offsets(addresses)))
    }
}
