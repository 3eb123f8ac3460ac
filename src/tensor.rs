//! Tensors: memory or registers with a layout, tiled over blocks, threads and instructions.
//!
//! The terminology follows CuTe and the Julia package MoYe. [`local_tile`] divides a layout among blocks, and [`local_partition`] divides a
//! layout among threads; a [`TiledCopy`] or [`TiledMma`] repeats one instruction over threads and values. Partitions, tiled copies and
//! tiled MMAs are values that can be queried, printed and checked without a kernel.
#![forbid(unsafe_code)]

mod access;
mod accumulate;
mod bounds;
mod boxes;
mod conflicts;
mod construct;
mod copy;
mod element;
mod elementwise;
mod error;
mod fragment;
mod gemm;
mod index;
mod lanes;
mod local;
mod make;
mod matrices;
mod matrix_moves;
mod memory;
mod moved;
mod moves;
mod offset;
mod outline;
mod partition;
mod pending;
mod predicate;
mod realign;
mod sides;
mod slice;
mod space;
mod staged;
mod step;
mod stride;
mod tiled;
mod tiled_copy;
mod tiled_mma;
mod unaligned;
mod views;
mod walk;

pub use accumulate::AtomicElement;
pub(crate) use accumulate::{add_global, add_shared};
pub(crate) use boxes::{Boxes, RowEnds};
pub use construct::SharedLayout;
pub use copy::{copy, copy_if};
pub(crate) use copy::{copy_issued, copy_or};
pub use element::{
    Arithmetic, Computed, ConvertibleElement, FloatElement, Length16, Length32, MappedElement, SubtileLength,
    TensorElement,
};
pub(crate) use element::{SUBTILE_SIDE, bytes_of, element_types, splat, splat_value};
pub use elementwise::{Elements, ReadElements, WriteElements, axpby, fill, sum, transform};
pub use error::TensorError;
pub use fragment::Fragment;
pub(crate) use fragment::{in_order, words_of};
pub use gemm::{GemmFactor, gemm};
pub use index::{Index, Indices};
pub use local::{local_partition, local_partition_projected, local_tile, local_tile_projected};
pub use matrices::{load_matrices, store_matrices};
pub use memory::Tensor;
pub(crate) use moved::{coordinate, divide};
pub use partition::Partition;
#[doc(hidden)]
pub use pending::Leased;
pub use pending::Pending;
pub use predicate::Predicates;
pub(crate) use predicate::zero;
pub use sides::{Destination, Source};
pub use space::TensorSpace;
pub(crate) use staged::{Groups, RowToStage, StagedRow};
pub use stride::Stride;
pub use tiled::{CopyThread, MmaThread, copy_tiled};
pub use tiled_copy::{CopyThreadLayout, TiledCopy};
pub use tiled_mma::{MmaThreadLayout, TiledMma};
pub(crate) use unaligned::{UnalignedGroups, UnalignedRow};
