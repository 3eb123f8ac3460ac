//! The parts of a complex tile have one type.

use warpwright::prelude::*;
use warpwright::tiles::Crt;

fn main() {
    let _ = Kernel::<()>::build("f", Target::SM_90, |k, ()| {
        k.block([32]);
        let _ = Crt { re: k.zeros::<Rt<f32, 1, 1>>(), im: k.zeros::<Rt<f16, 1, 1>>() };
    });
}
