// Specialized warps receive their own scope, which is not the block: a barrier of the block would wait for the other warps.
use warpwright::prelude::*;
fn main() {
    let _ = Kernel::<(Out<u32>,)>::build("k", Target::SM_90, |k, (y,)| {
        let block = k.block([128]);
        let y = k.slice(y, 128);
        let stage = |block: Block<'_>| block.sync();
        k.when_warp(0, |warp| stage(warp));
        y.at(block.thread()).store(1);
    });
}
