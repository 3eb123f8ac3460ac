//! Tiles: matrices in registers, shared memory and global memory, and operations on them.
//!
//! Sizes of register and shared tiles are in subtiles of 16×16 elements. An [`Rt`] is in the registers of a warp, an [`St`] in
//! the shared memory of a block; a [`Gl`] is a matrix of any size in global memory. Shapes, element types and layouts are
//! checked by the type system.
#![forbid(unsafe_code)]

mod convert;
mod coordinates;
mod element;
mod elements;
mod extremes;
mod fill;
mod functions;
mod gl;
mod maps;
mod masks;
mod mma;
mod operand;
mod operators;
mod pipeline;
mod reduce;
mod register_copies;
mod registers;
mod rt;
mod scan;
mod scope;
mod scope_reduce;
mod st;
mod swizzle;
mod vector;
mod vector_layout;

pub use convert::Convert;
pub use element::{Col, RegisterLayout, Row};
pub use gl::{Gl, GlLayout, GlTile, col_major, row_major};
pub use operand::Elementwise;
pub use pipeline::{Filling, Pipeline, Sources, Stage, StageTiles};
pub use reduce::Accumulate;
pub use register_copies::Subtile;
pub use registers::Distributed;
pub use rt::{Fill, Rt};
pub use st::{Allocate, Filled, Pending, St};
pub use swizzle::{Auto, Plain, SharedSwizzle, Swizzle32, Swizzle64, Swizzle128};
pub use vector::{ColVec, RowVec, Rv};
pub use vector_layout::{Aligned, Broadcast, Naive, Orthogonal, VectorLayout};
