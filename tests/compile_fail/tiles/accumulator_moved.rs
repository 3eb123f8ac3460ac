// `mma` accumulates in place and consumes the tile.
use warpwright::prelude::*;
fn main() {
    let _ = Kernel::<(u32,)>::build("k", Target::SM_90, |k, (_n,)| {
        let a = k.zeros::<Rt<bf16, 1, 1>>();
        let b = k.zeros::<Rt<bf16, 1, 1, Col>>();
        let sum = k.zeros::<Rt<f32, 1, 1>>();
        let _next = sum.mma_ab(&a, &b);
        let _ = sum.mma_ab(&a, &b);
    });
}
