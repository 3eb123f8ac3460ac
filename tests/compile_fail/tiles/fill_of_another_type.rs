//! Elements past the edge are filled with a number of another type.

use warpwright::prelude::*;

fn main() {
    let _ = Kernel::<(In<f32>,)>::build("f", Target::SM_90, |k, (x,)| {
        k.block([64]);
        let _: Rt<f32, 1, 1> = k.global(x, row_major(16, 10)).tile(0, 0).load_or(0);
    });
}
