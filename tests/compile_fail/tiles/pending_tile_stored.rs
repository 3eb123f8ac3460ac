//! A shared tile is stored to a matrix before the stores that fill it have been waited for.

use warpwright::prelude::*;

fn main() {
    let _ = Kernel::<(Out<f32>,)>::build("f", Target::SM_80, |k, (d,)| {
        let block = k.block([32]);
        k.grid([1]);
        let own = k.zeros::<Rt<f32, 1, 1>>();
        let tile = k.shared_tile::<St<f32, 1, 1>>().store_with(|tile| tile.tile_of(block).store(&own));
        k.global(d, row_major(16, 16)).tile(0, 0).store_shared(&tile);
    });
}
