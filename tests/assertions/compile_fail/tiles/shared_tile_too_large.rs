//! A shared tile larger than any shared memory.

use warpwright::prelude::*;

fn main() {
    let _ = Kernel::<()>::build("f", Target::SM_90, |k, ()| {
        k.block([64]);
        let _ = k.shared_tile::<St<f64, 1000, 1000>>();
    });
}
