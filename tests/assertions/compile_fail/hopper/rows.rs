// One accumulator has 64 rows, A has 128.
use warpwright::prelude::*;
fn main() {
    let _ = Kernel::<(In<bf16>,)>::build("k", Target::SM_90A, |k, (a,)| {
        k.block([128]);
        let a = k.shared_tile::<St<bf16, 8, 4>>().fill(k.global(a, row_major(128, 64)).tile(0, 0)).wait();
        let _ = k.warp_group().accumulate(k.zeros::<Rt<f32, 1, 8>>()).mma_abt(&a, &a).wait();
    });
}
