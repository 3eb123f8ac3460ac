//! Complex tiles and vectors in shared memory, with the same states as real tiles and vectors.

use std::panic::Location;

use super::{Complex, Crt, Crv, Cst, Csv};
use crate::{
    ptx::{Builder, Ptr, Shared, Val},
    tensor::{self, AtomicElement, TensorElement},
    tiles::{
        allocate::{Allocate, Filled, Owner, Pending, reuse},
        atomics::Adding,
        convert::Convert,
        element::RegisterLayout,
        fill::GlTileOr,
        gl::GlTile,
        shared_copies::{Storing, assert_whole},
        shared_maps::{Updating, replace_part},
        st::St,
        stages::{SourceOf, StageTile},
        sv::{StoringVector, Subvector, SubvectorMut, Sv},
        swizzle::SharedSwizzle,
        vector_layout::{Naive, VectorLayout},
    },
};

impl<'k, P: Allocate<'k>> Allocate<'k> for Complex<P> {
    type Filled = Complex<P::Filled>;
    const BYTES: u32 = 2 * P::BYTES;

    #[track_caller]
    fn alignment(k: Builder<'k>) -> u32 {
        P::alignment(k)
    }

    #[track_caller]
    fn at(pointer: Ptr<'k, u8, Shared>) -> Self {
        // The size of a tile is a multiple of the period of its swizzle, so the second tile is aligned if the first one is.
        Complex { re: P::at(pointer), im: P::at(pointer.byte_offset(P::BYTES.into())) }
    }

    fn address(&self) -> Ptr<'k, u8, Shared> {
        self.re.address()
    }

    fn owned_by(self, owner: Owner<'k>) -> Self {
        self.map_parts(|part| part.owned_by(owner))
    }

    /// Returns the scope that owns both parts; rejects parts with different owners, because no single barrier protects both.
    #[track_caller]
    fn owner(&self) -> Owner<'k> {
        let Complex { re, im } = self.as_ref().map_parts(Allocate::owner);
        re.check_result(im);
        re
    }

    #[track_caller]
    fn filled(self) -> Self::Filled {
        self.map_parts(Allocate::filled)
    }

    #[track_caller]
    fn check(&self) {
        self.re.check();
        self.im.check();
    }

    #[track_caller]
    fn renew(&mut self) {
        self.re.renew();
        self.im.renew();
    }

    #[track_caller]
    fn end(filled: &Self::Filled) {
        P::end(&filled.re);
        P::end(&filled.im);
    }
}

impl<V: tensor::Leased> tensor::Leased for Complex<V> {
    #[track_caller]
    fn renew(&mut self) {
        self.re.renew();
        self.im.renew();
    }
}

impl<'k, P: StageTile<'k>> StageTile<'k> for Complex<P> {
    #[track_caller]
    fn prepare(&self) {
        self.re.prepare();
        self.im.prepare();
    }
}

impl<'k, P: StageTile<'k>, G: SourceOf<'k, P>> SourceOf<'k, Complex<P>> for Complex<G> {
    #[track_caller]
    fn begin_fill(&self, tile: &Complex<P>) -> bool {
        let of_parts = [self.re.begin_fill(&tile.re), self.im.begin_fill(&tile.im)];
        of_parts.contains(&true)
    }
}

impl<'k, P: StageTile<'k>> Complex<P> {
    /// Fills both parts from global memory, as [`St::fill`] and [`Sv::fill`] do. All threads of the scope that owns `self` (by default, the
    /// block) must take part.
    #[doc(alias = "load_async")]
    #[track_caller]
    pub fn fill<G: SourceOf<'k, P>>(self, from: Complex<G>) -> Pending<'k, Self> {
        let owner = self.owner();
        owner.sync_in_loop();
        let asynchronous = {
            let _located = self.address().kernel().locate(Location::caller());
            from.begin_fill(&self)
        };
        tensor::Pending::by(owner.0, self.filled(), asynchronous)
    }

    /// Fills both parts as [`fill`](Self::fill) does, but out-of-bounds elements become `re` + i · `im`; see [`St::fill_or`].
    #[track_caller]
    pub fn fill_or<T: TensorElement, A, const R: usize>(
        self,
        from: Complex<GlTile<'k, T, A, R>>,
        re: T,
        im: T,
    ) -> Pending<'k, Self>
    where
        GlTileOr<'k, T, A, R>: SourceOf<'k, P>,
    {
        self.fill(from.or(re, im))
    }

    /// Calls a closure that emits stores to both parts, and returns the pending pair.
    #[track_caller]
    fn stored(self, store: impl FnOnce(&Self)) -> Pending<'k, Self> {
        let owner = self.owner();
        owner.sync_in_loop();
        store(&self);
        owner.pending(self)
    }
}

