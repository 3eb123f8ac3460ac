//! The sums of the 32 columns of a tile of bytes are not a vector of 16 elements.

use warpwright::prelude::*;

fn main() {
    let _ = Kernel::<()>::build("f", Target::SM_90, |k, ()| {
        k.block([32]);
        let t = k.zeros::<Rt<u8, 1, 1>>();
        let _: RowVec<i32, 1> = t.col_sum().to_vector();
    });
}
