//! The memory of a tile is reused for two that are larger together.

use warpwright::prelude::*;

fn main() {
    let _ = Kernel::<()>::build("f", Target::SM_80, |k, ()| {
        k.block([32]);
        let _ = k.shared_tile::<St<bf16, 2, 1>>().reuse_for_two::<St<bf16, 2, 1>, Sv<f32, 1>>();
    });
}
