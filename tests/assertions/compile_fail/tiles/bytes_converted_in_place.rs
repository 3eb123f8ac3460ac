//! Subtiles of bytes have another shape: `widen` moves elements between lanes.

use warpwright::{prelude::*, ptx::e4m3};

fn main() {
    let _ = Kernel::<()>::build("f", Target::SM_90, |k, ()| {
        k.block([64]);
        let t = k.zeros::<Rt<e4m3, 1, 2>>();
        let _ = t.convert::<f32>();
    });
}
