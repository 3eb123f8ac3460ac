//! Multi-stage pipelines: later tiles are in flight while the current tiles are processed.

use std::{fmt, marker::PhantomData, panic::Location};

use super::{
    allocate::{Allocate, Filled, Owner},
    gl::GlTile,
    st::St,
    sv::Sv,
    swizzle::SharedSwizzle,
};
use crate::{
    ptx::{Builder, Ptr, Readable, Shared, State, Val, sealed::Sealed},
    tensor::TensorElement,
};

/// A ring of `N` stages in shared memory, each of which contains one tile of every type in the tuple `Tiles`.
///
/// ```
/// # use warpwright::prelude::*;
/// # Kernel::<(In<bf16>, Out<f32>)>::build("p", Target::SM_80, |k, (a, d)| {
/// # k.block([32]);
/// # let a = k.global(a, row_major(16, 64));
/// let stages = k.pipeline::<(St<bf16, 1, 1>,), 3>();
/// let sum = stages.run(4, k.zeros::<Rt<bf16, 1, 1>>(),
///     |i, stage| stage.fill((a.tile(0, i),)),   // two stages ahead
///     |sum, (tile,)| sum + tile.load());    // after the wait
/// # drop(sum);
/// # })?;
/// # Ok::<(), warpwright::ptx::BuildError>(())
/// ```
pub struct Pipeline<'k, Tiles: StageTiles<'k>, const N: usize> {
    k: Builder<'k>,
    /// The address of stage 0; stage `s` is at offset `s` · [`STAGE_BYTES`](StageTiles::STAGE_BYTES).
    base: Ptr<'k, u8, Shared>,
    tiles: PhantomData<Tiles>,
}

/// A stage whose tiles are no longer read by any thread.
pub struct Stage<'k, Tiles: StageTiles<'k>> {
    tiles: Tiles,
    k: PhantomData<Builder<'k>>,
}

/// A stage whose tiles are in flight. Only [`Pipeline::run`] waits for it.
#[must_use = "give the filled stage back to the pipeline"]
pub struct Filling<'k, Tiles> {
    tiles: PhantomData<(Tiles, Builder<'k>)>,
}

impl<'k, Tiles: StageTiles<'k>, const N: usize> fmt::Debug for Pipeline<'k, Tiles, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pipeline of {N} stages of {} bytes at {:?}", Tiles::STAGE_BYTES, self.base)
    }
}

impl<'k, Tiles: StageTiles<'k>> fmt::Debug for Stage<'k, Tiles> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stage").finish_non_exhaustive()
    }
}

impl<Tiles> fmt::Debug for Filling<'_, Tiles> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Filling").finish_non_exhaustive()
    }
}

/// A tuple of shared tiles and vectors that form a stage.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a pipeline's stage",
    note = "a stage is a tuple of one to four shared tiles or vectors, such as `(St<bf16, 4, 2>, Sv<f32, 4>)`"
)]
pub trait StageTiles<'k>: Sized + Sealed {
    /// The tiles after their data have arrived.
    type Filled;
    /// The size of a stage in bytes, with gaps that align its tiles.
    const STAGE_BYTES: u32;
    /// The total size of the tiles in bytes.
    #[doc(hidden)]
    const BYTES: u32;

    #[doc(hidden)]
    #[track_caller]
    fn at(base: Ptr<'k, u8, Shared>) -> Self;
    /// Computes the lane-dependent parts of the tiles' addresses outside of the loop that uses them.
    #[doc(hidden)]
    #[track_caller]
    fn prepare(&self);
    #[doc(hidden)]
    fn filled(self) -> Self::Filled;
}

/// The tiles in global memory that fill a stage of `Tiles`, one for each tile.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not fill a stage of `{Tiles}`",
    note = "give one tile of global memory for each shared tile, of the same element type"
)]
pub trait Sources<'k, Tiles>: Sealed {
    #[doc(hidden)]
    fn fill(self, tiles: Tiles, at: &'static Location<'static>);
}

/// The alignment of stages in bytes, sufficient for every swizzle.
pub(super) const STAGE_ALIGN: u32 = 1024;

impl<'k> Builder<'k> {
    /// Creates a pipeline of `N` stages (at least 2): `k.pipeline::<(St<bf16, 4, 2>, St<bf16, 2, 4>), 3>()`.
    #[track_caller]
    pub fn pipeline<Tiles: StageTiles<'k>, const N: usize>(self) -> Pipeline<'k, Tiles, N> {
        const { assert!(N >= 2, "a pipeline has at least two stages: one to fill and one to work on") };
        let bytes = u32::try_from(N as u64 * u64::from(Tiles::STAGE_BYTES)).unwrap_or(u32::MAX);
        let base = self.shared_aligned(bytes, STAGE_ALIGN);
        Tiles::at(base).prepare();
        Pipeline { k: self, base, tiles: PhantomData }
    }
}

