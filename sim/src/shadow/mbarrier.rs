//! What mbarrier objects pass on between threads.

use std::collections::HashMap;

use crate::shadow::clocks::{Knowledge, Time};
use crate::shadow::place::Place;
use crate::shadow::races::Access;

/// The objects that the cluster has initialized or used.
pub(crate) type Mbarriers = HashMap<Place, Passing>;

/// What an object passes on: everything released to it, and what was when its last phase completed.
#[derive(Debug, Default)]
pub(crate) struct Passing {
    /// Who initialized it and when, in runs that look for races.
    pub(crate) init: Option<(Access, Time)>,
    pub(crate) released: Knowledge,
    pub(crate) completed: Knowledge,
}
