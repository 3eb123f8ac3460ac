//! Races in global memory between clusters of blocks.

use crate::sim::code::Code;
use crate::sim::launch::{Checks, Launch};
use crate::sim::machine::Machine;
use crate::sim::memory::Memory;
use crate::sim::module::Module;
use crate::sim::report::Finding;

/// Who accessed global memory during a launch.
#[derive(Debug)]
pub(in crate::sim) struct GlobalRaces {}

impl GlobalRaces {
    pub(in crate::sim) fn new(_: Checks, _: &Code, _: &Memory, _: &Launch) -> Option<Self> {
        None
    }
}

/// The races between blocks that run side by side.
pub(in crate::sim) fn races_between_blocks(_: &Machine<'_>, _: &Module) -> Vec<Finding> {
    vec![]
}
