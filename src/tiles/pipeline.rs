//! Multi-stage pipelines: later tiles are in flight while the current tiles are processed.

use std::{fmt, marker::PhantomData, panic::Location};

use super::{
    allocate::Owner,
    stages::{STAGE_ALIGN, Sources, StageTiles},
};
use crate::ptx::{Builder, Lease, Ptr, Shared, State, Val};

/// A pipeline of `N` stages in shared memory. Each stage contains one tile of every type in the tuple `Tiles`.
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

/// A stage that can be filled because all threads have finished reading its tiles.
pub struct Stage<'k, Tiles: StageTiles<'k>> {
    k: Builder<'k>,
    tiles: Tiles,
    lease: Lease,
}

/// A stage whose tiles are in flight. Only the pipeline can wait for the tiles.
#[must_use = "give the filled stage back to the pipeline"]
pub struct Filling<'k, Tiles> {
    /// The lease of the stage.
    lease: Lease,
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

impl<'k> Builder<'k> {
    /// Creates a pipeline of `N` stages: `k.pipeline::<(St<bf16, 4, 2>, St<bf16, 2, 4>), 3>()`. The call does not compile if `N` is less
    /// than 2.
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
    /// Starts filling the stage from `from`, a tuple with one source for each tile. All threads of the block must take part. The builder
    /// rejects the call in an emitted branch or loop inside the closure.
    #[track_caller]
    pub fn fill(self, from: impl Sources<'k, Tiles>) -> Filling<'k, Tiles> {
        self.k.check_lease_here(self.lease);
        from.fill(self.tiles, Location::caller());
        Filling { lease: self.lease, tiles: PhantomData }
    }
}

impl<'k, Tiles: StageTiles<'k>, const N: usize> Pipeline<'k, Tiles, N> {
    /// Processes `count` stages in order, with up to `N − 1` later stages in flight, and returns the state after the last one.
    ///
    /// `fill` receives a stage and the index of the iteration that reads the stage, and emits the copies to the stage. It is called once
    /// for each of the first `N − 1` stages and once for all later stages, but not for stages that are known not to exist.
    ///
    /// `work` receives the state and the tiles of a stage, emits the body of the loop over the stages, and returns the new state. It is
    /// called once, or not at all if `count` is known to be 0.
    ///
    /// All threads of the block must execute the emitted code. One barrier per iteration makes the copies visible to all threads and
    /// ensures that reads of a stage precede the copies that refill it.
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

    /// Processes stages as [`run`](Self::run) does, but also passes the index of the iteration to `work`. A mask, for example, may depend
    /// on this index.
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
                self.fill_stage(stage, |stage| fill(i, stage));
            });
            // Commit a group even if nothing was copied, so that groups count stages.
            k.commit_copies();
        };
        self.fill_first(&begin);
        k.comment(format_args!("wait for a stage, fill the one {ahead} ahead, work"));
        let first = (Val::from(0), Val::from(ahead.saturating_mul(Tiles::STAGE_BYTES)));
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

    /// Processes `count` stages in order, each in `slices` slices along k, and returns the state after the last one. Fragments are loaded
    /// one slice ahead.
    ///
    /// `fill` receives a stage and the index of the iteration that reads the stage, as for [`run`](Self::run). `load` receives the tiles of
    /// a stage and the index of a slice, and loads the fragments of the slice. `work` receives the state and the fragments of a slice, and
    /// returns the new state. While `work` processes a slice, the fragments of the next slice, which may be in the next stage, are being
    /// loaded.
    ///
    /// The code that `fill` emits is also executed for `N − 1` stages past the last one. The data of these stages is not used, and tiles
    /// past the edge of a matrix are not read.
    ///
    /// All threads of the block must execute the emitted code. It contains one barrier before the loop (two if the call is inside an
    /// emitted loop) and one per stage. The builder rejects the call if `slices` is 0.
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
            self.fill_stage(stage, |stage| fill(i, stage));
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
        let offsets = (Val::from(0), Val::from(ahead.saturating_mul(Tiles::STAGE_BYTES)));
        let state = (state, fragments, offsets.0, offsets.1);
        let (state, ..) = k.fold(count, state, |i, (mut state, mut fragments, read, write)| {
            let (stage, following) = (self.stage_at(read), self.next(read));
            // Start the copies after the first loads, which the next products wait for, but not immediately
            // before the barrier, where they would delay the loads that follow it.
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
        // Wait for all copies, so that the memory can be used again.
        k.wait_copies(0);
        state
    }

    /// Calls `fill` with the stage at an address.
    #[track_caller]
    fn fill_stage(&self, at: Ptr<'k, u8, Shared>, fill: impl FnOnce(Stage<'k, Tiles>) -> Filling<'k, Tiles>) {
        let (k, lease) = (self.k, self.k.lease());
        let Filling { lease: filled, .. } = k.unlocated(|| fill(Stage { k, tiles: Tiles::at(at), lease }));
        k.check_same_lease(lease, filled);
    }

    /// Starts filling all stages except the last.
    #[track_caller]
    fn fill_first(&self, begin: &dyn Fn(Val<'k, u32>, Ptr<'k, u8, Shared>)) {
        Owner::block(self.k).sync_in_loop();
        for i in 0..N as u32 - 1 {
            self.k.comment(format_args!("fill stage {i}"));
            begin(i.into(), self.base.byte_offset(i64::from(i) * i64::from(Tiles::STAGE_BYTES)));
        }
    }

    #[track_caller]
    fn stage_at(&self, offset: Val<'k, u32>) -> Ptr<'k, u8, Shared> {
        self.base.advance(offset).assume_aligned(STAGE_ALIGN)
    }

    /// Returns the offset of the stage after the one at `offset`.
    #[track_caller]
    fn next(&self, offset: Val<'k, u32>) -> Val<'k, u32> {
        let last = (N as u32 - 1).saturating_mul(Tiles::STAGE_BYTES);
        offset.eq(last).select(0, offset + Tiles::STAGE_BYTES)
    }
}
