//! A vector of the columns is not combined with the rows.

use warpwright::prelude::*;

fn main() {
    let _ = Kernel::<()>::build("f", Target::SM_90, |k, ()| {
        k.block([32]);
        let t = k.zeros::<Rt<f32, 1, 2>>();
        let _ = t.zip_rows(&t.col_max(), |x, max| x - max);
    });
}
