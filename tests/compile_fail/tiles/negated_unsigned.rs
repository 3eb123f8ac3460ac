//! Unsigned integers have no negative.

use warpwright::prelude::*;

fn main() {
    let _ = Kernel::<()>::build("f", Target::SM_90, |k, ()| {
        k.block([32]);
        let _ = -k.zeros::<Rt<u32, 1, 1>>();
    });
}
