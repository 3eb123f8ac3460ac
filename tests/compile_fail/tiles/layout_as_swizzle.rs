//! The layout of a register tile as a swizzle.

use warpwright::prelude::*;

fn main() {
    let _ = Kernel::<()>::build("f", Target::SM_90, |k, ()| {
        k.block([64]);
        let _ = k.shared_tile::<St<bf16, 1, 1, Row>>();
    });
}