impl<'k, T: TensorElement, const H: usize, const W: usize, S: SharedSwizzle> Cst<'k, T, H, W, S> {
    /// Converts the elements of a register tile of the same size and stores them, as [`St::store`] does. Only one warp of the scope that
    /// owns the tile (by default, the block) may execute the emitted code.
    #[track_caller]
    pub fn store<U: Convert<T>, L: RegisterLayout>(self, tile: &Crt<'k, U, H, W, L>) -> Pending<'k, Self> {
        const { assert_whole::<T, U, L>() };
        let _located = self.address().kernel().locate(Location::caller());
        self.store_with(|whole| whole.subtile(0, 0).store(tile))
    }

    /// Calls `store`, which stores register tiles of several warps to rectangles of this tile, as [`St::store_with`] does.
    #[track_caller]
    pub fn store_with(self, store: impl FnOnce(&Complex<Storing<'k, T>>)) -> Pending<'k, Self> {
        self.stored(|tile| store(&tile.as_ref().map_parts(St::storing)))
    }

    /// Sets every element to `re` + i · `im`, as [`St::fill_with`] does. All threads of the scope that owns the tile (by default, the
    /// block) must take part.
    #[doc(alias = "zero")]
    #[doc(alias = "one")]
    #[track_caller]
    pub fn fill_with(self, re: T, im: T) -> Pending<'k, Self> {
        let (k, owner) = (self.address().kernel(), self.owner());
        let _located = k.locate(Location::caller());
        let band = Crt::<T, 1, W>::filled(k, re, im);
        self.store_with(|tile| owner.over_warps(H as u32, |row| tile.subtile(row, 0).store(&band)))
    }

    /// Copies another complex shared tile to this one and converts its elements, as [`St::copy_from`] does. All threads of the scope that
    /// owns this tile (by default, the block) must take part.
    #[doc(alias = "copy")]
    #[track_caller]
    pub fn copy_from<U: Convert<T>, Z: SharedSwizzle>(
        self,
        from: &Complex<Filled<St<'k, U, H, W, Z>>>,
    ) -> Pending<'k, Self> {
        let _located = self.address().kernel().locate(Location::caller());
        self.stored(|tile| {
            tile.re.copy(&from.re);
            tile.im.copy(&from.im);
        })
    }
}

impl<'k, T: TensorElement, const N: usize> Csv<'k, T, N> {
    /// Converts the elements of a register vector of the same length and stores them, as [`Sv::store`] does. Only one warp of the scope
    /// that owns the vector (by default, the block) may execute the emitted code.
    #[track_caller]
    pub fn store<U: Convert<T>, V: VectorLayout>(self, vector: &Crv<'k, U, N, V>) -> Pending<'k, Self> {
        let _located = self.address().kernel().locate(Location::caller());
        self.store_with(|whole| whole.tile(0).store(vector))
    }

    /// Calls `store`, which stores register vectors of several warps to subvectors of this vector, as [`Sv::store_with`] does.
    #[track_caller]
    pub fn store_with(self, store: impl FnOnce(&Complex<StoringVector<'k, T>>)) -> Pending<'k, Self> {
        self.stored(|vector| store(&vector.as_ref().map_parts(Sv::storing)))
    }

    /// Sets every element to `re` + i · `im`, as [`Sv::fill_with`] does. All threads of the scope that owns the vector (by default, the
    /// block) must execute the emitted code.
    #[doc(alias = "zero")]
    #[doc(alias = "one")]
    #[track_caller]
    pub fn fill_with(self, re: T, im: T) -> Pending<'k, Self> {
        let (k, owner) = (self.address().kernel(), self.owner());
        let _located = k.locate(Location::caller());
        self.store_with(|vector| {
            owner.0.when_first_warp(|| vector.tile(0).store(&Crv::<T, N, Naive>::filled(k, re, im)));
        })
    }

    /// Copies another complex shared vector to this one and converts its elements, as [`Sv::copy_from`] does. All threads of the scope that
    /// owns this vector (by default, the block) must execute the emitted code.
    #[doc(alias = "copy")]
    #[track_caller]
    pub fn copy_from<U: Convert<T>>(self, from: &Complex<Filled<Sv<'k, U, N>>>) -> Pending<'k, Self> {
        let _located = self.address().kernel().locate(Location::caller());
        self.stored(|vector| {
            vector.re.copy(&from.re);
            vector.im.copy(&from.im);
        })
    }
}

impl<'k, P: Allocate<'k>> Complex<P> {
    /// Returns a complex tile or vector of a different type that reuses the memory of this one, part by part;
    /// see [`St::reuse`].
    #[track_caller]
    pub fn reuse<Q: Allocate<'k>>(self) -> Complex<Q> {
        Complex { re: reuse(self.re), im: reuse(self.im) }
    }
}

impl<'k, P: Allocate<'k>> Complex<Filled<P>> {
    /// Waits until all threads of the scope that owns the memory (by default, the block) have finished reading both parts, and returns the
    /// tile or vector, which can then be filled again.
    ///
    /// All threads of that scope must execute the emitted barrier; see [`Filled::release`].
    #[doc(alias = "sync")]
    #[track_caller]
    pub fn release(self) -> Complex<P> {
        let mut tile = self.map_parts(|part| part.tile);
        tile.owner().0.sync();
        tile.renew();
        tile
    }
}

impl<'k, T: TensorElement, const H: usize, const W: usize, S: SharedSwizzle>
    Complex<Filled<St<'k, T, H, W, S>>>
{
    /// Updates the tile in place, one row of subtiles at a time, as [`Filled::update`] does.
    ///
    /// `f` receives the index of a row of subtiles and its elements, and returns the new elements. The rows are divided among the warps of
    /// the scope that owns the tile (by default, the block); all threads of this scope must take part.
    ///
    /// Both parts of a row are in registers at the same time. If the tile is wider than about 8 subtiles, update narrower rectangles with
    /// [`update_with`](Self::update_with).
    #[doc(alias = "bin_map")]
    #[doc(alias = "row_map")]
    #[doc(alias = "col_map")]
    #[track_caller]
    pub fn update(
        self,
        f: impl Fn(Val<'k, u32>, Crt<'k, T, 1, W>) -> Crt<'k, T, 1, W>,
    ) -> Pending<'k, Cst<'k, T, H, W, S>> {
        let at = Location::caller();
        let owner = self.re.tile.owner;
        self.update_with(|tile| {
            owner.over_warps(H as u32, |row| tile.subtile(row, 0).update_at(at, |band| f(row, band)));
        })
    }

    /// Calls `update`, in which any warp can update rectangles of this tile in place, as [`Filled::update_with`] does.
    #[track_caller]
    pub fn update_with(
        self,
        update: impl FnOnce(&Complex<Updating<'k, T>>),
    ) -> Pending<'k, Cst<'k, T, H, W, S>> {
        let tile = self.release();
        update(&tile.as_ref().map_parts(St::updating));
        tile.owner().pending(tile)
    }

    /// Calls `add`, in which any warp can add register tiles to rectangles of this tile, as [`Filled::add_with`] does. The real and
    /// imaginary parts of an element are added by separate atomic operations.
    #[doc(alias = "add_into")]
    #[track_caller]
    pub fn add_with(
        self,
        add: impl FnOnce(&Complex<Adding<Storing<'k, T>>>),
    ) -> Pending<'k, Cst<'k, T, H, W, S>>
    where
        T: AtomicElement,
    {
        let tile = self.release();
        add(&tile.as_ref().map_parts(|part| Adding { to: part.storing() }));
        tile.owner().pending(tile)
    }
}

impl<'k, T: TensorElement, const N: usize> Complex<Filled<Sv<'k, T, N>>> {
    /// Updates the vector in place, as [`Filled::update`](Filled#method.update-1) does. Only the first warp of the scope that owns the
    /// vector (by default, the block) loads and updates it, but all threads of the scope must execute the emitted code.
    #[track_caller]
    pub fn update(
        self,
        f: impl FnOnce(Crv<'k, T, N, Naive>) -> Crv<'k, T, N, Naive>,
    ) -> Pending<'k, Csv<'k, T, N>> {
        let at = Location::caller();
        let vector = self.release();
        let (k, owner) = (vector.address().kernel(), vector.owner());
        owner.0.when_first_warp(|| {
            let load = || vector.as_ref().map_parts(|part| Subvector::of(part).load());
            replace_part(k, at, load, f, |new| {
                vector.as_ref().map_parts(SubvectorMut::of).store(new);
            });
        });
        owner.pending(vector)
    }

    /// Calls `add`, in which any warp can add register vectors to subvectors of this vector, as
    /// [`Filled::add_with`](Filled#method.add_with-1) does. The real and imaginary parts of an element are added by separate atomic
    /// operations.
    #[doc(alias = "add_into")]
    #[track_caller]
    pub fn add_with(
        self,
        add: impl FnOnce(&Complex<Adding<StoringVector<'k, T>>>),
    ) -> Pending<'k, Csv<'k, T, N>>
    where
        T: AtomicElement,
    {
        let vector = self.release();
        add(&vector.as_ref().map_parts(|part| Adding { to: part.storing() }));
        vector.owner().pending(vector)
    }
}
