//! Execution of instructions that access state other than registers.

pub(crate) mod async_copy;
pub(crate) mod atomic;
pub(crate) mod builtin;
pub(crate) mod bulk;
pub(crate) mod global;
pub(crate) mod local;
pub(crate) mod matrix;
pub(crate) mod mbarrier;
pub(crate) mod memory;
pub(crate) mod shared;
pub(crate) mod stack;
pub(crate) mod tensor;
pub(crate) mod tensor_copy;
pub(crate) mod tensormap;
mod texture;
pub(crate) mod warp;
