// There is no sum over a cluster: its blocks have separate shared memory.
use warpwright::prelude::*;
fn main() {
    let _ = Kernel::<(Out<u32>,)>::build("k", Target::SM_90, |k, (y,)| {
        let block = k.block([128]);
        let y = k.slice(y, 128);
        let cluster = k.cluster([2]);
        y.at(block.thread()).store(cluster.sum(block.thread()));
    });
}
