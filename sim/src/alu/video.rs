//! Execution of video instructions.

use crate::arith::video::{Source, Then, mad, scalar, simd};
use crate::machine::registers::Regs;
use crate::program::code::{Video, VideoFn, VideoSource, VideoThen};

pub(crate) fn video(regs: &mut Regs, m: u32, op: &Video) {
    let out = match op.f {
        VideoFn::Scalar { op: f, signed, a, b, then } => by_lane(|lane| {
            let (a, b) = (source(regs, a, lane), source(regs, b, lane));
            let then = match then {
                VideoThen::Write => Then::Write,
                VideoThen::Add(c) => Then::Add(regs.r(c)[lane]),
                VideoThen::Min(c) => Then::Min(regs.r(c)[lane]),
                VideoThen::Max(c) => Then::Max(regs.r(c)[lane]),
                VideoThen::Merge(part, c) => Then::Merge(part, regs.r(c)[lane]),
            };
            scalar(f, signed, op.sat, a, b, then)
        }),
        VideoFn::Mad { a, b, c, c_signed, signs, shift } => by_lane(|lane| {
            let (a, b) = (source(regs, a, lane), source(regs, b, lane));
            mad(op.sat, (a, b), (regs.r(c)[lane], c_signed), signs, shift)
        }),
        VideoFn::Simd { op: f, lanes, signed, accumulate, operands } => {
            by_lane(|lane| simd(f, lanes, signed, op.sat, accumulate, operands.map(|r| regs.r(r)[lane])))
        }
    };
    regs.put_r(op.d, m, &out);
}

fn by_lane(f: impl Fn(usize) -> u32) -> [u32; 32] {
    std::array::from_fn(f)
}

fn source(regs: &Regs, from: VideoSource, lane: usize) -> Source {
    Source { signed: from.signed, part: from.part, register: regs.r(from.register)[lane] }
}
