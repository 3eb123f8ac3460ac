// bf16 is not multiplied by f16.
use warpwright::prelude::*;
fn main() {
    let _ = Kernel::<(In<bf16>, In<f16>)>::build("k", Target::SM_90A, |k, (a, b)| {
        k.block([128]);
        let a = k.shared_tile::<St<bf16, 4, 4>>().fill(k.global(a, row_major(64, 64)).tile(0, 0)).wait();
        let b = k.shared_tile::<St<f16, 4, 4>>().fill(k.global(b, row_major(64, 64)).tile(0, 0)).wait();
        let _ = k.warp_group().accumulate(k.zeros::<Rt<f32, 1, 4>>()).mma_abt(&a, &b).wait();
    });
}
