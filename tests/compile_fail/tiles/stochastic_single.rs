//! There is no stochastic rounding to f32.

use warpwright::prelude::*;

fn main() {
    let _ = Kernel::<()>::build("f", Target::SM_90, |k, ()| {
        k.block([32]);
        let random = k.random(1, 2).tile(0, 0);
        let _ = k.zeros::<Rt<f64, 1, 1>>().convert_stochastic::<f32>(&random);
    });
}
