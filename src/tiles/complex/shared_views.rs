//! Views of complex tiles and vectors in shared memory, from which register tiles and vectors are loaded and to which they are stored.

use std::panic::Location;

use super::{Complex, Crt, Crv, Csv};
use crate::{
    ptx::{Scope, Val},
    tensor::{AtomicElement, TensorElement},
    tiles::{
        allocate::{Filled, Pending},
        atomics::Adding,
        convert::Convert,
        element::RegisterLayout,
        reduce::Accumulate,
        shared_copies::{Storing, Subtile, SubtileMut},
        shared_maps::{SubtileUpdate, Updating, replace_part},
        st::St,
        sv::{StoringVector, Subvector, SubvectorMut, Sv},
        swizzle::SharedSwizzle,
        vector_layout::VectorLayout,
    },
};

impl<'k, T: TensorElement, const H: usize, const W: usize, S: SharedSwizzle>
    Complex<Filled<St<'k, T, H, W, S>>>
{
    by_reference! {
        load "Loads the whole tile into registers" "Filled" [L: RegisterLayout] () -> Crt<'k, T, H, W, L>;
        load_as "Loads the whole tile into registers and converts its elements" "Filled" [U: TensorElement, L: RegisterLayout] () -> Crt<'k, U, H, W, L> where [T: Convert<U>];
        subtile "Returns the rectangle that starts at subtile (`row`, `col`)" "Filled" (row: impl Into<Val<'k, u32>> + Copy, col: impl Into<Val<'k, u32>> + Copy) -> Complex<Subtile<'_, 'k, T>>;
        tile_of "Returns this warp's share of the tile's rows, which are divided evenly among the warps of `scope`" "Filled" (scope: impl Scope<'k>) -> Complex<Subtile<'_, 'k, T>>;
        row "Returns a row of the tile" "Filled" (row: impl Into<Val<'k, u32>> + Copy) -> Complex<Subvector<'_, 'k, T>>;
        col "Returns a column of the tile" "Filled" (col: impl Into<Val<'k, u32>> + Copy) -> Complex<Subvector<'_, 'k, T>>;
        sum "Returns the sum of all elements, the same in all threads of the scope that owns the tile (by default, the block)" "Filled" () -> Complex<Val<'k, T::Sum>> where [T: Accumulate];
    }
}

impl<'k, T: TensorElement, const N: usize> Complex<Filled<Sv<'k, T, N>>> {
    by_reference! {
        load "Loads the whole vector into registers" "Filled" [V: VectorLayout] () -> Crv<'k, T, N, V>;
        load_as "Loads the whole vector into registers and converts its elements" "Filled" [U: TensorElement, V: VectorLayout] () -> Crv<'k, U, N, V> where [T: Convert<U>];
        tile "Returns subvector `index` of the vector" "Filled" (index: impl Into<Val<'k, u32>> + Copy) -> Complex<Subvector<'_, 'k, T>>;
        sum "Returns the sum of all elements" "Filled" () -> Complex<Val<'k, T::Sum>> where [T: Accumulate];
    }
}

impl<'k, T: Accumulate, const H: usize, const W: usize, S: SharedSwizzle>
    Complex<Filled<St<'k, T, H, W, S>>>
{
    /// Stores the sum of each row to a complex shared vector, as [`Filled::row_sum`] does. All threads of the scope that owns the tile (by
    /// default, the block) must take part.
    #[track_caller]
    pub fn row_sum(&self, to: Csv<'k, T::Sum, H>) -> Pending<'k, Csv<'k, T::Sum, H>> {
        both(self.re.row_sum(to.re), self.im.row_sum(to.im))
    }

    /// Stores the sum of each column to a complex shared vector, as [`Filled::col_sum`] does. All threads of the scope that owns the tile
    /// (by default, the block) must take part.
    #[track_caller]
    pub fn col_sum<const N: usize>(&self, to: Csv<'k, T::Sum, N>) -> Pending<'k, Csv<'k, T::Sum, N>> {
        both(self.re.col_sum(to.re), self.im.col_sum(to.im))
    }

    /// Returns whether the real or imaginary part of any element is NaN; see [`Filled::has_nan`]. All threads of the scope that owns the
    /// tile (by default, the block) must take part; all receive the same result.
    #[track_caller]
    pub fn has_nan(&self) -> Val<'k, bool> {
        self.re.has_nan() | self.im.has_nan()
    }
}

impl<'k, T: Accumulate, const N: usize> Complex<Filled<Sv<'k, T, N>>> {
    /// Returns whether the real or imaginary part of any element is NaN; see
    /// [`Filled::has_nan`](Filled#method.has_nan-1). All lanes of the calling warp must take part; all
    /// receive the same result.
    #[track_caller]
    pub fn has_nan(&self) -> Val<'k, bool> {
        self.re.has_nan() | self.im.has_nan()
    }
}

/// Combines the two pending parts of a vector into one pending vector.
#[track_caller]
fn both<'k, T: TensorElement, const N: usize>(
    re: Pending<'k, Sv<'k, T, N>>,
    im: Pending<'k, Sv<'k, T, N>>,
) -> Pending<'k, Csv<'k, T, N>> {
    re.and(im).map(|(re, im)| Complex { re, im })
}

impl<'k, T: TensorElement> Complex<Subtile<'_, 'k, T>> {
    by_reference! {
        load "Loads a register tile" "Subtile" [const H: usize, const W: usize, L: RegisterLayout] () -> Crt<'k, T, H, W, L>;
        load_as "Loads a register tile and converts its elements" "Subtile" [U: TensorElement, const H: usize, const W: usize, L: RegisterLayout] () -> Crt<'k, U, H, W, L> where [T: Convert<U>];
    }
}

