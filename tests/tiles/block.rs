//! Operations of a block on shared tiles and vectors, and atomic additions to memory.

use pretty_assertions::assert_eq;
use warpwright::{
    prelude::*,
    run::Device,
    tensor::AtomicElement,
    tiles::{
        Accumulate, Aligned, Auto, Convert, Naive, Orthogonal, Padded, Plain, RegisterLayout, SharedSwizzle,
        Swizzle32,
    },
};

use super::{codes::Coded, numbers::Numeral};
use crate::cases::everywhere;

fn numbers<T: Coded>(all: &[T]) -> Vec<f64> {
    all.iter().map(|x| x.to_f64()).collect()
}

/// Row sums into a shared vector, the rows divided by them in place, a copy to another type and swizzle, columns summed; by any number
/// of warps.
fn in_place<T, S: SharedSwizzle, Z: SharedSwizzle>(warps: u32)
where
    T: Coded + AtomicElement + Accumulate<Sum = f32>,
    f32: Convert<T>,
{
    type Args<T> = (In<T>, Out<T>, Out<f32>, Out<f32>);
    let kernel =
        Kernel::<Args<T>>::build("in_place(x, y, rows, copy)", Target::SM_90, |k, (x, y, rows, copy)| {
            k.block([32 * warps]);
            k.grid([2]);
            let b = k.ctaid_x();
            let tile =
                k.shared_tile::<St<T, 5, 2, S>>().fill(k.global(x, row_major(160, 32)).tile(b, 0)).wait();
            let sums = k.shared_tile::<Sv<f32, 5>>().store_with(|sums| {
                k.over_warps(5, |row| {
                    let band: Rt<T, 1, 2> = tile.subtile(row, 0).load();
                    sums.tile(row).store(&band.row_sum());
                });
            });
            let sums = sums.wait();
            k.global(rows, vector(160)).tile(b).store_shared(&sums);
            // Halved: exact.
            let sums = sums.update(|v| v * 0.5).wait();
            let tile = tile.map(|x| x + x).wait();
            let tile = tile.update(|row, band| {
                let half: Rv<f32, 1, Orthogonal> = sums.tile(row).load();
                (band.convert::<f32>() - &half).convert()
            });
            let tile = tile.wait();
            k.global(y, row_major(160, 32)).tile(b, 0).store_shared(&tile);
            let other = k.shared_tile::<St<f32, 5, 2, Z>>().copy_from(&tile).wait();
            k.global(copy, row_major(160, 32)).tile(b, 0).store_shared(&other);
        })
        .unwrap();
    crate::assemble::kernel(&kernel);
    let x: Vec<T> = (0..160 * 32).map(|i| T::code((i * 7 + i / 32) % 4)).collect();
    let found = everywhere(|device| {
        let x = device.upload(&x).unwrap();
        let mut y = device.output::<T>(x.len()).unwrap();
        let mut rows = device.output::<f32>(160).unwrap();
        let mut copy = device.output::<f32>(x.len()).unwrap();
        for _ in 0..2 {
            device.launch(&kernel, (&x, &mut y, &mut rows, &mut copy)).unwrap();
        }
        (
            numbers(&device.download(&y).unwrap()),
            device.download(&rows).unwrap(),
            numbers(&device.download(&copy).unwrap()),
        )
    });
    let sum = |row: usize| x[32 * row..][..32].iter().map(|x| x.to_f64()).sum::<f64>();
    assert_eq!(found.1, (0..160).map(|row| sum(row) as f32).collect::<Vec<_>>());
    let want: Vec<_> = x.iter().enumerate().map(|(i, x)| 2.0 * x.to_f64() - 0.5 * sum(i / 32)).collect();
    assert_eq!((found.0, found.2), (want.clone(), want), "{} by {warps} warps", T::NAME);
}

#[test]
fn maps_of_shared_tiles() {
    in_place::<bf16, Auto, Plain>(1);
    in_place::<bf16, Auto, Plain>(12);
    in_place::<bf16, Padded, Auto>(2);
    in_place::<f16, Swizzle32, Padded>(4);
    in_place::<f32, Auto, Auto>(3);
    in_place::<f32, Padded, Swizzle32>(8);
}

