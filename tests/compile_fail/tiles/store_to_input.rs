// A tile cannot be stored to an `In` buffer.
use warpwright::prelude::*;
fn main() {
    let _ = Kernel::<(In<bf16>,)>::build("k", Target::SM_90, |k, (a,)| {
        let a = k.global(a, row_major(64, 64));
        a.tile(0, 0).store(&k.zeros::<Rt<bf16, 4, 4>>());
    });
}
