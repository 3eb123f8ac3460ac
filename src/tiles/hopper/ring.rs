//! Rings of stages that a producer fills with tensor copies and that consumers read.

use std::{cell::Cell, fmt, marker::PhantomData, panic::Location};

use super::{
    in_flight::{Accumulators, InFlight},
    roles::{Consumer, Producer},
    schedule::{Blocks, Persistent},
    stage::{EmptyStage, FillingStage, Received, RingId},
    turns::{Turn, Turns},
};
use crate::{
    ptx::{Builder, Mbarrier, ProxySpace, Ptr, Shared, State, Steps, Val, Var, quotient, remainder},
    tiles::stages::{STAGE_ALIGN, StageTiles},
};

/// A ring of `N` stages in shared memory, which one producer fills and `C` consumer warpgroups read. Each stage contains one tile of every
/// type in the tuple `Tiles`.
///
/// Each stage has two barriers: *full* completes a phase when the tiles have arrived, and *empty* when all consumers have released the
/// stage. In a kernel with clusters, the blocks of a cluster fill and release stages together, so that they can share tiles
/// ([`GlTile::multicast`](crate::tiles::GlTile::multicast)). All of these blocks must process the same number of stages.
#[doc(alias = "PipelineTmaAsync")]
pub struct Ring<'k, Tiles: StageTiles<'k>, const N: usize, const C: usize> {
    k: Builder<'k>,
    base: Ptr<'k, u8, Shared>,
    /// The full barriers, then the empty ones.
    barriers: Mbarrier<'k>,
    /// The blocks of the cluster that fill and release stages together, if this block is not the only one.
    blocks: Option<Blocks<'k>>,
    /// The stage that this thread, a producer or a consumer, processes next. If the number of stages is a power of two, the value does not
    /// wrap around: its lowest bits are the index of the stage, and the next bit is the parity of the stage's phase.
    stage: Var<'k, u32>,
    /// The parity of the stage's phase, if the number of stages is not a power of two.
    parity: Var<'k, u32>,
    /// The source line that creates the ring.
    created: &'static Location<'static>,
    /// The last call that reads stages.
    read: Cell<Option<Read>>,
    tiles: PhantomData<Tiles>,
}

/// A call that reads stages of a ring.
#[derive(Clone, Copy)]
struct Read {
    in_turns: bool,
    at: &'static Location<'static>,
}

impl<'k, Tiles: StageTiles<'k>, const N: usize, const C: usize> fmt::Debug for Ring<'k, Tiles, N, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ring of {N} stages of {} bytes for {C} warpgroups", Tiles::STAGE_BYTES)
    }
}

/// Rejects barriers that are created in an emitted loop: the next iteration would reinitialize them while threads and copies of the
/// previous iteration still use them.
#[track_caller]
pub(super) fn initialized_once(k: Builder<'_>, what: &str) {
    if k.in_loop() {
        k.refuse(format!(
            "expected {what} that is created outside of emitted loops, found one in a loop, which would reinitialize barriers in use"
        ));
    }
}

/// The number of warps in a consumer warpgroup; each of them arrives at the empty barrier.
pub(in crate::tiles) const WARPS: u32 = 4;

impl<'k> Builder<'k> {
    /// Creates a ring of `N` stages for `C` consumer warpgroups: `k.ring::<(St<bf16, 8, 4>, St<bf16, 16, 4>), 4, 2>()`. All threads of the
    /// block (in a kernel with clusters, of the cluster) must execute the emitted code, which initializes the barriers and synchronizes the
    /// threads.
    ///
    /// The builder rejects the call inside an emitted loop; create the ring before the loop that uses it.
    #[track_caller]
    pub fn ring<Tiles: StageTiles<'k>, const N: usize, const C: usize>(self) -> Ring<'k, Tiles, N, C> {
        let blocks = self.cluster_shape().map(|_| Blocks::all(self.this_cluster().blocks()));
        let _located = self.locate(Location::caller());
        Ring::new(self, blocks)
    }
}

