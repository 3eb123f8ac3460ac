// One warp is not a warpgroup: operations of a warpgroup require all four warps.
use warpwright::prelude::*;
fn main() {
    let _ = Kernel::<(Out<u32>,)>::build("k", Target::SM_90, |k, (y,)| {
        let block = k.block([128]);
        let y = k.slice(y, 128);
        let work = |group: WarpGroup<'_>| group.sync();
        k.when_warp(0, |warp| work(warp));
        y.at(block.thread()).store(1);
    });
}
