// A scope belongs to its kernel.
use warpwright::prelude::*;
fn main() {
    let _ = Kernel::<()>::build("outer", Target::SM_90, |k, ()| {
        let block = k.block([128]);
        let _ = Kernel::<(Out<u32>,)>::build("inner", Target::SM_90, |k, (y,)| {
            let y = k.slice(y, 128);
            y.at(0).store(block.thread());
        });
    });
}
