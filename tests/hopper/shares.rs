//! Sums over the blocks of a cluster that compute parts of the same tile.

use warpwright::{
    prelude::*,
    run::Device,
    tiles::{Schedule, consumers, producer},
};

use super::problem::{assert_same, numbers, typed};
use crate::devices::everywhere;

/// X, a matrix for each part, and their sum D; the number of tiles.
type Args = (In<f32>, Out<f32>, u32);

/// Adds `parts` matrices of `count` tiles of `H` · 64 rows and `N` columns of subtiles; each block of a cluster stores the totals of `P` of
/// these columns.
fn check<const H: usize, const N: usize, const P: usize>(
    parts: u32,
    count: u32,
    x: impl Fn(u32, usize) -> f64,
) {
    let (height, width) = (64 * H as u32, 16 * N as u32);
    let kernel = Kernel::<Args>::build("add(x, d, count)", Target::SM_90A, |k, (x, d, count)| {
        k.block([256]);
        k.cluster([parts]);
        let tiles = k.persistent(Schedule::linear().per_cluster(1, 1).split(parts), count, 1);
        let (shares, part) = (tiles.reduce_scatter::<f32, H, N, P>(), tiles.part());
        let x = k.global(x, contiguous([parts.into(), count * height, width.into()]));
        let d = k.global(d, row_major(count * height, width));
        k.specialize(
            producer(40, |_| ()),
            consumers::<1, _>(160, |c| {
                tiles.each(|i, _| {
                    let (own, first) = (x.batch(part.rank()), i * H as u32);
                    let sums: [_; H] = std::array::from_fn(|block| {
                        own.tile_of(c.group(), first + block as u32, 0).load::<f32, 1, N, Row>()
                    });
                    for (total, block) in c.reduce_scatter(&shares, sums).iter().zip(0..) {
                        d.tile_of(c.group(), first + block, part.rank()).store(total);
                    }
                });
            }),
        );
    })
    .unwrap();
    crate::assemble::kernel(&kernel);
    let elements = (count * height * width) as usize;
    let of_parts: Vec<Vec<f64>> =
        (0..parts).map(|part| (0..elements).map(|at| x(part, at)).collect()).collect();
    let found = everywhere(|device| {
        let x = device.upload(&typed::<f32>(&of_parts.concat())).unwrap();
        let mut d = device.output::<f32>(elements).unwrap();
        device.launch(&kernel, (&x, &mut d, count)).unwrap();
        numbers(device.download(&d).unwrap())
    });
    let sum = |at: usize| of_parts.iter().fold(0.0, |sum, part| sum + part[at] as f32);
    let expected: Vec<f64> = (0..elements).map(|at| sum(at).into()).collect();
    assert_same(&format!("{parts} parts of {count} tiles"), &found, &expected, width as usize);
}

/// Numbers that tell parts, rows and columns apart.
fn coded(part: u32, at: usize) -> f64 {
    f64::from(part * 1000) + (at % 997) as f64
}

#[test]
fn blocks_of_rows_of_two_and_four_parts() {
    check::<1, 4, 2>(2, 3, coded);
    check::<2, 4, 2>(2, 3, coded);
    check::<3, 4, 1>(4, 2, coded);
}

/// More tiles than clusters on any GPU, so that shared memory is used again.
#[test]
fn several_tiles_of_each_cluster() {
    check::<1, 2, 1>(2, 300, coded);
    check::<1, 4, 1>(4, 150, coded);
}

/// Parts are added in order, which determines the sum: 1 + 10⁸ is not exact in f32.
#[test]
fn parts_are_added_in_order() {
    check::<1, 4, 1>(4, 1, |part, at| [1e8, 1.0, -1e8, (at % 7) as f64][part as usize]);
}
