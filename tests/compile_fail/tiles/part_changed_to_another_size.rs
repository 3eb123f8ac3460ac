//! A part of a tile is replaced by one of its own size.

use warpwright::prelude::*;

fn main() {
    let _ = Kernel::<()>::build("f", Target::SM_90, |k, ()| {
        k.block([32]);
        let t = k.zeros::<Rt<f32, 2, 2>>();
        let _ = t.update_subtile::<1, 1>(0, 0, |_| k.zeros::<Rt<f32, 1, 2>>());
    });
}
