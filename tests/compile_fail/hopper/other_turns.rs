// Three consumers do not take turns of two.
use warpwright::{
    prelude::*,
    tiles::{consumers, producer},
};
fn main() {
    let _ = Kernel::<(In<bf16>,)>::build("k", Target::SM_90A, |k, (a,)| {
        k.block([256]);
        let a = k.global(a, row_major(64, 64));
        let ring = k.ring::<(St<bf16, 4, 4>,), 2, 1>();
        let turns = k.turns::<2>();
        let tiles = k.persistent(warpwright::tiles::Schedule::linear(), 1, 1);
        k.specialize(
            producer(40, |p| p.run(&ring, 4, |i, stage| stage.fill((a.tile(0, i),)))),
            consumers::<3, _>(160, |c| {
                tiles.each_in_turn(c, |turn, _, _| {
                    let zeros = k.zeros::<Rt<f32, 1, 4>>();
                    let _ = c.run_in_turn(&turns, turn, &ring, 4, zeros, |sum, (a,)| sum.mma_abt(a, a));
                });
            }),
        );
    });
}
