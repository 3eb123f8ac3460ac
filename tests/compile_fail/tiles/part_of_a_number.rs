//! A number instead of the scope whose warps divide a tile.

use warpwright::prelude::*;

fn main() {
    let _ = Kernel::<()>::build("f", Target::SM_90, |k, ()| {
        k.block([64]);
        let tile = k.shared_tile::<St<f32, 2, 1>>().fill_with(0.0).wait();
        let _: Rt<f32, 1, 1> = tile.tile_of(k.warp().rank()).load();
    });
}
