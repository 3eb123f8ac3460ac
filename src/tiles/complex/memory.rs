//! Complex vectors and matrices in global memory.

use super::{Crt, Crv, Cst, Csv};
use crate::{
    ptx::{Readable, Scope, Val, Writable},
    tensor::TensorElement,
    tiles::{
        allocate::Filled,
        convert::Convert,
        element::RegisterLayout,
        gl::{Batch, Gl, GlTile},
        swizzle::SharedSwizzle,
        vector_layout::VectorLayout,
    },
};

/// A complex tensor of rank `R` in global memory, by default a matrix: two tensors of the same size.
#[doc(alias = "cgl")]
#[derive(Clone, Debug)]
pub struct Cgl<'k, T: TensorElement, A, const R: usize = 2> {
    /// The real parts.
    pub re: Gl<'k, T, A, R>,
    /// The imaginary parts.
    pub im: Gl<'k, T, A, R>,
}

/// A tile of a complex matrix or vector in global memory.
#[derive(Clone, Debug)]
pub struct CglTile<'k, T: TensorElement, A, const R: usize = 2> {
    pub(super) re: GlTile<'k, T, A, R>,
    pub(super) im: GlTile<'k, T, A, R>,
}

impl<'k, T: TensorElement, A, const R: usize> Cgl<'k, T, A, R> {
    /// Returns the matrix at the coordinates of all axes but the last two, like [`Gl::batch`].
    #[must_use]
    #[track_caller]
    pub fn batch<B: Batch<'k, R> + Copy>(&self, at: B) -> Cgl<'k, T, A> {
        Cgl { re: self.re.batch(at), im: self.im.batch(at) }
    }
}

impl<'k, T: TensorElement, A> Cgl<'k, T, A> {
    /// Returns the tile at (`row`, `col`), in units of tiles, like [`Gl::tile`].
    pub fn tile(&self, row: impl Into<Val<'k, u32>>, col: impl Into<Val<'k, u32>>) -> CglTile<'k, T, A> {
        let (row, col) = (row.into(), col.into());
        CglTile { re: self.re.tile(row, col), im: self.im.tile(row, col) }
    }

    /// Returns the tile that starts at element (`row`, `col`), like [`Gl::tile_at`].
    #[track_caller]
    pub fn tile_at(&self, row: impl Into<Val<'k, u32>>, col: impl Into<Val<'k, u32>>) -> CglTile<'k, T, A> {
        let (row, col) = (row.into(), col.into());
        CglTile { re: self.re.tile_at(row, col), im: self.im.tile_at(row, col) }
    }

    /// Returns this warp's part of the scope's tile (`row`, `col`), like [`Gl::tile_of`].
    #[track_caller]
    pub fn tile_of(
        &self,
        scope: impl Scope<'k>,
        row: impl Into<Val<'k, u32>>,
        col: impl Into<Val<'k, u32>>,
    ) -> CglTile<'k, T, A> {
        let (row, col) = (row.into(), col.into());
        CglTile { re: self.re.tile_of(scope, row, col), im: self.im.tile_of(scope, row, col) }
    }

    /// Returns the transpose, without conjugation, like [`Gl::transposed`].
    #[must_use]
    pub fn transposed(&self) -> Self {
        Cgl { re: self.re.transposed(), im: self.im.transposed() }
    }

    /// Returns a row as a vector, like [`Gl::row`].
    #[must_use]
    #[track_caller]
    pub fn row(&self, row: impl Into<Val<'k, u32>>) -> Cgl<'k, T, A, 1> {
        let row = row.into();
        Cgl { re: self.re.row(row), im: self.im.row(row) }
    }

    /// Returns a column as a vector, like [`Gl::col`].
    #[must_use]
    #[track_caller]
    pub fn col(&self, col: impl Into<Val<'k, u32>>) -> Cgl<'k, T, A, 1> {
        let col = col.into();
        Cgl { re: self.re.col(col), im: self.im.col(col) }
    }
}

impl<'k, T: TensorElement, A> Cgl<'k, T, A, 1> {
    /// Returns tile `index`, like [`Gl::tile`](Gl#method.tile-1).
    pub fn tile(&self, index: impl Into<Val<'k, u32>>) -> CglTile<'k, T, A, 1> {
        let index = index.into();
        CglTile { re: self.re.tile(index), im: self.im.tile(index) }
    }
}

impl<'k, T: TensorElement, A: Readable> CglTile<'k, T, A> {
    /// Loads both parts and converts their elements, like [`GlTile::load`].
    #[track_caller]
    pub fn load<U, const H: usize, const W: usize, L>(self) -> Crt<'k, U, H, W, L>
    where
        T: Convert<U>,
        U: TensorElement,
        L: RegisterLayout,
    {
        Crt { re: self.re.load(), im: self.im.load() }
    }

    /// Loads both parts like [`load`](Self::load); elements past the matrix's edges are the number `re` + i · `im`.
    #[track_caller]
    pub fn load_or<U, const H: usize, const W: usize, L>(self, re: U, im: U) -> Crt<'k, U, H, W, L>
    where
        T: Convert<U>,
        U: TensorElement,
        L: RegisterLayout,
    {
        Crt { re: self.re.load_or(re), im: self.im.load_or(im) }
    }
}

impl<'k, T: TensorElement, A: Readable> CglTile<'k, T, A, 1> {
    /// Loads both parts of a vector and converts their elements; elements past the end are 0.
    #[track_caller]
    pub fn load<U, const N: usize, V>(self) -> Crv<'k, U, N, V>
    where
        T: Convert<U>,
        U: TensorElement,
        V: VectorLayout,
    {
        Crv { re: self.re.load(), im: self.im.load() }
    }

    /// Loads both parts of a vector like [`load`](Self::load); elements past the end are the number `re` + i · `im`.
    #[track_caller]
    pub fn load_or<U, const N: usize, V>(self, re: U, im: U) -> Crv<'k, U, N, V>
    where
        T: Convert<U>,
        U: TensorElement,
        V: VectorLayout,
    {
        Crv { re: self.re.load_or(re), im: self.im.load_or(im) }
    }
}

impl<'k, T: TensorElement, A: Writable> CglTile<'k, T, A> {
    /// Stores both parts and converts their elements, like [`GlTile::store`].
    #[track_caller]
    pub fn store<U, const H: usize, const W: usize, L>(self, tile: &Crt<'k, U, H, W, L>)
    where
        U: Convert<T>,
        L: RegisterLayout,
    {
        self.re.store(&tile.re);
        self.im.store(&tile.im);
    }

    /// Stores a shared tile with all threads of the block, like [`GlTile::store_shared`].
    #[track_caller]
    pub fn store_shared<const H: usize, const W: usize, S: SharedSwizzle>(
        self,
        tile: &Filled<Cst<'k, T, H, W, S>>,
    ) {
        self.re.write_out(&tile.tile.re);
        self.im.write_out(&tile.tile.im);
    }
}

impl<'k, T: TensorElement, A: Writable> CglTile<'k, T, A, 1> {
    /// Stores both parts of a vector and converts their elements; elements past the end are not written.
    #[track_caller]
    pub fn store<U, const N: usize, V>(self, vector: &Crv<'k, U, N, V>)
    where
        U: Convert<T>,
        V: VectorLayout,
    {
        self.re.store(&vector.re);
        self.im.store(&vector.im);
    }

    /// Stores a shared vector with all threads of the block.
    #[track_caller]
    pub fn store_shared<const N: usize>(self, vector: &Filled<Csv<'k, T, N>>) {
        self.re.write_out(&vector.tile.re);
        self.im.write_out(&vector.tile.im);
    }
}
