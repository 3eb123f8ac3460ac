//! Faults, which become findings once their location in the PTX text is determined.

use crate::report::FindingKind;

/// An instruction, with the warp and lane of the cluster that executed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Where {
    pub(crate) warp: usize,
    pub(crate) lane: usize,
    pub(crate) pc: u32,
}

/// An instruction, with the warp of another cluster that executed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Elsewhere {
    pub(crate) cluster: u64,
    pub(crate) warp: usize,
    pub(crate) pc: u32,
}

/// A fault of one instruction.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub(crate) kind: FindingKind,
    pub(crate) message: String,
    /// The first faulty lane, if the fault concerns individual lanes.
    pub(crate) lane: Option<usize>,
    /// The location, if it differs from the executing instruction.
    pub(crate) site: Option<Where>,
    /// The location of the other access, if there are two.
    pub(crate) other: Option<Where>,
    /// The location of the other access in another cluster.
    pub(crate) elsewhere: Option<Elsewhere>,
}

impl Fault {
    pub(crate) fn new(kind: FindingKind, message: impl Into<String>) -> Box<Self> {
        Box::new(Self { kind, message: message.into(), lane: None, site: None, other: None, elsewhere: None })
    }

    pub(crate) fn at(kind: FindingKind, lane: usize, message: impl Into<String>) -> Box<Self> {
        Box::new(Self { lane: Some(lane), ..*Self::new(kind, message) })
    }

    /// Sets the location to an instruction other than the executing one.
    pub(crate) fn reported_at(mut self: Box<Self>, site: Where) -> Box<Self> {
        self.site = Some(site);
        self
    }

    /// Sets the location of the other access.
    pub(crate) fn with(mut self: Box<Self>, other: Option<Where>) -> Box<Self> {
        self.other = other;
        self
    }
}

pub(crate) type Outcome<T> = Result<T, Box<Fault>>;
