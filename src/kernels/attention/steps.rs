//! The keys or values of a step in shared memory.

use crate::{
    ptx::State,
    tiles::{Allocate, Consumer, Filled, Received, Ring, StageTile},
};

/// The shared tiles that a warpgroup receives, one for each step.
pub(super) trait StepTiles<'k, const C: usize> {
    type Tile;
    type Received: State<'k>;
    /// Whether all steps use the same tile, so that products with it must be complete before the next step is received.
    const ARE_REPLACED: bool;

    /// Waits for the next step.
    #[track_caller]
    fn receive(&self, c: Consumer<'k, C>) -> Self::Received;
    /// Returns the tile of a step.
    fn tile<'s>(&'s self, step: &'s Self::Received) -> &'s Filled<Self::Tile>;
    /// Releases the tile of a step. Products with the tile must be complete.
    #[track_caller]
    fn release(&self, c: Consumer<'k, C>, step: Self::Received);
}

/// The stages of a ring.
impl<'k, Tile, const STAGES: usize, const C: usize> StepTiles<'k, C> for Ring<'k, (Tile,), STAGES, C>
where
    Tile: StageTile<'k> + Allocate<'k, Filled = Filled<Tile>> + State<'k>,
{
    type Tile = Tile;
    type Received = Received<'k, (Tile,)>;
    const ARE_REPLACED: bool = false;

    fn receive(&self, c: Consumer<'k, C>) -> Self::Received {
        c.receive(self)
    }

    fn tile<'s>(&'s self, step: &'s Self::Received) -> &'s Filled<Tile> {
        &step.tiles().0
    }

    fn release(&self, c: Consumer<'k, C>, step: Self::Received) {
        c.release(self, step);
    }
}