impl<'k, Tiles: StageTiles<'k>> Stage<'k, Tiles> {
    /// Starts filling the stage with all threads of the block.
    #[track_caller]
    pub fn fill(self, from: impl Sources<'k, Tiles>) -> Filling<'k, Tiles> {
        from.fill(self.tiles, Location::caller());
        Filling { tiles: PhantomData }
    }
}

impl<'k, Tiles: StageTiles<'k>, const N: usize> Pipeline<'k, Tiles, N> {
    /// Processes `count` stages in order, with up to `N − 1` later stages in flight.
    ///
    /// `fill` is called for the first stages and once in the loop; `work` is called once and borrows the stage. All threads of
    /// the block must execute the call. One barrier per iteration makes the copies visible to all threads and orders their
    /// reads of the stage that is filled next before the new copies.
    #[track_caller]
    pub fn run<S: State<'k>>(
        self,
        count: impl Into<Val<'k, u32>>,
        state: S,
        fill: impl Fn(Val<'k, u32>, Stage<'k, Tiles>) -> Filling<'k, Tiles>,
        work: impl FnOnce(S, &Tiles::Filled) -> S,
    ) -> S {
        let work = |_, state, tiles: &_| work(state, tiles);
        let count = count.into();
        let _located = self.k.locate(Location::caller());
        self.emit(count, state, fill, work)
    }

    /// Processes stages like [`run`](Self::run), and also passes the index of the stage to `work`, for masks and positions that depend on
    /// it.
    #[track_caller]
    pub fn run_indexed<S: State<'k>>(
        self,
        count: impl Into<Val<'k, u32>>,
        state: S,
        fill: impl Fn(Val<'k, u32>, Stage<'k, Tiles>) -> Filling<'k, Tiles>,
        work: impl FnOnce(Val<'k, u32>, S, &Tiles::Filled) -> S,
    ) -> S {
        let count = count.into();
        let _located = self.k.locate(Location::caller());
        self.emit(count, state, fill, work)
    }

    fn emit<S: State<'k>>(
        &self,
        count: Val<'k, u32>,
        state: S,
        fill: impl Fn(Val<'k, u32>, Stage<'k, Tiles>) -> Filling<'k, Tiles>,
        work: impl FnOnce(Val<'k, u32>, S, &Tiles::Filled) -> S,
    ) -> S {
        let k = self.k;
        let ahead = N as u32 - 1;
        let begin = |i: Val<'k, u32>, stage: Ptr<'k, u8, Shared>| {
            k.if_(i.lt(count), || {
                let stage = Stage { tiles: Tiles::at(stage), k: PhantomData };
                let Filling { .. } = k.unlocated(|| fill(i, stage));
            });
            // Commit a group even if nothing was copied, so that groups count stages.
            k.commit_copies();
        };
        self.fill_first(&begin);
        k.comment(format_args!("wait for a stage, fill the one {ahead} ahead, work"));
        let first = (Val::from(0), Val::from(ahead * Tiles::STAGE_BYTES));
        let (state, ..) = k.fold(count, (state, first.0, first.1), |i, (state, read, write)| {
            k.wait_copies(ahead - 1);
            k.this_block().sync();
            begin(i + ahead, self.stage_at(write));
            let tiles = Tiles::at(self.stage_at(read)).filled();
            let state = k.unlocated(|| work(i, state, &tiles));
            (state, self.next(read), self.next(write))
        });
        state
    }

    /// Processes `count` stages in order, each in `slices` parts along k whose fragments are loaded one part ahead: `load` loads the
    /// fragments of a part, given its 0-based index, and `work` multiplies them. While a part is multiplied, the fragments of the next
    /// part, which may be the first part of the next stage, are in flight.
    ///
    /// `fill` is also called for up to `N` − 1 stages past the last one, which are not used. Tiles past the edge of a matrix are not read. All
    /// threads of the block must execute the call, which emits one barrier per stage.
    #[doc(alias = "register double buffering")]
    #[track_caller]
    pub fn run_sliced<S: State<'k>, F: State<'k>>(
        self,
        count: impl Into<Val<'k, u32>>,
        slices: u32,
        state: S,
        fill: impl Fn(Val<'k, u32>, Stage<'k, Tiles>) -> Filling<'k, Tiles>,
        load: impl Fn(&Tiles::Filled, u32) -> F,
        work: impl Fn(S, &F) -> S,
    ) -> S {
        let count = count.into();
        let _located = self.k.locate(Location::caller());
        self.emit_sliced(count, slices, state, fill, load, work)
    }

    fn emit_sliced<S: State<'k>, F: State<'k>>(
        &self,
        count: Val<'k, u32>,
        slices: u32,
        state: S,
        fill: impl Fn(Val<'k, u32>, Stage<'k, Tiles>) -> Filling<'k, Tiles>,
        load: impl Fn(&Tiles::Filled, u32) -> F,
        work: impl Fn(S, &F) -> S,
    ) -> S {
        let k = self.k;
        if slices == 0 {
            k.refuse("expected stages of at least one slice, found none".into());
        }
        let ahead = N as u32 - 1;
        // Without a branch, ptxas schedules the copies, the loads and the products of an iteration together.
        let begin = |i: Val<'k, u32>, stage: Ptr<'k, u8, Shared>| {
            let stage = Stage { tiles: Tiles::at(stage), k: PhantomData };
            let Filling { .. } = k.unlocated(|| fill(i, stage));
            k.commit_copies();
        };
        let load = |stage: Ptr<'k, u8, Shared>, slice| {
            let tiles = Tiles::at(stage).filled();
            k.unlocated(|| load(&tiles, slice))
        };
        self.fill_first(&begin);
        k.wait_copies(ahead - 1);
        k.this_block().sync();
        let fragments = load(self.base, 0);
        k.comment(format_args!("work on a slice while the next one is loaded, fill the stage {ahead} ahead"));
        let offsets = (Val::from(0), Val::from(ahead * Tiles::STAGE_BYTES));
        let state = (state, fragments, offsets.0, offsets.1);
        let (state, ..) = k.fold(count, state, |i, (mut state, mut fragments, read, write)| {
            let (stage, following) = (self.stage_at(read), self.next(read));
            // Not among the first loads, which the next products wait for, nor before those that follow the barrier.
            let filled_in = 1.min(slices.saturating_sub(2));
            for slice in 0..slices {
                let is_last = slice + 1 == slices;
                if is_last {
                    if slices == 1 {
                        begin(i + ahead, self.stage_at(write));
                    }
                    k.wait_copies(ahead - 1);
                    k.this_block().sync();
                }
                let next = if is_last { load(self.stage_at(following), 0) } else { load(stage, slice + 1) };
                if slice == filled_in && !is_last {
                    begin(i + ahead, self.stage_at(write));
                }
                state = k.unlocated(|| work(state, &fragments));
                fragments = next;
            }
            (state, fragments, following, self.next(write))
        });
        // No copy is in flight when the memory is used again.
        k.wait_copies(0);
        state
    }

    /// Begins to fill all stages but one.
    #[track_caller]
    fn fill_first(&self, begin: &dyn Fn(Val<'k, u32>, Ptr<'k, u8, Shared>)) {
        Owner::block(self.k).sync_in_loop();
        for i in 0..N as u32 - 1 {
            self.k.comment(format_args!("fill stage {i}"));
            begin(i.into(), self.base.byte_offset(i64::from(i * Tiles::STAGE_BYTES)));
        }
    }

    #[track_caller]
    fn stage_at(&self, offset: Val<'k, u32>) -> Ptr<'k, u8, Shared> {
        self.base.advance(offset).assume_aligned(STAGE_ALIGN)
    }

    /// Returns the offset of the stage after the one at `offset`.
    #[track_caller]
    fn next(&self, offset: Val<'k, u32>) -> Val<'k, u32> {
        let last = (N as u32 - 1) * Tiles::STAGE_BYTES;
        offset.eq(last).select(0, offset + Tiles::STAGE_BYTES)
    }
}

/// Returns the address of the next tile in a stage and advances `next` by `bytes`.
fn take<'k>(next: &mut Ptr<'k, u8, Shared>, bytes: u32) -> Ptr<'k, u8, Shared> {
    let start = *next;
    *next = start.byte_offset(bytes.next_multiple_of(STAGE_ALIGN).into());
    start
}

