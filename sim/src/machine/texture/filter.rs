//! Linear filtering: the weights of neighboring texels and the rounding of their sums, as measured on an H200.

use crate::machine::texture::{FRACTIONS, Selected, TexelType};

/// The number of corners of the selection in three dimensions. Each bit of a corner's index selects one of two texels along a dimension.
pub(crate) const CORNERS: usize = 8;

/// The number of bits included in a sum below the last bit of the texel with the greatest exponent.
const GUARD_BITS: i32 = 4;

/// Returns the weights of the corners, in units of 1 / [`FRACTIONS`]. The total weight is divided along z, then along x, then along y, and
/// rounded to these units each time. In three dimensions, some weights on an H200 differ by one unit.
pub(crate) fn weights([x, y, z]: &[Selected; 3]) -> [u32; CORNERS] {
    let mut weights = [0; CORNERS];
    for (deep, slice) in [FRACTIONS - z.weight, z.weight].into_iter().enumerate() {
        let right = share(slice, x.weight);
        let upper = [share_down(slice - right, y.weight), share(right, y.weight)];
        for (at, (column, upper)) in [slice - right, right].into_iter().zip(upper).enumerate() {
            weights[at | deep << 2] = column - upper;
            weights[at | 2 | deep << 2] = upper;
        }
    }
    weights
}

/// Returns the part of a weight that belongs to the second texel, rounded to nearest, with ties rounded up.
fn share(weight: u32, part: u32) -> u32 {
    (weight * part + FRACTIONS / 2) / FRACTIONS
}

/// Returns the same part as [`share`], but with ties rounded down.
fn share_down(weight: u32, part: u32) -> u32 {
    (weight * part).div_ceil(FRACTIONS / 2) / 2
}

impl TexelType {
    /// Returns the weighted sum of fetched texels. 8-bit and 16-bit integers are summed as 16-bit fixed-point numbers; floating-point
    /// numbers are aligned to the greatest of their exponents. The sum is rounded to nearest, ties away from zero.
    pub(crate) fn weighted_sum(self, texels: impl Iterator<Item = (u32, f32)> + Clone) -> f32 {
        match self {
            Self::U8 | Self::U16 => fixed_sum(texels, 65535.0),
            Self::S8 | Self::S16 => fixed_sum(texels, 32767.0),
            Self::F16 => aligned_sum(texels, 10),
            Self::F32 | Self::U32 | Self::S32 => aligned_sum(texels, 23),
        }
    }
}

/// Returns the sum of fixed-point numbers whose maximum is `one`.
fn fixed_sum(texels: impl Iterator<Item = (u32, f32)>, one: f64) -> f32 {
    let sum: f64 = texels.map(|(weight, texel)| f64::from(weight) * (f64::from(texel) * one).round()).sum();
    ((sum / f64::from(FRACTIONS)).round() / one) as f32
}

/// Returns the sum of numbers with `bits` fraction bits, rounded to `bits` fraction bits.
fn aligned_sum(texels: impl Iterator<Item = (u32, f32)> + Clone, bits: i32) -> f32 {
    let products = texels.clone().map(|(weight, texel)| f64::from(weight) * f64::from(texel));
    let plain = products.sum::<f64>() / f64::from(FRACTIONS);
    let largest = texels.clone().fold(0f32, |largest, (_, texel)| largest.max(texel.abs()));
    if !plain.is_finite() || largest == 0.0 {
        return plain as f32;
    }
    let unit = f64::from(exponent(largest.into()) - bits - GUARD_BITS).exp2();
    let units: f64 =
        texels.map(|(weight, texel)| f64::from(weight) * (f64::from(texel) / unit).trunc()).sum();
    let sum = units * unit / f64::from(FRACTIONS);
    if sum == 0.0 {
        return 0.0;
    }
    let last = f64::from(exponent(sum.abs()) - bits).exp2();
    ((sum / last).round() * last) as f32
}

/// Returns the exponent of a finite nonzero number, as if it were normal.
fn exponent(number: f64) -> i32 {
    ((number.to_bits() >> 52 & 0x7ff) as i32) - 1023
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selected(weight: u32) -> Selected {
        Selected { texels: [Some(0), Some(1)], weight }
    }

    #[test]
    fn weights_are_whole_fractions_of_one() {
        for x in 0..FRACTIONS {
            for y in 0..FRACTIONS {
                let weights = weights(&[selected(x), selected(y), selected(0)]);
                let both = (x * y + 128) / 256;
                assert_eq!(weights, [256 + both - x - y, x - both, y - both, both, 0, 0, 0, 0]);
            }
        }
        assert_eq!(weights(&[selected(64), selected(0), selected(64)]), [144, 48, 0, 0, 48, 16, 0, 0]);
    }

    /// Compares sums with results of an H200.
    #[test]
    fn sums_are_rounded_as_on_a_gpu() {
        let sum = |ty: TexelType, weight: u32, first: f32, second: f32| {
            ty.weighted_sum([(256 - weight, first), (weight, second)].into_iter())
        };
        let cases = [
            (224, 3.400_457_9, -0.014_391_955, 0.412_464_3),
            (250, -0.873_005, 0.002_366_948, -0.018_149_585),
            (246, -0.873_005, 0.002_366_948, -0.031_827_27),
            (255, -0.873_005, 0.002_366_948, -0.001_052_476_5),
        ];
        for (weight, first, second, expected) in cases {
            assert_eq!(sum(TexelType::F32, weight, first, second), expected, "{weight} of {first}, {second}");
        }
        // Half of 39 · 257 plus half of 40 · 257: ties are rounded away from zero.
        assert_eq!(sum(TexelType::U8, 128, 39.0 / 255.0, 40.0 / 255.0), 10152.0 / 65535.0);
        assert_eq!(sum(TexelType::F32, 128, f32::INFINITY, 1.0), f32::INFINITY);
    }
}
