//! The states of a ring's stage: empty, being filled by tensor copies, and received.

use std::{fmt, marker::PhantomData, panic::Location};

use super::tensor_copy::BoxSources;
use crate::{
    ptx::{Builder, Mbarrier, State, Val, Visitor},
    tiles::stages::StageTiles,
};

/// A stage of a ring that the producer must fill.
pub struct EmptyStage<'k, Tiles> {
    pub(super) tiles: Tiles,
    pub(super) full: Mbarrier<'k>,
}

/// A stage of a ring that is being filled: its copies have been started.
#[must_use = "give the filled stage back to the ring"]
pub struct FillingStage<'k, Tiles>(pub(super) PhantomData<(Tiles, Builder<'k>)>);

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
    /// Starts filling the stage with tensor copies.
    #[track_caller]
    pub fn fill(self, from: impl BoxSources<'k, Tiles>) -> FillingStage<'k, Tiles> {
        {
            let _located = self.full.pointer().kernel().locate(Location::caller());
            self.full.arrive_expect_tx(from.bytes());
            from.copy_to(&self.tiles, self.full);
        }
        FillingStage(PhantomData)
    }
}

/// A stage of a ring whose tiles have arrived; consumers release it when they have finished reading.
#[must_use = "release the stage, or the producer waits for it forever"]
pub struct Received<'k, Tiles: StageTiles<'k>> {
    pub(super) tiles: Tiles::Filled,
    pub(super) stage: Val<'k, u32>,
}

impl<'k, Tiles: StageTiles<'k>> fmt::Debug for Received<'k, Tiles> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Received stage {:?}", self.stage)
    }
}

impl<'k, Tiles: StageTiles<'k>> Received<'k, Tiles> {
    /// Returns the tiles.
    pub fn tiles(&self) -> &Tiles::Filled {
        &self.tiles
    }
}

impl<'k, Tiles: StageTiles<'k>> State<'k> for Received<'k, Tiles>
where
    Tiles::Filled: State<'k>,
{
    #[track_caller]
    fn visit(&mut self, visitor: &mut Visitor<'_, 'k>) {
        self.tiles.visit(visitor);
        self.stage.visit(visitor);
    }
}
