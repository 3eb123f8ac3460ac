// A of 32 bits is in shared memory.
use warpwright::prelude::*;
fn main() {
    let _ = Kernel::<(In<tf32>,)>::build("k", Target::SM_90A, |k, (b,)| {
        k.block([128]);
        let b = k.shared_tile::<St<tf32, 4, 2>>().fill(k.global(b, row_major(64, 32)).tile(0, 0)).wait();
        let a = k.zeros::<Rt<tf32, 1, 2>>();
        let _ = k.warp_group().accumulate(k.zeros::<Rt<f32, 1, 4>>()).mma_abt(a, &b).wait();
    });
}
