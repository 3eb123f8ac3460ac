// There are no register tiles of bool.
use warpwright::prelude::*;
fn main() {
    let _ = Kernel::<(u32,)>::build("k", Target::SM_90, |k, (_n,)| {
        let _ = k.zeros::<Rt<bool, 1, 1>>();
    });
}
