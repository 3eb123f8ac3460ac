//! A vector that is not related to a tile is broadcast.

use warpwright::{prelude::*, tiles::Naive};

fn main() {
    let _ = Kernel::<()>::build("f", Target::SM_90, |k, ()| {
        k.block([64]);
        let t = k.zeros::<Rt<f32, 1, 2>>();
        let v = k.zeros::<Rv<f32, 1, Naive>>();
        let _ = t - &v;
    });
}
