// A stage of `run` or `each` cannot be read after the call.
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
            producer(40, |p| p.run(&ring, 4, |i, stage| stage.fill((a.tile(0, i),)))),
            consumers::<1, _>(232, |c| {
                let mut kept = None;
                c.each(&ring, 4, (), |_, (), (tile,)| kept = Some(tile));
                let _ = kept.map(|tile| tile.tile_of(c.group()).load::<1, 4, Row>());
            }),
        );
    });
}
