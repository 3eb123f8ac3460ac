//! Video instructions.

use super::R;
use crate::sim::arith::video::{Lanes, Part, VideoOp};

/// An operand of a scalar video instruction.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct VideoSource {
    pub(in crate::sim) signed: bool,
    pub(in crate::sim) part: Part,
    pub(in crate::sim) register: R,
}

/// What becomes of a scalar result.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) enum VideoThen {
    Write,
    Add(R),
    Min(R),
    Max(R),
    Merge(Part, R),
}

/// A video instruction that writes `d`.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct Video {
    pub(in crate::sim) d: R,
    pub(in crate::sim) sat: bool,
    pub(in crate::sim) f: VideoFn,
}

/// The three kinds of them.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) enum VideoFn {
    /// `vadd` …
    Scalar { op: VideoOp, signed: bool, a: VideoSource, b: VideoSource, then: VideoThen },
    /// `vmad`: the signs in front of the product and of `c`, and `.po`.
    Mad { a: VideoSource, b: VideoSource, c: R, c_signed: bool, signs: (bool, bool, bool), shift: u32 },
    /// `vadd2`, `vadd4` …: the types of d, a and b.
    Simd { op: VideoOp, lanes: Lanes, signed: (bool, bool, bool), accumulate: bool, operands: [R; 3] },
}
