// `mma_atb` takes the transpose of A in column layout.
use warpwright::prelude::*;
fn main() {
    let _ = Kernel::<(u32,)>::build("k", Target::SM_90, |k, (_n,)| {
        let a = k.zeros::<Rt<bf16, 2, 2>>();
        let b = k.zeros::<Rt<bf16, 2, 2, Col>>();
        let _ = k.zeros::<Rt<f32, 2, 2>>().mma_atb(&a, &b);
    });
}
