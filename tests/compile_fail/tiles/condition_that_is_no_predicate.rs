//! The condition of a row is a number.

use warpwright::prelude::*;

fn main() {
    let _ = Kernel::<()>::build("f", Target::SM_90, |k, ()| {
        k.block([32]);
        let _ = k.zeros::<Rt<f32, 1, 1>>().row_any(|x| x);
    });
}
