//! The stages of a product: the tiles of A and B that fill a stage, and the product of a stage.

use crate::{
    ptx::{Read, Val},
    tensor::TensorElement,
    tiles::{EmptyStage, FillingStage, Gl, InFlight, Persistent, Product, Row, Rt, Source, St, StageTiles},
};

/// The operands of a product.
pub(super) struct Factors<'k, T: TensorElement> {
    pub(super) a: Gl<'k, T, Read>,
    pub(super) b: Gl<'k, T, Read>,
    /// In a gated product, the second half of B. It fills half of the columns of B in a stage.
    pub(super) up: Option<Gl<'k, T, Read>>,
    /// The number of rows of a tile of A that are loaded, or `None` for all rows. If it is set, A must be row-major.
    pub(super) rows: Option<u32>,
}

/// Stages of `M`×`K` subtiles of A and `K`×`N` of B, for one order of A and one of B in memory. A warpgroup multiplies `P` rows of subtiles
/// of A, which are `H` blocks of 64 rows.
pub(super) trait Stages<
    'k,
    T: TensorElement,
    C: TensorElement,
    const M: usize,
    const P: usize,
    const N: usize,
    const K: usize,
    const H: usize,
>
{
    type Tiles: StageTiles<'k>;

    /// Fills a stage with the tiles for a step along k; `at` contains the row and the column of the result's tile, and the step. Blocks of
    /// a cluster share the loads of common tiles.
    fn fill(
        stage: EmptyStage<'k, Self::Tiles>,
        factors: &Factors<'k, T>,
        tiles: Persistent<'k>,
        at: [Val<'k, u32>; 3],
    ) -> FillingStage<'k, Self::Tiles>;

    /// Adds the product of part `part` of A, which has `P` rows of subtiles, and B in a stage to `sums`.
    fn multiply(
        sums: InFlight<'k, [Rt<'k, C, 1, N, Row>; H]>,
        tiles: &<Self::Tiles as StageTiles<'k>>::Filled,
        part: Val<'k, u32>,
    ) -> InFlight<'k, [Rt<'k, C, 1, N, Row>; H]>;
}

macro_rules! stages {
    ($(
        $(#[$doc:meta])* $name:ident,
        ($a_stage:ty, $b_stage:ty),
        |$a:ident, $b:ident, $i:ident, $j:ident, $step:ident| ($a_tile:expr, $b_tile:expr, $beside:ident),
        $product:ident, $part:ident;
    )*) => {$(
        $(#[$doc])*
        pub(super) struct $name;

        impl<'k, T: TensorElement + Product<T, C>, C: TensorElement, const M: usize, const P: usize, const N: usize, const K: usize, const H: usize>
            Stages<'k, T, C, M, P, N, K, H> for $name
        {
            type Tiles = ($a_stage, $b_stage);

            #[track_caller]
            fn fill(
                stage: EmptyStage<'k, Self::Tiles>,
                factors: &Factors<'k, T>,
                tiles: Persistent<'k>,
                [$i, $j, $step]: [Val<'k, u32>; 3],
            ) -> FillingStage<'k, Self::Tiles> {
                let $a = &factors.a;
                let of_b = |$b: &Gl<'k, T, Read>| $b_tile;
                let b = of_b(&factors.b);
                let b = match &factors.up {
                    None => Source::Shared(b.multicast(tiles.same_col())),
                    Some(up) => Source::Joined(b.$beside(of_b(up))),
                };
                let a = match factors.rows {
                    None => Source::Shared($a_tile.multicast(tiles.same_row())),
                    Some(rows) => Source::FirstRows($a_tile.first_rows(rows)),
                };
                stage.fill((a, b))
            }

            #[track_caller]
            fn multiply(
                sums: InFlight<'k, [Rt<'k, C, 1, N, Row>; H]>,
                (a, b): &<Self::Tiles as StageTiles<'k>>::Filled,
                part: Val<'k, u32>,
            ) -> InFlight<'k, [Rt<'k, C, 1, N, Row>; H]> {
                sums.$product(a.$part::<P>(part), b)
            }
        }
    )*};
}

stages! {
    /// A and B are row-major.
    RowRow,
    (St<'k, T, M, K>, St<'k, T, K, N>),
    |a, b, i, j, step| (a.tile(i, step), b.tile(step, j), left_of),
    mma_ab, rows;

    /// A is row-major and B is column-major.
    RowCol,
    (St<'k, T, M, K>, St<'k, T, N, K>),
    |a, b, i, j, step| (a.tile(i, step), b.tile(j, step), above),
    mma_abt, rows;

    /// A is column-major and B is row-major.
    ColRow,
    (St<'k, T, K, M>, St<'k, T, K, N>),
    |a, b, i, j, step| (a.tile(step, i), b.tile(step, j), left_of),
    mma_atb, cols;

    /// A and B are column-major.
    ColCol,
    (St<'k, T, K, M>, St<'k, T, N, K>),
    |a, b, i, j, step| (a.tile(step, i), b.tile(j, step), above),
    mma_atbt, cols;
}
