//! Operations on shared tiles and vectors, executed by the warps of the scope that owns the memory (by default, the block). Intermediate
//! results are in registers.

use std::panic::Location;

use super::{
    allocate::{Filled, Owner, Pending},
    convert::{Convert, assert_same_subtiles},
    element::RegisterLayout,
    rt::Rt,
    shared_copies::{Rectangle, Storing, Subtile, SubtileMut},
    st::St,
    sv::{Subvector, SubvectorMut, Sv},
    swizzle::SharedSwizzle,
    vector::Rv,
    vector_layout::Naive,
};
use crate::{
    layout::Layout,
    ptx::{Builder, FULL_MASK, ReadWrite, Scalar, Scope, Shared, Val},
    tensor::{Fragment, MappedElement, Tensor, TensorElement, copy, in_order, words_of},
};

impl<'k> Builder<'k> {
    /// Divides `count` items among the warps of the block: warp `w` of `n` processes items `w`, `w + n`, …. `work` receives the index of an
    /// item and emits the code that processes it.
    ///
    /// For example, the following function stores the row sums of a shared tile to a shared vector:
    ///
    /// ```
    /// # use warpwright::{prelude::*, tiles::Filled};
    /// fn row_sums<'k>(k: Builder<'k>, tile: &Filled<St<'k, f32, 8, 4>>) -> Filled<Sv<'k, f32, 8>> {
    ///     let sums = k.shared_tile::<Sv<f32, 8>>();
    ///     let sums = sums.store_with(|sums| {
    ///         k.over_warps(8, |row| {
    ///             let band: Rt<f32, 1, 4> = tile.subtile(row, 0).load();
    ///             sums.tile(row).store(&band.row_sum());
    ///         });
    ///     });
    ///     sums.wait()
    /// }
    /// ```
    #[track_caller]
    pub fn over_warps(self, count: u32, work: impl Fn(Val<'k, u32>)) {
        self.check_warps(self.this_block());
        Owner::block(self).over_warps(count, work);
    }
}

impl<'k, T: TensorElement, const H: usize, const W: usize, S: SharedSwizzle> Filled<St<'k, T, H, W, S>> {
    /// Updates the tile in place, one row of subtiles at a time.
    ///
    /// `f` receives the index of a row of subtiles and its elements, and returns the new elements. The rows are divided among the warps of
    /// the scope that owns the tile (by default, the block). All threads of this scope must execute the emitted code. It starts with a
    /// barrier of the scope, because other threads may still be reading the tile.
    ///
    /// `f` can use all operations on register tiles. For example, `tile.update(|row, x| x * &scale.tile(row).load())` multiplies each row
    /// by an element of a shared vector.
    ///
    /// Each warp loads one row of subtiles at a time into registers. This requires 8 · `W` registers per lane for 32-bit elements. If the
    /// tile is wider than about 16 subtiles, update narrower rectangles with [`update_with`](Self::update_with), or use
    /// [`map`](Self::map), which supports any width.
    #[doc(alias = "bin_map")]
    #[doc(alias = "row_map")]
    #[doc(alias = "col_map")]
    #[track_caller]
    pub fn update(
        self,
        f: impl Fn(Val<'k, u32>, Rt<'k, T, 1, W>) -> Rt<'k, T, 1, W>,
    ) -> Pending<'k, St<'k, T, H, W, S>> {
        let at = Location::caller();
        let owner = self.tile.owner;
        self.update_with(|tile| {
            owner.over_warps(H as u32, |row| tile.subtile(row, 0).update_at(at, |band| f(row, band)));
        })
    }

