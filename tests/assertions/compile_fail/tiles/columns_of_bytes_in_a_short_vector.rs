//! The sums of the 64 columns of a shared tile of bytes are stored to a vector of 32 elements.

use warpwright::prelude::*;

fn main() {
    let _ = Kernel::<()>::build("f", Target::SM_90, |k, ()| {
        k.block([64]);
        let tile = k.shared_tile::<St<u8, 2, 2>>().fill_with(0).wait();
        let _ = tile.col_sum(k.shared_tile::<Sv<i32, 2>>()).wait();
    });
}
