//! A row of a tile is loaded after the tile has been released.

use warpwright::{prelude::*, tiles::Naive};

fn main() {
    let _ = Kernel::<(In<f32>,)>::build("f", Target::SM_80, |k, (a,)| {
        k.block([32]);
        let tile = k.shared_tile::<St<f32, 1, 4>>().fill(k.global(a, row_major(16, 64)).tile(0, 0)).wait();
        let row = tile.row(3);
        let _ = tile.release();
        let _: Rv<f32, 4, Naive> = row.load();
    });
}