    /// Calls `update`, which can update rectangles of this tile in place:
    /// `tile.update_with(|tile| tile.subtile(0, 1).update(|t: Rt<f32, 1, 1>| t.relu()))`. Other elements are unchanged. Two warps must not
    /// update the same element.
    ///
    /// All threads of the scope that owns the tile (by default, the block) must execute the emitted code. It starts with a barrier of this
    /// scope, because other threads may still be reading the tile.
    #[track_caller]
    pub fn update_with(self, update: impl FnOnce(&Updating<'k, T>)) -> Pending<'k, St<'k, T, H, W, S>> {
        let tile = self.release();
        update(&tile.updating());
        tile.owner.pending(tile)
    }

    /// Applies `f` to every register of the tile, as [`Rt::map`] does, and stores the results in place.
    ///
    /// All threads of the scope that owns the tile (by default, the block) must execute the emitted code. It starts with a barrier of this
    /// scope, because other threads may still be reading the tile.
    #[track_caller]
    pub fn map(self, f: impl Fn(Val<'k, T::Word>) -> Val<'k, T::Word>) -> Pending<'k, St<'k, T, H, W, S>>
    where
        T: MappedElement,
    {
        self.map_words(f)
    }

    /// Applies `f` to every register of the tile, as [`Rt::map_words`] does, and stores the results in place.
    ///
    /// All threads of the scope that owns the tile (by default, the block) must execute the emitted code. It starts with a barrier of this
    /// scope, because other threads may still be reading the tile.
    #[track_caller]
    pub fn map_words(
        self,
        f: impl Fn(Val<'k, T::Word>) -> Val<'k, T::Word>,
    ) -> Pending<'k, St<'k, T, H, W, S>> {
        let at = Location::caller();
        let owner = self.tile.owner;
        self.update_with(|tile| {
            owner.over_warps(H as u32, |row| match W {
                ..=MOST_AT_ONCE => map_part::<T, W>(tile.subtile(row, 0), at, &f),
                _ => (0..W as u32).for_each(|col| map_part::<T, 1>(tile.subtile(row, col), at, &f)),
            });
        })
    }
}

/// The maximum width, in subtiles, of rows that a warp loads into registers as a whole. At this width, 64-bit elements occupy 128 registers
/// per lane. For wider rows, elementwise operations process one subtile at a time.
const MOST_AT_ONCE: usize = 8;

/// Replaces every register of a part of 16 rows with the result of `f`.
#[track_caller]
fn map_part<'k, T: TensorElement, const W: usize>(
    part: SubtileUpdate<'_, 'k, T>,
    at: &'static Location<'static>,
    f: &dyn Fn(Val<'k, T::Word>) -> Val<'k, T::Word>,
) {
    let k = part.to.1.0.kernel();
    part.update_at(at, |part: Rt<T, 1, W>| {
        let _located = k.locate(at);
        part.map_words(f)
    });
}

/// Applies `f` to the result of `load` and stores the new elements, using one warp.
#[track_caller]
pub(super) fn replace_part<'k, Part>(
    k: Builder<'k>,
    at: &'static Location<'static>,
    load: impl FnOnce() -> Part,
    f: impl FnOnce(Part) -> Part,
    store: impl FnOnce(&Part),
) {
    let new = f({
        let _located = k.locate(at);
        load()
    });
    let _located = k.locate(at);
    // Lanes store to elements that other lanes must have loaded first.
    k.sync_warp(FULL_MASK);
    store(&new);
}

/// The shared tile that the closure of [`Filled::update_with`] updates.
#[derive(Debug)]
pub struct Updating<'k, T: TensorElement> {
    to: Storing<'k, T>,
}

/// A rectangle of a shared tile that a warp can update. It has the size of the register tile that [`update`](Self::update) loads from it.
#[derive(Debug)]
pub struct SubtileUpdate<'a, 'k, T: TensorElement> {
    pub(super) from: Subtile<'a, 'k, T>,
    pub(super) to: SubtileMut<'a, 'k, T>,
}

impl<'k, T: TensorElement> Updating<'k, T> {
    /// Returns the rectangle that starts at subtile (`row`, `col`), as [`Filled::subtile`] does.
    pub fn subtile(
        &self,
        row: impl Into<Val<'k, u32>>,
        col: impl Into<Val<'k, u32>>,
    ) -> SubtileUpdate<'_, 'k, T> {
        let (row, col) = (row.into(), col.into());
        let from = Subtile(Rectangle::new(&self.to.tile, row, col));
        SubtileUpdate { from, to: self.to.subtile(row, col) }
    }

