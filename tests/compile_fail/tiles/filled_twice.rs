//! A tile that may still be read is filled again without a release.

use warpwright::prelude::*;

fn main() {
    let _ = Kernel::<()>::build("f", Target::SM_90, |k, ()| {
        k.block([64]);
        let tile = k.shared_tile::<St<f32, 1, 1>>().fill_with(0.0).wait();
        let _ = tile.fill_with(1.0);
    });
}
