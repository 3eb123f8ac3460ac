//! Tiles: matrices in registers, shared memory and global memory, and operations on them.
//!
//! An [`Rt`] is distributed over the registers of a warp, an [`St`] is stored in the shared memory of a block, and a [`Gl`] is a matrix of
//! any size in global memory. The type system checks shapes, element types and layouts.
//!
//! The sizes of register and shared tiles are given in subtiles of 16×16 elements. For 8-bit elements, a subtile has 16×32 elements, or
//! 32×16 in a register tile with column layout.
#![forbid(unsafe_code)]

mod all_reduce;
mod allocate;
mod atomics;
mod blocks;
mod broadcast;
mod by_register;
mod complex;
mod convert;
mod coordinates;
mod element;
mod elements;
mod exchange;
mod extremes;
mod extremes_over;
mod fill;
mod functions;
mod gather;
mod gathered;
mod gl;
mod gl_layout;
mod global_copies;
mod hopper;
mod line_predicates;
mod maps;
mod masks;
mod mma;
mod operand;
mod operators;
mod parts;
mod pipeline;
mod random;
mod reduce;
mod registers;
mod remote;
mod rt;
mod saturating;
mod scan;
mod scope;
mod scope_reduce;
mod shared_copies;
mod shared_maps;
mod shared_reduce;
pub mod sizes;
mod sparse;
mod sparse_matrix;
mod sparse_mma;
mod st;
mod stages;
mod stochastic;
mod stripes;
mod sv;
mod swizzle;
mod transpose;
mod vector;
mod vector_convert;
mod vector_layout;
mod widen;

pub use allocate::{Allocate, Filled, Owner, Pending};
pub use atomics::Adding;
pub(crate) use by_register::RegisterOutbox;
pub use complex::{Cgl, CglTile, Complex, ComplexOperand, Crt, Crv, Cst, Csv};
pub use convert::Convert;
pub use element::{Col, RegisterLayout, Row};
pub use fill::GlTileOr;
pub use gl::{Batch, Gl, GlTile};
pub use gl_layout::{GlLayout, col_major, contiguous, row_major, vector};
pub(crate) use hopper::Source;
pub use hopper::{
    Accumulators, AllToAll, Assembly, Baton, BoxSource, BoxSources, Consumer, Consumers, Contribution,
    EmptyStage, FillingStage, FirstRows, Footprint, Frozen, InFlight, Joined, LeftFactor, Multicast, Outbox,
    Part, Persistent, Producer, ProducerRole, Received, ReduceScatter, Ring, Schedule, SharedFactor,
    SharedMatrix, Sharing, Turn, Turns, consumers, producer,
};
pub use mma::Product;
pub use operand::Elementwise;
pub use pipeline::{Filling, Pipeline, Stage};
pub(crate) use random::DropoutRule;
pub use random::{Random, RandomTile};
pub use reduce::Accumulate;
pub use registers::Distributed;
pub use remote::{ClusterTiles, RemoteSt, RemoteStMut};
pub use rt::{Fill, Rt};
pub use saturating::SaturatingElement;
pub use shared_copies::{Storing, Subtile, SubtileMut};
pub use shared_maps::{SubtileUpdate, Updating};
pub use sparse::{SparseElement, SparseGl, SparseGlTile, SparseRt};
pub use sparse_matrix::{NotSparse, SparseMatrix};
pub use sparse_mma::SparseProduct;
pub use st::St;
pub use stages::{SourceOf, Sources, StageTile, StageTiles};
pub use stochastic::StochasticElement;
pub use stripes::{Striped, Stripes};
pub use sv::{StoringVector, Subvector, SubvectorMut, Sv};
pub use swizzle::{Auto, Padded, Plain, SharedSwizzle, Swizzle32, Swizzle64, Swizzle128, shared_layout};
pub use transpose::SquareSubtiles;
pub use vector::{ColVec, RowVec, Rv};
pub use vector_layout::{Aligned, Broadcast, Naive, Orthogonal, VectorLayout};

pub use crate::tensor::{Length16, Length32, MappedElement, SubtileLength};
