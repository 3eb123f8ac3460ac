//! A tile is added to an output, whose initial contents are not an argument of the kernel.

use warpwright::prelude::*;

fn main() {
    let _ = Kernel::<(Out<f32>,)>::build("f", Target::SM_80, |k, (d,)| {
        k.block([32]);
        k.grid([1]);
        let own = k.zeros::<Rt<f32, 1, 1>>();
        k.global(d, row_major(16, 16)).tile(0, 0).add(&own);
    });
}
