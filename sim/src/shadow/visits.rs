//! Accesses to the shared memory of other blocks, and the end of a block.

use crate::report::fault::Where;
use crate::shadow::clocks::{Knowledge, Time};
use crate::shadow::races::Access;

/// The end of a block.
#[derive(Debug, Default)]
pub(crate) struct End {
    /// The knowledge of the block's warps that have exited.
    pub(crate) known: Knowledge,
    /// The last instruction of the block.
    pub(crate) at: Option<Where>,
}

/// The last access to a block's shared memory by each agent of other blocks.
#[derive(Debug, Default)]
pub(crate) struct Visits(Vec<Option<(Time, Access)>>);

impl Visits {
    pub(crate) fn start(&mut self, agents: usize) {
        self.0.clear();
        self.0.resize(agents, None);
    }

    pub(crate) fn note(&mut self, agent: usize, time: Time, access: Access) {
        self.0[agent] = Some((time, access));
    }

    /// Returns an access that is not included in `known`.
    pub(crate) fn unordered(&self, known: &[Time]) -> Option<Access> {
        let visits = self.0.iter().zip(known);
        visits.filter_map(|(visit, &known)| visit.filter(|(time, _)| *time >= known)).map(|(_, a)| a).next()
    }
}
