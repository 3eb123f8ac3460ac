//! Pipelines of every depth over every number of tiles, static or dynamic.

use pretty_assertions::assert_eq;
use warpwright::{prelude::*, run::Device};

use super::codes::coded;
use crate::cases::everywhere;

/// The sum of the first `count` 16×32 tiles of a row of tiles, through `N` stages, by two warps of which each has a half.
fn sum<const N: usize>(count: u32, known: bool) {
    type Args = (In<f32>, Out<f32>, u32);
    let kernel = Kernel::<Args>::build("sum", Target::SM_80, |k, (a, d, n)| {
        k.block([64]);
        k.grid([1]);
        let a = k.global(a, row_major(16, 320));
        let (_, half) = k.warp_grid(1, 2);
        let total = k.pipeline::<(St<f32, 1, 2>,), N>().run(
            if known { count.into() } else { n },
            k.zeros::<Rt<f32, 1, 1>>(),
            |i, stage| stage.fill((a.tile(0, i),)),
            |mut total, (tile,)| {
                total += &tile.subtile(0, half).load();
                total
            },
        );
        k.global(d, row_major(16, 32)).tile(0, half).store(&total);
    })
    .unwrap();
    let a = coded::<f32>(16, 320);
    crate::assemble::kernel(&kernel);
    let got = everywhere(|device| {
        let a = device.upload(&a).unwrap();
        let mut d = device.output::<f32>(16 * 32).unwrap();
        device.launch(&kernel, (&a, &mut d, count)).unwrap();
        device.download(&d).unwrap()
    });
    let element =
        |i: usize| (0..count as usize).map(|tile| a[i / 32 * 320 + tile * 32 + i % 32]).sum::<f32>();
    assert_eq!(
        got,
        (0..16 * 32).map(element).collect::<Vec<_>>(),
        "{count} tiles through {N} stages, known: {known}"
    );
}

/// The work on a stage receives the number of the stage: here, each tile is weighted by it.
#[test]
fn indices_of_stages_are_passed_to_the_work() {
    type Args = (In<f32>, Out<f32>);
    let kernel = Kernel::<Args>::build("weighted", Target::SM_80, |k, (a, d)| {
        k.block([32]);
        k.grid([1]);
        let a = k.global(a, row_major(16, 80));
        let total = k.pipeline::<(St<f32, 1, 1>,), 3>().run_indexed(
            5,
            k.zeros::<Rt<f32, 1, 1>>(),
            |i, stage| stage.fill((a.tile(0, i),)),
            |i, mut total, (tile,)| {
                total += tile.load() * i.cast::<f32>();
                total
            },
        );
        k.global(d, row_major(16, 16)).tile(0, 0).store(&total);
    })
    .unwrap();
    let a = coded::<f32>(16, 80);
    let got = everywhere(|device| {
        let (a, mut d) = (device.upload(&a).unwrap(), device.output::<f32>(256).unwrap());
        device.launch(&kernel, (&a, &mut d)).unwrap();
        device.download(&d).unwrap()
    });
    let element =
        |at: usize| (0..5).map(|tile| tile as f32 * a[at / 16 * 80 + tile * 16 + at % 16]).sum::<f32>();
    assert_eq!(got, (0..256).map(element).collect::<Vec<_>>());
}

#[test]
fn every_depth_and_count() {
    for count in [0, 1, 2, 3, 4, 5, 10] {
        for known in [false, true] {
            sum::<2>(count, known);
            sum::<3>(count, known);
            sum::<4>(count, known);
        }
    }
}

/// The sum of the first `slices` subtiles of each of `count` 16×64 tiles, loaded one ahead, by two warps, each of which stores its own copy.
/// With several rounds, an emitted loop runs the pipeline again.
fn sliced<const N: usize>([count, slices, rounds]: [u32; 3], known: bool) {
    type Args = (In<f32>, Out<f32>, u32, u32);
    let kernel = Kernel::<Args>::build("sliced", Target::SM_80, |k, (a, d, n, rounds)| {
        let block = k.block([64]);
        k.grid([1]);
        let (a, d) = (k.global(a, row_major(16, 320)), k.global(d, row_major(32, 16)));
        k.for_(rounds, |_| {
            let total = k.pipeline::<(St<f32, 1, 4>,), N>().run_sliced(
                if known { count.into() } else { n },
                slices,
                k.zeros::<Rt<f32, 1, 1>>(),
                |i, stage| stage.fill((a.tile(0, i),)),
                |(tile,), slice| tile.subtile(0, slice).load::<1, 1, Row>(),
                |total, part| total + part,
            );
            d.tile_of(block, 0, 0).store(&total);
        });
    })
    .unwrap();
    let a = coded::<f32>(16, 320);
    crate::assemble::kernel(&kernel);
    let got = everywhere(|device| {
        let (a, mut d) = (device.upload(&a).unwrap(), device.output::<f32>(2 * 256).unwrap());
        device.launch(&kernel, (&a, &mut d, count, rounds)).unwrap();
        device.download(&d).unwrap()
    });
    let parts =
        || (0..count as usize).flat_map(|tile| (0..slices as usize).map(move |slice| tile * 64 + slice * 16));
    let element = |at: usize| parts().map(|col| a[at / 16 % 16 * 320 + col + at % 16]).sum::<f32>();
    assert_eq!(
        got,
        (0..2 * 256).map(element).collect::<Vec<_>>(),
        "{count} tiles in {slices} slices through {N} stages, {rounds} times, known: {known}"
    );
}

