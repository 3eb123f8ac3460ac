// A register tile is passed by value.
use warpwright::prelude::*;
fn main() {
    let _ = Kernel::<(In<bf16>,)>::build("k", Target::SM_90A, |k, (a,)| {
        k.block([128]);
        let b = k.shared_tile::<St<bf16, 4, 4>>().fill(k.global(a, row_major(64, 64)).tile(0, 0)).wait();
        let a = k.zeros::<Rt<bf16, 1, 4>>();
        let _ = k.warp_group().accumulate(k.zeros::<Rt<f32, 1, 4>>()).mma_abt(&a, &b).wait();
    });
}
