//! The layout of a vector as that of a tile.

use warpwright::{prelude::*, tiles::Naive};

fn main() {
    let _ = Kernel::<()>::build("f", Target::SM_90, |k, ()| {
        k.block([64]);
        let _ = k.zeros::<Rt<f32, 1, 1, Naive>>();
    });
}
