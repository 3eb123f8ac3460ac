//! Tiles in the shared memory of other blocks of a cluster.

use warpwright::{
    prelude::*,
    run::Device,
    tensor::TensorElement,
    tiles::{Auto, Padded, Plain, SharedSwizzle, Swizzle32},
};

use super::problem::{numbers, typed};
use crate::{devices, numbers::Numeral};

/// The blocks of a cluster; each has a tile of 32×64 elements, and two warps.
const BLOCKS: u32 = 4;
const SIZE: u32 = 32 * 64;

/// A kernel in which each block obtains the tile of the next one: it loads the tile, or the next block stores it.
fn kernel<T: Numeral + TensorElement, const W: usize, S: SharedSwizzle>(
    loads: bool,
) -> Kernel<(In<T>, Out<T>)> {
    let kernel = Kernel::<(In<T>, Out<T>)>::build("rotate(x, y)", Target::SM_90, |k, (x, y)| {
        let block = k.block([64]);
        k.grid([BLOCKS]);
        let cluster = k.cluster([BLOCKS]);
        let (x, y) = (k.global(x, row_major(32 * BLOCKS, 64)), k.global(y, row_major(32 * BLOCKS, 64)));
        let rank = k.this_block().rank();
        let warp = k.warp().rank();
        // Other memory first, so that the tile does not begin at the address 0.
        let _ = k.shared_tile::<St<T, 1, W>>();
        let tile = k.shared_tile::<St<T, 2, W, S>>();
        let own: Rt<T, 1, W> = x.tile(rank * 2 + warp, 0).load();
        let result: Rt<T, 1, W> = if loads {
            let tile = tile.store_with(|tile| tile.tile_of(block).store(&own)).wait();
            cluster.sync();
            tile.in_block((rank + 1) & (BLOCKS - 1)).load_subtile(warp, 0)
        } else {
            let previous = (rank + BLOCKS - 1) & (BLOCKS - 1);
            tile.exchange(cluster, |tiles| tiles.in_block(previous).store_tile_of(block, &own))
                .tile_of(block)
                .load()
        };
        y.tile(rank * 2 + warp, 0).store(&result);
        // No block ends while another one accesses its memory.
        cluster.sync();
    })
    .unwrap_or_else(|error| panic!("{}: {error}", T::NAME));
    crate::assemble::kernel(&kernel);
    kernel
}

fn check<T: Numeral + TensorElement, const W: usize, S: SharedSwizzle>() {
    let elements: Vec<f64> = (0..SIZE * BLOCKS).map(|at| f64::from((at * 7 + at / 64) % 15)).collect();
    let mut expected = elements.clone();
    expected.rotate_left(SIZE as usize);
    for loads in [true, false] {
        let kernel = kernel::<T, W, S>(loads);
        for device in devices::all().iter().filter(|device| device.capability() == (9, 0)) {
            let x = device.upload(&typed::<T>(&elements)).expect("room");
            let mut y = device.output::<T>(elements.len()).expect("room");
            device.launch(&kernel, (&x, &mut y)).unwrap_or_else(|error| panic!("{}: {error}", T::NAME));
            let found = numbers(device.download(&y).expect("copied"));
            assert_eq!(found, expected, "{}, {loads}, {}", T::NAME, device.name());
        }
    }
}

#[test]
fn tiles_of_other_blocks() {
    check::<f32, 4, Auto>();
    check::<bf16, 4, Auto>();
    check::<bf16, 4, Plain>();
    check::<bf16, 4, Swizzle32>();
    check::<f16, 4, Padded>();
    check::<e4m3, 2, Auto>();
}

/// Without the barrier before the end, a block may end while another one still loads from it.
#[test]
fn a_missing_barrier_is_found() {
    let kernel = Kernel::<(In<f32>, Out<f32>)>::build("early(x, y)", Target::SM_90, |k, (x, y)| {
        k.block([32]);
        k.grid([2]);
        k.cluster([2]);
        let rank = k.this_block().rank();
        let own: Rt<f32, 1, 1> = k.global(x, row_major(32, 16)).tile(rank, 0).load();
        let tile = k.shared_tile::<St<f32, 1, 1>>().store(&own).wait();
        let other: Rt<f32, 1, 1> = tile.in_block(rank ^ 1).load();
        k.global(y, row_major(32, 16)).tile(rank, 0).store(&other);
    });
    let simulator = warpwright::run::Simulator::new();
    let x = simulator.upload(&vec![1.0f32; 512]).expect("room");
    let mut y = simulator.output::<f32>(512).expect("room");
    simulator
        .launch(&kernel.expect("it builds"), (&x, &mut y))
        .expect_err("nothing orders the stores and the loads");
}

/// The warps of a block may store to the tiles of different blocks, but not to the same one, and the lanes of a warp load the same tile.
#[test]
fn warps_and_lanes_of_a_block() {
    let refused = |of_block: for<'k> fn(Builder<'k>) -> Val<'k, u32>, stores: bool| {
        let built = Kernel::<(Out<f32>,)>::build("k", Target::SM_90, |k, (y,)| {
            k.block([64]);
            k.grid([2]);
            let cluster = k.cluster([2]);
            let (tile, zeros) = (k.shared_tile::<St<f32, 1, 1>>(), k.zeros::<Rt<f32, 1, 1>>());
            if stores {
                let _ = tile.exchange(cluster, |tiles| tiles.in_block(of_block(k)).store(&zeros));
            } else {
                let first = k.warp().rank().eq(0);
                let tile = tile.store_with(|tile| k.if_(first, || tile.subtile(0, 0).store(&zeros))).wait();
                let loaded: Rt<f32, 1, 1> = tile.in_block(of_block(k)).load();
                k.global(y, row_major(32, 16)).tile(k.warp().rank(), 0).store(&loaded);
            }
        });
        built.err().map(|error| error.to_string())
    };
    assert_eq!(refused(|k| k.warp().rank(), true), None);
    assert_eq!(refused(|k| k.this_block().rank() ^ 1, false), None);
    let same = refused(|k| k.this_block().rank() ^ 1, true);
    assert!(same.is_some_and(|why| why.contains("found one to which all warps of the block store")));
    let lanes = refused(|k| k.laneid() & 1, false);
    assert!(lanes.is_some_and(|why| why.contains("expected the same tile for all lanes of a warp")));
}

#[test]
fn targets_without_clusters() {
    let error = Kernel::<(Out<f32>,)>::build("k", Target::SM_80, |k, (y,)| {
        k.block([32]);
        k.grid([1]);
        let tile = k.shared_tile::<St<f32, 1, 1>>().store(&k.zeros::<Rt<f32, 1, 1>>()).wait();
        let other: Rt<f32, 1, 1> = tile.in_block(0).load();
        k.global(y, row_major(16, 16)).tile(0, 0).store(&other);
    });
    let text = error.expect_err("sm_80 has no clusters").to_string();
    assert!(text.contains("`mapa.shared::cluster.u32`: expected target sm_90"), "{text}");
}
