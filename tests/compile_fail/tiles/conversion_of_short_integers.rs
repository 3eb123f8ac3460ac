//! There is no conversion from 16-bit integers.

use warpwright::prelude::*;

fn main() {
    let _ = Kernel::<()>::build("f", Target::SM_90, |k, ()| {
        k.block([32]);
        let t = k.zeros::<Rt<u16, 1, 1>>();
        let _ = t.convert::<f32>();
    });
}
