//! The memory of a tile that threads may be reading is reused.

use warpwright::prelude::*;

fn main() {
    let _ = Kernel::<(In<bf16>,)>::build("f", Target::SM_80, |k, (a,)| {
        k.block([32]);
        let tile = k.shared_tile::<St<bf16, 2, 1>>().fill(k.global(a, row_major(32, 16)).tile(0, 0)).wait();
        let _ = tile.reuse::<St<f32, 1, 1>>();
    });
}
