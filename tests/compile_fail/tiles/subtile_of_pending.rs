//! A part of a tile is loaded before the stores of the other warps have been waited for.

use warpwright::prelude::*;

fn main() {
    let _ = Kernel::<()>::build("f", Target::SM_80, |k, ()| {
        let block = k.block([64]);
        let own = k.zeros::<Rt<f32, 1, 2>>();
        let tile = k.shared_tile::<St<bf16, 2, 2>>().store_with(|tile| tile.tile_of(block).store(&own));
        let _: Rt<bf16, 2, 1> = tile.subtile(0, k.warp()).load();
    });
}
