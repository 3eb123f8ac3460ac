//! A column tile of bytes is higher than the shared tile of the same size.

use warpwright::prelude::*;

fn main() {
    let _ = Kernel::<()>::build("f", Target::SM_90, |k, ()| {
        k.block([64]);
        let tile = k.shared_tile::<St<u8, 2, 2>>().fill_with(0).wait();
        let _: Rt<u8, 2, 2, Col> = tile.load();
    });
}
