// Two parts of a result do not fill three slots.
use warpwright::{
    prelude::*,
    tiles::{consumers, producer},
};
fn main() {
    let _ = Kernel::<(Out<bf16>,)>::build("k", Target::SM_90A, |k, (d,)| {
        k.block([256]);
        let d = k.global(d, row_major(64, 64));
        let outbox = k.outbox::<bf16, 2, 3, 1>();
        k.specialize(
            producer(40, |_| ()),
            consumers::<1, _>(232, |c| c.store(&outbox, [k.zeros::<Rt<f32, 1, 4>>()], |i| d.tile(i, 0))),
        );
    });
}
