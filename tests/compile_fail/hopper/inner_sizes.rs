// A is 4×4 subtiles, Bᵀ 4×2: the inner sizes differ.
use warpwright::prelude::*;
fn main() {
    let _ = Kernel::<(In<bf16>,)>::build("k", Target::SM_90A, |k, (x,)| {
        k.block([128]);
        let x = k.global(x, row_major(64, 64));
        let a = k.shared_tile::<St<bf16, 4, 4>>().fill(x.tile(0, 0)).wait();
        let b = k.shared_tile::<St<bf16, 4, 2>>().fill(x.tile(0, 0)).wait();
        let _ = k.warp_group().accumulate(k.zeros::<Rt<f32, 1, 4>>()).mma_abt(&a, &b).wait();
    });
}
