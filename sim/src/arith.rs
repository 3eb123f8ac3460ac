//! The arithmetic of an NVIDIA GPU as pure functions on bit patterns.
//!
//! Every function takes and returns raw register bits (a `u64` with the value in the low bits and zeros above), so that callers can store
//! untyped registers, as PTX does. The functions follow the PTX ISA. Where the ISA does not specify the behavior (the bits of NaN results,
//! approximations, and tensor-core sums), they follow an H200 (sm_90).
//!
//! Modules: [`float`] (add, mul, fma, div, sqrt), [`approx`] (the special function unit), [`minmax`], [`compare`],
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
