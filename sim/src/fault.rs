//! What stops a run: found while executing, before it is known where in the text that was.

use super::check::global::Elsewhere;
use super::report::FindingKind;

/// An instruction of a lane of a warp of the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Where {
    pub(super) warp: usize,
    pub(super) lane: usize,
    pub(super) pc: u32,
}

/// A fault of one instruction.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    pub(super) kind: FindingKind,
    pub(super) message: String,
    /// The first lane at fault, if it is a lane's doing.
    pub(super) lane: Option<usize>,
    /// The other side, where there are two.
    pub(super) other: Option<Where>,
    /// The other side in another cluster.
    pub(super) elsewhere: Option<Elsewhere>,
}

impl Fault {
    pub(super) fn new(kind: FindingKind, message: impl Into<String>) -> Box<Self> {
        Box::new(Self { kind, message: message.into(), lane: None, other: None, elsewhere: None })
    }

    pub(super) fn at(kind: FindingKind, lane: usize, message: impl Into<String>) -> Box<Self> {
        Box::new(Self { kind, message: message.into(), lane: Some(lane), other: None, elsewhere: None })
    }

    /// With another side.
    pub(super) fn with(mut self: Box<Self>, other: Option<Where>) -> Box<Self> {
        self.other = other;
        self
    }
}

pub(super) type Outcome<T> = Result<T, Box<Fault>>;