/// A shared tile or vector of a stage.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be part of a pipeline's stage",
    note = "stages consist of shared tiles `St` and shared vectors `Sv`"
)]
pub trait StageTile<'k>: Allocate<'k> {
    /// Computes the lane-dependent parts of the addresses outside of the loop that uses them.
    #[doc(hidden)]
    #[track_caller]
    fn prepare(&self);
}

impl<'k, T: TensorElement, const H: usize, const W: usize, S: SharedSwizzle> StageTile<'k>
    for St<'k, T, H, W, S>
{
    #[track_caller]
    fn prepare(&self) {
        self.prepare();
    }
}

impl<'k, T: TensorElement, const N: usize> StageTile<'k> for Sv<'k, T, N> {
    fn prepare(&self) {}
}

/// A tile or vector in global memory that fills a shared `Tile`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not fill `{Tile}`",
    note = "a tile of a matrix fills an `St`, a tile of a vector an `Sv`, of the same element type"
)]
pub trait SourceOf<'k, Tile>: Sealed {
    #[doc(hidden)]
    #[track_caller]
    fn begin_fill(&self, tile: &Tile);
}

impl<'k, T: TensorElement, A: Readable, const H: usize, const W: usize, S: SharedSwizzle>
    SourceOf<'k, St<'k, T, H, W, S>> for GlTile<'k, T, A>
{
    #[track_caller]
    fn begin_fill(&self, tile: &St<'k, T, H, W, S>) {
        tile.begin_fill(self);
    }
}

