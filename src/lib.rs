//! Compose GPU kernels from typed warp tiles in stable Rust; get readable PTX text; run and check it
//! with or without a GPU.

pub mod atoms;
pub mod layout;
pub mod sim;

#[cfg(feature = "cuda")]
pub mod gpu;
