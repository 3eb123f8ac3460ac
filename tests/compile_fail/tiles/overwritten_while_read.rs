// A filled tile cannot be filled again before all threads have finished reading it.
use warpwright::prelude::*;
fn main() {
    let _ = Kernel::<(In<bf16>,)>::build("k", Target::SM_90, |k, (a,)| {
        k.block([32]);
        let a = k.global(a, row_major(64, 64));
        let tile = k.shared_tile::<St<bf16, 4, 4>>().fill(a.tile(0, 0)).wait();
        let _ = tile.fill(a.tile(0, 0));
    });
}
