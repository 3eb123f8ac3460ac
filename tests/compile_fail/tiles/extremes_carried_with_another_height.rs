//! A running position of another number of rows.

use warpwright::prelude::*;

fn main() {
    let _ = Kernel::<()>::build("f", Target::SM_90, |k, ()| {
        k.block([32]);
        let t = k.zeros::<Rt<f32, 1, 2>>();
        let with = (k.zeros::<ColVec<f32, 2>>(), k.zeros::<ColVec<u32, 2>>());
        let _ = t.row_argmax_with(with, 0);
    });
}
