//! The square root of integers.

use warpwright::prelude::*;

fn main() {
    let _ = Kernel::<()>::build("f", Target::SM_90, |k, ()| {
        k.block([32]);
        let _ = k.zeros::<Rt<i8, 1, 1>>().sqrt();
    });
}
