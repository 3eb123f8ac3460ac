//! Programmatic dependent launches, which overlap the preceding launch until `griddepcontrol.wait` (PTX ISA, "griddepcontrol").
//!
//! The simulator runs launches one after the other. Each allocation records the last launch that wrote to it. A kernel with
//! `griddepcontrol.wait` must not access data written by the preceding launch before a thread of the block has waited.

use std::sync::atomic::Ordering::Relaxed;

use crate::lanes::{Lanes64, lanes};
use crate::machine::Cluster;
use crate::machine::memory::{Allocation, Found};
use crate::report::fault::{Fault, Outcome};
use crate::report::{Checks, FindingKind};
use crate::shadow::global::Manner;

impl Cluster<'_> {
    /// Checks an access by lanes to valid global addresses.
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
        if !self.is_news(FindingKind::MissingGridWait, None) {
            return Ok(());
        }
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

    /// Records a write. The lanes of a warp almost always write to a single allocation, so only the first and the last lane are examined.
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
