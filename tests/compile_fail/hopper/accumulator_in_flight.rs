// An accumulator with products in flight is not a tile: `wait` returns it.
use warpwright::prelude::*;
fn main() {
    let _ = Kernel::<(In<bf16>, Out<f32>)>::build("k", Target::SM_90A, |k, (a, d)| {
        k.block([128]);
        let group = k.warp_group();
        let a = k.shared_tile::<St<bf16, 4, 4>>().fill(k.global(a, row_major(64, 64)).tile(0, 0)).wait();
        let sum = group.accumulate(k.zeros::<Rt<f32, 1, 4>>()).mma_abt(&a, &a);
        k.global(d, row_major(64, 64)).tile_of(group, 0, 0).store(&sum);
    });
}
