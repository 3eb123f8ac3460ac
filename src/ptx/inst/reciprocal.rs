//! Reciprocals: factors that replace the division of unsigned integers by a constant with a multiplication.
//!
//! The methods are those of T. Granlund and P. L. Montgomery, "Division by Invariant Integers using Multiplication" (PLDI 1994), and, for
//! the reciprocals that are rounded down, A. D. Robison, "N-Bit Unsigned Division Via N-Bit Multiply-Add" (ARITH 2005).

/// A rounded multiple of a reciprocal, `factor` ≈ 2^(width + `shift`) / d, from which the quotient of every possible dividend x can be
/// computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reciprocal {
    pub(super) factor: u64,
    pub(super) rounded: Rounded,
    pub(super) shift: u32,
}

/// The direction in which a reciprocal is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rounded {
    /// ⌊x / d⌋ = ⌊x · factor / 2^(width + shift)⌋.
    Up,
    /// ⌊x / d⌋ = ⌊(x · factor + factor) / 2^(width + shift)⌋.
    Down,
}

impl Reciprocal {
    /// Returns the reciprocal of `by` for dividends of at most `most`. Both must fit in `bytes` bytes, and `by` must be at least 3 and not
    /// a power of two. Returns `None` if no factor of `bytes` bytes is exact enough; this can happen only if `bytes` is 8.
    pub(super) fn new(by: u64, most: u64, bytes: u32) -> Option<Self> {
        let (width, largest_shift) = (8 * bytes, by.ilog2());
        let (divisor, most) = (u128::from(by), u128::from(most));
        let up = (0..=largest_shift).find_map(|shift| {
            let power = 1u128 << (width + shift);
            let factor = power.div_ceil(divisor);
            // The difference between x · factor / power and x / divisor, x · excess / (divisor · power), must be less than 1 / divisor.
            let excess = factor * divisor - power;
            let is_exact = factor >> width == 0 && excess * most < power;
            is_exact.then_some(Self { factor: factor as u64, rounded: Rounded::Up, shift })
        });
        // If the reciprocal that is rounded up is too large for the largest shift, the one that is rounded down is exact enough.
        up.or_else(|| {
            let factor = (1u128 << (width + largest_shift)) / divisor;
            (bytes == 4).then_some(Self {
                factor: factor as u64,
                rounded: Rounded::Down,
                shift: largest_shift,
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quotient(x: u64, reciprocal: Reciprocal, bytes: u32) -> u64 {
        let Reciprocal { factor, rounded, shift } = reciprocal;
        let addend = if rounded == Rounded::Down { factor } else { 0 };
        ((u128::from(x) * u128::from(factor) + u128::from(addend)) >> (8 * bytes + shift)) as u64
    }

    /// Dividends at which quotients change, and the largest ones.
    fn dividends(by: u64, most: u64) -> impl Iterator<Item = u64> {
        let multiples = [1, 2, 3, most / by / 2, most / by].map(|n| n * by);
        let around = multiples.into_iter().flat_map(|x| [x.saturating_sub(1), x, x.saturating_add(1)]);
        around.chain([0, most - 1, most]).filter(move |&x| x <= most)
    }

    #[test]
    fn quotients_of_32_bits_are_exact() {
        let divisors = (3..2000).chain([641, 6_700_417, 1 << 31 | 1, u64::from(u32::MAX)]);
        for by in divisors.filter(|by| !by.is_power_of_two()) {
            for most in [u64::from(u32::MAX), 1 << 31, 1 << 20, 5000] {
                let reciprocal = Reciprocal::new(by, most, 4).unwrap();
                assert!(reciprocal.factor >> 32 == 0, "{by} {reciprocal:?}");
                for x in dividends(by, most) {
                    assert_eq!(quotient(x, reciprocal, 4), x / by, "{x} / {by} with {reciprocal:?}");
                }
            }
        }
    }

    #[test]
    fn quotients_of_64_bits_are_exact() {
        let mut exist = 0;
        for by in (3..2000).filter(|by: &u64| !by.is_power_of_two()) {
            for most in [u64::MAX, 1 << 63, 1 << 40] {
                let Some(reciprocal) = Reciprocal::new(by, most, 8) else { continue };
                exist += 1;
                for x in dividends(by, most) {
                    assert_eq!(quotient(x, reciprocal, 8), x / by, "{x} / {by} with {reciprocal:?}");
                }
            }
        }
        assert!(exist > 4000, "{exist}");
    }
}
