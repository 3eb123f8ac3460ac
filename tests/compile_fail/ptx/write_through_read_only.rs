// An `In` buffer cannot be written.
use warpwright::prelude::*;
fn main() {
    let _ = Kernel::<(In<f32>, Out<f32>, u32,)>::build("k", Target::SM_90, |k, (x, y, n,)| {
        k.slice(x, n).at(k.tid_x()).store(1.0);
        let _ = y;
    });
}
