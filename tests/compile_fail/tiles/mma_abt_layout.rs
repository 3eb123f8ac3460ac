// `mma_abt` takes the transpose of B in row layout.
use warpwright::prelude::*;
fn main() {
    let _ = Kernel::<(u32,)>::build("k", Target::SM_90, |k, (_n,)| {
        let a = k.zeros::<Rt<bf16, 2, 2>>();
        let b = k.zeros::<Rt<bf16, 2, 2, Col>>();
        let _ = k.zeros::<Rt<f32, 2, 2>>().mma_abt(&a, &b);
    });
}
