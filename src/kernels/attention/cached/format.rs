//! The elements of a cache, and their conversion to operands of matrix products.

use super::{N, STAGES};
use crate::{
    kernels::attention::{steps::StepTiles, warpgroup::FactorRing},
    ptx::{Builder, Read, e4m3},
    tensor::{ConvertibleElement, TensorElement},
    tiles::{Allocate, Consumer, Filled, Joined, Persistent, Producer, St},
};

/// The elements of a cache for queries of type `T` with rows of `D` subtiles.
pub(super) trait Format<'k, T: TensorElement, const D: usize> {
    type Element: TensorElement;
    type Steps: StepTiles<'k, 1, Tile = St<'k, T, N, D>>;
    /// Whether the queries are kept in registers.
    const QUERIES_IN_REGISTERS: bool;
    /// The number of registers of a consumer thread.
    const REGISTERS: u32;

    /// Allocates shared memory for keys or values.
    #[track_caller]
    fn steps(k: Builder<'k>, tiles: Persistent<'k>) -> Self::Steps;
    /// Loads the rows of a step.
    #[track_caller]
    fn fill(p: Producer<'k>, steps: &Self::Steps, rows: Joined<'k, Self::Element, Read>);
}

/// Elements of the same type as the queries.
pub(super) enum OfQueries {}

impl<'k, T: TensorElement, const D: usize> Format<'k, T, D> for OfQueries {
    type Element = T;
    type Steps = FactorRing<'k, T, N, D, STAGES, 1>;
    const QUERIES_IN_REGISTERS: bool = true;
    const REGISTERS: u32 = 232;

    fn steps(_: Builder<'k>, tiles: Persistent<'k>) -> Self::Steps {
        tiles.ring()
    }

    fn fill(p: Producer<'k>, steps: &Self::Steps, rows: Joined<'k, T, Read>) {
        p.fill(steps, |stage| stage.fill((rows,)));
    }
}

/// Elements of type `e4m3` in rows of `W` subtiles. A warpgroup converts them exactly to the type of the queries.
pub(super) enum Widened<const W: usize> {}

/// The stages of `e4m3` elements, and the converted tile of a step.
pub(super) struct WidenedSteps<'k, T: TensorElement, const D: usize, const W: usize> {
    stages: FactorRing<'k, e4m3, N, W, STAGES, 1>,
    tile: Filled<St<'k, T, N, D>>,
}

impl<'k, T: ConvertibleElement, const D: usize, const W: usize> Format<'k, T, D> for Widened<W> {
    type Element = e4m3;
    type Steps = WidenedSteps<'k, T, D, W>;
    /// False, because the addresses for the conversion occupy too many registers.
    const QUERIES_IN_REGISTERS: bool = false;
    const REGISTERS: u32 = 248;

    fn steps(k: Builder<'k>, tiles: Persistent<'k>) -> Self::Steps {
        WidenedSteps { stages: tiles.ring(), tile: k.shared_tile::<St<T, N, D>>().filled() }
    }

    fn fill(p: Producer<'k>, steps: &Self::Steps, rows: Joined<'k, e4m3, Read>) {
        p.fill(&steps.stages, |stage| stage.fill((rows,)));
    }
}

impl<'k, T: ConvertibleElement, const D: usize, const W: usize> StepTiles<'k, 1>
    for WidenedSteps<'k, T, D, W>
{
    type Tile = St<'k, T, N, D>;
    type Received = ();
    const ARE_REPLACED: bool = true;

    fn receive(&self, c: Consumer<'k, 1>) {
        let stage = c.receive(&self.stages);
        // Other warps may still be multiplying the tile of the previous step.
        c.group().sync();
        c.convert_rows(&stage.tiles().0, &self.tile);
        // The fence of `release_loaded` also orders the stores before the products that read them.
        c.release_loaded(&self.stages, stage);
        c.group().sync();
    }

    fn tile<'s>(&'s self, (): &'s ()) -> &'s Filled<Self::Tile> {
        &self.tile
    }

    fn release(&self, _: Consumer<'k, 1>, (): ()) {}
}
