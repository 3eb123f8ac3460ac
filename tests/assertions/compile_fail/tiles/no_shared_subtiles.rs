//! A shared tile without rows.

use warpwright::prelude::*;

fn main() {
    let _ = Kernel::<()>::build("f", Target::SM_90, |k, ()| {
        k.block([64]);
        let _ = k.shared_tile::<St<bf16, 0, 4>>();
    });
}
