// Atomic operations on a plain pointer to global memory are `unsafe`, too.
use warpwright::prelude::*;
fn main() {
    let _ = Kernel::<(InOut<u32>,)>::build("k", Target::SM_90, |k, (counter,)| {
        counter.atomic().add(k.tid_x());
    });
}
