// A register does not outlive the building of its kernel.
use warpwright::prelude::*;

fn main() {
    let mut kept = None;
    let _ = Kernel::<(u32,)>::build("k", Target::SM_90, |_, (n,)| {
        kept = Some(n);
    });
}
