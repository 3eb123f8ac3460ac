// Vector loads have 2 or 4 elements.
use warpwright::prelude::*;
fn main() {
    let _ = Kernel::<(In<f32>, Out<f32>, u32,)>::build("k", Target::SM_90, |k, (x, y, n,)| {
        let [a, _, _] = k.slice(x, 3).at(0).load_vector::<3>();
        k.slice(y, n).at(0).store(a);
    });
}
