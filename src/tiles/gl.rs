//! Vectors, matrices and batches of matrices in global memory, with static or dynamic extents and strides.

use std::fmt;

use super::gl_layout::GlLayout;
use crate::{
    layout::Tiler,
    ptx::{Builder, CheckedPtr, Global, Ptr, Scope, Val, sealed::Sealed},
    tensor::{Indices, Tensor, TensorElement, coordinate},
};

/// A tensor of rank `R` in global memory; by default, a matrix with the axes `(row, col)`.
///
/// A vector has rank 1. In a tensor of rank 3 to 5, the last two axes are the rows and columns of matrices, and [`batch`](Self::batch)
/// selects one of these matrices.
///
/// Offsets and strides are 64 bits wide where necessary, so a matrix may have more than 2³² elements.
#[doc(alias = "gl1")]
#[doc(alias = "gl2")]
#[doc(alias = "gl3")]
#[doc(alias = "gl")]
pub struct Gl<'k, T: TensorElement, A, const R: usize = 2> {
    tensor: Tensor<'k, Global, T, A>,
}

/// A tile of a matrix or vector in global memory.
///
/// It has the size of the register or shared tile (or vector) that is loaded from or stored to it. Out-of-bounds elements are read as zero,
/// or as another value if one is given, and are never written.
pub struct GlTile<'k, T: TensorElement, A, const R: usize = 2> {
    tensor: Tensor<'k, Global, T, A>,
    /// The coordinates, in units of tiles.
    at: [Val<'k, u32>; R],
}

impl<T: TensorElement, A, const R: usize> Sealed for GlTile<'_, T, A, R> {}

impl<T: TensorElement, A, const R: usize> Clone for Gl<'_, T, A, R> {
    fn clone(&self) -> Self {
        Self { tensor: self.tensor.clone() }
    }
}

impl<T: TensorElement, A, const R: usize> Clone for GlTile<'_, T, A, R> {
    fn clone(&self) -> Self {
        Self { tensor: self.tensor.clone(), ..*self }
    }
}

impl<T: TensorElement, A, const R: usize> fmt::Debug for Gl<'_, T, A, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Gl {:?}", self.tensor)
    }
}

impl<T: TensorElement, A, const R: usize> fmt::Debug for GlTile<'_, T, A, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tile {:?} of {:?}", self.at, self.tensor)
    }
}

impl<'k> Builder<'k> {
    /// Returns a view of a buffer parameter as a tensor.
    ///
    /// `k.global(a, row_major(m, n))` returns a matrix, `k.global(bias, vector(n))` a vector, and
    /// `k.global(q, contiguous([batches, heads, m, n]))` a batch of matrices. Each launch checks that the buffer is large enough for the
    /// tensor.
    ///
    /// The builder rejects the call in the same cases as [`tensor`](Self::tensor).
    #[track_caller]
    #[doc(alias = "make_gl")]
    pub fn global<T: TensorElement, A, const R: usize>(
        self,
        pointer: Ptr<'k, T, Global, A>,
        layout: GlLayout<'k, R>,
    ) -> Gl<'k, T, A, R> {
        let strides = layout.strides();
        Gl { tensor: self.tensor_with_strides(pointer, layout.extents, strides) }
    }
}

impl<'k, T: TensorElement, A, const R: usize> Gl<'k, T, A, R> {
    /// Returns this view as a [`Tensor`] of rank `R`. Predicates disable accesses past its edges.
    #[must_use]
    pub fn tensor(&self) -> Tensor<'k, Global, T, A> {
        self.tensor.clone()
    }

    /// Returns a view of the same elements with the axes in a different order: axis `order[i]` becomes axis
    /// `i`. No instructions are emitted. For example, the order `[0, 2, 1, 3]` changes the axes
    /// `[batches, rows, heads, cols]` to `[batches, heads, rows, cols]`.
    ///
    /// The builder rejects the call if `order` is not a permutation.
    #[doc(alias = "axis")]
    #[must_use]
    #[track_caller]
    pub fn permuted(&self, order: [usize; R]) -> Self {
        if (0..R).any(|axis| !order.contains(&axis)) {
            self.tensor
                .kernel()
                .refuse(format!("expected a permutation of the axes 0 to {}, found {order:?}", R - 1));
        }
        Gl { tensor: self.tensor.with_modes(&order) }
    }

    /// Returns the matrix at the given coordinates along all axes except the last two: `q.batch((b, h))`. If a coordinate is out of bounds,
    /// so are all elements of the matrix.
    #[must_use]
    #[track_caller]
    pub fn batch<B: Batch<'k, R>>(&self, at: B) -> Gl<'k, T, A> {
        let mut tensor = self.tensor.clone();
        for at in at.coordinates() {
            tensor = tensor.first_mode_at(at);
        }
        Gl { tensor }
    }
}

