//! `sin` and `cos`.

use super::{
    INFINITY, NAN,
    interpolate::{Interpolator, truncated},
    tables,
};
use crate::arith::{Float, Round, float};

const SIN: Interpolator =
    Interpolator { table: &tables::SIN, fraction_bits: 56, shifts: [31, 19], signs: [1, -1], bias: 0 };

/// Returns `sin(x)`, with an absolute error of at most about 2^-20.5 on [-2π, 2π].
///
/// Subnormal operands result in a zero of the same sign, with and without `.ftz`.
#[doc(alias = "sin.approx.f32")]
pub fn sin(x: u32) -> u32 {
    let Some((quadrant, fraction)) = quarter_turns(x) else { return NAN };
    let negative = (x >> 31 != 0) != (quadrant & 2 != 0);
    of_quadrant(negative, if quadrant & 1 != 0 { !fraction } else { fraction })
}

/// Returns `cos(x)`, with an absolute error of at most about 2^-20.5 on [-2π, 2π].
#[doc(alias = "cos.approx.f32")]
pub fn cos(x: u32) -> u32 {
    let Some((quadrant, fraction)) = quarter_turns(x) else { return NAN };
    of_quadrant((quadrant + 1) & 2 != 0, if quadrant & 1 == 0 { !fraction } else { fraction })
}

/// Returns |x| in quarter turns, as the quadrant and a 23-bit fraction, or `None` for infinity and NaN.
///
/// x is multiplied by the largest f32 below 1/(2π), rounded toward zero, and converted to fixed point.
fn quarter_turns(x: u32) -> Option<(u32, u32)> {
    const TURNS: u64 = 0x3e22_f983;
    let magnitude = x & !(1 << 31);
    if magnitude >= INFINITY {
        return None;
    }
    let turns = float::mul(Float::F32, Round::Rz, true, false, magnitude.into(), TURNS);
    let (field, significand) = ((turns >> 23) as i32, turns & 0x7f_ffff | 1 << 23);
    // Four quarters make a turn.
    let fixed = match field - 127 + 2 {
        up @ 0..40 => significand << up,
        down @ -40..0 => significand >> -down,
        _ => 0,
    };
    Some(((fixed >> 23) as u32 & 3, fixed as u32 & 0x7f_ffff))
}

/// Returns the sine of a 23-bit fraction of a quarter turn.
fn of_quadrant(negative: bool, fraction: u32) -> u32 {
    truncated(negative, SIN.sum_of_fraction(0, fraction & 0x7f_ffff), SIN.fraction_bits)
}
