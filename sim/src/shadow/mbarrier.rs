//! The knowledge that mbarrier objects pass between threads.

use std::collections::HashMap;

use crate::shadow::clocks::{Knowledge, Time};
use crate::shadow::place::Place;
use crate::shadow::races::Access;

/// The mbarrier objects that the cluster has initialized or used.
pub(crate) type Mbarriers = HashMap<Place, Passing>;

/// The knowledge of an mbarrier object: the knowledge released to it so far, and the knowledge released to it before its last phase
/// completed.
#[derive(Debug, Default)]
pub(crate) struct Passing {
    /// The initialization of the object and its time, in runs that check for races.
    pub(crate) init: Option<(Access, Time)>,
    pub(crate) released: Knowledge,
    pub(crate) completed: Knowledge,
}
