//! What stops a run: found while executing, before it is known where in the text that was.

use super::report::Kind;

/// A fault of one instruction.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    pub(super) kind: Kind,
    pub(super) message: String,
    /// The first lane at fault, if it is a lane's doing.
    pub(super) lane: Option<usize>,
}

impl Fault {
    pub(super) fn new(kind: Kind, message: impl Into<String>) -> Box<Self> {
        Box::new(Self { kind, message: message.into(), lane: None })
    }

    pub(super) fn at(kind: Kind, lane: usize, message: impl Into<String>) -> Box<Self> {
        Box::new(Self { kind, message: message.into(), lane: Some(lane) })
    }
}

pub(super) type Outcome<T> = Result<T, Box<Fault>>;
