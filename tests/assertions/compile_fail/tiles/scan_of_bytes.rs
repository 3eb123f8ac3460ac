//! Prefix sums of bytes are of another shape.

use warpwright::prelude::*;

fn main() {
    let _ = Kernel::<()>::build("f", Target::SM_90, |k, ()| {
        k.block([32]);
        let _ = k.zeros::<Rt<u8, 1, 1>>().row_scan();
    });
}
