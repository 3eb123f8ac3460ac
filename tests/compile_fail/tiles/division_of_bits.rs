//! Untyped bits have no arithmetic.

use warpwright::prelude::*;
use warpwright::ptx::B32;

fn main() {
    let _ = Kernel::<()>::build("f", Target::SM_90, |k, ()| {
        k.block([32]);
        let t = k.zeros::<Rt<B32, 1, 1>>();
        let _ = &t / &t;
    });
}