/// Only this crate implements the public traits.
mod sealed {
    pub trait Batch<'k, const R: usize> {}
}

/// The coordinates of a matrix in a tensor of rank `R`: one integer for rank 3, a tuple of two for rank 4, or a tuple of three for rank 5.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not select a matrix of a tensor of rank {R}",
    note = "a tensor of rank 3 takes one number, of rank 4 a tuple of two, of rank 5 a tuple of three"
)]
pub trait Batch<'k, const R: usize>: sealed::Batch<'k, R> {
    #[doc(hidden)]
    fn coordinates(self) -> Vec<Val<'k, u32>>;
}

impl<'k, B: Into<Val<'k, u32>>> sealed::Batch<'k, 3> for B {}
impl<'k, B: Into<Val<'k, u32>>> Batch<'k, 3> for B {
    fn coordinates(self) -> Vec<Val<'k, u32>> {
        vec![self.into()]
    }
}

impl<'k, B: Into<Val<'k, u32>>, H: Into<Val<'k, u32>>> sealed::Batch<'k, 4> for (B, H) {}
impl<'k, B: Into<Val<'k, u32>>, H: Into<Val<'k, u32>>> Batch<'k, 4> for (B, H) {
    fn coordinates(self) -> Vec<Val<'k, u32>> {
        vec![self.0.into(), self.1.into()]
    }
}

impl<'k, B: Into<Val<'k, u32>>, H: Into<Val<'k, u32>>, D: Into<Val<'k, u32>>> sealed::Batch<'k, 5>
    for (B, H, D)
{
}
impl<'k, B: Into<Val<'k, u32>>, H: Into<Val<'k, u32>>, D: Into<Val<'k, u32>>> Batch<'k, 5> for (B, H, D) {
    fn coordinates(self) -> Vec<Val<'k, u32>> {
        vec![self.0.into(), self.1.into(), self.2.into()]
    }
}

