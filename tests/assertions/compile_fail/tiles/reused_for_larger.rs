//! The memory of a tile is reused for a larger one.

use warpwright::prelude::*;

fn main() {
    let _ = Kernel::<()>::build("f", Target::SM_80, |k, ()| {
        k.block([32]);
        let _ = k.shared_tile::<St<bf16, 2, 1>>().reuse::<St<f32, 2, 1>>();
    });
}
