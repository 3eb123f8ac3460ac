//! A complex tile, added to a real one.

use warpwright::prelude::*;
use warpwright::tiles::Crt;

fn main() {
    let _ = Kernel::<()>::build("f", Target::SM_90, |k, ()| {
        k.block([32]);
        let (z, x) = (Crt::<f32, 1, 1>::zeros(k), k.zeros::<Rt<f32, 1, 1>>());
        let _ = &z + &x;
    });
}
