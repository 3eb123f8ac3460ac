//! A vector of the columns of a wider tile is not one of the columns of a tile of bytes.

use warpwright::prelude::*;

fn main() {
    let _ = Kernel::<()>::build("f", Target::SM_90, |k, ()| {
        k.block([32]);
        let v = k.zeros::<RowVec<u8, 2>>();
        let t = k.zeros::<Rt<u8, 1, 2>>();
        let _ = t + &v;
    });
}
