//! A function of floating-point numbers on integers.

use warpwright::prelude::*;

fn main() {
    let _ = Kernel::<()>::build("f", Target::SM_90, |k, ()| {
        k.block([64]);
        let t = k.zeros::<Rt<i32, 1, 1>>();
        let _ = t.exp2();
    });
}
