//! There are no atomic additions of bytes.

use warpwright::prelude::*;

fn main() {
    let _ = Kernel::<(InOut<u8>,)>::build("f", Target::SM_90, |k, (x,)| {
        k.block([64]);
        k.global(x, row_major(16, 32)).tile(0, 0).add(&k.zeros::<Rt<u8, 1, 1>>());
    });
}
