//! Accesses to shared tiles have no bank conflicts: fills, fragment loads and stores, and copies to global memory, counted by the
//! simulator.

use warpwright::{
    prelude::*,
    run::{Details, Device, Simulator},
    tensor::TensorElement,
    tiles::{Auto, RegisterLayout, SharedSwizzle, Swizzle128},
};

/// Returns the conflicts of a tile that is filled by the block, loaded by each of two warps in a layout, stored again, and written out.
fn conflicts<T: TensorElement, const W: usize, S: SharedSwizzle, L: RegisterLayout>(target: Target) -> u64 {
    let (rows, cols) = (St::<T, 4, W, S>::ROWS, St::<T, 4, W, S>::COLS);
    let kernel = Kernel::<(In<T>, Out<T>)>::build("conflicts(x, y)", target, |k, (x, y)| {
        let block = k.block([64]);
        k.grid([1]);
        let (x, y) = (k.global(x, row_major(rows, cols)), k.global(y, row_major(rows, cols)));
        let tile = k.shared_tile::<St<T, 4, W, S>>().fill(x.tile(0, 0)).wait();
        let own: Rt<T, 1, W, L> = tile.tile_of(block).load();
        let tile = tile.release().store_with(|tile| tile.tile_of(block).store(&own)).wait();
        y.tile(0, 0).store_shared(&tile);
    })
    .unwrap();
    let device = Simulator::new();
    let x = device.output::<T>((rows * cols) as usize).unwrap();
    let mut y = device.output::<T>((rows * cols) as usize).unwrap();
    let launched = device.launch(&kernel, (&x, &mut y)).unwrap();
    match &launched.details {
        Details::Simulated(report) => report.counts.bank_conflicts(),
        other => panic!("not simulated: {other:?}"),
    }
}

macro_rules! free {
    ($($element:ty, $layout:ty: $($width:literal $swizzle:ty),+;)*) => {
        #[test]
        fn swizzled_tiles_have_no_bank_conflicts() {
            $($(assert_eq!(
                conflicts::<$element, $width, $swizzle, $layout>(Target::SM_80),
                0,
                concat!(stringify!($element), " ", stringify!($layout), " ", $width, " ", stringify!($swizzle))
            );)+)*
        }
    };
}

free! {
    bf16, Row: 1 Auto, 2 Auto, 4 Auto, 8 Auto, 4 Swizzle128;
}
