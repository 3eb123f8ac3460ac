//! Tiles: matrices in registers, shared and global memory, and what can be done with them.
//!
//! Sizes of register and shared tiles are in subtiles of 16×16 elements. A [`Rt`] is held by one warp, a [`St`] by a block,
//! a [`Gl`] is a matrix in global memory of any size. Operations check shapes, element types and layouts in the type system.
#![forbid(unsafe_code)]

mod convert;
mod element;
mod gl;
mod global_register;
mod global_shared;
mod maps;
mod mma;
mod pipeline;
mod rt;
mod scope;
mod shared_register;
mod st;
mod swizzle;
mod tensor;

pub use element::{Col, RegisterLayout, Row, TileElement};
pub use gl::{Gl, GlLayout, GlTile, col_major, row_major};
pub use pipeline::{Filling, Pipeline, Sources, Stage, StageTiles};
pub use rt::{Fill, Rt};
pub use shared_register::Subtile;
pub use st::{Allocate, Filled, Pending, St};
pub use swizzle::{Auto, Plain, SharedSwizzle, Swizzle32, Swizzle64, Swizzle128, TileAddress};
