//! A vector of the rows of a row-layout tile, broadcast to a column-layout one.

use warpwright::prelude::*;

fn main() {
    let _ = Kernel::<()>::build("f", Target::SM_90, |k, ()| {
        k.block([32]);
        let v = k.zeros::<ColVec<f32, 2>>();
        let _ = Rt::<f32, 2, 3, Col>::broadcast(&v);
    });
}
