// A pipeline has at least two stages.
use warpwright::prelude::*;
fn main() {
    let _ = Kernel::<(u32,)>::build("k", Target::SM_90, |k, (_n,)| {
        k.block([32]);
        let _ = k.pipeline::<(St<bf16, 1, 1>,), 1>();
    });
}
