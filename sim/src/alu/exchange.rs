//! The source lanes of shuffles.

use crate::machine::registers::Regs;
use crate::program::code::{Shfl, ShflMode};

/// Returns the source lane of each lane, and the lanes whose source is within the segment.
pub(crate) fn shuffled(regs: &Regs, op: &Shfl) -> ([usize; 32], u32) {
    let (b, c) = (regs.r(op.b), regs.r(op.c));
    let mut inside = 0;
    let from = std::array::from_fn(|lane| {
        let (from, ok) = source(op.mode, lane as u32, b[lane], c[lane]);
        inside |= u32::from(ok) << lane;
        if ok { (from & 31) as usize } else { lane }
    });
    (from, inside)
}

/// Returns the source lane, and whether it is within the segment (PTX ISA, "shfl.sync").
fn source(mode: ShflMode, lane: u32, b: u32, c: u32) -> (u32, bool) {
    let (b, clamp, segment) = (b & 31, c & 31, c >> 8 & 31);
    let high = (lane & segment) | (clamp & !segment);
    let low = lane & segment;
    match mode {
        ShflMode::Up => {
            let from = i64::from(lane) - i64::from(b);
            (from.max(0) as u32, from >= i64::from(high))
        }
        ShflMode::Down => (lane + b, lane + b <= high),
        ShflMode::Bfly => (lane ^ b, lane ^ b <= high),
        ShflMode::Idx => {
            let from = low | (b & !segment);
            (from, from <= high)
        }
    }
}
