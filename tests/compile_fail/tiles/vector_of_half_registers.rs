//! A vector of bytes of which each lane owns two.

use warpwright::{prelude::*, ptx::e4m3, tiles::ColVec};

fn main() {
    let _ = Kernel::<()>::build("f", Target::SM_90, |k, ()| {
        k.block([64]);
        let _ = k.zeros::<ColVec<e4m3, 1>>();
    });
}
