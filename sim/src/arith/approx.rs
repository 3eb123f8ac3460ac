//! Approximate functions, with the results of the special function unit of an NVIDIA GPU.
//!
//! See PTX ISA, "Floating Point Instructions" (`rcp.approx`, `sqrt.approx`, `rsqrt.approx`, `sin`, `cos`, `lg2`, `ex2`, `tanh`,
//! `div.approx`, `div.full`). The ISA bounds the error; these functions return exactly the bits that the hardware returns. The hardware
//! looks up three coefficients by the leading bits of the significand, and evaluates a quadratic polynomial in the remaining bits, with a
//! squarer that omits its lowest columns (Oberman and Siu, "A High-Performance Area-Efficient Multifunction Interpolator", 2005).
//!
//! All functions take and return raw bits. `ftz` flushes subnormal operands and results; without it, ptxas scales the operand before the
//! instruction and the result after it. A NaN operand results in `0x7fffffff`.

mod exponential;
mod half;
mod interpolate;
mod reciprocal;
mod reciprocal64;
mod tables;
mod trigonometric;

pub use exponential::{ex2, lg2, tanh};
pub use half::{ex2_half, tanh_half};
pub use reciprocal::{div, div_full, rcp, rsqrt, sqrt};
pub use reciprocal64::{rcp_f64, rsqrt_f64, rsqrt_ftz_f64};
pub use trigonometric::{cos, sin};

/// The NaN that all f32 approximations return.
const NAN: u32 = 0x7fff_ffff;

const INFINITY: u32 = 0x7f80_0000;

/// Returns a number times a power of two, rounded to nearest; with `ftz`, subnormal results are flushed.
fn scale(bits: u32, exponent: i32, ftz: bool) -> u32 {
    use super::{Float, Round, unpacked::Unpacked};
    match Unpacked::new(Float::F32, bits.into()) {
        Unpacked::Finite(mut x) => {
            x.exponent += exponent;
            x.pack(Float::F32, Round::Rn, ftz) as u32
        }
        _ => bits,
    }
}

/// Returns the exponent of the leading bit of a finite nonzero number, and the 23 bits after it.
fn normalized(magnitude: u32) -> (i32, u32) {
    let shift = magnitude.leading_zeros().saturating_sub(8);
    let field = if shift > 0 { 1 - shift as i32 } else { (magnitude >> 23) as i32 };
    (field - 127, magnitude << shift & 0x7f_ffff)
}

fn is_subnormal(bits: u32) -> bool {
    super::Float::F32.is_subnormal(bits.into())
}
