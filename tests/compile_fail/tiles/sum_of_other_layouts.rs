//! Tiles of different layouts are added.

use warpwright::prelude::*;

fn main() {
    let _ = Kernel::<()>::build("f", Target::SM_90, |k, ()| {
        k.block([64]);
        let (a, b) = (k.zeros::<Rt<f32, 1, 1>>(), k.zeros::<Rt<f32, 1, 1, Col>>());
        let _ = a + &b;
    });
}
