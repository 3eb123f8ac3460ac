// The address of a plain pointer may be outside its buffer, so loads from global memory through it require `unsafe` code.
use warpwright::prelude::*;
fn main() {
    let _ = Kernel::<(In<f32>, Out<f32>, u32,)>::build("k", Target::SM_90, |k, (x, y, n,)| {
        let value = x.at(k.tid_x()).load();
        k.slice(y, n).at(k.tid_x()).store(value);
    });
}
