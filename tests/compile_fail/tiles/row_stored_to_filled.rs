//! A row is stored while the tile may be read.

use warpwright::prelude::*;

fn main() {
    let _ = Kernel::<()>::build("f", Target::SM_90, |k, ()| {
        k.block([32]);
        let tile = k.shared_tile::<St<f32, 1, 1>>().fill_with(0.0).wait();
        tile.row(0).store(&k.zeros::<Rv<f32, 1>>());
    });
}
