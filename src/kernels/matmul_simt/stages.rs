//! Stages of operands, for all storage orders.

use super::share::DEPTH;
use crate::{
    ptx::{Read, Shared, Val},
    tensor::Tensor,
    tiles::{Filling, Gl, St, Stage, StageTiles},
};

/// Stages of `M` subtiles of rows of A and `N` subtiles of columns of B, for given storage orders of A and B.
pub(super) trait Stages<'k, const M: usize, const N: usize> {
    type Tiles: StageTiles<'k>;

    /// Fills a stage with the tiles for a step along k; `at` contains the row and the column of the result's tile, and the step.
    fn fill(
        stage: Stage<'k, Self::Tiles>,
        factors: [&Gl<'k, f32, Read>; 2],
        at: [Val<'k, u32>; 3],
    ) -> Filling<'k, Self::Tiles>;

    /// Returns the tiles of A and B.
    fn tensors(tiles: &<Self::Tiles as StageTiles<'k>>::Filled) -> [Tensor<'k, Shared, f32, Read>; 2];
}

macro_rules! stages {
    ($(
        $(#[$doc:meta])* $name:ident: ($a_stage:ty, $b_stage:ty),
        |$i:ident, $j:ident, $step:ident| ($a_at:expr, $b_at:expr);
    )*) => {$(
        $(#[$doc])*
        pub(super) struct $name;

        impl<'k, const M: usize, const N: usize> Stages<'k, M, N> for $name {
            type Tiles = ($a_stage, $b_stage);

            #[track_caller]
            fn fill(
                stage: Stage<'k, Self::Tiles>,
                [a, b]: [&Gl<'k, f32, Read>; 2],
                [$i, $j, $step]: [Val<'k, u32>; 3],
            ) -> Filling<'k, Self::Tiles> {
                let ([a_row, a_col], [b_row, b_col]) = ($a_at, $b_at);
                stage.fill((a.tile(a_row, a_col), b.tile(b_row, b_col)))
            }

            fn tensors((a, b): &<Self::Tiles as StageTiles<'k>>::Filled) -> [Tensor<'k, Shared, f32, Read>; 2] {
                [a.tensor(), b.tensor()]
            }
        }
    )*};
}

stages! {
    /// A and B are row-major.
    RowRow: (St<'k, f32, M, DEPTH>, St<'k, f32, DEPTH, N>), |i, j, step| ([i, step], [step, j]);
    /// A is row-major and B is column-major.
    RowCol: (St<'k, f32, M, DEPTH>, St<'k, f32, N, DEPTH>), |i, j, step| ([i, step], [j, step]);
    /// A is column-major and B is row-major.
    ColRow: (St<'k, f32, DEPTH, M>, St<'k, f32, DEPTH, N>), |i, j, step| ([step, i], [step, j]);
    /// A and B are column-major.
    ColCol: (St<'k, f32, DEPTH, M>, St<'k, f32, N, DEPTH>), |i, j, step| ([step, i], [j, step]);
}
