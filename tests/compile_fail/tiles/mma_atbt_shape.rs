// A is 3×2 subtiles transposed, B 2×2 transposed: the inner sizes differ.
use warpwright::prelude::*;
fn main() {
    let _ = Kernel::<(u32,)>::build("k", Target::SM_90, |k, (_n,)| {
        let a = k.zeros::<Rt<bf16, 3, 2, Col>>();
        let b = k.zeros::<Rt<bf16, 2, 2>>();
        let _ = k.zeros::<Rt<f32, 2, 2>>().mma_atbt(&a, &b);
    });
}
