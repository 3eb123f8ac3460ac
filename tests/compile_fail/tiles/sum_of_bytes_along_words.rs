//! The columns of a row-layout tile of bytes are twice as many as those of its vectors.

use warpwright::prelude::*;

fn main() {
    let _ = Kernel::<()>::build("f", Target::SM_90, |k, ()| {
        k.block([32]);
        let t = k.zeros::<Rt<u8, 1, 1>>();
        let _ = t.col_sum();
    });
}
