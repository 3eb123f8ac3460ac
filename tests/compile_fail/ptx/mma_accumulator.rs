// bf16 products do not accumulate in f16.
use warpwright::prelude::*;
fn main() {
    let _ = Kernel::<(In<f32>, Out<f32>, u32,)>::build("k", Target::SM_90, |k, (x, y, n,)| {
        let a = k.constant(bf16x2([bf16::ONE; 2]));
        let c = k.constant(f16x2([f16::ONE; 2]));
        let _ = k.mma_m16n8k16([a; 4], [a; 2], [c; 2]);
        let _ = (x, y, n);
    });
}
