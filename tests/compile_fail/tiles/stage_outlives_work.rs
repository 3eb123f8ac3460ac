// A stage is borrowed for one call of the closure and cannot be kept for the next.
use warpwright::prelude::*;
fn main() {
    let _ = Kernel::<(In<bf16>,)>::build("k", Target::SM_80, |k, (a,)| {
        k.block([32]);
        let a = k.global(a, row_major(16, 64));
        let mut kept = None;
        let stages = k.pipeline::<(St<bf16, 1, 1>,), 2>();
        stages.run(
            4,
            (),
            |i, stage| stage.fill((a.tile(0, i),)),
            |(), (tile,)| kept = Some(tile.subtile(0, 0)),
        );
    });
}
