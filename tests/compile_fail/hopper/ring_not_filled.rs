// A producer that fills rings in turn fills each stage.
use warpwright::{
    prelude::*,
    tiles::{consumers, producer},
};
fn main() {
    let _ = Kernel::<()>::build("k", Target::SM_90A, |k, ()| {
        k.block([256]);
        let ring = k.ring::<(St<bf16, 4, 4>,), 2, 1>();
        k.specialize(
            producer(40, |p| p.fill(&ring, |_| ())),
            consumers::<1, _>(232, |c| c.each(&ring, 1, (), |_, (), _| ())),
        );
    });
}
