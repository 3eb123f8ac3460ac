//! Tiles side by side are wider than the tile that they make up.

use warpwright::prelude::*;

fn main() {
    let _ = Kernel::<()>::build("f", Target::SM_90, |k, ()| {
        k.block([64]);
        let [a, b] = [(); 2].map(|()| k.zeros::<Rt<f32, 1, 2>>());
        let _ = Rt::<f32, 1, 3>::hconcat([a, b]);
    });
}
