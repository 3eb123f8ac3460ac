// A tile that has not been filled cannot be read.
use warpwright::prelude::*;
fn main() {
    let _ = Kernel::<(u32,)>::build("k", Target::SM_90, |k, (_n,)| {
        k.block([32]);
        let _: Rt<bf16, 4, 4> = k.shared_tile::<St<bf16, 4, 4>>().load();
    });
}
