//! A shared tile of one type is stored to a matrix of another.

use warpwright::prelude::*;

fn main() {
    let _ = Kernel::<(In<f32>, Out<bf16>)>::build("f", Target::SM_80, |k, (a, d)| {
        k.block([32]);
        let tile = k.shared_tile::<St<f32, 1, 1>>().fill(k.global(a, row_major(16, 16)).tile(0, 0)).wait();
        k.global(d, row_major(16, 16)).tile(0, 0).store_shared(&tile);
    });
}
