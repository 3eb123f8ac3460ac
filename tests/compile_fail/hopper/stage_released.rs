// A stage cannot be read after it has been released.
use warpwright::{
    prelude::*,
    tiles::{consumers, producer},
};
fn main() {
    let _ = Kernel::<(In<bf16>,)>::build("k", Target::SM_90A, |k, (a,)| {
        k.block([256]);
        let a = k.global(a, row_major(64, 64));
        let ring = k.ring::<(St<bf16, 4, 4>,), 2, 1>();
        k.specialize(
            producer(40, |p| p.run(&ring, 1, |i, stage| stage.fill((a.tile(0, i),)))),
            consumers::<1, _>(232, |c| {
                let stage = c.receive(&ring);
                let (tile,) = stage.tiles();
                c.release(&ring, stage);
                let _: Rt<bf16, 1, 4> = tile.tile_of(c.group()).load();
            }),
        );
    });
}
