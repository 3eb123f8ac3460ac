//! The kernel that computes dK and dV and accumulates dQ for large head sizes: two warpgroups share dK and dV of 64 keys.

mod warpgroup;

use super::{
    AttentionBackward,
    inputs::Inputs,
    key_tiles::{KeyTiles, Outputs, TileSizes},
};
use crate::{
    ptx::{Builder, Global, Ptr, ReadWrite},
    tensor::TensorElement,
    tiles::{Convert, Product, Rt, SharedSwizzle, St, consumers, producer},
};
use warpgroup::{C, GradientRing, M, N, QueryRing, Warpgroup};

/// The number of keys in a tile.
pub(super) const KEYS: u32 = 16 * N as u32;

/// Emits the kernel for rows of `D` subtiles of Q and K and of `E` subtiles of V and dO; each warpgroup computes `DH` columns of subtiles
/// of dK and `EH` of dV.
///
/// A resident block processes tiles of 64 keys in steps of 64 queries, for all heads that share the keys. Each warpgroup computes P and dS
/// for half of the queries of a step and writes them to shared memory. From P and dS of both warpgroups, it then computes its half of the
/// columns of dV, dK and dQ. It adds dQ to the sums in two steps of `Q` columns of subtiles each. The ring of dO has `STAGES` stages and
/// the ring of Q has two; the widths of their swizzles divide half of a row.
pub(super) fn keys<
    'k,
    T,
    S,
    V,
    const D: usize,
    const E: usize,
    const DH: usize,
    const EH: usize,
    const Q: usize,
    const STAGES: usize,
>(
    k: Builder<'k>,
    inputs: Inputs<'k, T>,
    sums: Option<Ptr<'k, f32, Global, ReadWrite>>,
    outputs: Outputs<'k, T>,
    backward: &AttentionBackward,
) where
    T: TensorElement + Product<T, f32>,
    S: SharedSwizzle,
    V: SharedSwizzle,
    f32: Convert<T>,
{
    const {
        assert!(
            D == C * DH && E == C * EH && DH == 2 * Q,
            "warpgroups share the columns, and add dQ in two parts"
        );
    }
    k.block([128 * (1 + C as u32)]);
    let columns = [D, E].map(|subtiles| 16 * subtiles as u32);
    let of = TileSizes { columns, keys: KEYS, queries: 16 * M as u32, of_sums: Q as u32 };
    let tiles = KeyTiles::new(k, &inputs, sums, outputs, backward, of);
    let key_ring = k.ring::<(St<T, N, D, S>, St<T, N, E>), 1, C>();
    let query_ring: QueryRing<'k, T, S, D> = k.ring();
    let gradient_ring: GradientRing<'k, T, V, E, STAGES> = k.ring();
    let weights = k.assembly::<T, N, M, C>();
    let dq = sums.is_some().then(|| k.register_outbox::<f32, Q, C>());
    // Tensor copies would store all rows of a tile, including those of the next sequence.
    let outbox = k.outbox::<T, 2, 1, C>().by_threads(tiles.are_packed());

    k.specialize(
        producer(40, |p| {
            tiles.each(|tile| {
                let [keys, values] = tiles.factors(tile);
                let from = (keys.tile(tile.number, 0), values.tile(tile.number, 0));
                p.fill(&key_ring, |stage| stage.fill(from));
                tiles.each_step(tile, |head, i| {
                    p.fill(&query_ring, |stage| stage.fill((head.q.tile(i, 0), head.exponents(i))));
                    p.fill(&gradient_ring, |stage| stage.fill((head.d_o.tile(i, 0), head.deltas(i))));
                });
            });
        }),
        consumers::<C, _>(232, |c| {
            tiles.each(|tile| {
                let range = tile.range();
                let stage = c.receive(&key_ring);
                let warpgroup = Warpgroup {
                    c,
                    keys: &stage.tiles().0,
                    values: &stage.tiles().1,
                    queries: &query_ring,
                    gradients: &gradient_ring,
                    weights: &weights,
                    dq: dq.as_ref(),
                    visible: tile.visible,
                    scale: inputs.scale,
                    tile: tile.number,
                };
                let first = || [c.warp(), c.rank() * 2];
                let zeros = (k.zeros::<Rt<'k, f32, 1, DH>>(), k.zeros::<Rt<'k, f32, 1, EH>>());
                let (dk, dv) = tiles.fold_heads(tile, zeros, first, |sums, dropout, state| {
                    warpgroup.head(range, sums, dropout, state)
                });
                c.release(&key_ring, stage);
                let [to_keys, to_values] = tiles.results(tile);
                c.store(&outbox, [tiles.scaled(dv)], |_| to_values.tile(tile.number, c.rank()));
                c.store(&outbox, [dk * inputs.scale], |_| to_keys.tile(tile.number, c.rank()));
            });
        }),
    );
}
