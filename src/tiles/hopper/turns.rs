//! Consumer warpgroups that take turns, so that one multiplies while another stores its result.

use std::{cell::Cell, fmt, panic::Location};

use super::{
    ring::{WARPS, initialized_once},
    roles::Consumer,
};
use crate::ptx::{Builder, Mbarrier, Val, Var, quotient};

/// The order in which `C` consumer warpgroups read the stages of a ring. During its turn, a warpgroup reads all stages of one tile.
#[doc(alias = "OrderedSequenceBarrier")]
#[doc(alias = "ping-pong")]
pub struct Turns<'k, const C: usize> {
    k: Builder<'k>,
    /// One barrier per warpgroup; it completes a phase when the warpgroup's turn begins.
    barriers: Mbarrier<'k>,
    /// The call that uses these turns.
    taken: Cell<Option<&'static Location<'static>>>,
}

impl<const C: usize> fmt::Debug for Turns<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "turns of {C} warpgroups")
    }
}

/// The turn of a warpgroup, identified by the index of its tile among the tiles that the block computes.
#[derive(Clone, Copy, Debug)]
pub struct Turn<'k> {
    pub(super) number: Val<'k, u32>,
}

impl<'k> Builder<'k> {
    /// Creates turns for `C` consumer warpgroups. All threads of the block must execute the emitted code. The builder rejects the call
    /// inside an emitted loop.
    #[track_caller]
    pub fn turns<const C: usize>(self) -> Turns<'k, C> {
        let k = self;
        let _located = k.locate(Location::caller());
        initialized_once(k, "turns");
        let barriers = k.mbarriers(C as u32);
        k.if_(k.this_block().thread().eq(0), || {
            (0..C as u32).for_each(|group| barriers.at(group).init(WARPS));
        });
        k.this_block().sync();
        Turns { k, barriers, taken: Cell::new(None) }
    }
}

impl<'k, const C: usize> Turns<'k, C> {
    /// Waits for a turn. The first turn requires no signal. Rejects a second call, and any loop other than the one over the tiles, because
    /// the index of the turn would then differ from the number of earlier turns.
    #[track_caller]
    pub(super) fn wait(&self, c: Consumer<'k, C>, turn: Turn<'k>) {
        let k = self.k;
        if let Some(before) = self.taken.replace(Some(k.here())) {
            k.refuse(format!(
                "expected a single call that takes turns, because it passes the turn on, found another after that of {before}"
            ));
        }
        let loops = k.body().uniform.loop_depth();
        if loops > 1 {
            k.refuse(format!(
                "expected a turn in a single emitted loop, which is over the tiles, found one in {loops} loops"
            ));
        }
        // In round r, a warpgroup waits for phase r, which completes when the previous warpgroup has had its turn. Warpgroup 0 waits for
        // phase r − 1, the last turn of round r − 1; in round 0, it need not wait: phase −1, of parity 1, counts as complete.
        self.wait_in_round(c, quotient(turn.number, C as u32));
    }

    /// Waits for the turn of this warpgroup in a round.
    #[track_caller]
    fn wait_in_round(&self, c: Consumer<'k, C>, round: Val<'k, u32>) {
        let is_first = c.rank().eq(0).select(1, 0);
        self.barriers.at(c.rank()).wait((round + is_first) & 1);
    }

    /// Passes the turn to the next warpgroup.
    #[track_caller]
    pub(super) fn pass_on(&self, c: Consumer<'k, C>) {
        let next = c.rank() + 1;
        let next = next.eq(C as u32).select(0, next);
        // Each warp arrives separately, after it has waited for this turn and for all of its stages; other warps may still be waiting.
        self.k.warp().sync();
        self.k.if_(self.k.lane().rank().eq(0), || {
            self.barriers.at(next).arrive();
        });
    }
}

/// A baton that `C` consumer warpgroups pass to each other. In every round, each warpgroup holds the baton once, in the order of the
/// warpgroups' ranks. A warpgroup waits only when it takes the baton; until then, it may do other work.
///
/// ```
/// # use warpwright::{prelude::*, tiles::{consumers, producer}};
/// # Kernel::<()>::build("alternate", Target::SM_90A, |k, ()| {
/// # k.block([384]);
/// # k.grid([1]);
/// let baton = k.baton::<2>();
/// k.specialize(
///     producer(40, |_| {}),
///     consumers::<2, _>(232, |c| {
///         k.for_(10, |_| {
///             c.hold(&baton, || { /* start products */ });
///             // other work, while another warpgroup starts its products
///         });
///     }),
/// );
/// # })?;
/// # Ok::<(), warpwright::ptx::BuildError>(())
/// ```
#[doc(alias = "OrderedSequenceBarrier")]
#[doc(alias = "ping-pong")]
pub struct Baton<'k, const C: usize> {
    turns: Turns<'k, C>,
    /// The number of times that this warpgroup has held the baton.
    round: Var<'k, u32>,
}

impl<const C: usize> fmt::Debug for Baton<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "baton of {C} warpgroups")
    }
}

impl<'k> Builder<'k> {
    /// Creates a baton, which the consumer warpgroup with rank 0 takes first. All threads of the block must execute the emitted code. The
    /// builder rejects the call inside an emitted loop.
    #[track_caller]
    pub fn baton<const C: usize>(self) -> Baton<'k, C> {
        initialized_once(self, "a baton");
        Baton { turns: self.turns(), round: self.var(0) }
    }
}

impl<'k, const C: usize> Consumer<'k, C> {
    /// Waits for the baton, calls `work` once, passes the baton on, and returns the result of `work`. All consumer warpgroups must execute
    /// the emitted code the same number of times.
    #[track_caller]
    pub fn hold<R>(self, baton: &Baton<'k, C>, work: impl FnOnce() -> R) -> R {
        let k = baton.turns.k;
        let round = baton.round.get();
        {
            let _located = k.locate(Location::caller());
            baton.turns.wait_in_round(self, round);
        }
        let result = work();
        {
            let _located = k.locate(Location::caller());
            baton.turns.pass_on(self);
            baton.round.set(round + 1);
        }
        result
    }
}
