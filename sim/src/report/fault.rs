//! What stops a run: found while executing, before it is known where in the text that was.

use crate::report::FindingKind;

/// An instruction of a lane of a warp of the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Where {
    pub(crate) warp: usize,
    pub(crate) lane: usize,
    pub(crate) pc: u32,
}

/// An instruction of another cluster.
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
    /// The first lane at fault, if it is a lane's doing.
    pub(crate) lane: Option<usize>,
    /// Where it is reported, if not at the executing instruction.
    pub(crate) site: Option<Where>,
    /// The other side, where there are two.
    pub(crate) other: Option<Where>,
    /// The other side in another cluster.
    pub(crate) elsewhere: Option<Elsewhere>,
}

impl Fault {
    pub(crate) fn new(kind: FindingKind, message: impl Into<String>) -> Box<Self> {
        Box::new(Self { kind, message: message.into(), lane: None, site: None, other: None, elsewhere: None })
    }

    pub(crate) fn at(kind: FindingKind, lane: usize, message: impl Into<String>) -> Box<Self> {
        Box::new(Self { lane: Some(lane), ..*Self::new(kind, message) })
    }

    /// Reported at another instruction than the executing one.
    pub(crate) fn reported_at(mut self: Box<Self>, site: Where) -> Box<Self> {
        self.site = Some(site);
        self
    }

    /// With another side.
    pub(crate) fn with(mut self: Box<Self>, other: Option<Where>) -> Box<Self> {
        self.other = other;
        self
    }
}

pub(crate) type Outcome<T> = Result<T, Box<Fault>>;
