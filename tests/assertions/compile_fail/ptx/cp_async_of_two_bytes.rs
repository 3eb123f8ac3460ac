// `cp.async` copies 4, 8 or 16 bytes.
use warpwright::prelude::*;
fn main() {
    let _ = Kernel::<(In<f32>, Out<f32>, u32,)>::build("k", Target::SM_90, |k, (x, y, n,)| {
        k.shared::<f32>(32).copy_async::<2>(k.slice(x, n).at(0));
        let _ = y;
    });
}
