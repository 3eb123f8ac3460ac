//! The valid counterparts of the programs of `hopper/`.

use warpwright::{
    prelude::*,
    tiles::{Schedule, consumers, producer},
};

#[test]
fn kernels() {
    Kernel::<(In<bf16>, In<bf16>, Out<bf16>)>::build("gemm", Target::SM_90A, |k, (a, b, d)| {
        k.block([384]);
        let [a, b] = [a, b].map(|x| k.global(x, row_major(256, 256)));
        let d = k.global(d, row_major(256, 256));
        let ring = k.ring::<(St<bf16, 8, 4>, St<bf16, 4, 4>), 2, 2>();
        let outbox = k.outbox::<bf16, 2, 2, 2>();
        let tiles = k.persistent(Schedule::grouped(2), 2, 4);
        k.specialize(
            producer(40, |p| {
                tiles.each(|i, j| {
                    p.run(&ring, 4, |step, stage| stage.fill((a.tile(i, step), b.tile(j, step))));
                });
            }),
            consumers::<2, _>(232, |c| {
                tiles.each(|i, j| {
                    let zeros = [k.zeros::<Rt<f32, 1, 4>>()];
                    let sums = c.run(&ring, 3, zeros, |sums, (a, b)| sums.mma_abt(a.rows::<4>(c.rank()), b));
                    let stage = c.receive(&ring);
                    let (a, b) = stage.tiles();
                    let sums = c.group().accumulate(sums);
                    let sums = sums.mma_abt(a.rows::<4>(c.rank()), b).wait();
                    c.release(&ring, stage);
                    c.store(&outbox, sums, |block| d.tile(i * 2 + c.rank() + block, j));
                });
            }),
        );
    })
    .unwrap();
}
