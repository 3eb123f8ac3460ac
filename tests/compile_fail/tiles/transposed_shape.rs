//! The transpose of a tile has the other shape.

use warpwright::prelude::*;

fn main() {
    let _ = Kernel::<()>::build("f", Target::SM_90, |k, ()| {
        k.block([64]);
        let t = k.zeros::<Rt<bf16, 1, 2>>();
        let _: Rt<bf16, 1, 2> = t.transpose();
    });
}
