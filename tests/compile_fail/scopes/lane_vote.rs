// A lane is a single thread, so it has no votes.
use warpwright::prelude::*;
fn main() {
    let _ = Kernel::<(Out<u32>,)>::build("k", Target::SM_90, |k, (y,)| {
        let block = k.block([128]);
        let y = k.slice(y, 128);
        y.at(block.thread()).store(k.lane().ballot(block.thread().lt(3)));
    });
}