/// A tile of 192 rows, divided among the warps of every scope of a block of 12 warps, and reduced over the scope.
#[test]
fn every_scope() {
    let kernel = Kernel::<(In<bf16>, Out<f32>)>::build("scopes(x, y)", Target::SM_80, |k, (x, y)| {
        let block = k.block([384]);
        k.grid([2]);
        let x = k.global(x, row_major(384, 16)).tile(k.ctaid_x(), 0);
        let tile = k.shared_tile::<St<bf16, 12, 1>>().fill(x).wait();
        let (warp, pair, group) = (k.warp(), k.warps::<2>(), k.warp_group());
        let by_warp: Rt<f32, 12, 1> = tile.tile_of(warp).load_as();
        let by_pair: Rt<f32, 6, 1> = tile.tile_of(pair).load_as();
        let by_group: Rt<f32, 3, 1, Col> = tile.tile_of(group).load_as();
        let by_block: Rt<f32, 1, 1> = tile.tile_of(block).load_as();
        let results = [
            by_warp.sum_over(warp),
            by_pair.sum_over(pair),
            by_group.sum_over(group),
            by_block.sum_over(block),
            by_warp.maximum_over(warp),
            by_pair.minimum_over(pair),
            by_group.maximum_over(group),
            by_block.row_max().sum_over(block),
        ];
        let y = k.slice(y, 2 * 384 * 8);
        let first = (k.ctaid_x() * 384 + k.tid_x()) * 8;
        (0u32..).zip(results).for_each(|(i, result)| y.at(first + i).store(result));
    })
    .unwrap();
    crate::assemble::kernel(&kernel);
    let number = |launch: usize, row: usize, col: usize| ((row * 5 + col * 3 + launch) % 13) as f32;
    let found = everywhere(|device| {
        let mut y = device.upload(&[f32::NAN; 2 * 384 * 8]).unwrap();
        [0, 1].map(|launch| {
            let x: Vec<_> = (0..384 * 16).map(|i| bf16::from_f32(number(launch, i / 16, i % 16))).collect();
            device.launch(&kernel, (&device.upload(&x).unwrap(), &mut y)).unwrap();
            device.download(&y).unwrap()
        })
    });
    for (launch, found) in found.into_iter().enumerate() {
        let expected = (0..2).flat_map(|block| {
            let row = |row: usize| (0..16).map(move |col| number(launch, 192 * block + row, col));
            let all = || (0..192).flat_map(row);
            let (sum, max): (f32, _) = (all().sum(), all().fold(0.0, f32::max));
            let row_max: f32 = (0..192).map(|at| row(at).fold(0.0, f32::max)).sum();
            let results = [sum, sum, sum, sum, max, all().fold(99.0, f32::min), max, row_max];
            results.into_iter().cycle().take(384 * 8)
        });
        assert_eq!(found, expected.collect::<Vec<_>>(), "launch {launch}");
    }
}

#[test]
fn constants() {
    let kernel = Kernel::<(Out<f16>,)>::build("constants(y)", Target::SM_80, |k, (y,)| {
        k.block([64]);
        k.grid([1]);
        let tile = k.shared_tile::<St<f16, 3, 1>>().fill_with(f16::from_f32(2.5)).wait();
        k.global(y, row_major(48, 16)).tile(0, 0).store_shared(&tile);
    })
    .unwrap();
    let found = everywhere(|device| {
        let mut y = device.output::<f16>(768).unwrap();
        device.launch(&kernel, (&mut y,)).unwrap();
        device.download(&y).unwrap()
    });
    assert_eq!(found, [f16::from_f32(2.5); 768]);
}

/// Every warp of two blocks adds its tile to the same ones, in global and in shared memory; sums of few small numbers are exact.
fn additions<T: Coded + AtomicElement, L: RegisterLayout>(
    rows: u32,
    cols: u32,
    divisor: u32,
    target: Target,
) {
    type Args<T> = (In<T>, InOut<T>, InOut<T>, u32, u32);
    let kernel = Kernel::<Args<T>>::build("additions(x, y, z, m, n)", target, |k, (x, y, z, m, n)| {
        k.block([96]);
        // By itself, ptxas limits a kernel with 16-bit atomics in shared memory, which it emulates, to 32 registers, and spills.
        k.max_registers(64);
        k.grid([2]);
        let layout = row_major(m, n.multiple_of(divisor));
        let (x, y, z) = (k.global(x, layout), k.global(y, layout), k.global(z, layout));
        let own: Rt<T, 1, 2, L> = x.tile(0, 0).load();
        y.tile(0, 0).add(&own);
        let sums = k.shared_tile::<St<T, 1, 2>>().fill_with(T::ZERO).wait();
        let sums = sums.add_with(|sums| sums.add(0, 0, &own)).wait();
        let line: Rv<T, 2, Aligned> = x.row(0).tile(0).load();
        let lines =
            k.shared_tile::<Sv<T, 2>>().store_with(|v| k.when_warp(0, |_| v.tile(0).store(&line))).wait();
        let lines = lines.add_with(|v| v.add(0, &line)).wait();
        k.when_warp(2, |_| {
            let sums: Rt<T, 1, 2, L> = sums.load();
            z.tile(0, 0).add(&sums);
            let line: Rv<T, 2, Orthogonal> = lines.load();
            z.row(1).tile(0).add(&line);
            let line: Rv<T, 2, Naive> = lines.load();
            z.row(0).tile(0).add(&line);
        });
    })
    .unwrap();
    crate::assemble::kernel(&kernel);
    let x: Vec<T> = (0..rows * cols).map(|i| T::code(i % 5)).collect();
    let found = everywhere(|device| {
        let x = device.upload(&x).unwrap();
        let mut y = device.upload(&vec![T::ONE; x.len()]).unwrap();
        let mut z = device.upload(&vec![T::ONE; x.len()]).unwrap();
        device.launch(&kernel, (&x, &mut y, &mut z, rows, cols)).unwrap();
        (numbers(&device.download(&y).unwrap()), numbers(&device.download(&z).unwrap()))
    });
    let at = |i: u32| if i / cols < 16 && i % cols < 32 { x[i as usize].to_f64() } else { 0.0 };
    let y: Vec<_> = (0..rows * cols).map(|i| 1.0 + 6.0 * at(i)).collect();
    let z = (0..rows * cols).map(|i| y[i as usize] + if i / cols < 2 { 8.0 * at(i % cols) } else { 0.0 });
    assert_eq!(found, (y.clone(), z.collect()), "{} {rows}×{cols}", T::NAME);
}

