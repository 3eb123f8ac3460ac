//! A tile that threads may be reading is stored to.

use warpwright::prelude::*;

fn main() {
    let _ = Kernel::<(In<bf16>,)>::build("f", Target::SM_80, |k, (a,)| {
        k.block([32]);
        let tile = k.shared_tile::<St<bf16, 1, 1>>().fill(k.global(a, row_major(16, 16)).tile(0, 0)).wait();
        let x: Rt<bf16, 1, 1> = tile.load();
        let _ = tile.store_with(|tile| tile.subtile(0, 0).store(&x)).wait();
    });
}
