// The work of a pipeline borrows its stage: it cannot release and fill it again.
use warpwright::prelude::*;
fn main() {
    let _ = Kernel::<(In<bf16>,)>::build("k", Target::SM_80, |k, (a,)| {
        k.block([32]);
        let a = k.global(a, row_major(16, 64));
        let stages = k.pipeline::<(St<bf16, 1, 1>,), 2>();
        stages.run(
            4,
            (),
            |i, stage| stage.fill((a.tile(0, i),)),
            |(), (tile,)| {
                let _ = tile.release().fill(a.tile(0, 0));
            },
        );
    });
}
