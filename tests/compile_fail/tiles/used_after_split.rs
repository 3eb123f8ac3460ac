//! A tile is used after it has been split into parts, which own its registers.

use warpwright::prelude::*;

fn main() {
    let _ = Kernel::<()>::build("f", Target::SM_90, |k, ()| {
        k.block([64]);
        let t = k.zeros::<Rt<f32, 2, 1>>();
        let _: [Rt<f32, 1, 1>; 2] = t.vsplit();
        let _ = t.row_sum();
    });
}
