// The pipeline's first closure must return a stage that it has filled.
use warpwright::prelude::*;
fn main() {
    let _ = Kernel::<(In<bf16>,)>::build("k", Target::SM_90, |k, (a,)| {
        k.block([32]);
        let a = k.global(a, row_major(64, 64));
        let stages = k.pipeline::<(St<bf16, 1, 1>,), 2>();
        let sum = k.zeros::<Rt<bf16, 1, 1>>();
        let _ = stages.run(4, sum, |_, stage| stage, |sum, (tile,)| sum + tile.load());
        let _ = a;
    });
}