impl<'k, T: TensorElement> Complex<Subvector<'_, 'k, T>> {
    by_reference! {
        load "Loads a register vector" "Subvector" [const N: usize, V: VectorLayout] () -> Crv<'k, T, N, V>;
        load_as "Loads a register vector and converts its elements" "Subvector" [U: TensorElement, const N: usize, V: VectorLayout] () -> Crv<'k, U, N, V> where [T: Convert<U>];
    }
}

impl<'k, T: TensorElement> Complex<Storing<'k, T>> {
    by_reference! {
        subtile "Returns the rectangle that starts at subtile (`row`, `col`)" "Storing" (row: impl Into<Val<'k, u32>> + Copy, col: impl Into<Val<'k, u32>> + Copy) -> Complex<SubtileMut<'_, 'k, T>>;
        tile_of "Returns this warp's share of the tile's rows, which are divided evenly among the warps of `scope`" "Storing" (scope: impl Scope<'k>) -> Complex<SubtileMut<'_, 'k, T>>;
        row "Returns a row of the tile" "Storing" (row: impl Into<Val<'k, u32>> + Copy) -> Complex<SubvectorMut<'_, 'k, T>>;
        col "Returns a column of the tile" "Storing" (col: impl Into<Val<'k, u32>> + Copy) -> Complex<SubvectorMut<'_, 'k, T>>;
    }
}

impl<'k, T: TensorElement> Complex<StoringVector<'k, T>> {
    by_reference! {
        tile "Returns subvector `index` of the vector" "StoringVector" (index: impl Into<Val<'k, u32>> + Copy) -> Complex<SubvectorMut<'_, 'k, T>>;
    }
}

impl<'k, T: TensorElement> Complex<Updating<'k, T>> {
    by_reference! {
        subtile "Returns the rectangle that starts at subtile (`row`, `col`)" "Updating" (row: impl Into<Val<'k, u32>> + Copy, col: impl Into<Val<'k, u32>> + Copy) -> Complex<SubtileUpdate<'_, 'k, T>>;
        tile_of "Returns this warp's share of the tile's rows, which are divided evenly among the warps of `scope`" "Updating" (scope: impl Scope<'k>) -> Complex<SubtileUpdate<'_, 'k, T>>;
    }
}

impl<'k, T: TensorElement> Complex<SubtileMut<'_, 'k, T>> {
    /// Converts the elements of a register tile and stores them, as [`SubtileMut::store`] does.
    #[track_caller]
    pub fn store<U, const H: usize, const W: usize, L>(&self, tile: &Crt<'k, U, H, W, L>)
    where
        U: Convert<T>,
        L: RegisterLayout,
    {
        self.re.store(&tile.re);
        self.im.store(&tile.im);
    }
}

impl<'k, T: TensorElement> Complex<SubvectorMut<'_, 'k, T>> {
    /// Converts the elements of a register vector and stores them, as [`SubvectorMut::store`] does.
    #[track_caller]
    pub fn store<U: Convert<T>, const N: usize, V: VectorLayout>(&self, vector: &Crv<'k, U, N, V>) {
        self.re.store(&vector.re);
        self.im.store(&vector.im);
    }
}

impl<'k, T: TensorElement> Complex<SubtileUpdate<'_, 'k, T>> {
    /// Loads the elements of the rectangle, applies `f` to them and stores the result, as [`SubtileUpdate::update`] does.
    #[track_caller]
    pub fn update<const H: usize, const W: usize, L: RegisterLayout>(
        self,
        f: impl FnOnce(Crt<'k, T, H, W, L>) -> Crt<'k, T, H, W, L>,
    ) {
        self.update_at(Location::caller(), f);
    }

    /// Updates the rectangle as [`update`](Self::update) does, and attributes the instructions to the source line `at`.
    #[track_caller]
    pub(super) fn update_at<const H: usize, const W: usize, L: RegisterLayout>(
        self,
        at: &'static Location<'static>,
        f: impl FnOnce(Crt<'k, T, H, W, L>) -> Crt<'k, T, H, W, L>,
    ) {
        let Complex { re, im } = self;
        let load = || Complex { re: re.from.load(), im: im.from.load() };
        replace_part(re.to.1.0.kernel(), at, load, f, |new| {
            re.to.store(&new.re);
            im.to.store(&new.im);
        });
    }
}

impl<'k, T: AtomicElement> Complex<Adding<Storing<'k, T>>> {
    /// Adds a register tile to a rectangle of the shared tile, which starts at subtile (`row`, `col`). The real and imaginary parts of an
    /// element are added by separate atomic operations. Several warps may add to the same rectangle.
    #[doc(alias = "red")]
    #[track_caller]
    pub fn add<const H: usize, const W: usize, L: RegisterLayout>(
        &self,
        row: impl Into<Val<'k, u32>>,
        col: impl Into<Val<'k, u32>>,
        tile: &Crt<'k, T, H, W, L>,
    ) {
        let (row, col) = (row.into(), col.into());
        self.re.add(row, col, &tile.re);
        self.im.add(row, col, &tile.im);
    }
}

impl<'k, T: AtomicElement> Complex<Adding<StoringVector<'k, T>>> {
    /// Adds a register vector to subvector `index` of the shared vector. Subvectors have the length of the register vector. Each element is
    /// added once, even if several lanes own it. The real and imaginary parts of an element are added by separate atomic operations.
    #[doc(alias = "red")]
    #[track_caller]
    pub fn add<const N: usize, V: VectorLayout>(
        &self,
        index: impl Into<Val<'k, u32>>,
        vector: &Crv<'k, T, N, V>,
    ) {
        let index = index.into();
        self.re.add(index, &vector.re);
        self.im.add(index, &vector.im);
    }
}
