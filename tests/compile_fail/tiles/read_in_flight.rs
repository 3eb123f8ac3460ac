use warpwright::prelude::*;

fn main() {
    let _ = Kernel::<(In<bf16>, Out<bf16>)>::build("k(a, d)", Target::SM_80, |k, (a, d)| {
        k.block([32]);
        let a = k.global(a, row_major(16, 16));
        let tile = k.shared_tile::<St<bf16, 1, 1>>().fill(a.tile(0, 0));
        k.global(d, row_major(16, 16)).tile(0, 0).store(&tile.load());
    });
}