impl<'k> Persistent<'k> {
    /// Creates a ring as [`Builder::ring`] does, but only the blocks that compute the same [part](Persistent::part) of different tiles fill
    /// and release stages together, because only these blocks can share loads.
    #[track_caller]
    pub fn ring<Tiles: StageTiles<'k>, const N: usize, const C: usize>(self) -> Ring<'k, Tiles, N, C> {
        let k = self.kernel();
        let _located = k.locate(Location::caller());
        Ring::new(k, Some(self.same_part()))
    }
}

impl<'k, Tiles: StageTiles<'k>, const N: usize, const C: usize> Ring<'k, Tiles, N, C> {
    #[track_caller]
    fn new(k: Builder<'k>, blocks: Option<Blocks<'k>>) -> Self {
        const { assert!(N >= 1 && C >= 1, "a ring has at least one stage and one consumer") };
        initialized_once(k, "a ring");
        let blocks = blocks.filter(|blocks| blocks.count > 1);
        let bytes = u32::try_from(N as u64 * u64::from(Tiles::STAGE_BYTES)).unwrap_or(u32::MAX);
        let base = k.shared_aligned(bytes, STAGE_ALIGN);
        let barriers = k.mbarriers(2 * N as u32);
        let releases = WARPS * C as u32 * blocks.map_or(1, |blocks| blocks.count);
        k.if_(k.this_block().thread().eq(0), || {
            for stage in 0..N as u32 {
                barriers.at(stage).init(1);
                barriers.at(N as u32 + stage).init(releases);
            }
            k.fence_mbarrier_init();
        });
        match k.cluster_shape() {
            Some(_) => k.this_cluster().sync(),
            None => k.this_block().sync(),
        }
        let created = k.here();
        Self {
            k,
            base,
            barriers,
            blocks,
            stage: k.var(0),
            parity: k.var(0),
            created,
            read: Cell::new(None),
            tiles: PhantomData,
        }
    }
}

