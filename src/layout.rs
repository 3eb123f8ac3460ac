//! CuTe-style layouts: nested shapes and strides, their algebra, and swizzles.
//!
//! A [`Layout`] is a function from 0-based coordinates to offsets. The operations of the algebra are methods of [`Layout`]. Each operation
//! documents its postconditions and returns a [`LayoutError`] if no layout satisfies them.
#![forbid(unsafe_code)]

mod access;
mod basis;
mod codomain;
mod complement;
mod compose;
mod composed;
mod construct;
mod divide;
mod dynamic;
mod error;
mod evaluate;
mod inverse;
mod like;
mod modes;
mod product;
mod recast;
mod simplify;
mod slice;
mod swizzle;
mod text;
mod tiler;
mod tuple;
mod tv;

pub use access::{AccessError, BankConflicts, Coalescing, bank_conflicts, coalescing, warp_accesses};
pub use basis::BasisVector;
pub use codomain::Codomain;
pub use composed::ComposedLayout;
pub use construct::Layout;
pub use dynamic::DYNAMIC_EXTENT;
pub use error::{ComposeFault, LayoutError, ModePath};
pub use evaluate::{coord_of_index, coord_to_coord, index_of_coord};
pub use inverse::domain_distribute;
pub use slice::{Slicer, Slot};
pub use swizzle::{SplitOffset, Swizzle};
pub use tiler::{Tile, Tiler};
pub use tuple::{Coord, IntTuple, Leaves, Shape, Stride, Tuple};
pub use tv::{Along, Element, Owner, ThreadBit, TvError, TvLayout};
