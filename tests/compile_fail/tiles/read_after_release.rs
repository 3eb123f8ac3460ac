//! A released tile is read.

use warpwright::prelude::*;

fn main() {
    let _ = Kernel::<()>::build("f", Target::SM_90, |k, ()| {
        k.block([64]);
        let tile = k.shared_tile::<St<f32, 1, 1>>().fill_with(0.0).wait();
        let _ = tile.release();
        let _: Rt<f32, 1, 1> = tile.load();
    });
}
