// A consumer does not fill, a producer does not read.
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
            producer(40, |p| drop(p.receive(&ring))),
            consumers::<1, _>(232, |c| drop(c.receive(&ring).fill((a.tile(0, 0),)))),
        );
    });
}
