// An `Out` buffer cannot be read.
use warpwright::prelude::*;
fn main() {
    let _ = Kernel::<(In<f32>, Out<f32>, u32,)>::build("k", Target::SM_90, |k, (x, y, n,)| {
        k.slice(y, n).at(0).load();
        let _ = x;
    });
}
