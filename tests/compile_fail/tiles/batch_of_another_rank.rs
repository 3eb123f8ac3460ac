//! Two coordinates select a matrix of a tensor that has one batch axis.

use warpwright::prelude::*;

fn main() {
    let _ = Kernel::<(In<f32>,)>::build("f", Target::SM_80, |k, (a,)| {
        k.block([32]);
        let _ = k.global(a, contiguous([4, 32, 32])).batch((1, 2));
    });
}
