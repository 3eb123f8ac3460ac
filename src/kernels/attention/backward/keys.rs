//! The kernel that computes dK and dV and accumulates dQ, for head sizes small enough that dK and dV for 64 keys fit in the registers of
//! one warpgroup.

use super::{
    AttentionBackward,
    inputs::Inputs,
    key_tiles::{KeyTiles, Outputs, TileSizes},
    warpgroup::{C, KEYS, N, QueryRing, Warpgroup},
};
use crate::{
    ptx::{Builder, Global, Ptr, ReadWrite},
    tensor::TensorElement,
    tiles::{Convert, Product, Rt, SharedSwizzle, St, consumers, producer},
};

/// Emits the kernel for rows of `D` subtiles.
///
/// A resident block processes tiles of 128 keys, 64 per warpgroup, in steps of `M` subtiles of queries, for all heads that share the keys.
/// The rows of the products in registers are keys, so P and dS can be used as left operands directly from registers. To compute dQ, the
/// warpgroups exchange dS through shared memory; each warpgroup then computes either `Q` columns of subtiles of dQ or 64 rows.
pub(super) fn keys<'k, T, S, const D: usize, const M: usize, const Q: usize, const STAGES: usize>(
    k: Builder<'k>,
    inputs: Inputs<'k, T>,
    sums: Option<Ptr<'k, f32, Global, ReadWrite>>,
    outputs: Outputs<'k, T>,
    backward: &AttentionBackward,
) where
    T: TensorElement + Product<T, f32>,
    S: SharedSwizzle,
    f32: Convert<T>,
{
    const {
        assert!(
            M * D == 4 * C * Q && M.is_multiple_of(4),
            "each warpgroup computes 64 rows, or a part of the columns, of dQ"
        );
    }
    k.block([128 * (1 + C as u32)]);
    let of = TileSizes { columns: [16 * D as u32; 2], keys: KEYS, queries: 16 * M as u32, of_sums: Q as u32 };
    let tiles = KeyTiles::new(k, &inputs, sums, outputs, backward, of);
    let key_ring = k.ring::<(St<T, N, D, S>, St<T, N, D>), 1, C>();
    let query_ring: QueryRing<'k, T, M, D, STAGES> = k.ring();
    let dq = sums.is_some().then(|| (k.assembly::<T, N, M, C>(), k.register_outbox::<f32, Q, C>()));
    // Tensor copies would store all rows of a tile, including those of the next sequence.
    let outbox = k.outbox::<T, Q, 1, C>().by_threads(tiles.are_packed());

    k.specialize(
        producer(24, |p| {
            tiles.each(|tile| {
                let [keys, values] = tiles.factors(tile);
                let from = (keys.tile(tile.number, 0), values.tile(tile.number, 0));
                p.fill(&key_ring, |stage| stage.fill(from));
                tiles.each_step(tile, |head, i| {
                    let (exponents, deltas) = (head.exponents(i), head.deltas(i));
                    let from = (head.q.tile(i, 0), exponents, head.d_o.tile(i, 0), deltas);
                    p.fill(&query_ring, |stage| stage.fill(from));
                });
            });
        }),
        consumers::<C, _>(240, |c| {
            tiles.each(|tile| {
                let range = tile.range();
                let stage = c.receive(&key_ring);
                let warpgroup = Warpgroup {
                    c,
                    keys: &stage.tiles().0,
                    values: &stage.tiles().1,
                    queries: &query_ring,
                    dq: dq.as_ref().map(|(assembly, outbox)| (assembly, outbox)),
                    visible: tile.visible,
                    scale: inputs.scale,
                    tile: tile.number,
                };
                let zeros = [(); 2].map(|()| k.zeros::<Rt<'k, f32, 1, D>>());
                let first = || {
                    let [row, part] = warpgroup.part_of_queries();
                    [row * 4 + c.warp(), part]
                };
                let [dk, dv] = tiles.fold_heads(tile, zeros, first, |sums, dropout, state| {
                    warpgroup.head(range, sums, dropout, state)
                });
                c.release(&key_ring, stage);
                let [to_keys, to_values] = tiles.results(tile);
                let block = tile.number * C as u32 + c.rank();
                c.store(&outbox, [tiles.scaled(dv)], |_| to_values.tile(block, 0));
                c.store(&outbox, [dk * inputs.scale], |_| to_keys.tile(block, 0));
            });
        }),
    );
}
