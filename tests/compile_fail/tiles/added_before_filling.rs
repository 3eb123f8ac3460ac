//! Register tiles are added to a tile without contents.

use warpwright::prelude::*;

fn main() {
    let _ = Kernel::<()>::build("f", Target::SM_90, |k, ()| {
        k.block([64]);
        let _ = k.shared_tile::<St<f32, 1, 1>>().add_with(|tile| tile.add(0, 0, &k.zeros::<Rt<f32, 1, 1>>()));
    });
}
