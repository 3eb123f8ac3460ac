//! There is no conversion from 64-bit integers.

use warpwright::prelude::*;

fn main() {
    let _ = Kernel::<()>::build("f", Target::SM_90, |k, ()| {
        k.block([64]);
        let t = k.zeros::<Rt<u64, 1, 1>>();
        let _ = t.convert::<f32>();
    });
}
