// `mma_ab` takes B in column layout; a row-layout B is for `mma_abt`.
use warpwright::prelude::*;
fn main() {
    let _ = Kernel::<(u32,)>::build("k", Target::SM_90, |k, (_n,)| {
        let a = k.zeros::<Rt<bf16, 2, 2>>();
        let b = k.zeros::<Rt<bf16, 2, 2>>();
        let _ = k.zeros::<Rt<f32, 2, 2>>().mma_ab(&a, &b);
    });
}
