//! Programmatic launches, which overlap with the preceding one until `griddepcontrol.wait` (PTX ISA, "griddepcontrol").
//!
//! Here, launches run one after the other. Each allocation knows the last launch that has written it: a kernel with
//! `griddepcontrol.wait` must not access what the preceding launch has written before a thread of the block has waited.

use std::sync::atomic::Ordering::Relaxed;

use crate::lanes::{Lanes64, lanes};
use crate::machine::Cluster;
use crate::machine::memory::{Allocation, Found};
use crate::report::fault::{Fault, Outcome};
use crate::report::{Checks, FindingKind};
use crate::shadow::global::Manner;

impl Cluster<'_> {
    /// Lanes access valid global addresses.
    #[inline]
    pub(super) fn check_dependence(&mut self, all: &Lanes64, m: u32, manner: Manner) -> Outcome<()> {
        let early = self.machine.code.waits_for_grid && !self.ctas[self.at].shadow.waited_for_grid;
        if early && self.machine.checks.contains(Checks::GLOBAL_RACES) {
            self.check_early(all, m)?;
        }
        if manner != Manner::Read {
            self.mark_written(all, m);
        }
        Ok(())
    }

    #[cold]
    fn check_early(&mut self, all: &Lanes64, m: u32) -> Outcome<()> {
        let memory = self.machine.memory;
        let wrote = |allocation: &Allocation| allocation.writer.load(Relaxed) + 1 == self.machine.launch;
        let found = lanes(m)
            .find(|&lane| matches!(memory.find(all[lane]), Found::Live(allocation) if wrote(allocation)));
        let Some(lane) = found else { return Ok(()) };
        let message = format!(
            "missing griddepcontrol.wait: the preceding launch has written the buffer at {}",
            memory.describe(all[lane])
        );
        self.note(Fault::at(FindingKind::MissingGridWait, lane, message))
    }

    /// Lanes of a warp almost always write one allocation, so that the first and the last of them tell.
    #[inline]
    fn mark_written(&self, all: &Lanes64, m: u32) {
        if m == 0 {
            return;
        }
        for lane in [m.trailing_zeros(), 31 - m.leading_zeros()] {
            if let Found::Live(allocation) = self.machine.memory.find(all[lane as usize])
                && allocation.writer.load(Relaxed) != self.machine.launch
            {
                allocation.writer.store(self.machine.launch, Relaxed);
            }
        }
    }
}
