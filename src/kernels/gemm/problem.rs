//! The matrices of a launch, in all forms of the kernel.

use std::ops::{Add, Mul};

use super::{
    Gemm, GemmSum, MatrixOrder,
    activation::activated,
    epilogue::Operands,
    ragged::{RaggedGroups, RaggedRows},
    stages::Factors,
};
use crate::{
    ptx::{Builder, Global, Ptr, Read, Val, Write},
    tensor::TensorElement,
    tiles::{
        Consumer, Convert, Gl, Outbox, Persistent, Ring, Row, Rt, StageTiles, Turn, contiguous, row_major,
    },
};

/// A matrix, or several matrices with the same extents.
pub(super) enum Matrices<'k, T: TensorElement, A> {
    One(Gl<'k, T, A>),
    Many(Gl<'k, T, A, 3>),
}

impl<'k, T: TensorElement, A> Matrices<'k, T, A> {
    /// Returns the matrix in a row-major buffer.
    #[track_caller]
    pub(super) fn one(
        buffer: Ptr<'k, T, Global, A>,
        [rows, cols]: [Val<'k, u32>; 2],
        stride: Val<'k, u32>,
    ) -> Self {
        Self::One(buffer.kernel().global(buffer, row_major(rows, cols).with_row_stride(stride)))
    }

    /// Returns `count` matrices whose first elements are `distance` elements apart.
    #[track_caller]
    pub(super) fn many(
        buffer: Ptr<'k, T, Global, A>,
        [rows, cols]: [Val<'k, u32>; 2],
        stride: Val<'k, u32>,
        (count, distance): (Val<'k, u32>, Val<'k, u32>),
    ) -> Self {
        let layout = contiguous([count, rows, cols]).with_strides([distance, stride, 1.into()]);
        Self::Many(buffer.kernel().global(buffer, layout))
    }

    #[track_caller]
    fn number(&self, number: Val<'k, u32>) -> Gl<'k, T, A> {
        match self {
            Self::One(matrix) => matrix.clone(),
            Self::Many(matrices) => matrices.batch(number),
        }
    }
}

/// How the A, B and D matrices of a launch form products.
#[allow(clippy::large_enum_variant, reason = "there is one for each kernel that is built")]
pub(super) enum Batches<'k> {
    One,
    /// The given number of products; the matrices of consecutive products are equally far apart in memory.
    Strided(Val<'k, u32>),
    /// One A and one D, and the index of the B matrix for each row of tiles.
    Grouped(Gl<'k, u32, Read, 1>),
    /// One A and one D, with rows divided into groups of any number of rows, each with its own B.
    Ragged(RaggedGroups<'k>),
    /// One A and one B, with the sum over k divided into the given number of parts, and a D of partial sums for each part.
    SplitK(Val<'k, u32>),
}

/// A row of tiles.
#[derive(Clone, Copy)]
pub(super) struct TileRow<'k> {
    /// The index of this row among the rows of tiles of all results.
    pub(super) number: Val<'k, u32>,
    /// The rows of the group that this row of tiles covers; `None` unless groups are ragged.
    rows: Option<RaggedRows<'k>>,
}

impl<'k> TileRow<'k> {
    /// Returns whether this row of tiles has elements.
    #[track_caller]
    pub(super) fn exists(&self) -> Val<'k, bool> {
        self.rows.map_or(true.into(), |rows| rows.any())
    }
}

/// The products of a launch.
pub(super) struct Problem<'k, T: TensorElement, D: TensorElement> {
    pub(super) k: Builder<'k>,
    pub(super) gemm: Gemm,
    pub(super) a: Matrices<'k, T, Read>,
    pub(super) b: Matrices<'k, T, Read>,
    pub(super) d: Matrices<'k, D, Write>,
    /// m, n and k.
    pub(super) size: [Val<'k, u32>; 3],
    pub(super) batches: Batches<'k>,
    /// Whether B has 2n columns, for a result f(A·B₁) ⊙ (A·B₂).
    pub(super) gated: bool,
    pub(super) epilogue: Option<Operands<'k, D>>,
}

impl Gemm {
    /// Declares the divisors of sizes and strides that 16-byte copies require, so that launches check them. Launches always check the
    /// divisors that tensor copies require.
    #[track_caller]
    pub(super) fn declare_divisors<'k, T: TensorElement, D: TensorElement>(
        &self,
        size: [Val<'k, u32>; 3],
        strides: [Val<'k, u32>; 3],
    ) {
        // The contiguous axes of A, B and D: m, n or k.
        let of_a = if self.a == MatrixOrder::Row { 2 } else { 0 };
        let of_b = if self.b == MatrixOrder::Row { 1 } else { 2 };
        for ((axis, stride), divisor) in [of_a, of_b, 1].into_iter().zip(strides).zip(self.divisors::<T, D>())
        {
            let _ = (size[axis].multiple_of(divisor), stride.multiple_of(divisor));
        }
    }

    /// Declares the divisors of the distances between the A, B and D matrices of consecutive products.
    #[track_caller]
    pub(super) fn declare_distances<'k, T: TensorElement, D: TensorElement>(
        &self,
        distances: [Val<'k, u32>; 3],
    ) {
        for (distance, divisor) in distances.into_iter().zip(self.divisors::<T, D>()) {
            let _ = distance.multiple_of(divisor);
        }
    }

    /// Returns the number of elements that one copy moves, for A, B and D.
    fn divisors<T: TensorElement, D: TensorElement>(&self) -> [u32; 3] {
        let whole = |size, any| if any || self.has_wgmma() { 1 } else { 16 / size };
        let of_operands = whole(T::SIZE, self.any_size);
        [of_operands, of_operands, whole(D::SIZE, self.any_ldd)]
    }
}

impl<'k, T: TensorElement, D: TensorElement> Problem<'k, T, D> {
    /// Returns the product, or gated product, of one A and one B. Each buffer is given with the stride between its rows or columns; `size`
    /// contains m, n and k.
    #[track_caller]
    pub(super) fn one(
        gemm: Gemm,
        gated: bool,
        (a, lda): (Ptr<'k, T, Global, Read>, Val<'k, u32>),
        (b, ldb): (Ptr<'k, T, Global, Read>, Val<'k, u32>),
        (d, ldd): (Ptr<'k, D, Global, Write>, Val<'k, u32>),
        size: [Val<'k, u32>; 3],
    ) -> Self {
        gemm.declare_divisors::<T, D>(size, [lda, ldb, ldd]);
        let [m, n, length] = size;
        Self {
            k: d.kernel(),
            gemm,
            a: Matrices::one(a, gemm.a.extents(m, length), lda),
            b: Matrices::one(b, gemm.b.extents(length, if gated { n * 2 } else { n }), ldb),
            d: Matrices::one(d, [m, n], ldd),
            size,
            batches: Batches::One,
            gated,
            epilogue: None,
        }
    }

    /// Declares the threads of a block and the blocks of a cluster.
    #[track_caller]
    pub(super) fn launch(&self, threads: u32) {
        let Self { k, gemm, .. } = self;
        let [rows, _] = gemm.cluster;
        if rows > 1 && (self.gated || !matches!(self.batches, Batches::One)) {
            k.refuse(format!(
                "expected clusters of one row of tiles for several products and gated ones, found {rows}"
            ));
        }
        k.block([threads]);
        if gemm.blocks_of_cluster() != 1 {
            k.cluster([gemm.blocks_of_cluster()]);
        }
    }

    /// Returns the tiles of `rows`×`cols` elements of the results that this block computes; the rows of tiles of all results are numbered
    /// in one sequence.
    #[track_caller]
    pub(super) fn tiles(&self, rows: u32, cols: u32) -> Persistent<'k> {
        let Self { k, gemm, size: [m, n, _], .. } = self;
        let rows = self.of_all(m.ceil_div(rows));
        let [of_rows, of_cols] = gemm.cluster;
        let schedule = gemm.schedule.per_cluster(of_rows, of_cols).split(gemm.parts);
        k.persistent(schedule, rows, n.ceil_div(cols))
    }

    /// Returns the number of rows of tiles of all results, given that of one result.
    pub(super) fn of_all<R: Mul<Val<'k, u32>, Output = R> + Add<Val<'k, u32>, Output = R>>(
        &self,
        rows: R,
    ) -> R {
        match &self.batches {
            Batches::Strided(count) | Batches::SplitK(count) => rows * *count,
            Batches::Ragged(groups) => rows + groups.count,
            Batches::One | Batches::Grouped(_) => rows,
        }
    }

    /// Returns the number of steps along k of a tile, given the depth of a step in elements.
    #[track_caller]
    pub(super) fn steps(&self, depth: u32) -> Val<'k, u32> {
        let steps = self.size[2].ceil_div(depth);
        match self.batches {
            // The last steps of the last part may be past the end of k, where the factors are zero.
            Batches::SplitK(parts) => steps.ceil_div(parts),
            _ => steps,
        }
    }

    /// Returns the ring. Rows of a stage that copies do not write are filled with zeros.
    #[track_caller]
    pub(super) fn prepared<Tiles: StageTiles<'k>, const STAGES: usize, const GROUPS: usize>(
        &self,
        ring: Ring<'k, Tiles, STAGES, GROUPS>,
    ) -> Ring<'k, Tiles, STAGES, GROUPS> {
        if self.gemm.tile.size()[0] < 64 { ring.zeroed() } else { ring }
    }

    /// Returns the outbox for the result.
    #[track_caller]
    pub(super) fn outbox<const W: usize, const SLOTS: usize, const G: usize>(
        &self,
    ) -> Outbox<'k, D, W, SLOTS, G> {
        let rows = self.gemm.tile.size()[0].min(64);
        self.k.outbox::<D, W, SLOTS, G>().by_threads(self.gemm.any_ldd).first_rows(rows)
    }

    /// Returns row `number` of tiles, counted across all results.
    #[track_caller]
    pub(super) fn row_of_tiles(&self, number: Val<'k, u32>) -> TileRow<'k> {
        let rows = match &self.batches {
            Batches::Ragged(groups) => Some(groups.rows(number, self.gemm.tile.size()[0])),
            _ => None,
        };
        TileRow { number, rows }
    }

    /// Emits a loop over the tiles of one of `C` consumer warpgroups that take turns. `each` is called once, with the turn and the row and
    /// the column of the tile.
    #[track_caller]
    pub(super) fn each_in_turn<const C: usize>(
        &self,
        tiles: Persistent<'k>,
        c: Consumer<'k, C>,
        each: impl FnOnce(Turn<'k>, TileRow<'k>, Val<'k, u32>),
    ) {
        match self.batches {
            Batches::Ragged(_) => {
                let row = |number| self.row_of_tiles(number);
                let keep = |row: &TileRow<'k>| row.exists();
                tiles.each_kept_in_turn(c, row, keep, each);
            }
            _ => tiles.each_in_turn(c, |turn, row, col| each(turn, self.row_of_tiles(row), col)),
        }
    }

    /// Returns the index of the product that contains row `row` of tiles, and the row within this product; tiles have `height` rows.
    #[track_caller]
    fn within(&self, row: Val<'k, u32>, height: u32) -> (Val<'k, u32>, Val<'k, u32>) {
        match self.batches {
            Batches::Strided(_) | Batches::SplitK(_) => {
                let rows = self.size[0].ceil_div(height);
                (row / rows, row % rows)
            }
            _ => (0.into(), row),
        }
    }

    /// Returns the result that contains a row of tiles of `height` rows, and the row within this result.
    #[track_caller]
    pub(super) fn result(&self, row: TileRow<'k>, height: u32) -> (Gl<'k, D, Write>, Val<'k, u32>) {
        if let Some(rows) = row.rows {
            let group = self.d.number(0.into()).sub_matrix((rows.first, 0), (rows.count, self.size[1]));
            return (group, 0.into());
        }
        let (number, row) = self.within(row.number, height);
        (self.d.number(number), row)
    }

    /// Returns the operands for a row of tiles of `height` rows, and the row within A.
    #[track_caller]
    pub(super) fn factors(&self, row: TileRow<'k>, height: u32) -> (Factors<'k, T>, Val<'k, u32>) {
        let (number, within) = self.within(row.number, height);
        let of_b = match (&self.batches, row.rows) {
            (Batches::Grouped(groups), _) => groups.at(row.number).load_or(0),
            (_, Some(rows)) => rows.group,
            _ => number,
        };
        let (a, b) = (self.a.number(number), self.b.number(of_b));
        // Rows past the end of a group are loaded, but their products are not stored.
        let (a, within) = match row.rows {
            Some(rows) => (a.skip(rows.first, 0), 0.into()),
            None => (a, within),
        };
        let up = self.gated.then(|| {
            let [rows, cols] = self.gemm.b.extents(0.into(), self.size[1]);
            b.skip(rows, cols)
        });
        let rows = Some(height).filter(|&height| height < 64);
        (Factors { a, b, up, rows }, within)
    }

    /// Returns the first step along k of a row of tiles of `height` rows, given the number of steps of a tile.
    #[track_caller]
    pub(super) fn first_step(&self, row: TileRow<'k>, height: u32, steps: Val<'k, u32>) -> Val<'k, u32> {
        match self.batches {
            Batches::SplitK(_) => self.within(row.number, height).0 * steps,
            _ => 0.into(),
        }
    }

    /// Applies the epilogue to the sums of tile (`row`, `col`), which has `H` blocks of 64 rows and `N` columns of subtiles, and stores
    /// them.
    #[track_caller]
    pub(super) fn store<
        C,
        const H: usize,
        const N: usize,
        const W: usize,
        const SLOTS: usize,
        const G: usize,
    >(
        &self,
        c: Consumer<'k, G>,
        outbox: &Outbox<'k, D, W, SLOTS, G>,
        sums: [Rt<'k, C, 1, N, Row>; H],
        at: (TileRow<'k>, Val<'k, u32>),
    ) where
        C: GemmSum + Convert<D> + Convert<f32>,
        f32: Convert<D>,
        D: Convert<f32>,
    {
        self.store_part(c, outbox, sums, at, 0.into());
    }

    /// Like [`store`](Self::store), for part `part` of the rows of the tile.
    #[track_caller]
    pub(super) fn store_part<
        C,
        const H: usize,
        const N: usize,
        const W: usize,
        const SLOTS: usize,
        const G: usize,
    >(
        &self,
        c: Consumer<'k, G>,
        outbox: &Outbox<'k, D, W, SLOTS, G>,
        sums: [Rt<'k, C, 1, N, Row>; H],
        (row, col): (TileRow<'k>, Val<'k, u32>),
        part: Val<'k, u32>,
    ) where
        C: GemmSum + Convert<D> + Convert<f32>,
        f32: Convert<D>,
        D: Convert<f32>,
    {
        let [height, _] = self.gemm.tile.size();
        let (d, row) = self.result(row, height);
        let of_part = height.min(64 * H as u32);
        let row = row * (height / of_part) + part;
        let to = |block| d.tile(row * H as u32 + block, col);
        let first = row * (of_part / 16);
        let activation = self.gemm.activation;
        match &self.epilogue {
            None => {
                let finish = |sum: Rt<'k, C, 1, W, Row>, _| activated(activation, sum);
                c.store_mapped(outbox, sums, finish, to);
            }
            Some(operands) => {
                let warp = c.warp();
                let finish = |sum: Rt<'k, C, 1, W, Row>, [block, part]: [u32; 2]| {
                    let at = [first + block * 4 + warp, col * (N / W) as u32 + part];
                    activated(activation, operands.applied(&sum, at))
                };
                c.store_mapped(outbox, sums, finish, to);
            }
        }
    }

    /// Stores the tiles of a gated product, as [`store`](Self::store) does.
    #[track_caller]
    pub(super) fn store_products<
        const H: usize,
        const N: usize,
        const W: usize,
        const SLOTS: usize,
        const G: usize,
    >(
        &self,
        c: Consumer<'k, G>,
        outbox: &Outbox<'k, D, W, SLOTS, G>,
        products: [Rt<'k, f32, 1, N, Row>; H],
        (row, col): (TileRow<'k>, Val<'k, u32>),
    ) where
        f32: Convert<D>,
    {
        let (d, row) = self.result(row, self.gemm.tile.size()[0]);
        c.store(outbox, products, |block| d.tile(row * H as u32 + block, col));
    }
}
