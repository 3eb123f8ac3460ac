//! A tile of a matrix is requested from a vector.

use warpwright::prelude::*;

fn main() {
    let _ = Kernel::<(In<f32>,)>::build("f", Target::SM_80, |k, (a,)| {
        k.block([32]);
        let _: Rt<f32, 1, 1> = k.global(a, vector(64)).tile(0, 0).load();
    });
}
