//! A tile leaves the kernel that it belongs to.

use warpwright::prelude::*;

fn main() {
    let _ = Kernel::<()>::build("f", Target::SM_90, |k, ()| {
        k.block([64]);
        let t = k.zeros::<Rt<f32, 1, 1>>();
        let _ = Kernel::<()>::build("g", Target::SM_90, |inner, ()| {
            inner.block([32]);
            let _ = inner.zeros::<Rt<f32, 1, 1>>() + &t;
        });
    });
}
