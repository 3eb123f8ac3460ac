//! A tile of bytes is twice as wide in subtiles of 16 bits.

use warpwright::{prelude::*, ptx::e4m3};

fn main() {
    let _ = Kernel::<()>::build("f", Target::SM_90, |k, ()| {
        k.block([64]);
        let t = k.zeros::<Rt<e4m3, 1, 2>>();
        let _: Rt<bf16, 1, 2> = t.widen();
    });
}
