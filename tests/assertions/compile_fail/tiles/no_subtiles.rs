//! A register tile without columns.

use warpwright::prelude::*;

fn main() {
    let _ = Kernel::<()>::build("f", Target::SM_90, |k, ()| {
        k.block([64]);
        let _ = k.zeros::<Rt<f32, 1, 0>>();
    });
}
