//! The states of a ring's stage: empty, being filled by tensor copies, and received.

use std::{fmt, marker::PhantomData, panic::Location, thread};

use super::tensor_copy::BoxSources;
use crate::{
    ptx::{BuildErrorKind, Builder, Lease, Mbarrier, RegId, State, Val, Visitor},
    tiles::stages::StageTiles,
};

/// A ring stage that the producer must fill.
pub struct EmptyStage<'k, Tiles> {
    pub(super) tiles: Tiles,
    pub(super) full: Mbarrier<'k>,
    pub(super) lease: Lease,
}

/// A ring stage whose copies have been started.
#[must_use = "give the filled stage back to the ring"]
pub struct FillingStage<'k, Tiles> {
    /// The lease of the stage.
    pub(super) lease: Lease,
    tiles: PhantomData<(Tiles, Builder<'k>)>,
}

impl<Tiles> fmt::Debug for EmptyStage<'_, Tiles> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmptyStage").finish_non_exhaustive()
    }
}

impl<Tiles> fmt::Debug for FillingStage<'_, Tiles> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FillingStage").finish_non_exhaustive()
    }
}

impl<'k, Tiles: StageTiles<'k>> EmptyStage<'k, Tiles> {
    /// Starts tensor copies that fill the stage from `from`, a tuple with one source for each tile of the stage. The builder rejects the
    /// call in an emitted branch or loop inside the closure.
    #[track_caller]
    pub fn fill(self, from: impl BoxSources<'k, Tiles>) -> FillingStage<'k, Tiles> {
        {
            let k = self.full.pointer().kernel();
            let _located = k.locate(Location::caller());
            k.check_lease_here(self.lease);
            self.full.arrive_expect_tx(from.bytes());
            from.copy_to(&self.tiles, self.full);
        }
        FillingStage { lease: self.lease, tiles: PhantomData }
    }
}

/// The identity of a ring.
#[derive(Clone, Copy)]
pub(super) struct RingId {
    /// The register of the ring's next stage, unique to the ring.
    pub(super) register: RegId,
    /// The source line that creates the ring.
    pub(super) created: &'static Location<'static>,
}

impl PartialEq for RingId {
    fn eq(&self, other: &Self) -> bool {
        self.register == other.register
    }
}

impl fmt::Debug for RingId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a stage of the ring that {} creates", self.created)
    }
}

/// A ring stage whose tiles have arrived. Consumers must release the stage when they have finished reading.
///
/// The builder rejects a kernel that drops the stage without releasing it, because the producer would wait forever.
#[must_use = "release the stage, or the producer waits for it forever"]
pub struct Received<'k, Tiles: StageTiles<'k>> {
    k: Builder<'k>,
    pub(super) tiles: Tiles::Filled,
    pub(super) stage: Val<'k, u32>,
    ring: RingId,
    lease: Lease,
    /// The source line that receives the stage.
    at: &'static Location<'static>,
    /// Whether the stage may be dropped: it has been released, or another value represents it.
    released: bool,
}

impl<'k, Tiles: StageTiles<'k>> fmt::Debug for Received<'k, Tiles> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Received stage {:?}", self.stage)
    }
}

impl<'k, Tiles: StageTiles<'k>> Received<'k, Tiles> {
    #[track_caller]
    pub(super) fn new(k: Builder<'k>, ring: RingId, tiles: Tiles::Filled, stage: Val<'k, u32>) -> Self {
        Self { k, tiles, stage, ring, lease: k.lease(), at: k.here(), released: false }
    }

    /// Returns the tiles.
    pub fn tiles(&self) -> &Tiles::Filled {
        &self.tiles
    }

    /// Returns the index of the stage and marks it as released to `ring`; rejects a stage of another ring.
    #[track_caller]
    pub(super) fn released_to(mut self, ring: RingId) -> Val<'k, u32> {
        self.released = true;
        // Otherwise, the producer might wait for the stage forever.
        self.k.check_lease_here(self.lease);
        Tiles::end(&self.tiles);
        if self.ring != ring {
            self.k.refuse(format!(
                "expected a release to the ring of the stage, which {} creates, found the ring that {} creates",
                self.ring.created, ring.created
            ));
        }
        self.stage
    }
}

impl<'k, Tiles: StageTiles<'k>> Drop for Received<'k, Tiles> {
    fn drop(&mut self) {
        // The body may be borrowed while a panic unwinds.
        if !self.released && !thread::panicking() {
            let why = "expected a received stage to be released, found one that is dropped: its producer would wait for it forever";
            self.k.body().fail(BuildErrorKind::Refused(why.into()), self.at);
        }
    }
}

impl<'k, Tiles: StageTiles<'k>> State<'k> for Received<'k, Tiles>
where
    Tiles::Filled: State<'k>,
{
    #[track_caller]
    fn visit(&mut self, visitor: &mut Visitor<'_, 'k>) {
        visitor.form(&format_args!("{:?} in {}", self.ring, self.ring.register));
        self.released |= visitor.leaves_branch();
        self.tiles.visit(visitor);
        visitor.lease(&mut self.lease);
        self.stage.visit(visitor);
    }
}
