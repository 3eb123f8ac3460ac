//! The arithmetic of an NVIDIA GPU as pure functions on bit patterns.
//!
//! Every function takes and returns raw register bits (`u64`, the value in the low bits, zeros above), so a caller can keep its registers
//! untyped as PTX does. The rules are those of the PTX ISA; behavior that the ISA leaves unspecified (which NaN results, the bits of
//! approximations, the sums of tensor cores) follows an H200 (sm_90).
//!
//! Subjects: [`float`] (add, mul, fma, div, sqrt), [`approx`] (the special function unit), [`minmax`], [`compare`],
//! [`sign`], [`cvt`], [`int`], [`bits`], [`video`], and [`mma`] for the tensor cores.

pub mod approx;
pub mod bits;
pub mod compare;
pub mod cvt;
pub mod float;
mod format;
pub mod int;
pub mod minmax;
pub mod mma;
pub mod sign;
mod unpacked;
pub mod video;

pub use format::{Float, Int, Round, Ty};
