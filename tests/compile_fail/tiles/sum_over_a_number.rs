//! A number instead of the scope that sums tiles.

use warpwright::prelude::*;

fn main() {
    let _ = Kernel::<()>::build("f", Target::SM_90, |k, ()| {
        k.block([64]);
        let t = k.zeros::<Rt<f32, 1, 1>>();
        let _ = t.sum_over(2);
    });
}
