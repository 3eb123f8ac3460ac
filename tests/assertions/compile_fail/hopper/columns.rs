// The result of a product has at most 256 columns.
use warpwright::prelude::*;
fn main() {
    let _ = Kernel::<(In<bf16>,)>::build("k", Target::SM_90A, |k, (x,)| {
        k.block([128]);
        let x = k.global(x, row_major(272, 64));
        let a = k.shared_tile::<St<bf16, 4, 4>>().fill(x.tile(0, 0)).wait();
        let b = k.shared_tile::<St<bf16, 17, 4>>().fill(x.tile(0, 0)).wait();
        let _ = k.warp_group().accumulate(k.zeros::<Rt<f32, 1, 17>>()).mma_abt(&a, &b).wait();
    });
}
