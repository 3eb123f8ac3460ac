//! The rows of a tile: the queries of the heads that share a KV head.

use crate::{
    ptx::{Builder, Global, Ptr, Read, Val, Write},
    tensor::TensorElement,
    tiles::{ColVec, Convert, Gl, GlTile, Joined, Row, Rt, contiguous},
};

/// The rows of a tile. Each query has the same number of rows, one per query head.
#[derive(Clone, Copy)]
pub(super) struct GroupRows<'k> {
    k: Builder<'k>,
    /// The number of batches, of KV heads, of query heads per KV head, and of queries.
    sizes: [Val<'k, u32>; 4],
    /// The maximum number of queries per query head: 1, 2, 4 or 8.
    most: u32,
    /// The number of rows of a tile: at least 8 per query.
    rows: u32,
}

/// The number of rows per warp.
const WARP: u32 = 16;

impl<'k> GroupRows<'k> {
    pub(super) fn new(k: Builder<'k>, sizes: [Val<'k, u32>; 4], most: u32, rows: u32) -> Self {
        Self { k, sizes, most, rows }
    }

    /// Returns the number of heads in a tile.
    pub(super) fn heads(self) -> u32 {
        self.rows / self.most
    }

    /// Returns, for each batch, query and KV head, a matrix whose rows are the query heads. `[batch, head, query]` are the strides between
    /// batches, query heads and queries.
    #[track_caller]
    pub(super) fn matrices<T: TensorElement, A>(
        self,
        elements: Ptr<'k, T, Global, A>,
        columns: u32,
        [batch, head, query]: [Val<'k, u32>; 3],
    ) -> Gl<'k, T, A, 5> {
        let [batches, kv_heads, group, queries] = self.sizes;
        let layout = contiguous([batches, queries, kv_heads, group, columns.into()]);
        self.k.global(elements, layout.with_strides([batch, query, group * head, head, 1.into()]))
    }

    /// Returns, for each batch and KV head, a matrix with a row for each query and a column for each query head.
    #[track_caller]
    pub(super) fn logarithms(self, lse: Ptr<'k, f32, Global, Write>) -> Gl<'k, f32, Write, 4> {
        let [batches, kv_heads, group, queries] = self.sizes;
        self.k.global(lse, contiguous([batches, kv_heads, group, queries])).permuted([0, 1, 3, 2])
    }

    /// Returns a tile. Rows for nonexistent queries and heads are zeros.
    #[track_caller]
    pub(super) fn tile<T: TensorElement>(
        self,
        q: &Gl<'k, T, Read, 5>,
        [batch, kv_head]: [Val<'k, u32>; 2],
        tile: Val<'k, u32>,
    ) -> Joined<'k, T, Read> {
        GlTile::stacked((0..self.most).map(|query| q.batch((batch, query, kv_head)).tile(tile, 0)).collect())
    }

    /// Loads the 16 rows of a warp. Rows for nonexistent queries and heads are zeros.
    #[track_caller]
    pub(super) fn load<T: TensorElement, const D: usize>(
        self,
        q: &Gl<'k, T, Read, 5>,
        [batch, kv_head]: [Val<'k, u32>; 2],
        tile: Val<'k, u32>,
        warp: impl Into<Val<'k, u32>>,
    ) -> Rt<'k, T, 1, D> {
        const { assert!(T::SIZE == 2, "queries have 16 bits") };
        let of_part = |[query, head]: [Val<'k, u32>; 2]| {
            let (head, count) = self.in_group(tile, head);
            let count = count.min(self.rows_of_part());
            let rows = q.batch((batch, query, kv_head)).sub_matrix((head, 0), (count, 16 * D as u32));
            rows.tile(0, 0).load::<T, 1, D, Row>().registers()
        };
        let parts: Vec<_> = self.parts(warp.into()).into_iter().map(of_part).collect();
        // The registers of rows that are 8 apart alternate. A second part is loaded as the first 8 rows.
        let register = |at: usize| if parts.len() == 1 { parts[0][at] } else { parts[at % 2][at & !1] };
        Rt::from_registers(self.k, (0..parts[0].len()).map(register).collect::<Vec<_>>())
    }

    /// Stores the 16 rows of a warp to a column of tiles.
    #[track_caller]
    pub(super) fn store<T, const P: usize>(
        self,
        o: &Gl<'k, T, Write, 5>,
        [batch, kv_head]: [Val<'k, u32>; 2],
        [tile, column]: [Val<'k, u32>; 2],
        warp: impl Into<Val<'k, u32>>,
        rows: &Rt<'k, f32, 1, P>,
    ) where
        T: TensorElement,
        f32: Convert<T>,
    {
        for (part, of_rows) in self.parts(warp.into()).into_iter().enumerate() {
            let [query, head] = of_rows;
            let registers = swapped(rows.registers(), part == 1);
            let rows: Rt<f32, 1, P> = Rt::from_registers(self.k, registers);
            let columns = 16 * P as u32;
            let (head, count) = self.in_group(tile, head);
            o.batch((batch, query, kv_head))
                .sub_matrix((head, column * columns), (count.min(self.rows_of_part()), columns))
                .tile(0, 0)
                .store(&rows);
        }
    }

    /// Stores the logarithms of the 16 rows of a warp.
    #[track_caller]
    pub(super) fn store_logarithms(
        self,
        lse: &Gl<'k, f32, Write, 4>,
        [batch, kv_head]: [Val<'k, u32>; 2],
        tile: Val<'k, u32>,
        warp: impl Into<Val<'k, u32>>,
        logs: &ColVec<'k, f32, 1>,
    ) {
        for (part, [query, head]) in self.parts(warp.into()).into_iter().enumerate() {
            let logs = ColVec::<f32, 1>::from_registers(self.k, swapped(logs.registers(), part == 1));
            let (head, count) = self.in_group(tile, head);
            lse.batch((batch, kv_head))
                .sub_matrix((query, head), (1, count.min(self.rows_of_part())))
                .row(0)
                .tile(0)
                .store(&logs);
        }
    }

    /// Returns, for each query in the rows of a warp, the index of the query and the index of its first head within the tile.
    #[track_caller]
    fn parts(self, warp: Val<'k, u32>) -> Vec<[Val<'k, u32>; 2]> {
        let (heads, first) = (self.heads(), warp * WARP);
        (0..WARP / self.rows_of_part())
            .map(|part| first + part * heads)
            .map(|row| [row / heads, row % heads])
            .collect()
    }

    /// Returns the index within the group of the head with index `head` in a tile, and the number of heads of
    /// the group from that head onward.
    #[track_caller]
    fn in_group(self, tile: Val<'k, u32>, head: Val<'k, u32>) -> (Val<'k, u32>, Val<'k, u32>) {
        let [_, _, group, _] = self.sizes;
        let head = tile * self.heads() + head;
        (head, group.max(head) - head)
    }

    /// Returns the number of rows of a warp that belong to one query.
    fn rows_of_part(self) -> u32 {
        self.heads().min(WARP)
    }
}

/// If `swap` is true, exchanges the registers of every two rows that are 8 apart. The registers of the two rows alternate in pairs or, in a
/// vector, one by one.
fn swapped<V: Copy>(registers: Vec<V>, swap: bool) -> Vec<V> {
    let apart = if registers.len() == 2 { 1 } else { 2 };
    let order = (0..registers.len()).map(|at| if swap { at ^ apart } else { at });
    order.map(|at| registers[at]).collect()
}
