// A tile cannot be read before its copy has been waited for.
use warpwright::prelude::*;
fn main() {
    let _ = Kernel::<(In<bf16>,)>::build("k", Target::SM_90, |k, (a,)| {
        k.block([32]);
        let a = k.global(a, row_major(64, 64));
        let tile = k.shared_tile::<St<bf16, 4, 4>>().fill(a.tile(0, 0));
        let _: Rt<bf16, 4, 4> = tile.load();
    });
}
