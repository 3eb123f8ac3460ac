// There is no `wgmma` of f64.
use warpwright::prelude::*;
fn main() {
    let _ = Kernel::<(In<f64>,)>::build("k", Target::SM_90A, |k, (a,)| {
        k.block([128]);
        let a = k.shared_tile::<St<f64, 4, 1>>().fill(k.global(a, row_major(64, 16)).tile(0, 0)).wait();
        let _ = k.warp_group().accumulate(k.zeros::<Rt<f64, 1, 4>>()).mma_abt(&a, &a).wait();
    });
}
