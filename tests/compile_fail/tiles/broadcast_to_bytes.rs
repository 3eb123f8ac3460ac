//! A vector of bytes is not broadcast to a tile of bytes.

use warpwright::prelude::*;

fn main() {
    let _ = Kernel::<()>::build("f", Target::SM_90, |k, ()| {
        k.block([32]);
        let v = k.zeros::<ColVec<u8, 2>>();
        let t = k.zeros::<Rt<u8, 2, 1>>();
        let _ = t + &v;
    });
}
