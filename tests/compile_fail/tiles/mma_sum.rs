// f64 accumulates in f64.
use warpwright::prelude::*;
fn main() {
    let _ = Kernel::<(u32,)>::build("k", Target::SM_90, |k, (_n,)| {
        let a = k.zeros::<Rt<f64, 1, 1>>();
        let b = k.zeros::<Rt<f64, 1, 1, Col>>();
        let _ = k.zeros::<Rt<f32, 1, 1>>().mma_ab(&a, &b);
    });
}
