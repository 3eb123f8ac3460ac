//! The product in tiles.

use super::{Activation, GemmArgs, GemmSum};
use crate::{
    ptx::{BuildError, Kernel, Target},
    tensor::TensorElement,
    tiles::{Convert, Product, Rt, Schedule, St, consumers, producer, row_major},
};

/// The parts of a kernel that are not in its type.
pub(super) struct Shape {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) cluster: [u32; 2],
    pub(super) schedule: Schedule,
    pub(super) activation: Option<Activation>,
}

/// Defines the kernel for an order of A and of B: the tiles of a stage, the tiles of the matrices that fill it, and the product.
///
/// A block stays resident on a multiprocessor and computes tiles of `M`×`N` subtiles. One thread loads `STAGES` stages ahead, each
/// `K` subtiles deep. Two warpgroups take turns: while one multiplies, in `H` blocks of 64 rows, the other stores its result through
/// `SLOTS` slots of `W` columns of subtiles. The blocks of a cluster share tiles of A and B.
macro_rules! kernel {
    (
        $(#[$doc:meta])* $name:ident,
        ($a_stage:ty, $b_stage:ty),
        |$rows:ident, $cols:ident, $length:ident| ($a_extents:expr, $b_extents:expr),
        |$a:ident, $b:ident, $i:ident, $j:ident, $step:ident| ($a_tile:expr, $b_tile:expr),
        $product:ident
    ) => {
        $(#[$doc])*
        pub(super) fn $name<
            T: TensorElement + Product<T, C>,
            C: GemmSum + Convert<D>,
            D: TensorElement,
            const M: usize,
            const N: usize,
            const K: usize,
            const H: usize,
            const STAGES: usize,
            const W: usize,
            const SLOTS: usize,
        >(
            shape: Shape,
        ) -> Result<Kernel<GemmArgs<T, D>>, BuildError> {
            let Shape { name, description, cluster, schedule, activation } = shape;
            let signature = format!("{name}(a, lda, b, ldb, d, ldd, m, n, k)");
            Kernel::<GemmArgs<T, D>>::build(&signature, Target::SM_90A, |k, parameters| {
                let ($a, lda, $b, ldb, d, ldd, $rows, $cols, $length) = parameters;
                k.describe(description);
                if let Some(function) = activation.filter(|&function| !C::has(function)) {
                    k.refuse(format!("expected a function of {}, found {function}", C::NAME));
                    return;
                }
                k.block([384]);
                if cluster != [1, 1] {
                    k.cluster([cluster[0].saturating_mul(cluster[1])]);
                }
                let (a_extents, b_extents) = ($a_extents, $b_extents);
                let $a = k.global($a, row_major(a_extents.0, a_extents.1).with_row_stride(lda));
                let $b = k.global($b, row_major(b_extents.0, b_extents.1).with_row_stride(ldb));
                let d = k.global(d, row_major($rows, $cols).with_row_stride(ldd));
                let tiles = k.persistent(schedule, $rows.ceil_div(16 * M as u32), $cols.ceil_div(16 * N as u32));
                let steps = $length.ceil_div(K as u32 * T::SUBTILE_LENGTH);
                let ring = k.ring::<($a_stage, $b_stage), STAGES, 1>();
                let (turns, outbox) = (k.turns::<2>(), k.outbox::<D, W, SLOTS, 2>());

                k.specialize(
                    producer(40, |p| {
                        tiles.each(|$i, $j| {
                            p.run(&ring, steps, |$step, stage| {
                                let (a, b) = ($a_tile, $b_tile);
                                stage.fill((a.multicast(tiles.same_row()), b.multicast(tiles.same_col())))
                            });
                        });
                    }),
                    consumers::<2, _>(232, |c| {
                        tiles.each_in_turn(c, |turn, i, j| {
                            let zeros = [(); H].map(|()| k.zeros::<Rt<C, 1, N>>());
                            let sums = c.run_in_turn(&turns, turn, &ring, steps, zeros, |sums, (a, b)| sums.$product(a, b));
                            let sums = match activation {
                                Some(function) => sums.map(|sum| C::activated(function, sum)),
                                None => sums,
                            };
                            c.store(&outbox, &sums, |block| d.tile(i * H as u32 + block, j));
                        });
                    }),
                );
            })
        }
    };
}

kernel! {
    /// A and B in rows.
    row_row,
    (St<T, M, K>, St<T, K, N>),
    |m, n, k| ((m, k), (k, n)),
    |a, b, i, j, step| (a.tile(i, step), b.tile(step, j)),
    mma_ab
}

kernel! {
    /// A in rows, B in columns.
    row_col,
    (St<T, M, K>, St<T, N, K>),
    |m, n, k| ((m, k), (n, k)),
    |a, b, i, j, step| (a.tile(i, step), b.tile(j, step)),
    mma_abt
}

kernel! {
    /// A in columns, B in rows.
    col_row,
    (St<T, K, M>, St<T, K, N>),
    |m, n, k| ((k, m), (k, n)),
    |a, b, i, j, step| (a.tile(step, i), b.tile(step, j)),
    mma_atb
}

kernel! {
    /// A and B in columns.
    col_col,
    (St<T, K, M>, St<T, N, K>),
    |m, n, k| ((k, m), (n, k)),
    |a, b, i, j, step| (a.tile(step, i), b.tile(j, step)),
    mma_atbt
}
