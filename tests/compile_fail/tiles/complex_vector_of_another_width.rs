//! A vector of four subtiles, combined with a tile of two.

use warpwright::prelude::*;
use warpwright::tiles::{Aligned, Crt, Crv};

fn main() {
    let _ = Kernel::<()>::build("f", Target::SM_90, |k, ()| {
        k.block([32]);
        let (t, v) = (Crt::<f32, 1, 2>::zeros(k), Crv::<f32, 4, Aligned>::zeros(k));
        let _ = &t * &v;
    });
}
