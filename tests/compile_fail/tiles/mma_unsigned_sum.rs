// 8-bit integers accumulate in i32.
use warpwright::prelude::*;
fn main() {
    let _ = Kernel::<(u32,)>::build("k", Target::SM_90, |k, (_n,)| {
        let a = k.zeros::<Rt<u8, 1, 1>>();
        let b = k.zeros::<Rt<u8, 1, 1, Col>>();
        let _ = k.zeros::<Rt<u32, 1, 1>>().mma_ab(&a, &b);
    });
}
