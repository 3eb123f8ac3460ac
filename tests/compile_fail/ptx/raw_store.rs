// Stores to global memory through a plain pointer require `unsafe` code.
use warpwright::prelude::*;
fn main() {
    let _ = Kernel::<(Out<f32>, u32,)>::build("k", Target::SM_90, |k, (y, n,)| {
        k.if_(k.tid_x().lt(n), || y.at(k.tid_x()).store(1.0));
    });
}
