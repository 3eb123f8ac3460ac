//! A tile is used again after an operation that computes in place.

use warpwright::prelude::*;

fn main() {
    let _ = Kernel::<()>::build("f", Target::SM_90, |k, ()| {
        k.block([64]);
        let t = k.zeros::<Rt<f32, 1, 1>>();
        let (a, b) = (t * 2.0, t * 3.0);
        let _ = (a, b);
    });
}
