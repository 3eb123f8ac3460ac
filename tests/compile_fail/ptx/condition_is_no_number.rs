// A branch takes a predicate, not a number.
use warpwright::prelude::*;
fn main() {
    let _ = Kernel::<(In<f32>, Out<f32>, u32,)>::build("k", Target::SM_90, |k, (x, y, n,)| {
        k.if_(n, || k.slice(y, 1).at(0).store(1.0));
        let _ = x;
    });
}
