//! `ex2`, `lg2` and `tanh`.

use super::{
    INFINITY, NAN,
    interpolate::{Interpolator, square, truncated},
    is_subnormal, normalized, scale, tables,
};
use crate::arith::{Float, Round, float, unpacked::Exact};

const EX2: Interpolator = Interpolator {
    table: &tables::EX2,
    fraction_bits: 57,
    shifts: [32, 19],
    signs: [1, 1],
    bias: 0x6fc4 << 18,
};

const LG2: Interpolator = Interpolator {
    table: &tables::LG2,
    fraction_bits: 56,
    shifts: [30, 18],
    signs: [1, -1],
    bias: 0x868b << 17,
};

/// The number of low bits of a logarithm that are dropped when the integer part is added.
const LG2_DROPPED_BITS: u32 = 20;

/// Returns `2^x`, within 2 ulp.
///
/// Without `ftz`, results below 2^-126 are computed as the square of `2^(x/2)`; with `ftz`, they are +0.
#[doc(alias = "ex2.approx.f32")]
pub fn ex2(ftz: bool, x: u32) -> u32 {
    const MINUS_126: u32 = 0xc2fc_0000;
    match x {
        _ if x & !(1 << 31) > INFINITY => NAN,
        _ if x <= MINUS_126 => ex2_of_normal_range(x),
        _ if ftz => 0,
        _ => {
            let root = ex2_of_normal_range(scale(x, -1, false)).into();
            float::mul(Float::F32, Round::Rn, false, false, root, root) as u32
        }
    }
}

/// Returns `2^x`, or 0 if it is below 2^-126.
fn ex2_of_normal_range(x: u32) -> u32 {
    let magnitude = x & !(1 << 31);
    if magnitude >= 0x4380_0000 {
        return if x == magnitude { INFINITY } else { 0 };
    }
    // x in fixed point with 23 fraction bits; a negative x that is not an integer is the complement of |x|.
    let (exponent, fraction) = if magnitude == 0 { (-127, 0) } else { normalized(magnitude) };
    let significand = fraction | 1 << 23;
    let fixed = if exponent >= 0 {
        i64::from(significand) << exponent
    } else {
        i64::from(significand.checked_shr(-exponent as u32).unwrap_or(0))
    };
    let whole_negative = x != magnitude && fixed & 0x7f_ffff == 0;
    let fixed = match (x == magnitude, whole_negative) {
        (true, _) => fixed,
        (false, true) => -fixed,
        (false, false) => !fixed,
    };
    let (integer, fraction) = ((fixed >> 23) as i32, (fixed & 0x7f_ffff) as u32);
    match integer {
        128.. => INFINITY,
        -126..128 => {
            let power = truncated(false, EX2.sum_of_fraction(0, fraction), EX2.fraction_bits);
            scale(power, integer, true)
        }
        _ => 0,
    }
}

/// Returns `log2(x)`, with an absolute error of at most 2^-22 on [0.5, 2], and within 2 ulp elsewhere.
#[doc(alias = "lg2.approx.f32")]
pub fn lg2(ftz: bool, x: u32) -> u32 {
    const SUBNORMAL_SCALE: i32 = 24;
    match x {
        _ if x << 1 == 0 || ftz && is_subnormal(x) => 1 << 31 | INFINITY,
        INFINITY => INFINITY,
        _ if x > INFINITY => NAN,
        _ if is_subnormal(x) => {
            let scaled = lg2_of_normal(scale(x, SUBNORMAL_SCALE, false));
            let offset = (SUBNORMAL_SCALE as f32).to_bits();
            float::sub(Float::F32, Round::Rn, false, false, scaled.into(), offset.into()) as u32
        }
        _ => lg2_of_normal(x),
    }
}

fn lg2_of_normal(x: u32) -> u32 {
    let (exponent, fraction) = normalized(x);
    if (exponent, fraction) == (0, 0) {
        return 0;
    }
    let sum = LG2.sum_of_fraction(0, fraction) + (i64::from(exponent) << LG2.fraction_bits);
    let magnitude = sum.abs() >> LG2_DROPPED_BITS << LG2_DROPPED_BITS;
    truncated(exponent < 0, magnitude, LG2.fraction_bits)
}

/// The segments of a binade of `tanh`: the first row in the table, the number of bits that select a row, and the left shifts of `c1 · x`
/// and `c2 · x²`.
struct Binade {
    first: u32,
    index_bits: u32,
    shifts: [u32; 2],
}

const TANH_LOWEST_EXPONENT: i32 = -8;

#[rustfmt::skip]
const TANH_BINADES: [Binade; 11] = [
    Binade { first:  0, index_bits: 0, shifts: [7, 8] },
    Binade { first:  1, index_bits: 0, shifts: [7, 8] },
    Binade { first:  2, index_bits: 0, shifts: [7, 8] },
    Binade { first:  3, index_bits: 1, shifts: [6, 6] },
    Binade { first:  5, index_bits: 1, shifts: [6, 6] },
    Binade { first:  7, index_bits: 2, shifts: [5, 4] },
    Binade { first: 11, index_bits: 2, shifts: [5, 4] },
    Binade { first: 15, index_bits: 2, shifts: [5, 4] },
    Binade { first: 19, index_bits: 3, shifts: [4, 3] },
    Binade { first: 27, index_bits: 4, shifts: [2, 1] },
    Binade { first: 43, index_bits: 3, shifts: [4, 3] },
];

/// Returns `tanh(x)`, with a relative error of at most 2^-11. The result is `x` for |x| < 2^-8, and ±1 for |x| ≥ 8.
#[doc(alias = "tanh.approx.f32")]
pub fn tanh(x: u32) -> u32 {
    let (sign, magnitude) = (x & 1 << 31, x & !(1 << 31));
    match magnitude {
        0..0x3b80_0000 => x,
        0x3b80_0000..0x4100_0000 => {
            let (exponent, fraction) = normalized(magnitude);
            let binade = &TANH_BINADES[(exponent - TANH_LOWEST_EXPONENT) as usize];
            let row = binade.first + (fraction >> (23 - binade.index_bits));
            // The 17 bits below the index, as in the other functions; lower bits are ignored.
            let offset = fraction << binade.index_bits >> 6 & 0x1_ffff;
            let [c0, c1, c2] = tables::TANH[row as usize].map(u64::from);
            let linear = (c1 * u64::from(offset)) << 17 << binade.shifts[0];
            let quadratic = (c2 * square(offset)) << binade.shifts[1];
            let sum = (c0 << 34) + linear - quadratic;
            let unit = exponent.min(-1) - 23 - 34;
            Exact::new(sign != 0, unit, sum.into()).pack(Float::F32, Round::Rz, false) as u32
        }
        0x4100_0000..=INFINITY => sign | 0x3f80_0000,
        _ => NAN,
    }
}