impl<'k, T: TensorElement, A> Gl<'k, T, A> {
    /// Returns tile (`row`, `col`), which starts at element (`row` · tile height, `col` · tile width).
    #[doc(alias = "coord")]
    pub fn tile(&self, row: impl Into<Val<'k, u32>>, col: impl Into<Val<'k, u32>>) -> GlTile<'k, T, A> {
        GlTile { tensor: self.tensor.clone(), at: [row.into(), col.into()] }
    }

    /// Returns the tile that starts at element (`row`, `col`).
    #[track_caller]
    #[doc(alias = "unit_coord")]
    pub fn tile_at(&self, row: impl Into<Val<'k, u32>>, col: impl Into<Val<'k, u32>>) -> GlTile<'k, T, A> {
        GlTile { tensor: self.tensor.starting_at(&[row.into(), col.into()]), at: [0.into(); 2] }
    }

    /// Returns this warp's tile within the larger tile (`row`, `col`), whose rows are divided among the warps of `scope`.
    ///
    /// The larger tile consists of one register tile per warp, stacked from top to bottom in warp order.
    ///
    /// For example, `d.tile_of(block, i, j).store(&acc)` stores a separate tile for each warp of the block.
    #[track_caller]
    pub fn tile_of(
        &self,
        scope: impl Scope<'k>,
        row: impl Into<Val<'k, u32>>,
        col: impl Into<Val<'k, u32>>,
    ) -> GlTile<'k, T, A> {
        let (warp, count) = self.tensor.kernel().warp_of(scope);
        self.tile(row.into() * count + warp, col)
    }

    /// Returns a pointer to element (`row`, `col`). Accesses through the pointer are disabled if the element is out of bounds.
    #[track_caller]
    pub fn at(
        &self,
        row: impl Into<Val<'k, u32>>,
        col: impl Into<Val<'k, u32>>,
    ) -> CheckedPtr<'k, T, Global, A> {
        self.tensor.at_coord(&[row.into(), col.into()])
    }

    /// Returns row `row` as a vector. If `row` is out of bounds, so are all elements of the vector.
    #[must_use]
    #[track_caller]
    pub fn row(&self, row: impl Into<Val<'k, u32>>) -> Gl<'k, T, A, 1> {
        Gl { tensor: self.tensor.first_mode_at(row.into()) }
    }

    /// Returns column `col` as a vector. If `col` is out of bounds, so are all elements of the vector.
    #[must_use]
    #[track_caller]
    pub fn col(&self, col: impl Into<Val<'k, u32>>) -> Gl<'k, T, A, 1> {
        self.transposed().row(col)
    }

    /// Returns the transpose, a view of the same elements with rows and columns exchanged. No instructions are emitted.
    #[must_use]
    pub fn transposed(&self) -> Self {
        Gl { tensor: self.tensor.with_modes(&[1, 0]) }
    }

    /// Returns the matrix without its first `rows` rows and its first `cols` columns.
    #[must_use]
    #[track_caller]
    pub fn skip(&self, rows: impl Into<Val<'k, u32>>, cols: impl Into<Val<'k, u32>>) -> Self {
        Gl { tensor: self.tensor.starting_at(&[rows.into(), cols.into()]) }
    }

    /// Returns the `rows`×`cols` submatrix that starts at element `(row, col)`; elements outside the submatrix are treated as out of
    /// bounds.
    #[doc(alias = "subview")]
    #[must_use]
    #[track_caller]
    pub fn sub_matrix(
        &self,
        (row, col): (impl Into<Val<'k, u32>>, impl Into<Val<'k, u32>>),
        (rows, cols): (impl Into<Val<'k, u32>>, impl Into<Val<'k, u32>>),
    ) -> Self {
        let start = self.tensor.starting_at(&[row.into(), col.into()]);
        Gl { tensor: start.narrowed(&[rows.into(), cols.into()]) }
    }
}

impl<'k, T: TensorElement, A> Gl<'k, T, A, 1> {
    /// Returns tile `index`, which starts at element `index` · tile length.
    pub fn tile(&self, index: impl Into<Val<'k, u32>>) -> GlTile<'k, T, A, 1> {
        GlTile { tensor: self.tensor.clone(), at: [index.into()] }
    }

    /// Returns this warp's tile within the larger tile `index`, which consists of one register vector per warp of `scope`, in warp order.
    #[track_caller]
    pub fn tile_of(&self, scope: impl Scope<'k>, index: impl Into<Val<'k, u32>>) -> GlTile<'k, T, A, 1> {
        let (warp, count) = self.tensor.kernel().warp_of(scope);
        self.tile(index.into() * count + warp)
    }

    /// Returns the tile that starts at element `start`.
    #[track_caller]
    pub fn tile_at(&self, start: impl Into<Val<'k, u32>>) -> GlTile<'k, T, A, 1> {
        GlTile { tensor: self.tensor.starting_at(&[start.into()]), at: [0.into()] }
    }

    /// Returns a pointer to element `index`. Accesses through the pointer are disabled if the element is out of bounds.
    #[track_caller]
    pub fn at(&self, index: impl Into<Val<'k, u32>>) -> CheckedPtr<'k, T, Global, A> {
        self.tensor.at_coord(&[index.into()])
    }
}

impl<'k, T: TensorElement, A> GlTile<'k, T, A> {
    /// Returns the subtensor that starts at this tile; `size` is the size of the tile in rows and columns.
    #[track_caller]
    pub(super) fn view(&self, size: [u32; 2]) -> Tensor<'k, Global, T, A> {
        self.tensor
            .starting_at(&[coordinate(self.at[0], size[0].into()), coordinate(self.at[1], size[1].into())])
    }
}

impl<'k, T: TensorElement, A, const R: usize> GlTile<'k, T, A, R> {
    pub(super) fn kernel(&self) -> Builder<'k> {
        self.tensor.kernel()
    }

    /// Returns the tile as a tensor with the given extents.
    #[track_caller]
    pub(super) fn tensor(&self, extents: [u32; R]) -> Tensor<'k, Global, T, A> {
        self.tensor.local_tile(
            extents.into_iter().map(Tiler::from).collect::<Tiler>(),
            self.at.into_iter().map(Indices::from).collect::<Indices<'k>>(),
        )
    }
}
