// A tile cannot be released while a rectangle of it is in use.
use warpwright::prelude::*;
fn main() {
    let _ = Kernel::<(In<bf16>,)>::build("k", Target::SM_90, |k, (a,)| {
        k.block([32]);
        let a = k.global(a, row_major(64, 64));
        let tile = k.shared_tile::<St<bf16, 4, 4>>().fill(a.tile(0, 0)).wait();
        let corner = tile.subtile(0, 0);
        let _ = tile.release();
        let _: Rt<bf16, 1, 1> = corner.load();
    });
}
