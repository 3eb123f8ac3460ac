//! The quadratic interpolator that all approximations share.

use crate::arith::{Float, Round, unpacked::Exact};

/// The number of columns of partial products that the squarer omits.
const DROPPED_COLUMNS: u32 = 19;

/// A function computed by interpolation: `c0 ± c1 · x ± c2 · x²` in fixed point.
pub(super) struct Interpolator {
    /// The coefficients of each segment.
    pub(super) table: &'static [[u32; 3]],
    /// The number of fraction bits of the sum.
    pub(super) fraction_bits: u32,
    /// The left shifts in bits that align `c0` and `c1 · x` with `c2 · x²`.
    pub(super) shifts: [u32; 2],
    /// The signs of the linear and the quadratic term.
    pub(super) signs: [i64; 2],
    /// The value added before the sum is truncated: about half a unit of the result.
    pub(super) bias: i64,
}

impl Interpolator {
    /// Returns the sum for one segment; `square` is [`square`] of the offset, aligned to 17 bits.
    pub(super) fn sum(&self, segment: u32, offset: u32, square: u64) -> i64 {
        let [c0, c1, c2] = self.table[segment as usize].map(i64::from);
        (c0 << self.shifts[0])
            + self.signs[0] * ((c1 * i64::from(offset)) << self.shifts[1])
            + self.signs[1] * c2 * square as i64
            + self.bias
    }

    /// Returns the sum for a 23-bit fraction whose upper six bits select the segment; `first` is the segment of zero.
    pub(super) fn sum_of_fraction(&self, first: u32, fraction: u32) -> i64 {
        let offset = fraction & 0x1_ffff;
        self.sum(first + (fraction >> 17), offset, square(offset))
    }
}

/// Returns the square of a 17-bit number, without the partial-product bits in the lowest columns.
pub(super) fn square(x: u32) -> u64 {
    let x = u64::from(x);
    let row = |i: u32| (x >> (i + 1) << (2 * i + 2) | 1 << (2 * i)) >> DROPPED_COLUMNS << DROPPED_COLUMNS;
    (0..17).filter(|i| x >> i & 1 != 0).map(row).sum()
}

/// Returns `(-1)^sign · sum · 2^-fraction_bits`, truncated to a normal f32; zero keeps its sign.
pub(super) fn truncated(sign: bool, sum: i64, fraction_bits: u32) -> u32 {
    if sum == 0 {
        return u32::from(sign) << 31;
    }
    Exact::new(sign, -(fraction_bits as i32), sum as u128).pack(Float::F32, Round::Rz, false) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn squares_are_low_by_less_than_the_dropped_columns() {
        for x in [0, 1, 0x1ff, 0x1_0000, 0x1_2345, 0x1_ffff] {
            let exact = u64::from(x) * u64::from(x);
            let error = exact - square(x);
            assert!(square(x).is_multiple_of(1 << DROPPED_COLUMNS));
            assert!(error < 10 << DROPPED_COLUMNS, "{x:#x}: {error:#x}");
        }
    }
}