    /// Returns this warp's share of the tile's rows, which are divided evenly among the warps of `scope`, in warp order.
    #[track_caller]
    pub fn tile_of<S: Scope<'k>>(&self, scope: S) -> SubtileUpdate<'_, 'k, T> {
        let from = Subtile(Rectangle::of_warp(&self.to.tile, scope));
        SubtileUpdate { from, to: self.to.tile_of(scope) }
    }
}

impl<'k, T: TensorElement> SubtileUpdate<'_, 'k, T> {
    /// Loads the elements of the rectangle, applies `f` to them and stores the result. All lanes of the warp must take part.
    #[track_caller]
    pub fn update<const H: usize, const W: usize, L: RegisterLayout>(
        self,
        f: impl FnOnce(Rt<'k, T, H, W, L>) -> Rt<'k, T, H, W, L>,
    ) {
        self.update_at(Location::caller(), f);
    }

    /// Updates the rectangle as [`update`](Self::update) does, and attributes the instructions to the source line `at`.
    #[track_caller]
    fn update_at<const H: usize, const W: usize, L: RegisterLayout>(
        self,
        at: &'static Location<'static>,
        f: impl FnOnce(Rt<'k, T, H, W, L>) -> Rt<'k, T, H, W, L>,
    ) {
        let k = self.to.1.0.kernel();
        replace_part(k, at, || self.from.load(), f, |new| self.to.store(new));
    }
}

impl<'k, T: TensorElement, const H: usize, const W: usize, S: SharedSwizzle> St<'k, T, H, W, S> {
    /// Returns the tile as a destination for updates. No thread may still be reading the tile.
    pub(super) fn updating(&self) -> Updating<'k, T> {
        Updating { to: self.storing() }
    }

    /// Sets every element to `value`. All threads of the scope that owns the tile (by default, the block) must take part.
    #[doc(alias = "zero")]
    #[doc(alias = "one")]
    #[track_caller]
    pub fn fill_with(self, value: T) -> Pending<'k, Self> {
        let k = self.tensor.kernel();
        let _located = k.locate(Location::caller());
        let (band, owner) = (k.filled::<Rt<T, 1, W>>(value), self.owner);
        self.store_with(|tile| owner.over_warps(H as u32, |row| tile.subtile(row, 0).store(&band)))
    }

    /// Copies the shared tile `from` to this tile and converts its elements. All threads of the scope that owns this tile (by default, the
    /// block) must take part. The swizzles may differ. The call does not compile if only one of the element types is 8 bits wide.
    ///
    /// The builder rejects the call if the scope that owns `from` is smaller than the scope that owns this tile. For example, a warp's tile
    /// cannot be copied to a tile of the block.
    #[doc(alias = "copy")]
    #[track_caller]
    pub fn copy_from<U: Convert<T>, Z: SharedSwizzle>(
        self,
        from: &Filled<St<'k, U, H, W, Z>>,
    ) -> Pending<'k, Self> {
        let _located = self.tensor.kernel().locate(Location::caller());
        self.owner.sync_in_loop();
        self.copy(from);
        self.owner.pending(self)
    }

    /// Emits the copy from another tile, using all warps of the scope that owns this tile.
    #[track_caller]
    pub(super) fn copy<U: Convert<T>, Z: SharedSwizzle>(&self, from: &Filled<St<'k, U, H, W, Z>>) {
        const { assert_same_subtiles::<T, U>() };
        from.tile.owner.check_copy(self.owner);
        let to = self.storing();
        self.owner.over_warps(H as u32, |row| {
            if W <= MOST_AT_ONCE {
                let band: Rt<U, 1, W> = from.subtile(row, 0).load();
                to.subtile(row, 0).store(&band);
                return;
            }
            for col in 0..W as u32 {
                let part: Rt<U, 1, 1> = from.subtile(row, col).load();
                to.subtile(row, col).store(&part);
            }
        });
    }
}

impl<'k, T: TensorElement, const N: usize> Sv<'k, T, N> {
    /// Sets every element to `value`, using the first warp of the scope that owns the vector (by default, the block). All threads of the
    /// scope must execute the emitted code.
    #[doc(alias = "zero")]
    #[doc(alias = "one")]
    #[track_caller]
    pub fn fill_with(self, value: T) -> Pending<'k, Self> {
        let k = self.tensor.kernel();
        let _located = k.locate(Location::caller());
        let owner = self.owner;
        self.store_with(|vector| {
            owner.0.when_first_warp(|| vector.tile(0).store(&k.filled::<Rv<T, N, Naive>>(value)));
        })
    }

    /// Copies the shared vector `from` to this vector and converts its elements, using the first warp of the scope that owns this vector
    /// (by default, the block). All threads of the scope must execute the emitted code.
    ///
    /// The builder rejects the call if the scope that owns `from` is smaller than the scope that owns this vector. For example, a warp's
    /// vector cannot be copied to a vector of the block.
    #[doc(alias = "copy")]
    #[track_caller]
    pub fn copy_from<U: Convert<T>>(self, from: &Filled<Sv<'k, U, N>>) -> Pending<'k, Self> {
        let _located = self.tensor.kernel().locate(Location::caller());
        self.owner.sync_in_loop();
        self.copy(from);
        self.owner.pending(self)
    }

    /// Emits the copy from another vector, using the first warp of the scope that owns this vector.
    #[track_caller]
    pub(super) fn copy<U: Convert<T>>(&self, from: &Filled<Sv<'k, U, N>>) {
        from.tile.owner.check_copy(self.owner);
        self.owner.0.when_first_warp(|| SubvectorMut::of(self).store(&from.load::<Naive>()));
    }
}

