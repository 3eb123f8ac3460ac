//! A vector without elements.

use warpwright::{prelude::*, tiles::ColVec};

fn main() {
    let _ = Kernel::<()>::build("f", Target::SM_90, |k, ()| {
        k.block([64]);
        let _ = k.zeros::<ColVec<f32, 0>>();
    });
}