#[test]
fn atomic_additions() {
    for target in [Target::SM_80, Target::SM_90] {
        for (rows, cols, divisor) in [(16, 32, 32), (20, 40, 2), (13, 27, 1)] {
            additions::<f32, Row>(rows, cols, divisor, target);
            additions::<f32, Col>(rows, cols, divisor, target);
            additions::<f16, Row>(rows, cols, divisor, target);
            additions::<f16, Col>(rows, cols, divisor, target);
        }
    }
    for (rows, cols, divisor) in [(16, 32, 32), (20, 40, 2), (13, 27, 1)] {
        additions::<bf16, Row>(rows, cols, divisor, Target::SM_90);
    }
}

/// Four warps of two blocks add tiles of types that are added one by one: to a tile in global memory, and each to two subtiles of a shared
/// one, which is added to global memory.
fn wide_additions<T: AtomicElement + Numeral, L: RegisterLayout>() {
    type Args<T> = (In<T>, InOut<T>, InOut<T>);
    let kernel = Kernel::<Args<T>>::build("additions(x, y, z)", Target::SM_80, |k, (x, y, z)| {
        k.block([128]);
        k.grid([2]);
        let (x, y) = (k.global(x, row_major(30, 16)), k.global(y, row_major(30, 16)));
        let z = k.global(z, row_major(32, 32));
        let own: Rt<T, 2, 1, L> = x.tile(0, 0).load();
        y.tile(0, 0).add(&own);
        let sums = k.shared_tile::<St<T, 2, 2>>().fill_with(T::of(1.0)).wait();
        let sums = sums.add_with(|sums| sums.add(0, k.warp().rank() % 2, &own)).wait();
        k.when_warp(1, |_| {
            let sums: Rt<T, 2, 2, L> = sums.load();
            z.tile(0, 0).add(&sums);
        });
    })
    .unwrap();
    crate::assemble::kernel(&kernel);
    let number = |at: usize| (at % 7) as f64;
    let found = everywhere(|device| {
        let x = device.upload(&(0..480).map(|at| T::of(number(at))).collect::<Vec<_>>()).unwrap();
        let mut y = device.upload(&[T::of(1.0); 480]).unwrap();
        let mut z = device.upload(&[T::of(3.0); 1024]).unwrap();
        device.launch(&kernel, (&x, &mut y, &mut z)).unwrap();
        [y, z].map(|sums| {
            device.download(&sums).unwrap().into_iter().map(|x: T| x.number()).collect::<Vec<_>>()
        })
    });
    let y: Vec<_> = (0..480).map(|at| 1.0 + 8.0 * number(at)).collect();
    let of = |row: usize, col: usize| if row < 30 { number(row * 16 + col % 16) } else { 0.0 };
    // Two warps of each block per column of subtiles.
    let z = (0..1024).map(|at| 3.0 + 2.0 * (1.0 + 2.0 * of(at / 32, at % 32))).collect();
    assert_eq!(found, [y, z], "{}", T::NAME);
}

#[test]
fn additions_of_wide_types() {
    wide_additions::<f64, Row>();
    wide_additions::<f64, Col>();
    wide_additions::<i32, Row>();
    wide_additions::<u32, Col>();
    wide_additions::<i64, Row>();
    wide_additions::<u64, Col>();
}

/// Vectors add 16 bytes in one instruction where the target can; a target without bf16 additions is an error that says which has them.
#[test]
fn widest_additions() {
    let build = |target| {
        Kernel::<(In<bf16>, InOut<bf16>)>::build("widest(x, y)", target, |k, (x, y)| {
            k.block([32]);
            k.grid([1]);
            let v: Rv<bf16, 16, Naive> = k.global(x, vector(256)).tile(0).load();
            k.global(y, vector(256)).tile(0).add(&v);
        })
    };
    let kernel = build(Target::SM_90).unwrap();
    let text = kernel.ptx();
    let red: Vec<_> = text.lines().filter(|line| line.contains("red.")).collect();
    assert_eq!(red.len(), 1, "{text}");
    assert!(red[0].contains("red.global.add.noftz.v4.bf16x2"), "{}", red[0]);
    let error = build(Target::SM_80).unwrap_err().to_string();
    assert!(error.contains("sm_90"), "{error}");
}
