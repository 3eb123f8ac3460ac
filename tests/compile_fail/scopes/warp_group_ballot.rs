// A ballot has one bit for each lane of one warp.
use warpwright::prelude::*;
fn main() {
    let _ = Kernel::<(Out<u32>,)>::build("k", Target::SM_90, |k, (y,)| {
        let block = k.block([128]);
        let y = k.slice(y, 128);
        y.at(block.thread()).store(k.warp_group().ballot(block.thread().lt(3)));
    });
}
