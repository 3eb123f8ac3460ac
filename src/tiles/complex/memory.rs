//! Complex vectors and matrices in global memory.

use super::{Cgl, CglTile, Complex, Crt, Crv};
use crate::{
    ptx::{ReadWrite, Readable, Scope, Val, Writable},
    tensor::{AtomicElement, TensorElement},
    tiles::{
        allocate::Filled, convert::Convert, element::RegisterLayout, fill::GlTileOr, gl::Batch, st::St,
        sv::Sv, swizzle::SharedSwizzle, vector_layout::VectorLayout,
    },
};

impl<'k, T: TensorElement, A, const R: usize> Cgl<'k, T, A, R> {
    by_reference! {
        batch "Returns the matrix at the given coordinates along all axes except the last two" "Gl" [B: Batch<'k, R> + Copy] (at: B) -> Cgl<'k, T, A>;
        permuted "Returns a view of the same elements with the axes in another order" "Gl" (order: [usize; R]) -> Self;
    }
}

impl<'k, T: TensorElement, A> Cgl<'k, T, A> {
    by_reference! {
        tile "Returns tile (`row`, `col`), where `row` and `col` are in units of tiles" "Gl" (row: impl Into<Val<'k, u32>> + Copy, col: impl Into<Val<'k, u32>> + Copy) -> CglTile<'k, T, A>;
        tile_at "Returns the tile that starts at element (`row`, `col`)" "Gl" (row: impl Into<Val<'k, u32>> + Copy, col: impl Into<Val<'k, u32>> + Copy) -> CglTile<'k, T, A>;
        tile_of "Returns this warp's tile within the larger tile (`row`, `col`), whose rows are divided among the warps of `scope`" "Gl" (scope: impl Scope<'k>, row: impl Into<Val<'k, u32>> + Copy, col: impl Into<Val<'k, u32>> + Copy) -> CglTile<'k, T, A>;
        transposed "Returns the transpose, without conjugation" "Gl" () -> Self;
        row "Returns a row as a vector" "Gl" (row: impl Into<Val<'k, u32>> + Copy) -> Cgl<'k, T, A, 1>;
        col "Returns a column as a vector" "Gl" (col: impl Into<Val<'k, u32>> + Copy) -> Cgl<'k, T, A, 1>;
        skip "Returns the matrix without its first `rows` rows and its first `cols` columns" "Gl" (rows: impl Into<Val<'k, u32>> + Copy, cols: impl Into<Val<'k, u32>> + Copy) -> Self;
    }

    /// Returns the `rows`×`cols` submatrix that starts at element (`row`, `col`), as [`Gl::sub_matrix`](crate::tiles::Gl::sub_matrix) does.
    #[must_use]
    #[track_caller]
    pub fn sub_matrix(
        &self,
        (row, col): (impl Into<Val<'k, u32>>, impl Into<Val<'k, u32>>),
        (rows, cols): (impl Into<Val<'k, u32>>, impl Into<Val<'k, u32>>),
    ) -> Self {
        let (start, size) = ((row.into(), col.into()), (rows.into(), cols.into()));
        Complex { re: self.re.sub_matrix(start, size), im: self.im.sub_matrix(start, size) }
    }
}

impl<'k, T: TensorElement, A> Cgl<'k, T, A, 1> {
    by_reference! {
        tile "Returns tile `index`" "Gl" (index: impl Into<Val<'k, u32>> + Copy) -> CglTile<'k, T, A, 1>;
        tile_at "Returns the tile that starts at element `start`" "Gl" (start: impl Into<Val<'k, u32>> + Copy) -> CglTile<'k, T, A, 1>;
        tile_of "Returns this warp's tile within the larger tile `index`, which consists of one tile per warp of `scope`" "Gl" (scope: impl Scope<'k>, index: impl Into<Val<'k, u32>> + Copy) -> CglTile<'k, T, A, 1>;
    }
}

impl<'k, T: TensorElement, A, const R: usize> CglTile<'k, T, A, R> {
    /// Returns a view of the tile in which elements past the edges are read as `re` + i · `im`; see
    /// [`GlTile::or`](crate::tiles::GlTile::or).
    #[must_use]
    pub fn or(self, re: T, im: T) -> Complex<GlTileOr<'k, T, A, R>> {
        Complex { re: self.re.or(re), im: self.im.or(im) }
    }
}

impl<'k, T: TensorElement, A: Readable> CglTile<'k, T, A> {
    by_value! {
        load "Loads both parts and converts their elements" "GlTile" [U: TensorElement, const H: usize, const W: usize, L: RegisterLayout] () -> Crt<'k, U, H, W, L> where [T: Convert<U>];
    }

    /// Loads both parts as [`load`](Self::load) does, but reads elements past the edges of the matrix as `re` + i · `im`.
    #[track_caller]
    pub fn load_or<U, const H: usize, const W: usize, L>(self, re: U, im: U) -> Crt<'k, U, H, W, L>
    where
        T: Convert<U>,
        U: TensorElement,
        L: RegisterLayout,
    {
        Complex { re: self.re.load_or(re), im: self.im.load_or(im) }
    }
}

impl<'k, T: TensorElement, A: Readable> CglTile<'k, T, A, 1> {
    by_value! {
        load "Loads both parts of a vector and converts their elements" "GlTile" [U: TensorElement, const N: usize, V: VectorLayout] () -> Crv<'k, U, N, V> where [T: Convert<U>];
    }

    /// Loads both parts of a vector as [`load`](Self::load) does, but reads elements past the end of the vector as `re` + i · `im`.
    #[track_caller]
    pub fn load_or<U, const N: usize, V>(self, re: U, im: U) -> Crv<'k, U, N, V>
    where
        T: Convert<U>,
        U: TensorElement,
        V: VectorLayout,
    {
        Complex { re: self.re.load_or(re), im: self.im.load_or(im) }
    }
}

impl<'k, T: TensorElement, A: Writable> CglTile<'k, T, A> {
    /// Converts the elements of both parts and stores them, as [`GlTile::store`](crate::tiles::GlTile::store) does.
    #[track_caller]
    pub fn store<U, const H: usize, const W: usize, L>(self, tile: &Crt<'k, U, H, W, L>)
    where
        U: Convert<T>,
        L: RegisterLayout,
    {
        self.re.store(&tile.re);
        self.im.store(&tile.im);
    }

    /// Stores a shared tile to this tile of the matrix, as [`GlTile::store_shared`](crate::tiles::GlTile::store_shared) does. All threads
    /// of the scope that owns the shared tile (by default, the block) must take part.
    #[track_caller]
    pub fn store_shared<const H: usize, const W: usize, S: SharedSwizzle>(
        self,
        tile: &Complex<Filled<St<'k, T, H, W, S>>>,
    ) {
        self.re.store_shared(&tile.re);
        self.im.store_shared(&tile.im);
    }
}

impl<'k, T: TensorElement, A: Writable> CglTile<'k, T, A, 1> {
    /// Converts the elements of both parts of a vector and stores them; elements past the end are not written.
    #[track_caller]
    pub fn store<U, const N: usize, V>(self, vector: &Crv<'k, U, N, V>)
    where
        U: Convert<T>,
        V: VectorLayout,
    {
        self.re.store(&vector.re);
        self.im.store(&vector.im);
    }

    /// Stores a shared vector to this tile of the vector in global memory; elements past the end are not written. All threads of the scope
    /// that owns the shared vector (by default, the block) must take part.
    #[track_caller]
    pub fn store_shared<const N: usize>(self, vector: &Complex<Filled<Sv<'k, T, N>>>) {
        self.re.store_shared(&vector.re);
        self.im.store_shared(&vector.im);
    }
}

impl<'k, T: AtomicElement> CglTile<'k, T, ReadWrite> {
    /// Adds a register tile to this tile of the matrix, as [`GlTile::add`](crate::tiles::GlTile::add) does. The real and imaginary parts of
    /// an element are added by separate atomic operations.
    #[doc(alias = "red")]
    #[track_caller]
    pub fn add<const H: usize, const W: usize, L: RegisterLayout>(self, tile: &Crt<'k, T, H, W, L>) {
        self.re.add(&tile.re);
        self.im.add(&tile.im);
    }
}

impl<'k, T: AtomicElement> CglTile<'k, T, ReadWrite, 1> {
    /// Adds a register vector to this tile of the vector in global memory. The real and imaginary parts of an element are added by separate
    /// atomic operations.
    #[doc(alias = "red")]
    #[track_caller]
    pub fn add<const N: usize, V: VectorLayout>(self, vector: &Crv<'k, T, N, V>) {
        self.re.add(&vector.re);
        self.im.add(&vector.im);
    }
}
