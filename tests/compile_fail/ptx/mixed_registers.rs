// Registers of different types cannot be added.
use warpwright::prelude::*;
fn main() {
    let _ = Kernel::<(In<f32>, Out<f32>, u32,)>::build("k", Target::SM_90, |k, (x, y, n,)| {
        let i = k.tid_x();
        let x = k.slice(x, n).at(i).load();
        k.slice(y, n).at(i).store(x + i);
    });
}
