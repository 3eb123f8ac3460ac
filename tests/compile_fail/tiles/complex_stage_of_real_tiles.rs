//! A stage with a complex tile is filled from a real matrix.

use warpwright::prelude::*;
use warpwright::tiles::Cst;

fn main() {
    let _ = Kernel::<(In<f32>,)>::build("f", Target::SM_90, |k, (x,)| {
        k.block([32]);
        let x = k.global(x, row_major(64, 16));
        let stages = k.pipeline::<(Cst<f32, 1, 1>,), 2>();
        stages.run(4, (), |i, stage| stage.fill((x.tile(i, 0),)), |(), _| ());
    });
}
