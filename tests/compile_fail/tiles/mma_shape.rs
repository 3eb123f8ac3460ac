// A is 2×3 subtiles, B 2×2: the inner sizes differ.
use warpwright::prelude::*;
fn main() {
    let _ = Kernel::<(u32,)>::build("k", Target::SM_90, |k, (_n,)| {
        let a = k.zeros::<Rt<bf16, 2, 3>>();
        let b = k.zeros::<Rt<bf16, 2, 2, Col>>();
        let _ = k.zeros::<Rt<f32, 2, 2>>().mma_ab(&a, &b);
    });
}
