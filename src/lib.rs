//! Compose GPU kernels from typed warp tiles in stable Rust; get readable PTX text; run and check it
//! with or without a GPU.

pub mod atoms;
pub mod kernels;
pub mod layout;
pub mod ptx;
pub mod run;
pub mod sim;
pub mod tiles;

#[cfg(feature = "cuda")]
pub mod gpu;

/// Everything that a kernel needs, for `use warpwright::prelude::*`.
pub mod prelude {
    pub use crate::{
        ptx::{
            Global, In, InOut, K, Kernel, Out, Ptr, Shared, Steps, Target, Val, Var, bf16, bf16x2, f16, f16x2,
        },
        tiles::{Col, Gl, GlTile, Row, Rt, St, col_major, row_major},
    };
}
