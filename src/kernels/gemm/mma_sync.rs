//! The kernel for targets without `wgmma`: `cp.async`, `ldmatrix` and `mma.sync`.

use super::{
    Gemm, GemmSum, GemmTile,
    activation::activated,
    problem::{Batches, Matrices, Problem, TileRow},
    stages::{ColCol, ColRow, Factors, RowCol, RowRow},
};
use crate::{
    atoms::MmaOperand,
    ptx::{Builder, Read, State, Val, Write},
    tensor::TensorElement,
    tiles::{Col, Convert, Filling, Gl, Product, Row, Rt, Schedule, St, Stage, StageTiles},
};

/// Stages of `M`×`K` subtiles of A and `K`×`N` of B, for one order of A and one of B in memory; each warp multiplies `H`×`W` subtiles.
pub(super) trait WarpStages<
    'k,
    T: TensorElement,
    C: TensorElement,
    const M: usize,
    const N: usize,
    const K: usize,
    const H: usize,
    const W: usize,
>
{
    type Tiles: StageTiles<'k>;
    /// A warp's subtiles of A and B in a slice, which is one subtile deep.
    type Fragments: State<'k>;
    /// A stage of a gated product: the tiles of A, B₁ and B₂.
    type GatedTiles: StageTiles<'k>;
    /// A warp's subtiles of A, B₁ and B₂ in a slice.
    type GatedFragments: State<'k>;

    /// Fills a stage with the tiles for a step along k; `at` contains the row and the column of the result's tile, and the step.
    fn fill(
        stage: Stage<'k, Self::Tiles>,
        factors: &Factors<'k, T>,
        at: [Val<'k, u32>; 3],
    ) -> Filling<'k, Self::Tiles>;

    /// Loads the fragments of a slice for a warp; `warp` contains its row and column among the warps.
    fn load(
        tiles: &<Self::Tiles as StageTiles<'k>>::Filled,
        warp: [Val<'k, u32>; 2],
        slice: u32,
    ) -> Self::Fragments;

    /// Adds the product of a slice to `sum`.
    fn multiply(sum: Rt<'k, C, H, W, Row>, fragments: &Self::Fragments) -> Rt<'k, C, H, W, Row>;

    /// Fills a stage of a gated product, like [`fill`](Self::fill).
    fn fill_gated(
        stage: Stage<'k, Self::GatedTiles>,
        factors: &Factors<'k, T>,
        at: [Val<'k, u32>; 3],
    ) -> Filling<'k, Self::GatedTiles>;

    /// Loads the fragments of a slice of a gated product, like [`load`](Self::load).
    fn load_gated(
        tiles: &<Self::GatedTiles as StageTiles<'k>>::Filled,
        warp: [Val<'k, u32>; 2],
        slice: u32,
    ) -> Self::GatedFragments;

    /// Adds the products of a slice with B₁ and with B₂ to `sums`.
    fn multiply_gated(
        sums: [Rt<'k, C, H, W, Row>; 2],
        fragments: &Self::GatedFragments,
    ) -> [Rt<'k, C, H, W, Row>; 2];
}

macro_rules! stages {
    ($(
        $name:ident, ($a_stage:ty, $b_stage:ty), ($a_fragment:ty, $b_fragment:ty),
        |$a:ident, $b:ident, $i:ident, $j:ident, $step:ident| ($a_at:expr, $b_at:expr),
        $product:ident;
    )*) => {$(
        impl<
            'k, T: TensorElement + Product<T, C>, C: TensorElement,
            const M: usize, const N: usize, const K: usize, const H: usize, const W: usize,
        > WarpStages<'k, T, C, M, N, K, H, W> for $name
        {
            type Tiles = ($a_stage, $b_stage);
            type Fragments = ($a_fragment, $b_fragment);
            type GatedTiles = ($a_stage, $b_stage, $b_stage);
            type GatedFragments = ($a_fragment, $b_fragment, $b_fragment);

            #[track_caller]
            fn fill(
                stage: Stage<'k, Self::Tiles>,
                factors: &Factors<'k, T>,
                [$i, $j, $step]: [Val<'k, u32>; 3],
            ) -> Filling<'k, Self::Tiles> {
                let ($a, $b): (&Gl<'k, T, Read>, &Gl<'k, T, Read>) = (&factors.a, &factors.b);
                let ([a_row, a_col], [b_row, b_col]) = ($a_at, $b_at);
                stage.fill(($a.tile(a_row, a_col), $b.tile(b_row, b_col)))
            }

            #[track_caller]
            fn load(
                ($a, $b): &<Self::Tiles as StageTiles<'k>>::Filled,
                [row, col]: [Val<'k, u32>; 2],
                slice: u32,
            ) -> Self::Fragments {
                let $step = Val::from(slice);
                let a = {
                    let $i = row * H as u32;
                    let [row, col] = $a_at;
                    $a.subtile(row, col).load_operand(MmaOperand::A)
                };
                let $j = col * W as u32;
                let [row, col] = $b_at;
                (a, $b.subtile(row, col).load_operand(MmaOperand::B))
            }

            #[track_caller]
            fn multiply(sum: Rt<'k, C, H, W, Row>, (a, b): &Self::Fragments) -> Rt<'k, C, H, W, Row> {
                sum.$product(a, b)
            }

            #[track_caller]
            fn fill_gated(
                stage: Stage<'k, Self::GatedTiles>,
                factors: &Factors<'k, T>,
                [$i, $j, $step]: [Val<'k, u32>; 3],
            ) -> Filling<'k, Self::GatedTiles> {
                let ([a_row, a_col], [b_row, b_col]) = ($a_at, $b_at);
                let up = factors.up.as_ref().unwrap_or(&factors.b);
                stage.fill((factors.a.tile(a_row, a_col), factors.b.tile(b_row, b_col), up.tile(b_row, b_col)))
            }

            #[track_caller]
            fn load_gated(
                ($a, $b, up): &<Self::GatedTiles as StageTiles<'k>>::Filled,
                [row, col]: [Val<'k, u32>; 2],
                slice: u32,
            ) -> Self::GatedFragments {
                let $step = Val::from(slice);
                let a = {
                    let $i = row * H as u32;
                    let [row, col] = $a_at;
                    $a.subtile(row, col).load_operand(MmaOperand::A)
                };
                let $j = col * W as u32;
                let [row, col] = $b_at;
                let gate = $b.subtile(row, col).load_operand(MmaOperand::B);
                (a, gate, up.subtile(row, col).load_operand(MmaOperand::B))
            }

            #[track_caller]
            fn multiply_gated(
                [gate, up]: [Rt<'k, C, H, W, Row>; 2],
                (a, b, b_up): &Self::GatedFragments,
            ) -> [Rt<'k, C, H, W, Row>; 2] {
                [gate.$product(a, b), up.$product(a, b_up)]
            }
        }
    )*};
}

stages! {
    RowRow,
    (St<'k, T, M, K>, St<'k, T, K, N>), (Rt<'k, T, H, 1, Row>, Rt<'k, T, 1, W, Col>),
    |a, b, i, j, step| ([i, step], [step, j]),
    mma_ab;

    RowCol,
    (St<'k, T, M, K>, St<'k, T, N, K>), (Rt<'k, T, H, 1, Row>, Rt<'k, T, W, 1, Row>),
    |a, b, i, j, step| ([i, step], [j, step]),
    mma_abt;

    ColRow,
    (St<'k, T, K, M>, St<'k, T, K, N>), (Rt<'k, T, 1, H, Col>, Rt<'k, T, 1, W, Col>),
    |a, b, i, j, step| ([step, i], [step, j]),
    mma_atb;

    ColCol,
    (St<'k, T, K, M>, St<'k, T, N, K>), (Rt<'k, T, 1, H, Col>, Rt<'k, T, W, 1, Row>),
    |a, b, i, j, step| ([step, i], [j, step]),
    mma_atbt;
}

/// Emits the kernel in which each block computes a tile of `M`×`N` subtiles from `STAGES` stages, each `K` subtiles deep; each warp
/// computes `H`×`W` subtiles of the tile. If `ahead` is true, a warp loads the fragments of the next slice while it multiplies, and its
/// results pass through shared memory in `R` parts. Each part consists of `P` columns of subtiles of sums, which become `Q` columns of
/// subtiles of `D`.
#[rustfmt::skip]
#[track_caller]
pub(super) fn by_warps<
    'k, S, T, C, D,
    const M: usize, const N: usize, const K: usize, const H: usize, const W: usize, const STAGES: usize, const P: usize, const R: usize, const Q: usize,
>(
    problem: &Problem<'k, T, D>,
    ahead: bool,
) where
    S: WarpStages<'k, T, C, M, N, K, H, W>,
    T: TensorElement,
    C: GemmSum + Convert<D> + Convert<f32>,
    D: TensorElement + Convert<f32>,
    f32: Convert<D>,
{
    let k = problem.k;
    let [rows, cols] = [(M / H) as u32, (N / W) as u32];
    k.block([32 * rows * cols]);
    let (height, width) = (16 * M as u32, 16 * N as u32);
    let (row, bj) = problem.tile_of_block(height, width);
    let warp: [Val<'k, u32>; 2] = k.warp_grid(rows, cols).into();
    let (factors, bi) = problem.factors(row, height);

    let stages = k.pipeline::<S::Tiles, STAGES>();
    let (steps, zeros) = (problem.steps(K as u32 * T::SUBTILE_LENGTH), k.zeros::<Rt<C, H, W>>());
    let first = problem.first_step(row, height, steps);
    let fill = |step, stage: Stage<'k, _>| S::fill(stage, &factors, [bi, bj, first + step]);
    let sum = if ahead {
        stages.run_sliced(steps, K as u32, zeros, fill, |tiles, slice| S::load(tiles, warp, slice), S::multiply)
    } else {
        stages.run(steps, zeros, fill, |sum, tiles| {
            (0..K as u32).map(|slice| S::load(tiles, warp, slice)).fold(sum, |sum, fragments| S::multiply(sum, &fragments))
        })
    };

    let (d, _) = problem.result(row, height);
    let (row, col) = (|| bi * rows + warp[0], || bj * cols + warp[1]);
    let function = problem.gemm.activation;
    match &problem.epilogue {
        None => store::<C, C, D, H, W, P, R, Q>(k, &d, sum, [&row, &col], ahead, |part, _| activated(function, part)),
        Some(operands) => store::<C, f32, D, H, W, P, R, Q>(k, &d, sum, [&row, &col], ahead, |part, [block, half]| {
            activated(function, operands.applied(&part, [row() * H as u32 + block, col() * 2 + half]))
        }),
    }
}

/// Emits the kernel that computes D = f(A·B₁) ⊙ (A·B₂), like [`by_warps`]: each block computes `M`×`G` subtiles of the result, and each
/// warp computes `H`×`W` subtiles of both products.
#[rustfmt::skip]
#[track_caller]
pub(super) fn gated_by_warps<
    'k, S, T, C, D,
    const M: usize, const G: usize, const K: usize, const H: usize, const W: usize, const STAGES: usize, const P: usize, const R: usize, const Q: usize,
>(
    problem: &Problem<'k, T, D>,
    ahead: bool,
) where
    S: WarpStages<'k, T, C, M, G, K, H, W>,
    T: TensorElement,
    C: GemmSum + Convert<f32>,
    D: TensorElement,
    f32: Convert<D>,
{
    let k = problem.k;
    let [rows, cols] = [(M / H) as u32, (G / W) as u32];
    k.block([32 * rows * cols]);
    let (height, width) = (16 * M as u32, 16 * G as u32);
    let (row, bj) = problem.tile_of_block(height, width);
    let warp: [Val<'k, u32>; 2] = k.warp_grid(rows, cols).into();
    let (factors, bi) = problem.factors(row, height);

    let stages = k.pipeline::<S::GatedTiles, STAGES>();
    let steps = problem.steps(K as u32 * T::SUBTILE_LENGTH);
    let zeros = [(); 2].map(|()| k.zeros::<Rt<C, H, W>>());
    let fill = |step, stage: Stage<'k, _>| S::fill_gated(stage, &factors, [bi, bj, step]);
    let load = |tiles: &_, slice| S::load_gated(tiles, warp, slice);
    let [gate, up] = if ahead {
        stages.run_sliced(steps, K as u32, zeros, fill, load, S::multiply_gated)
    } else {
        stages.run(steps, zeros, fill, |sums, tiles| {
            (0..K as u32).fold(sums, |sums, slice| S::multiply_gated(sums, &load(tiles, slice)))
        })
    };

    let mut blocks = gate.vsplit::<1, H>().into_iter().zip(up.vsplit::<1, H>());
    let products: [Rt<f32, 1, W>; H] = std::array::from_fn(|_| {
        let (gate, up) = blocks.next().expect("both products have the same rows");
        activated(problem.gemm.activation, gate.convert::<f32>()) * &up.convert::<f32>()
    });
    let product = Rt::<f32, H, W>::vconcat(products);
    let (d, _) = problem.result(row, height);
    let (row, col) = (|| bi * rows + warp[0], || bj * cols + warp[1]);
    store::<f32, f32, D, H, W, P, R, Q>(k, &d, product, [&row, &col], ahead, |part, _| part);
}

impl<'k, T: TensorElement, D: TensorElement> Problem<'k, T, D> {
    /// Declares a block for each tile of `height`×`width` elements of the results, and returns the row and the column of this block's tile.
    /// A block exits if its row of tiles has no elements.
    #[track_caller]
    fn tile_of_block(&self, height: u32, width: u32) -> (TileRow<'k>, Val<'k, u32>) {
        let Self { k, size: [m, n, _], .. } = self;
        k.grid([self.of_all(m.tiles(height)) * n.tiles(width)]);
        // Blocks that run at the same time share rows of A and columns of B in the L2 cache.
        let rows = self.of_all(m.ceil_div(height));
        let (row, col) = self.gemm.schedule.emit(k.ctaid_x(), rows, n.ceil_div(width));
        let row = self.row_of_tiles(row);
        k.return_if(!row.exists().assume_uniform(k.this_block()));
        (row, col)
    }
}

/// Stores a warp's sums of `H`×`W` subtiles. `finish` transforms one half of a row of subtiles; its second argument contains the index of
/// the row and the index of the half (0 is the left half). `row` and `col` return the coordinates of the warp's tile. If `staged` is true,
/// results pass through shared memory.
#[rustfmt::skip]
#[track_caller]
fn store<'k, C, V, D, const H: usize, const W: usize, const P: usize, const R: usize, const Q: usize>(
    k: Builder<'k>,
    d: &Gl<'k, D, Write>,
    sum: Rt<'k, C, H, W, Row>,
    [row, col]: [&dyn Fn() -> Val<'k, u32>; 2],
    staged: bool,
    finish: impl Fn(Rt<'k, C, 1, 2, Row>, [u32; 2]) -> Rt<'k, V, 1, 2, Row>,
) where
    C: TensorElement,
    V: Convert<D>,
    D: TensorElement,
{
    let finish = |part: Rt<'k, C, 1, W, Row>, block| -> Rt<'k, V, 1, W, Row> {
        let [left, right] = part.hsplit::<2, 2>();
        Rt::hconcat([finish(left, [block, 0]), finish(right, [block, 1])])
    };
    let parts = sum.vsplit::<1, H>();
    if !staged {
        let mut block = 0;
        let results = parts.map(|part| {
            block += 1;
            finish(part, block - 1)
        });
        return d.tile(row(), col()).store(&Rt::<V, H, W>::vconcat(results));
    }
    let mut tile = k.shared_tile_of::<St<D, 1, Q>>(k.warp());
    for (part, block) in parts.into_iter().zip(0..) {
        let columns: [Rt<'k, V, 1, P, Row>; R] = finish(part, block).hsplit();
        for (part, j) in columns.iter().zip(0..) {
            let stored = tile.store_with(|to| to.subtile(0, 0).store(part)).wait();
            d.tile(row() * H as u32 + block, col() * R as u32 + j).store_shared(&stored);
            tile = stored.release();
        }
    }
}

/// Emits the product of row-major matrices with f32 results, like [`by_warps`]; `size` contains m, n and k.
#[track_caller]
pub(in crate::kernels) fn product_of_rows<'k, T, const M: usize, const N: usize, const K: usize>(
    k: Builder<'k>,
    [a, b]: [&Gl<'k, T, Read>; 2],
    d: &Gl<'k, f32, Write>,
    size: [Val<'k, u32>; 3],
    ahead: bool,
) where
    T: TensorElement + Product<T, f32>,
{
    let gemm = Gemm { target: k.target(), schedule: Schedule::grouped(8), ..Gemm::new(GemmTile::T128x128) };
    let problem = Problem {
        k,
        gemm,
        a: Matrices::One(a.clone()),
        b: Matrices::One(b.clone()),
        d: Matrices::One(d.clone()),
        size,
        batches: Batches::One,
        gated: false,
        epilogue: None,
    };
    by_warps::<RowRow, T, f32, f32, M, N, K, 4, 4, 3, 2, 2, 2>(&problem, ahead);
}
