//! The result of a reduction along rows is combined with one along columns.

use warpwright::prelude::*;

fn main() {
    let _ = Kernel::<()>::build("f", Target::SM_90, |k, ()| {
        k.block([64]);
        let t = k.zeros::<Rt<f32, 2, 2>>();
        let _ = t.row_sum() + &t.col_sum();
    });
}
