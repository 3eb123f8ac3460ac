//! The layout of a tile as that of a vector.

use warpwright::prelude::*;

fn main() {
    let _ = Kernel::<()>::build("f", Target::SM_90, |k, ()| {
        k.block([64]);
        let _ = k.zeros::<Rv<f32, 1, Row>>();
    });
}
