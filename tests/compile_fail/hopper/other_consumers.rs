// A ring of two consumers cannot be read by one.
use warpwright::{
    prelude::*,
    tiles::{consumers, producer},
};
fn main() {
    let _ = Kernel::<(In<bf16>,)>::build("k", Target::SM_90A, |k, (a,)| {
        k.block([256]);
        let a = k.global(a, row_major(64, 64));
        let ring = k.ring::<(St<bf16, 4, 4>,), 2, 2>();
        k.specialize(
            producer(40, |p| p.run(&ring, 4, |i, stage| stage.fill((a.tile(0, i),)))),
            consumers::<1, _>(232, |c| c.each(&ring, 4, (), |_, (), _| ())),
        );
    });
}
