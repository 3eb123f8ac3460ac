// Uniformity is assumed for a scope, not for a number of threads.
use warpwright::prelude::*;
fn main() {
    let _ = Kernel::<(InOut<u32>,)>::build("k", Target::SM_90, |k, (y,)| {
        let block = k.block([128]);
        let y = k.slice(y, 128);
        let first = y.at(0).load().assume_uniform(32);
        y.at(block.thread()).store(first);
    });
}