impl<'k, T: TensorElement, const N: usize> Filled<Sv<'k, T, N>> {
    /// Applies `f` to every register of the vector, as [`Rv::map`] does, and stores the results in place.
    ///
    /// All threads of the scope that owns the vector (by default, the block) must execute the emitted code. It starts with a barrier of
    /// this scope, because other threads may still be reading the vector.
    #[track_caller]
    pub fn map(self, f: impl Fn(Val<'k, T::Word>) -> Val<'k, T::Word>) -> Pending<'k, Sv<'k, T, N>>
    where
        T: MappedElement,
    {
        self.map_words(f)
    }

    /// Applies `f` to every register of the vector, as [`Rv::map_words`] does, and stores the results in place.
    ///
    /// All threads of the scope that owns the vector (by default, the block) must execute the emitted code. It starts with a barrier of
    /// this scope, because other threads may still be reading the vector.
    #[track_caller]
    pub fn map_words(self, f: impl Fn(Val<'k, T::Word>) -> Val<'k, T::Word>) -> Pending<'k, Sv<'k, T, N>> {
        let at = Location::caller();
        let vector = self.release();
        let k = vector.tensor.kernel();
        {
            let _located = k.locate(at);
            replace_words(vector.owner, &vector.tensor, &f);
        }
        vector.owner.pending(vector)
    }

    /// Replaces the elements of the vector with the result of `f`, in place.
    ///
    /// All threads of the scope that owns the vector (by default, the block) must execute the emitted code. It starts with a barrier of
    /// this scope, because other threads may still be reading the vector. Only the first warp of the scope loads and updates the vector,
    /// because `f` may combine all elements. For elementwise functions, use [`map`](Self::map), which uses all threads.
    #[track_caller]
    pub fn update(
        self,
        f: impl FnOnce(Rv<'k, T, N, Naive>) -> Rv<'k, T, N, Naive>,
    ) -> Pending<'k, Sv<'k, T, N>> {
        let at = Location::caller();
        let vector = self.release();
        let k = vector.tensor.kernel();
        vector.owner.0.when_first_warp(|| {
            replace_part(
                k,
                at,
                || Subvector::of(&vector).load(),
                f,
                |new| {
                    SubvectorMut::of(&vector).store(new);
                },
            );
        });
        vector.owner.pending(vector)
    }
}

/// Replaces every word of a vector with the result of `f`. If `n` threads take part, thread `i` mod `n` processes word `i`. The number `n`
/// divides the number of words.
#[track_caller]
fn replace_words<'k, T: TensorElement>(
    by: Owner<'k>,
    vector: &Tensor<'k, Shared, T, ReadWrite>,
    f: &dyn Fn(Val<'k, T::Word>) -> Val<'k, T::Word>,
) {
    let k = vector.kernel();
    let per_word = T::PER_WORD as i64;
    let words = vector.size() / per_word;
    let most = i64::from(by.0.size()).min(words);
    let threads = (1..=most).rev().find(|threads| words % threads == 0).unwrap_or(1);
    let own = words / threads;
    let parts = Layout::new((threads, (per_word, own)), (per_word, (1, per_word * threads)));
    let parts = parts.expect("a vector has few elements");
    k.if_(by.0.thread().lt(threads as u32), || {
        let part = vector.part_of(&parts, by.0.thread());
        let fragment = Fragment::uninitialized(k, &in_order(own * per_word), T::Word::CLASS);
        copy(&fragment, &part);
        let mapped = k.all_owned(|| words_of(&fragment).into_iter().map(f).collect());
        let _ = copy(&part, &Fragment::over(k, mapped, in_order(own * per_word)));
    });
}
