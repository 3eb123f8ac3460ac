//! A tile of three rows of subtiles is split into two of two.

use warpwright::prelude::*;

fn main() {
    let _ = Kernel::<()>::build("f", Target::SM_90, |k, ()| {
        k.block([64]);
        let t = k.zeros::<Rt<f32, 3, 1>>();
        let _: [Rt<f32, 2, 1>; 2] = t.vsplit();
    });
}