impl<'k, Tiles: StageTiles<'k>, const N: usize, const C: usize> Ring<'k, Tiles, N, C> {
    /// Fills all stages with zeros, for use with copies that fill only parts of the tiles. All threads of the block (in a kernel with
    /// clusters, of the cluster) must execute the emitted code.
    #[must_use]
    #[track_caller]
    pub fn zeroed(self) -> Self {
        let k = self.k;
        {
            let _located = k.locate(Location::caller());
            let (block, words) = (k.this_block(), N as u32 * Tiles::STAGE_BYTES / 4);
            let words_of_thread = Steps::new(block.thread() * 4, words).by(block.size() * 4);
            k.for_(words_of_thread, |i| self.base.cast::<u32>().at(i).store_vector([0.into(); 4]));
            k.fence_proxy_async(ProxySpace::Shared);
            // Other blocks of the cluster may fill these stages too.
            match k.cluster_shape() {
                Some(_) => k.this_cluster().sync(),
                None => block.sync(),
            }
        }
        self
    }

    #[track_caller]
    fn tiles(&self, stage: Val<'k, u32>) -> Tiles {
        Tiles::at(self.base.advance(stage * Tiles::STAGE_BYTES))
    }

    #[track_caller]
    fn empty(&self, stage: Val<'k, u32>) -> Mbarrier<'k> {
        self.barriers.at(N as u32).at(stage)
    }

    /// Returns the next stage and the parity of its phase.
    #[track_caller]
    fn position(&self) -> (Val<'k, u32>, Val<'k, u32>) {
        let stage = self.stage.get();
        if N.is_power_of_two() {
            (remainder(stage, N as u32), quotient(stage, N as u32) & 1)
        } else {
            (stage, self.parity.get())
        }
    }

    /// Moves to the next stage.
    #[track_caller]
    fn advance(&self) {
        let next = self.stage.get() + 1;
        if N.is_power_of_two() {
            return self.stage.set(next);
        }
        let wraps = next.eq(N as u32);
        self.stage.set(wraps.select(0, next));
        let parity = self.parity.get();
        self.parity.set(wraps.select(parity ^ 1, parity));
    }

    /// Waits until the next stage is empty, fills it with `fill`, and advances.
    #[track_caller]
    fn fill_next(&self, fill: impl FnOnce(EmptyStage<'k, Tiles>) -> FillingStage<'k, Tiles>) {
        let (stage, parity) = self.position();
        // Initially, the stage is free, so the first wait returns immediately. The first phase of an empty barrier completes when the stage
        // has been read for the first time.
        self.empty(stage).wait(parity ^ 1);
        let (tiles, full) = (self.tiles(stage), self.barriers.at(stage));
        let lease = self.k.lease();
        let FillingStage { lease: filled, .. } = self.k.unlocated(|| fill(EmptyStage { tiles, full, lease }));
        self.k.check_same_lease(lease, filled);
        self.advance();
    }

    /// Waits until the next stage is full, and advances. Returns the stage's tiles and index.
    #[track_caller]
    fn receive_next(&self) -> (Tiles::Filled, Val<'k, u32>) {
        let (stage, parity) = self.position();
        self.barriers.at(stage).wait(parity);
        let tiles = self.tiles(stage).filled();
        self.advance();
        (tiles, stage)
    }

    fn id(&self) -> RingId {
        RingId { register: self.stage.register(), created: self.created }
    }

    /// Records a call that reads stages. Rejects a second call if either call is made in turns, because the index of the turn determines
    /// the stages that it reads.
    #[track_caller]
    fn read(&self, in_turns: bool) {
        let read = Read { in_turns, at: self.k.here() };
        if let Some(before) = self.read.replace(Some(read)).filter(|before| before.in_turns || in_turns) {
            self.k.refuse(format!(
                "expected a single call that reads a ring used with `turns`, because the index of the turn determines the stages, found another after that of {}",
                before.at
            ));
        }
    }

    /// Moves to the stage that follows the first `number` stages in ring order: index `number` mod `N`, with the parity of that phase.
    #[track_caller]
    fn move_to(&self, number: Val<'k, u32>) {
        if N.is_power_of_two() {
            return self.stage.set(number);
        }
        self.stage.set(remainder(number, N as u32));
        self.parity.set(quotient(number, N as u32) & 1);
    }

    /// Accumulates the MMAs of `count` stages; `received` is called when all stages have arrived, while `wgmma`s are still in flight.
    #[track_caller]
    fn accumulate<R: Accumulators<'k>>(
        &self,
        count: Val<'k, u32>,
        sum: R,
        work: impl FnOnce(InFlight<'k, R>, &Tiles::Filled) -> InFlight<'k, R>,
        received: impl FnOnce(),
    ) -> R {
        let k = self.k;
        let state = (InFlight::complete(k, sum), Val::from(0));
        let (sum, last) = k.fold(count, state, |i, (sum, previous)| {
            let (tiles, stage) = self.receive_next();
            let (groups, loads) = (k.wgmma_groups(), k.shared_loads());
            let mut sum = k.unlocated(|| work(sum, &tiles));
            // The newest group may remain in flight if it is certain to have been committed in this iteration (otherwise, it may read the
            // previous stage) and if the next iteration does not overwrite registers that its `wgmma`s read.
            let may_remain = N > 1 && k.wgmma_groups() > groups && !sum.reads_registers_of_loop();
            k.wgmma_wait_group(may_remain.into());
            if !may_remain {
                sum.forget_operands();
            }
            if k.shared_loads() > loads {
                // Copies must not overtake loads of the stage, as in `release_loaded`.
                k.fence_proxy_async(ProxySpace::Shared);
                k.warp().sync();
            }
            if N == 1 {
                // With a single stage, the next tiles arrive in this stage.
                self.release_if(true.into(), stage);
            } else {
                self.release_if(i.gt(0), previous);
            }
            (sum, stage)
        });
        received();
        let sum = sum.wait();
        if N > 1 {
            self.release_if(count.gt(0), last);
        }
        sum
    }

    /// Releases a stage when all lanes of the warp have finished reading.
    #[track_caller]
    fn release(&self, stage: Val<'k, u32>) {
        self.k.warp().sync();
        self.release_if(true.into(), stage);
    }

    /// If `condition` is true, arrives at the empty barrier of `stage` in every block that fills the stage, with one lane of the warp per
    /// block.
    #[track_caller]
    fn release_if(&self, condition: Val<'k, bool>, stage: Val<'k, u32>) {
        let (k, empty) = (self.k, self.empty(stage));
        let lane = k.lane().rank();
        match self.blocks {
            None => k.if_(lane.eq(0) & condition, || {
                empty.arrive();
            }),
            Some(blocks) => k.if_(lane.lt(blocks.count) & condition, || {
                empty.in_block(blocks.rank(lane)).arrive();
            }),
        }
    }
}

impl<'k> Producer<'k> {
    /// Emits a loop that fills `count` stages of the ring in order, each as soon as its consumers have released it.
    ///
    /// `fill` emits the body of the loop. It is called once, or not at all if `count` is known to be 0, and receives the index of the
    /// iteration, from 0 to `count` − 1, and the stage to fill.
    #[track_caller]
    pub fn run<Tiles: StageTiles<'k>, const N: usize, const C: usize>(
        self,
        ring: &Ring<'k, Tiles, N, C>,
        count: impl Into<Val<'k, u32>>,
        fill: impl FnOnce(Val<'k, u32>, EmptyStage<'k, Tiles>) -> FillingStage<'k, Tiles>,
    ) {
        let (k, count) = (ring.k, count.into());
        let _located = k.locate(Location::caller());
        self.check();
        k.for_(count, |i| ring.fill_next(|stage| fill(i, stage)));
    }

    /// Fills the next stage of the ring as soon as its consumers have released it. Use this method to alternate between several rings.
    #[track_caller]
    pub fn fill<Tiles: StageTiles<'k>, const N: usize, const C: usize>(
        self,
        ring: &Ring<'k, Tiles, N, C>,
        fill: impl FnOnce(EmptyStage<'k, Tiles>) -> FillingStage<'k, Tiles>,
    ) {
        let _located = ring.k.locate(Location::caller());
        self.check();
        ring.fill_next(fill);
    }
}

