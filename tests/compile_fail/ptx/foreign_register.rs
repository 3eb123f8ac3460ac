// A register of one kernel cannot be used in another.
use warpwright::prelude::*;

fn main() {
    let _ = Kernel::<(u32,)>::build("outer", Target::SM_90, |_, (n,)| {
        let _ = Kernel::<(Out<u32>,)>::build("inner", Target::SM_90, |k, (y,)| {
            k.slice(y, 1).at(0).store(n);
        });
    });
}
