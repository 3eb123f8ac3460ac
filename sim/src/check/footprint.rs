//! The bytes of global memory that a launch accesses, and whether the bytes that it reads were ever written.

use std::ops::Range;

use crate::lanes::{Lanes64, lanes};
use crate::machine::Cluster;
use crate::machine::memory::{Allocation, Found};
use crate::report::fault::{Fault, Outcome};
use crate::report::{Checks, FindingKind};
use crate::shadow::footprint::Touch;
use crate::shadow::global::{Manner, for_runs};

impl Cluster<'_> {
    /// Returns whether accesses to bytes of global memory are recorded.
    pub(super) fn records_bytes(&self) -> bool {
        self.machine.shadow.touched.is_some() || self.machine.memory.records_writes()
    }

    /// Records an access by lanes to valid global addresses; `strong` accesses may be concurrent with each other.
    #[inline]
    pub(super) fn record_bytes(
        &mut self,
        all: &Lanes64,
        bytes: u64,
        m: u32,
        manner: Manner,
        strong: bool,
    ) -> Outcome<()> {
        if !self.records_bytes() || m == 0 {
            return Ok(());
        }
        if let Some(touched) = &self.machine.shadow.touched {
            let touch = match (manner, strong) {
                (Manner::Read, false) => Touch::Read,
                (Manner::Read, true) => Touch::StrongRead,
                (Manner::Write, false) => Touch::Write,
                _ => Touch::StrongWrite,
            };
            for_runs(all, bytes, m, |run| touched.insert(run, touch));
        }
        if !self.machine.memory.records_writes() {
            return Ok(());
        }
        if matches!(manner, Manner::Read | Manner::Atomic | Manner::Narrow) {
            self.check_initialized(all, bytes, m)?;
        }
        if manner != Manner::Read {
            for_runs(all, bytes, m, |run| self.written(run, Allocation::mark_written));
        }
        Ok(())
    }

    fn written<R: Default>(&self, run: Range<u64>, f: impl FnOnce(&Allocation, Range<u64>) -> R) -> R {
        match self.machine.memory.find(run.start) {
            Found::Live(allocation) => f(allocation, run),
            _ => R::default(),
        }
    }

    /// Reports a lane that reads only unwritten bytes. If some of the bytes were written, the others may be padding.
    #[inline]
    fn check_initialized(&mut self, all: &Lanes64, bytes: u64, m: u32) -> Outcome<()> {
        if !self.machine.checks.contains(Checks::UNINITIALIZED_GLOBAL) {
            return Ok(());
        }
        let mut complete = true;
        for_runs(all, bytes, m, |run| complete &= !self.written(run, Allocation::is_partly_unwritten));
        if complete {
            return Ok(());
        }
        let unwritten = |lane: &usize| self.written(all[*lane]..all[*lane] + bytes, Allocation::is_unwritten);
        match lanes(m).find(unwritten) {
            Some(lane) => self.uninitialized(all[lane], bytes, lane),
            None => Ok(()),
        }
    }

    #[cold]
    fn uninitialized(&mut self, address: u64, bytes: u64, lane: usize) -> Outcome<()> {
        if !self.is_news(FindingKind::UninitializedGlobalRead, None) {
            return Ok(());
        }
        let place = self.machine.memory.describe(address);
        let message = format!(
            "uninitialized global memory: a read of {bytes} bytes that were never written, at {place}"
        );
        self.note(Fault::at(FindingKind::UninitializedGlobalRead, lane, message))
    }
}
