//! Words of one element are not combined with words of two.

use warpwright::prelude::*;

fn main() {
    let _ = Kernel::<()>::build("f", Target::SM_90, |k, ()| {
        k.block([32]);
        let t = k.zeros::<Rt<bf16, 1, 2>>();
        let _ = t.zip_rows(&t.row_max(), |x, _| x);
    });
}
