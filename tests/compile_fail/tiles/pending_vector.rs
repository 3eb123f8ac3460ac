//! A shared vector is loaded before its copy has been waited for.

use warpwright::{prelude::*, tiles::Naive};

fn main() {
    let _ = Kernel::<(In<f32>,)>::build("f", Target::SM_80, |k, (a,)| {
        k.block([32]);
        let sums = k.shared_tile::<Sv<f32, 4>>().fill(k.global(a, vector(64)).tile(0));
        let _ = sums.load::<Naive>();
    });
}
