// A shared tile of bf16 cannot be filled from a matrix of f16.
use warpwright::prelude::*;
fn main() {
    let _ = Kernel::<(In<f16>,)>::build("k", Target::SM_90, |k, (h,)| {
        k.block([32]);
        let h = k.global(h, row_major(64, 64));
        let _ = k.shared_tile::<St<bf16, 4, 4>>().fill(h.tile(0, 0));
    });
}
