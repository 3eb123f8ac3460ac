// A product consumes the accumulator, which can then no longer be waited for.
use warpwright::prelude::*;
fn main() {
    let _ = Kernel::<(In<bf16>,)>::build("k", Target::SM_90A, |k, (a,)| {
        k.block([128]);
        let a = k.shared_tile::<St<bf16, 4, 4>>().fill(k.global(a, row_major(64, 64)).tile(0, 0)).wait();
        let sum = k.warp_group().accumulate(k.zeros::<Rt<f32, 1, 4>>());
        let more = sum.mma_abt(&a, &a);
        let _ = (sum.wait(), more.wait());
    });
}
