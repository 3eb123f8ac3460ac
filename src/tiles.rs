//! Tiles: matrices in registers, shared and global memory, and what can be done with them.
//!
//! Sizes of register and shared tiles are in subtiles of 16×16 elements. A [`Rt`] is in the registers of a warp, a [`St`] in a block's shared memory,
//! a [`Gl`] is a matrix in global memory of any size. Operations check shapes, element types and layouts in the type system.
#![forbid(unsafe_code)]

mod element;
mod fill;
mod gl;
mod maps;
mod mma;
mod pipeline;
mod register_copies;
mod rt;
mod scope;
mod st;
mod swizzle;

pub use element::{Col, RegisterLayout, Row};
pub use gl::{Gl, GlLayout, GlTile, col_major, row_major};
pub use pipeline::{Filling, Pipeline, Sources, Stage, StageTiles};
pub use register_copies::Subtile;
pub use rt::{Fill, Rt};
pub use st::{Allocate, Filled, Pending, St};
pub use swizzle::{Auto, Plain, SharedSwizzle, Swizzle32, Swizzle64, Swizzle128};