#[test]
fn slices_are_loaded_ahead() {
    for count in [0, 1, 2, 3, 5] {
        for slices in [1, 2, 3, 4] {
            for (rounds, known) in [(1, false), (1, true), (3, false)] {
                sliced::<2>([count, slices, rounds], known);
                sliced::<3>([count, slices, rounds], known);
            }
        }
    }
}

/// A pipeline that an emitted loop runs again and again, as a persistent kernel does: the stages are not filled again before
/// every warp has finished reading them.
#[test]
fn pipelines_in_a_loop() {
    let kernel = Kernel::<(In<f32>, Out<f32>, u32)>::build("again", Target::SM_80, |k, (a, d, rounds)| {
        k.block([64]);
        k.grid([1]);
        let (a, d) = (k.global(a, row_major(16, 320)), k.global(d, row_major(16, 32)));
        let (_, half) = k.warp_grid(1, 2);
        k.for_(rounds, |_| {
            let total = k.pipeline::<(St<f32, 1, 2>,), 2>().run(
                3,
                k.zeros::<Rt<f32, 1, 1>>(),
                |i, stage| stage.fill((a.tile(0, i),)),
                |total, (tile,)| total + tile.subtile(0, half).load(),
            );
            d.tile(0, half).store(&total);
        });
    })
    .unwrap();
    crate::assemble::kernel(&kernel);
    let barriers = kernel.ptx().lines().filter(|line| line.trim_start().starts_with("bar.sync")).count();
    assert_eq!(barriers, 2, "one before the stages are filled again, one an iteration");
    let a = coded::<f32>(16, 320);
    let got = everywhere(|device| {
        let a = device.upload(&a).unwrap();
        let mut d = device.output::<f32>(16 * 32).unwrap();
        device.launch(&kernel, (&a, &mut d, 3)).unwrap();
        device.download(&d).unwrap()
    });
    let element = |i: usize| (0..3).map(|tile| a[i / 32 * 320 + tile * 32 + i % 32]).sum::<f32>();
    assert_eq!(got, (0..16 * 32).map(element).collect::<Vec<_>>());
}

/// The largest number of each row of negative ones, and a vector in the same stage: elements past the edges are −∞ in both.
#[test]
fn stages_are_filled_past_the_edges() {
    type Args = (In<f32>, In<bf16>, Out<f32>, u32, u32);
    let kernel = Kernel::<Args>::build("fill(x, v, y, m, n)", Target::SM_80, |k, (x, v, y, m, n)| {
        k.block([64]);
        k.grid([m.tiles(32)]);
        let (x, v, b) = (k.global(x, row_major(m, n)), k.global(v, vector(n)), k.ctaid_x());
        let lowest = bf16::from_f32(f32::NEG_INFINITY);
        let start = k.filled::<ColVec<f32, 1>>(f32::NEG_INFINITY);
        let largest = k.pipeline::<(St<f32, 2, 1>, Sv<bf16, 1>), 3>().run(
            n.ceil_div(16),
            start,
            |j, stage| stage.fill((x.tile(b, j).or(f32::NEG_INFINITY), v.tile(j).or(lowest))),
            |largest, (x, v)| {
                let x: Rt<f32, 1, 1> = x.tile_of(k.this_block()).load();
                let v: RowVec<f32, 1> = v.load_as();
                x.max(&v).row_max_with(largest)
            },
        );
        k.global(y, vector(m)).tile(b * 2 + k.warp()).store(&largest);
    })
    .unwrap();
    crate::assemble::kernel(&kernel);
    for (m, n) in [(64usize, 48usize), (45, 50), (33, 7)] {
        let number = |row: usize, col: usize| -(((row * 7 + col * 5) % 23) as f32) - 3.0;
        let x: Vec<f32> = (0..m * n).map(|i| number(i / n, i % n)).collect();
        let v: Vec<bf16> = (0..n).map(|i| bf16::from_f32(-5.0 - (i % 3) as f32)).collect();
        let found = everywhere(|device| {
            let (x, v) = (device.upload(&x).unwrap(), device.upload(&v).unwrap());
            let mut y = device.upload(&vec![f32::NAN; m]).unwrap();
            device.launch(&kernel, (&x, &v, &mut y, m as u32, n as u32)).unwrap();
            device.download(&y).unwrap()
        });
        let row = |row: usize| {
            (0..n).map(|col| number(row, col).max(v[col].to_f32())).fold(f32::NEG_INFINITY, f32::max)
        };
        assert_eq!(found, (0..m).map(row).collect::<Vec<_>>(), "{m}×{n}");
    }
}
