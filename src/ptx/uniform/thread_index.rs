//! Integers derived from the thread index, and how uniform their bits are.

use super::{Uniformity, rule::Operation};
use crate::ptx::operand::Operand;

/// An integer derived from the thread index: for `scale <= b <= limit`, its bits from `b` up are the same in runs of
/// `2^(b - scale)` threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ThreadIndex {
    pub(super) scale: i32,
    pub(super) limit: i32,
    /// Whether it is the thread index itself.
    pub(super) whole: bool,
    /// Whether its five lowest bits are the lane index.
    pub(super) lane: bool,
}

/// The number of lanes in a warp.
pub(super) const LANES: u64 = 32;
const MOST_THREADS: u32 = 1024;

impl ThreadIndex {
    /// The index of the thread in the block, or in a part of the block that starts at a multiple of every power of two less than the part's
    /// length.
    pub(super) const WHOLE: Self = Self { scale: 0, limit: 32, whole: true, lane: true };

    /// Returns the uniformity of the bits from `bit` up.
    fn above(self, bit: i32) -> Uniformity {
        let run = bit.min(self.limit) - self.scale;
        Uniformity::Threads(if run > 0 { 1 << run.min(16) } else { 1 })
    }

    fn shifted(self, by: i32) -> Self {
        let (scale, limit) = (self.scale + by, self.limit.saturating_add(by));
        Self { scale, limit, whole: self.whole && by == 0, lane: self.lane && by == 0 }
    }

    /// Returns the integer after its bits from bit `bits` up have become copies of the bit below them.
    fn with_sign(self, bits: u32) -> Self {
        let whole = self.whole && bits > MOST_THREADS.ilog2();
        Self { whole, ..self.limited(bits.saturating_sub(1)) }
    }

    fn limited(self, limit: u32) -> Self {
        Self { limit: self.limit.min(limit as i32), whole: false, ..self }
    }

    /// Returns the integer after an operation with `constant` that preserves the runs below bit `limit`; it also preserves the lane index
    /// if `constant` is a multiple of the number of lanes.
    fn operated_by(self, constant: u64, limit: u32) -> Self {
        let lane = self.lane && constant.is_multiple_of(LANES);
        Self { lane, ..self.limited(limit) }
    }

    /// Returns the uniformity of this integer divided by a constant, and the quotient as an integer derived from the thread index, if it is
    /// such an integer.
    pub(super) fn quotient(self, by: u64) -> Option<(Uniformity, Option<Self>)> {
        if by.is_power_of_two() {
            let by = by.trailing_zeros() as i32;
            return Some((self.above(by), Some(self.shifted(-by))));
        }
        let threads = u32::try_from(by).ok().filter(|&threads| self.whole && threads > 0)?;
        Some((Uniformity::Threads(threads), None))
    }

    /// Returns the uniformity of the remainder of this integer divided by a constant, and the remainder as an integer derived from the
    /// thread index.
    pub(super) fn remainder(self, by: u64) -> (Uniformity, Option<Self>) {
        let limit = if by.is_power_of_two() { 64 } else { by.trailing_zeros() };
        (Uniformity::NONE, Some(self.operated_by(by, limit)))
    }

    /// Returns the uniformity of the result of an operation on this integer and constants, and the result as an integer derived from the
    /// thread index, if it is such an integer.
    pub(super) fn operated(
        self,
        operation: Operation,
        rest: &[Operand<'_>],
    ) -> Option<(Uniformity, Option<Self>)> {
        let constant = |i: usize| rest.get(i).and_then(Operand::immediate_bits);
        let parted = |lane: bool| Self { whole: false, lane: self.lane && lane, ..self };
        Some(match operation {
            Operation::Any => return None,
            Operation::Copy => (Uniformity::NONE, Some(self)),
            Operation::Convert { signed, narrowest } => {
                let converted = signed.map_or(self, |bits| self.with_sign(bits));
                let whole = converted.whole && narrowest.is_none_or(|bits| bits > MOST_THREADS.ilog2());
                (Uniformity::NONE, Some(Self { whole, lane: false, ..converted }))
            }
            // Integers are at least 16 bits wide, so bit 15 is the lowest possible sign bit.
            Operation::SignedShiftRight => {
                return self.with_sign(16).operated(Operation::ShiftRight, rest);
            }
            Operation::ShiftRight => {
                let by = constant(0)?.min(64) as i32;
                (self.above(by), Some(self.shifted(-by)))
            }
            Operation::ShiftLeft => (Uniformity::NONE, Some(self.shifted(constant(0)?.min(64) as i32))),
            Operation::Multiply { signed } => {
                let factor = constant(0)?;
                // The highest bit of a signed factor makes it negative.
                let by = factor.trailing_zeros();
                if rest.len() > 1 || !factor.is_power_of_two() || signed.is_some_and(|bits| by + 1 == bits) {
                    return None;
                }
                let extended = signed.map_or(self, |bits| self.with_sign(bits));
                (Uniformity::NONE, Some(extended.shifted(by as i32)))
            }
            Operation::And => {
                let mask = constant(0)?;
                (self.above(mask.trailing_zeros() as i32), Some(parted(mask % LANES == LANES - 1)))
            }
            Operation::OrXor => (Uniformity::NONE, Some(parted(constant(0)?.is_multiple_of(LANES)))),
            Operation::Add | Operation::Sub => {
                let by = constant(0)?;
                (Uniformity::NONE, Some(self.operated_by(by, by.trailing_zeros())))
            }
            Operation::Divide => return self.quotient(constant(0)?),
            Operation::Remainder => return Some(self.remainder(constant(0)?)),
            Operation::ExtractBits { width } => {
                let (from, length) = (constant(0)?.min(64), constant(1)?.min(64));
                // The extracted number may be signed: past its length or the width, it continues with copies of the sign bit.
                let field = self.with_sign((from + length).min(width.into()) as u32);
                let extracted = field.shifted(-(from as i32));
                let has_lane = length >= LANES.trailing_zeros().into();
                (field.above(from as i32), Some(Self { lane: extracted.lane && has_lane, ..extracted }))
            }
            // The sign bit, bit 15 or higher, must also be among the bits that are the same.
            Operation::Less => (self.above(constant(0)?.trailing_zeros().min(15) as i32), None),
            Operation::LessOrEqual => {
                (self.above(constant(0)?.wrapping_add(1).trailing_zeros().min(15) as i32), None)
            }
        })
    }
}
