//! A tile is copied while it is being filled.

use warpwright::prelude::*;

fn main() {
    let _ = Kernel::<()>::build("f", Target::SM_90, |k, ()| {
        k.block([64]);
        let pending = k.shared_tile::<St<f32, 1, 1>>().fill_with(0.0);
        let _ = k.shared_tile::<St<bf16, 1, 1>>().copy_from(&pending);
    });
}
