//! One element for each of 16 rows, for a tile of 32.

use warpwright::{prelude::*, tiles::ColVec};

fn main() {
    let _ = Kernel::<()>::build("f", Target::SM_90, |k, ()| {
        k.block([64]);
        let t = k.zeros::<Rt<f32, 2, 1>>();
        let v = k.zeros::<ColVec<f32, 1>>();
        let _ = t * &v;
    });
}
