//! A shared vector is released while a part of it is loaded.

use warpwright::{prelude::*, tiles::Naive};

fn main() {
    let _ = Kernel::<()>::build("f", Target::SM_90, |k, ()| {
        k.block([64]);
        let v = k.shared_tile::<Sv<f32, 4>>().store_with(|v| v.tile(k.warp()).store(&k.zeros::<Rv<f32, 2, Naive>>())).wait();
        let part = v.tile(0);
        let _ = v.release();
        let _: Rv<f32, 2, Naive> = part.load();
    });
}
