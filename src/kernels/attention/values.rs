//! The values of a step in shared memory, and their weights.

use crate::{
    ptx::{Builder, Read, State, Val},
    tensor::{ConvertibleElement, TensorElement},
    tiles::{
        Allocate, Consumer, Convert, EmptyStage, Filled, FillingStage, Gl, InFlight, Product, Rt, St,
        StageTile,
    },
};

/// The layout in shared memory of the values of a step, which consist of `N` rows (of keys) and `E` columns of subtiles.
pub(super) trait Values<'k, T: TensorElement, const E: usize, const N: usize> {
    /// The values of a step.
    type Tile: StageTile<'k> + Allocate<'k, Filled = Filled<Self::Tile>> + State<'k>;
    /// The weights of a step in registers.
    type Weights: State<'k>;
    /// The base-2 logarithm of the weight of a row's maximum score. It must be at most 8. Larger weights are more precise in a type with a
    /// small exponent range.
    const LIFT: f32;
    /// The number of registers for the weights of a subtile of keys.
    const REGISTERS: usize;

    /// Fills a stage with the values of a step of a head.
    #[track_caller]
    fn fill(
        stage: EmptyStage<'k, (Self::Tile,)>,
        values: &Gl<'k, T, Read>,
        step: Val<'k, u32>,
    ) -> FillingStage<'k, (Self::Tile,)>;
    /// Rounds weights to the element type.
    #[track_caller]
    fn rounded(k: Builder<'k>, weights: Rt<'k, f32, 1, N>) -> Self::Weights;
    /// Adds the weighted values.
    #[track_caller]
    fn add(
        sum: InFlight<'k, Rt<'k, f32, 1, E>>,
        weights: Self::Weights,
        values: &Filled<Self::Tile>,
    ) -> InFlight<'k, Rt<'k, f32, 1, E>>;
    /// Writes zeros to the values of the keys from `first` onward, unless they are known to be 0.
    #[track_caller]
    fn clear<const C: usize>(c: Consumer<'k, C>, values: &Filled<Self::Tile>, first: Val<'k, u32>);
}

/// The layout for 16-bit elements, with keys as rows.
#[derive(Clone, Copy)]
pub(super) struct OfKeys;

impl<'k, T, const E: usize, const N: usize> Values<'k, T, E, N> for OfKeys
where
    T: TensorElement + Product<T, f32>,
    f32: Convert<T>,
{
    type Tile = St<'k, T, N, E>;
    type Weights = Rt<'k, T, 1, N>;
    const LIFT: f32 = 0.0;
    const REGISTERS: usize = 4;

    fn fill(
        stage: EmptyStage<'k, (Self::Tile,)>,
        values: &Gl<'k, T, Read>,
        step: Val<'k, u32>,
    ) -> FillingStage<'k, (Self::Tile,)> {
        stage.fill((values.tile(step, 0),))
    }

    fn rounded(_: Builder<'k>, weights: Rt<'k, f32, 1, N>) -> Self::Weights {
        weights.convert()
    }

    fn add(
        sum: InFlight<'k, Rt<'k, f32, 1, E>>,
        weights: Self::Weights,
        values: &Filled<Self::Tile>,
    ) -> InFlight<'k, Rt<'k, f32, 1, E>> {
        sum.mma_ab(weights, values)
    }

    fn clear<const C: usize>(c: Consumer<'k, C>, values: &Filled<Self::Tile>, first: Val<'k, u32>) {
        c.clear_rows(values, first);
    }
}

/// The layout for 8-bit elements, which `wgmma` requires to be contiguous along k. Each row contains a column of V, in `K` subtiles of
/// keys, and each group of 16 keys is in [the order](super::scaled::key_at) of the weights that a lane owns.
#[derive(Clone, Copy)]
pub(super) struct Transposed<const K: usize>;

impl<'k, T, const E: usize, const N: usize, const K: usize> Values<'k, T, E, N> for Transposed<K>
where
    T: ConvertibleElement + Product<T, f32>,
{
    type Tile = St<'k, T, E, K>;
    type Weights = Rt<'k, T, 1, K>;
    const LIFT: f32 = 6.0;
    const REGISTERS: usize = 2;

    fn fill(
        stage: EmptyStage<'k, (Self::Tile,)>,
        values: &Gl<'k, T, Read>,
        step: Val<'k, u32>,
    ) -> FillingStage<'k, (Self::Tile,)> {
        stage.fill((values.tile(0, step),))
    }

    /// Packs weights without exchanging them between lanes: each word of a lane contains the lane's weights of one row and 16 keys.
    fn rounded(k: Builder<'k>, weights: Rt<'k, f32, 1, N>) -> Self::Weights {
        const { assert!(N == 2 * K, "a subtile of 8-bit weights has 32 keys") };
        let registers = weights.registers();
        // For each group of 16 keys, a word contains two weights of a row and the two weights of the same row 8 keys later.
        let words = registers.chunks(8).flat_map(|subtile| {
            [[0, 1, 4, 5], [2, 3, 6, 7]].map(|row| T::from_f32(&row.map(|at| subtile[at]))[0])
        });
        Rt::from_registers(k, words.collect::<Vec<_>>())
    }

    fn add(
        sum: InFlight<'k, Rt<'k, f32, 1, E>>,
        weights: Self::Weights,
        values: &Filled<Self::Tile>,
    ) -> InFlight<'k, Rt<'k, f32, 1, E>> {
        sum.mma_abt(weights, values)
    }

    /// Emits nothing, because the values after the last key are already 0.
    fn clear<const C: usize>(_: Consumer<'k, C>, _: &Filled<Self::Tile>, _: Val<'k, u32>) {}
}
