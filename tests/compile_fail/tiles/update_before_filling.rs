//! A tile without contents is replaced in place.

use warpwright::prelude::*;

fn main() {
    let _ = Kernel::<()>::build("f", Target::SM_90, |k, ()| {
        k.block([64]);
        let _ = k.shared_tile::<St<f32, 1, 1>>().update(|_, x| x * 2.0);
    });
}