impl<'k, T: TensorElement, A: Readable, const N: usize> SourceOf<'k, Sv<'k, T, N>> for GlTile<'k, T, A, 1> {
    #[track_caller]
    fn begin_fill(&self, vector: &Sv<'k, T, N>) {
        vector.begin_fill(self);
    }
}

/// A tile or vector in global memory whose elements past the edges are read as a value; see [`GlTile::or`].
#[derive(Clone, Debug)]
pub struct GlTileOr<'k, T: TensorElement, A, const R: usize> {
    tile: GlTile<'k, T, A, R>,
    value: T,
}

impl<T: TensorElement, A, const R: usize> Sealed for GlTileOr<'_, T, A, R> {}

impl<'k, T: TensorElement, A, const R: usize> GlTile<'k, T, A, R> {
    /// Returns the tile with `value` in place of the elements past the edges, for the stage of a pipeline:
    /// `stage.fill((x.tile(0, i).or(f32::NEG_INFINITY),))`.
    ///
    /// The data pass through registers, because `cp.async` can write only zeros past an edge, so the threads wait for the loads.
    #[must_use]
    pub fn or(self, value: T) -> GlTileOr<'k, T, A, R> {
        GlTileOr { tile: self, value }
    }
}

impl<'k, T: TensorElement, A: Readable, const H: usize, const W: usize, S: SharedSwizzle>
    SourceOf<'k, St<'k, T, H, W, S>> for GlTileOr<'k, T, A, 2>
{
    #[track_caller]
    fn begin_fill(&self, tile: &St<'k, T, H, W, S>) {
        tile.begin_fill_or(&self.tile, self.value);
    }
}

impl<'k, T: TensorElement, A: Readable, const N: usize> SourceOf<'k, Sv<'k, T, N>> for GlTileOr<'k, T, A, 1> {
    #[track_caller]
    fn begin_fill(&self, vector: &Sv<'k, T, N>) {
        vector.begin_fill_or(&self.tile, self.value);
    }
}

macro_rules! stages {
    ($($tile:ident $from:ident $n:tt),*) => {
        impl<'k, $($tile: StageTile<'k>),*> StageTiles<'k> for ($($tile,)*) {
            type Filled = ($(Filled<$tile>,)*);
            const STAGE_BYTES: u32 = 0 $(+ $tile::BYTES.next_multiple_of(STAGE_ALIGN))*;
            const BYTES: u32 = 0 $(+ $tile::BYTES)*;

            #[track_caller]
            fn at(base: Ptr<'k, u8, Shared>) -> Self {
                let mut next = base;
                ($($tile::at(take(&mut next, $tile::BYTES)),)*)
            }

            #[track_caller]
            fn prepare(&self) {
                $(self.$n.prepare();)*
            }

            fn filled(self) -> Self::Filled {
                ($(Filled { tile: self.$n },)*)
            }
        }

        impl<'k, $($tile: StageTile<'k>, $from: SourceOf<'k, $tile>),*> Sources<'k, ($($tile,)*)> for ($($from,)*) {
            fn fill(self, tiles: ($($tile,)*), at: &'static Location<'static>) {
                $({
                    let _located = tiles.$n.address().kernel().locate(at);
                    self.$n.begin_fill(&tiles.$n);
                })*
            }
        }
    };
}

stages! { T0 G0 0 }
stages! { T0 G0 0, T1 G1 1 }
stages! { T0 G0 0, T1 G1 1, T2 G2 2 }
stages! { T0 G0 0, T1 G1 1, T2 G2 2, T3 G3 3 }
