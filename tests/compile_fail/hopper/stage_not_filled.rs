// The producer must return a stage that it has filled.
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
            producer(40, |p| p.run(&ring, 4, |_, stage| stage)),
            consumers::<1, _>(232, |c| c.each(&ring, 4, (), |_, (), _| ())),
        );
        let _ = a;
    });
}
