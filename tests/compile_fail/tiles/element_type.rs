// There are no register tiles of f64.
use warpwright::prelude::*;
fn main() {
    let _ = Kernel::<(u32,)>::build("k", Target::SM_90, |k, (_n,)| {
        let _ = k.zeros::<Rt<f64, 1, 1>>();
    });
}
