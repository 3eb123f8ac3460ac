//! 8-bit subtiles have another shape than wider ones.

use warpwright::prelude::*;

fn main() {
    let _ = Kernel::<()>::build("f", Target::SM_90, |k, ()| {
        k.block([32]);
        let random = k.random(1, 2).tile(0, 0);
        let _ = k.zeros::<Rt<f32, 1, 2>>().convert_stochastic::<e4m3>(&random);
    });
}
