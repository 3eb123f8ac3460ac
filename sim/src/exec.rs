//! Executes decoded instructions, 32 lanes at a time.

pub(super) mod alu;
pub(super) mod approx;
pub(super) mod async_copy;
pub(super) mod atomic;
pub(super) mod builtin;
pub(super) mod bulk;
pub(super) mod carry;
pub(super) mod convert;
pub(super) mod double;
pub(super) mod float;
pub(super) mod global;
pub(super) mod lanes;
pub(super) mod local;
pub(super) mod matrix;
pub(super) mod mbarrier;
pub(super) mod memory;
pub(super) mod reduce;
pub(super) mod shared;
pub(super) mod simd;
pub(super) mod single;
mod stack;
pub(super) mod tensor;
pub(super) mod tensor_copy;
mod tensormap;
pub(super) mod video;
pub(super) mod warp_ops;