impl<'k, const C: usize> Consumer<'k, C> {
    /// Emits a loop that accumulates the MMAs of `count` stages of the ring in `sum`, and returns the total. All threads of the warpgroup
    /// must execute the emitted code.
    ///
    /// `work` emits the body of the loop. It is called once, or not at all if `count` is known to be 0, and adds `wgmma`s that read the
    /// stage's tiles to those in flight.
    ///
    /// If the ring has several stages, the last MMA of a stage remains in flight while the consumer waits for the next stage. There are two
    /// exceptions: MMAs that read A from registers that the next iteration overwrites, and MMAs that `work` starts in an emitted loop,
    /// which might not execute.
    ///
    /// `work` may also load elements of the stage into registers; a proxy fence then orders these loads before the next copies to the
    /// stage.
    #[track_caller]
    pub fn run<Tiles: StageTiles<'k>, R: Accumulators<'k>, const N: usize>(
        self,
        ring: &Ring<'k, Tiles, N, C>,
        count: impl Into<Val<'k, u32>>,
        sum: R,
        work: impl FnOnce(InFlight<'k, R>, &Tiles::Filled) -> InFlight<'k, R>,
    ) -> R {
        let count = count.into();
        let _located = ring.k.locate(Location::caller());
        self.check();
        ring.read(false);
        ring.accumulate(count, sum, work, || ())
    }

    /// Waits for this warpgroup's turn, and then accumulates as [`run`](Self::run) does. Only one warpgroup reads each stage. `count` must
    /// be the same in every turn; the builder rejects a value that is computed in the loop.
    ///
    /// The index of the turn determines the stages. The builder therefore rejects a second call with the same turns, other calls that read
    /// stages of the ring, and a call inside nested emitted loops: only the loop over the tiles may contain the call.
    #[track_caller]
    pub fn run_in_turn<Tiles: StageTiles<'k>, R: Accumulators<'k>, const N: usize>(
        self,
        turns: &Turns<'k, C>,
        turn: Turn<'k>,
        ring: &Ring<'k, Tiles, N, 1>,
        count: impl Into<Val<'k, u32>>,
        sum: R,
        work: impl FnOnce(InFlight<'k, R>, &Tiles::Filled) -> InFlight<'k, R>,
    ) -> R {
        let count = count.into();
        let _located = ring.k.locate(Location::caller());
        self.check();
        ring.read(true);
        if !ring.k.loops_of(&[count]).is_empty() {
            ring.k.refuse(
                "expected a number of stages from outside of the loop over the tiles, which is the same in every turn, found one that the \
                 loop computes: compute it before the loop"
                    .into(),
            );
        }
        // The barrier of a stage distinguishes only two consecutive phases, so a warpgroup must not wait for a phase before another
        // warpgroup has waited for the previous phase.
        turns.wait(self, turn);
        ring.move_to(turn.number * count);
        ring.accumulate(count, sum, work, || turns.pass_on(self))
    }

    /// Emits a loop that processes `count` stages of the ring in order, and returns the state after the last one.
    ///
    /// `work` emits the body of the loop. It is called once, or not at all if `count` is known to be 0. It receives the index of the
    /// iteration, the state and the stage's tiles, and returns the new state. A warp [releases](Self::release_loaded) a stage when all of
    /// its threads have finished the iteration; the `wgmma`s that read the stage must be complete at that point.
    #[track_caller]
    pub fn each<Tiles: StageTiles<'k>, S: State<'k>, const N: usize>(
        self,
        ring: &Ring<'k, Tiles, N, C>,
        count: impl Into<Val<'k, u32>>,
        state: S,
        work: impl FnOnce(Val<'k, u32>, S, &Tiles::Filled) -> S,
    ) -> S {
        let (k, count) = (ring.k, count.into());
        let _located = k.locate(Location::caller());
        self.check();
        ring.read(false);
        k.fold(count, state, |i, state| {
            let (tiles, stage) = ring.receive_next();
            let state = k.unlocated(|| work(i, state, &tiles));
            k.fence_proxy_async(ProxySpace::Shared);
            ring.release(stage);
            state
        })
    }

    /// Waits until the tiles of the ring's next stage have arrived, and returns the stage.
    #[track_caller]
    pub fn receive<Tiles: StageTiles<'k>, const N: usize>(
        self,
        ring: &Ring<'k, Tiles, N, C>,
    ) -> Received<'k, Tiles> {
        let _located = ring.k.locate(Location::caller());
        self.check();
        ring.read(false);
        let (tiles, stage) = ring.receive_next();
        Received::new(ring.k, ring.id(), tiles, stage)
    }

    /// Releases a stage after its elements have been loaded into registers, so that the producer may refill it. All `wgmma`s that read the
    /// stage must be complete.
    ///
    /// This method emits a proxy fence, because loads and tensor copies access memory through different proxies. Without the fence, the
    /// next copy may overtake the loads (observed on an H200).
    #[doc(alias = "fence.proxy.async")]
    #[track_caller]
    pub fn release_loaded<Tiles: StageTiles<'k>, const N: usize>(
        self,
        ring: &Ring<'k, Tiles, N, C>,
        stage: Received<'k, Tiles>,
    ) {
        {
            let _located = ring.k.locate(Location::caller());
            ring.k.fence_proxy_async(ProxySpace::Shared);
        }
        self.release(ring, stage);
    }

    /// Releases a stage that only `wgmma`s have read, so that the producer may refill it. These `wgmma`s must be complete. After loads into
    /// registers, call [`release_loaded`](Self::release_loaded) instead.
    ///
    /// The producer refills the stage when all warps of all consumers have released it. The builder rejects the call if the stage was not
    /// received from `ring`, or in an emitted branch or loop that begins after the stage was received. It also rejects kernels that receive a stage without releasing it.
    #[track_caller]
    pub fn release<Tiles: StageTiles<'k>, const N: usize>(
        self,
        ring: &Ring<'k, Tiles, N, C>,
        stage: Received<'k, Tiles>,
    ) {
        let _located = ring.k.locate(Location::caller());
        self.check();
        ring.release(stage.released_to(ring.id()));
    }
}
