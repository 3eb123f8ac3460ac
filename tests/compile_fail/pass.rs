//! The valid counterparts of most programs.

use warpwright::prelude::*;

#[test]
fn kernels() {
    Kernel::<(In<bf16>, In<bf16>, Out<f32>)>::build("product", Target::SM_90, |k, (a, b, d)| {
        k.block([32]);
        let a = k.global(a, row_major(64, 64));
        let b = k.global(b, row_major(64, 64));
        let stages = k.pipeline::<(St<bf16, 4, 2>, St<bf16, 2, 4>), 2>();
        let sum = stages.run(
            2,
            k.zeros::<Rt<f32, 4, 4>>(),
            |i, stage| stage.fill((a.tile(0, i), b.tile(i, 0))),
            |sum, (a, b)| sum.mma_ab(&a.load::<Row>(), &b.load::<Col>()),
        );
        let tile = k.shared_tile::<St<bf16, 4, 4>>().fill(a.tile(0, 0)).wait();
        let corner: Rt<bf16, 1, 1> = tile.subtile(3, 3).load();
        let tile = tile.release().store(&k.zeros::<Rt<bf16, 4, 4>>()).wait();
        let _ = (corner.convert::<f32>(), tile);
        k.if_(k.tid_x().lt(32), || k.global(d, row_major(64, 64)).tile(0, 0).store(&sum));
    })
    .unwrap();
}
