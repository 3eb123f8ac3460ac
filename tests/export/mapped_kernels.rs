//! Kernels whose launches create tensor maps or depend on the number of multiprocessors.

use warpwright::{
    prelude::*,
    ptx::Dim,
    tiles::{Schedule, consumers, producer},
};

type Product = (In<bf16>, u32, In<bf16>, u32, Out<bf16>, u32, u32, u32, u32);

/// The name of [`product`], which the C++ example runs: a kernel of the same interface as `warpwright export gemm`.
pub(super) const PRODUCT: &str = "gemm_bf16_row_col_128x128";

/// D = A·Bᵀ with matrices of any row stride, by resident blocks in clusters of two: a map for each buffer.
pub(super) fn product() -> Kernel<Product> {
    let signature = format!("{PRODUCT}(a, lda, b, ldb, d, ldd, m, n, k)");
    Kernel::<Product>::build(&signature, Target::SM_90A, |k, (a, lda, b, ldb, d, ldd, m, n, depth)| {
        k.describe("D = A·B: A m×k in rows, B k×n in columns (bf16), D m×n in rows (bf16)");
        k.block([256]);
        k.cluster([2]);
        let a = k.global(a, row_major(m, depth).with_row_stride(lda));
        let b = k.global(b, row_major(n, depth).with_row_stride(ldb));
        let d = k.global(d, row_major(m, n).with_row_stride(ldd));
        let tiles = k.persistent(Schedule::grouped(4), m.ceil_div(128), n.ceil_div(128));
        let steps = depth.ceil_div(64);
        let ring = k.ring::<(St<bf16, 8, 4>, St<bf16, 8, 4>), 2, 1>();
        let outbox = k.outbox::<bf16, 4, 1, 1>();
        k.specialize(
            producer(40, |p| {
                tiles.each(|i, j| {
                    p.run(&ring, steps, |step, stage| {
                        stage.fill((
                            a.tile(i, step).multicast(tiles.same_row()),
                            b.tile(j, step).multicast(tiles.same_col()),
                        ))
                    });
                });
            }),
            consumers::<1, _>(232, |c| {
                tiles.each(|i, j| {
                    let zeros = [(); 2].map(|()| k.zeros::<Rt<f32, 1, 8>>());
                    let sums = c.run(&ring, steps, zeros, |sums, (a, b)| sums.mma_abt(a, b));
                    c.store(&outbox, sums, |block| d.tile(i * 2 + block, j));
                });
            }),
        );
    })
    .expect("it builds")
}

type Batches = (In<f32>, Out<f32>, u32, u32, u32);

/// Y = X for batches of matrices without gaps, without a grid rule: a map of three dimensions, not passed by all launches.
pub(super) fn batches() -> Kernel<Batches> {
    Kernel::<Batches>::build("batches(x, y, count, m, n)", Target::SM_90A, |k, (x, y, count, m, n)| {
        k.block([256]);
        let (x, y) = (k.global(x, contiguous([count, m, n])), k.global(y, contiguous([count, m, n])));
        let [batch, i, j] = [k.ctaid_z(), k.ctaid_y(), k.ctaid_x()];
        let ring = k.ring::<(St<f32, 4, 2>,), 1, 1>();
        k.specialize(
            producer(40, |p| p.run(&ring, 1, |_, stage| stage.fill((x.batch(batch).tile(i, j),)))),
            consumers::<1, _>(232, |c| {
                c.each(&ring, 1, (), |_, (), (tile,)| {
                    let warp = k.warp().rank() % 4;
                    let part: Rt<f32, 1, 2> = tile.subtile(warp, 0).load();
                    y.batch(batch).tile(i * 4 + warp, j).store(&part);
                });
            }),
        );
    })
    .expect("it builds")
}

/// As many blocks as multiprocessors, in pairs, without maps.
pub(super) fn resident() -> Kernel<(InOut<u32>, u32)> {
    Kernel::<(InOut<u32>, u32)>::build("resident(x, n)", Target::SM_80, |k, (x, n)| {
        k.block([64]);
        k.grid([n.tiles(64).min(Dim::Multiprocessors.round_down(2) * 3)]);
        let x = k.slice(x, n);
        k.for_(Steps::new(k.ctaid_x() * 64 + k.tid_x(), n).by(k.nctaid_x() * 64), |i| x.at(i).store(i));
    })
    .expect("it builds")
}

/// A minimum without the number of multiprocessors, of numbers that may not fit.
pub(super) fn capped() -> Kernel<(u32, u32)> {
    Kernel::<(u32, u32)>::build("capped(m, n)", Target::SM_80, |k, (m, n)| {
        k.block([32]);
        k.grid([(m * n).tiles(1).min(7), n.tiles(1).min(m.tiles(1))]);
    })
    .expect("it builds")
}
