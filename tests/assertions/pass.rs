//! The valid counterparts of the other programs, so that these fail for the reason that they name.

use warpwright::{prelude::*, ptx::e4m3, tiles::ColVec};

fn main() {
    Kernel::<()>::build("f", Target::SM_90, |k, ()| {
        k.block([32]);
        let _ = k.zeros::<ColVec<f32, 1>>();
        let [a, b] = [(); 2].map(|()| k.zeros::<Rt<f32, 1, 2>>());
        let _ = Rt::<f32, 1, 4>::hconcat([a, b]);
        let _: Rt<bf16, 1, 4> = k.zeros::<Rt<e4m3, 1, 2>>().widen();
        let tile = k.shared_tile::<St<u8, 2, 2>>().fill_with(0).wait();
        let _ = tile.col_sum(k.shared_tile::<Sv<i32, 4>>()).wait();
        let _ = k.shared_tile::<St<bf16, 4, 1>>().reuse_for_two::<St<bf16, 2, 1>, Sv<f32, 1>>();
    })
    .unwrap();
}
