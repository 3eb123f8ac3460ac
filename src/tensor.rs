//! Tensors: memory or registers seen through a layout, tiled over blocks, threads and instructions.
//!
//! The vocabulary is CuTe's and MoYe's. [`local_tile`] and [`local_partition`] cut a layout by block and by thread; a [`TiledCopy`]
//! and a [`TiledMma`] repeat one instruction over threads and values. All of these are values that can be asked, printed and
//! checked without a kernel.
#![forbid(unsafe_code)]

mod access;
mod bounds;
mod construct;
mod copy;
mod element;
mod elementwise;
mod error;
mod fragment;
mod gemm;
mod local;
mod make;
mod matrices;
mod memory;
mod moved;
mod moves;
mod operand;
mod partition;
mod pending;
mod pick;
mod predicate;
mod slice;
mod space;
mod tiled;
mod tiled_copy;
mod tiled_mma;

pub use construct::SharedLayout;
pub use copy::{Destination, Source, copy, copy_if};
pub use element::TensorElement;
pub use elementwise::{Elements, ReadElements, WriteElements, axpby, fill, sum, transform};
pub use error::TensorError;
pub use fragment::Fragment;
pub use gemm::{GemmFactor, gemm};
pub use local::{local_partition, local_partition_projected, local_tile, local_tile_projected};
pub use matrices::{load_matrices, store_matrices};
pub use memory::Tensor;
pub use partition::Partition;
pub use pending::{Arrived, Pending};
pub use pick::{Pick, Picks};
pub use predicate::Predicates;
pub use space::TensorSpace;
pub use tiled::{ThreadCopy, ThreadMma, copy_tiled};
pub use tiled_copy::{ThrCopy, TiledCopy};
pub use tiled_mma::{ThrMma, TiledMma};
