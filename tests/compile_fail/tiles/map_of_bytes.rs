//! A register of bytes is a `u32` of four: the sum would carry from one to the next.

use warpwright::prelude::*;

fn main() {
    let _ = Kernel::<()>::build("f", Target::SM_90, |k, ()| {
        k.block([64]);
        let t = k.zeros::<Rt<i8, 1, 1>>();
        let _ = t.map(|x| x + 1);
    });
}
