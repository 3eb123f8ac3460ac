//! Tiles of different types are added.

use warpwright::prelude::*;

fn main() {
    let _ = Kernel::<()>::build("f", Target::SM_90, |k, ()| {
        k.block([64]);
        let (a, b) = (k.zeros::<Rt<f32, 1, 1>>(), k.zeros::<Rt<bf16, 1, 1>>());
        let _ = a + &b;
    });
}
