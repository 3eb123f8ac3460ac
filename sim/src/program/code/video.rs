//! Video instructions.

use crate::arith::video::{Lanes, Part, VideoOp};
use crate::program::code::R;

/// An operand of a scalar video instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VideoSource {
    pub(crate) signed: bool,
    pub(crate) part: Part,
    pub(crate) register: R,
}

/// The final step of a scalar video instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) enum VideoThen {
    Write,
    Add(R),
    Min(R),
    Max(R),
    Merge(Part, R),
}

/// A video instruction that writes `d`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Video {
    pub(crate) d: R,
    pub(crate) sat: bool,
    pub(crate) f: VideoFn,
}

/// The three kinds of video instructions.
#[derive(Clone, Copy, Debug)]
pub(crate) enum VideoFn {
    /// Scalar instructions: `vadd`, …
    Scalar { op: VideoOp, signed: bool, a: VideoSource, b: VideoSource, then: VideoThen },
    /// `vmad`; `signs` specifies whether the product and `c` are negated, and whether `.po` is set.
    Mad { a: VideoSource, b: VideoSource, c: R, c_signed: bool, signs: (bool, bool, bool), shift: u32 },
    /// SIMD instructions: `vadd2`, `vadd4`, …; `signed` specifies whether d, a and b are signed.
    Simd { op: VideoOp, lanes: Lanes, signed: (bool, bool, bool), accumulate: bool, operands: [R; 3] },
}
