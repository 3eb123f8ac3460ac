//! Operations on shared tiles and vectors that belong to one warp, two warps, a warpgroup or the block: the same kernel for each scope, in
//! two blocks of eight warps, two iterations and two launches, with poisoned outputs.

use pretty_assertions::assert_eq;
use warpwright::{
    prelude::*,
    run::Device,
    tiles::{Aligned, Padded, vector},
};

use crate::cases::everywhere;

const WARPS: usize = 8;
const BLOCKS: usize = 2;
const ITERATIONS: usize = 2;
const ROWS: usize = 48;
const COLS: usize = 32;

/// Small whole numbers, and 1000 in few tiles.
fn number(launch: usize, tile: usize, row: usize, col: usize) -> f64 {
    if (tile + launch).is_multiple_of(3) && (row, col) == (47, 31) {
        return 1000.0;
    }
    ((row * 7 + col * 3 + tile * 5 + launch) % 13) as f64 - 4.0
}

/// Matrices of all scopes and iterations: x; y and its copy in bf16, sums of rows, maxima of columns, whether any element is large, and
/// the rows of each warp.
type Args = (In<f32>, Out<f32>, Out<bf16>, Out<f32>, Out<f32>, Out<u32>, Out<f32>);

macro_rules! scopes {
    ($($test:ident $count:literal: $scope:ident $(<$warps:literal>)?;)*) => {$(
        #[test]
        fn $test() {
            const N: usize = $count;
            let scopes = WARPS / N;
            let tiles = (BLOCKS * scopes * ITERATIONS) as u32;
            let kernel = Kernel::<Args>::build("scopes", Target::SM_80, |k, (x, y, copy, sums, maxima, large, bands)| {
                k.block([32 * WARPS as u32]);
                k.grid([BLOCKS as u32]);
                let scope = k.$scope$(::<$warps>)?();
                let whole = row_major(tiles * ROWS as u32, COLS as u32);
                let (x, y, copy) = (k.global(x, whole), k.global(y, whole), k.global(copy, whole));
                let (sums, maxima) = (k.global(sums, row_major(tiles, ROWS as u32)), k.global(maxima, row_major(tiles, COLS as u32)));
                let large = k.slice(large, tiles * 32 * N as u32);
                let first = (k.ctaid_x() * scopes as u32 + if N == WARPS { 0.into() } else { scope.rank() }) * ITERATIONS as u32;
                let state = (
                    k.shared_tile_of::<St<f32, 3, 2>>(scope),
                    k.shared_tile_of::<St<bf16, 3, 2, Padded>>(scope),
                    k.shared_tile_of::<Sv<f32, 3>>(scope),
                    k.shared_tile_of::<Sv<f32, 2>>(scope),
                );
                let _ = k.fold(ITERATIONS as u32, state, |i, (tile, other, of_rows, of_cols)| {
                    let at = first + i;
                    let tile = tile.fill(x.tile(at, 0)).wait();
                    let tile = tile.update(|_, band| band * 2.0).wait();
                    let tile = tile.map(|x| x + 1.0).wait();
                    let other = other.copy_from(&tile).wait();
                    let of_rows = tile.row_sum(of_rows).wait().map(|x| x + 1.0).wait();
                    let of_cols = tile.col_max(of_cols).wait().update(|v| v * 2.0).wait();
                    y.tile(at, 0).store_shared(&tile);
                    copy.tile(at, 0).store_shared(&other);
                    sums.row(at).tile(0).store_shared(&of_rows);
                    maxima.row(at).tile(0).store_shared(&of_cols);
                    let any = tile.any(|x| x.gt(500.0));
                    let thread = at * (32 * N as u32) + scope.thread();
                    large.at(thread).store(any.select(1u32, 0u32));
                    (tile.release(), other.release(), of_rows.release(), of_cols.release())
                });
                // Each warp stores its own rows, and the scope the whole.
                let bands = k.global(bands, row_major((BLOCKS * WARPS * 16) as u32, 16));
                let own = k.filled::<Rt<f32, 1, 1>>(0.0) + k.warp().rank().cast::<f32>();
                let tile = k.shared_tile_of::<St<f32, N, 1>>(scope).store_with(|tile| tile.tile_of(scope).store(&own)).wait();
                let at = k.ctaid_x() * scopes as u32 + if N == WARPS { 0.into() } else { scope.rank() };
                bands.tile(at, 0).store_shared(&tile);
            })
            .unwrap();
            crate::assemble::kernel(&kernel);
            let size = ROWS * COLS;
            let tiles = tiles as usize;
            let found = everywhere(|device| {
                let poison = |count: usize| device.upload(&vec![f32::NAN; count]).unwrap();
                let (mut y, mut sums, mut maxima) = (poison(tiles * size), poison(tiles * ROWS), poison(tiles * COLS));
                let mut copy = device.upload(&vec![bf16::NAN; tiles * size]).unwrap();
                let mut large = device.upload(&vec![77u32; tiles * 32 * N]).unwrap();
                let mut bands = poison(BLOCKS * WARPS * 256);
                [0, 1].map(|launch| {
                    let x: Vec<f32> = (0..tiles * size).map(|i| number(launch, i / size, i % size / COLS, i % COLS) as f32).collect();
                    let x = device.upload(&x).unwrap();
                    device.launch(&kernel, (&x, &mut y, &mut copy, &mut sums, &mut maxima, &mut large, &mut bands)).unwrap();
                    let copy: Vec<f32> = device.download(&copy).unwrap().iter().map(|x| x.to_f32()).collect();
                    (
                        [device.download(&y).unwrap(), copy, device.download(&sums).unwrap(), device.download(&maxima).unwrap(), device.download(&bands).unwrap()]
                            .map(|numbers| numbers.into_iter().map(f32::to_bits).collect::<Vec<_>>()),
                        device.download(&large).unwrap(),
                    )
                })
            });
            for (launch, (found, large)) in found.into_iter().enumerate() {
                let element = |tile: usize, row: usize, col: usize| number(launch, tile, row, col) * 2.0 + 1.0;
                let all: Vec<f64> = (0..tiles * size).map(|i| element(i / size, i % size / COLS, i % COLS)).collect();
                let rows = (0..tiles * ROWS).map(|i| (0..COLS).map(|col| element(i / ROWS, i % ROWS, col)).sum::<f64>() + 1.0);
                let cols = (0..tiles * COLS).map(|i| (0..ROWS).map(|row| element(i / COLS, row, i % COLS)).fold(f64::MIN, f64::max) * 2.0);
                let in_bf16 = all.iter().map(|&x| bf16::from_f64(x).to_f64());
                let warps = (0..BLOCKS * WARPS * 256).map(|i| (i / 256 % WARPS) as f64);
                let expected = [all.clone(), in_bf16.collect(), rows.collect(), cols.collect(), warps.collect()];
                let expected = expected.map(|numbers| numbers.into_iter().map(|x| (x as f32).to_bits()).collect::<Vec<_>>());
                assert_eq!(found, expected, "launch {launch}");
                let any = (0..tiles * 32 * N).map(|i| u32::from((i / (32 * N) + launch).is_multiple_of(3)));
                assert_eq!(large, any.collect::<Vec<_>>(), "launch {launch}");
            }
        }
    )*};
}

scopes! {
    of_a_warp       1: warp;
    of_two_warps    2: warps<2>;
    of_a_warp_group 4: warp_group;
    of_a_block      8: this_block;
}

/// Warps of a scope divide a vector: each stores its part with its number added.
#[test]
fn vectors_are_divided_among_warps() {
    let kernel = Kernel::<(In<f32>, Out<f32>)>::build("parts(x, y)", Target::SM_80, |k, (x, y)| {
        let block = k.block([128]);
        k.grid([2]);
        let (x, y, b) = (k.global(x, vector(250)), k.global(y, vector(250)), k.ctaid_x());
        let part: Rv<f32, 2, Aligned> = x.tile_of(block, b).load();
        let pairs = k.warps::<2>();
        y.tile_of(pairs, b * 2 + k.warp().rank() / 2).store(&(part + k.warp().rank().cast::<f32>()));
    })
    .unwrap();
    crate::assemble::kernel(&kernel);
    let found = everywhere(|device| {
        let x = device.upload(&(0..250).map(|i| i as f32).collect::<Vec<_>>()).unwrap();
        let mut y = device.upload(&[f32::NAN; 250]).unwrap();
        device.launch(&kernel, (&x, &mut y)).unwrap();
        device.download(&y).unwrap()
    });
    assert_eq!(found, (0..250).map(|i| (i + i / 32 % 4) as f32).collect::<Vec<_>>());
}

/// Each thread reads what a thread of the other end of its scope has written before the scope's threads synchronized.
#[test]
fn threads_synchronize() {
    fn check(threads: u32, sync: &dyn for<'k> Fn(Builder<'k>)) {
        let kernel = Kernel::<(Out<u32>,)>::build("synchronized(y)", Target::SM_80, |k, (y,)| {
            k.block([256]);
            k.grid([2]);
            let (tid, memory) = (k.tid_x(), k.shared::<u32>(256));
            memory.at(tid).store(tid * 3);
            sync(k);
            let other = tid / threads * threads + (threads - 1 - tid % threads);
            k.slice(y, 512).at(k.ctaid_x() * 256 + tid).store(memory.at(other).load());
        })
        .unwrap();
        crate::assemble::kernel(&kernel);
        let found = everywhere(|device| {
            let mut y = device.upload(&[77u32; 512]).unwrap();
            device.launch(&kernel, (&mut y,)).unwrap();
            device.download(&y).unwrap()
        });
        let expected = (0..512).map(|at| {
            let tid = at % 256;
            3 * (tid / threads * threads + threads - 1 - tid % threads)
        });
        assert_eq!(found, expected.collect::<Vec<_>>(), "scopes of {threads} threads");
    }
    // `Warp`, `Warps<2>`, `WarpGroup`, `Block`.
    check(32, &|k| k.warp().sync());
    check(64, &|k| k.warps::<2>().sync());
    check(128, &|k| k.warp_group().sync());
    check(256, &|k| k.this_block().sync());
}

/// Memory of a warp, used under a condition that only this warp meets, where the block's barrier is not allowed.
#[test]
fn memory_of_a_warp_in_a_branch() {
    let kernel = Kernel::<(In<f32>, Out<f32>)>::build("branch(x, y)", Target::SM_80, |k, (x, y)| {
        k.block([96]);
        k.grid([2]);
        let (x, y, b) = (k.global(x, row_major(32, 32)), k.global(y, row_major(32, 32)), k.ctaid_x());
        let tile = k.shared_tile_of::<St<f32, 1, 2>>(k.warp());
        k.when_warp(2, |_| {
            let tile = tile.fill_or(x.tile(b, 0), 0.0).wait();
            let tile = tile
                .update(|_, band| {
                    let max = band.row_max();
                    band + &max
                })
                .wait();
            y.tile(b, 0).store_shared(&tile);
        });
    })
    .unwrap();
    crate::assemble::kernel(&kernel);
    let x: Vec<f32> = (0..1024).map(|i| (i * 7 % 31) as f32).collect();
    let found = everywhere(|device| {
        let mut y = device.upload(&[f32::NAN; 1024]).unwrap();
        device.launch(&kernel, (&device.upload(&x).unwrap(), &mut y)).unwrap();
        device.download(&y).unwrap()
    });
    let max = |row: usize| x[32 * row..][..32].iter().copied().fold(0.0, f32::max);
    assert_eq!(found, (0..1024).map(|i| x[i] + max(i / 32)).collect::<Vec<_>>());
}

#[test]
fn scopes_are_checked() {
    let refused = |write: &dyn for<'k> Fn(Builder<'k>)| {
        let error = Kernel::<()>::build("refused", Target::SM_80, |k, ()| write(k)).expect_err("refused");
        assert_eq!(error.location().file(), file!());
        error.to_string()
    };
    let text = refused(&|k| {
        k.block([128]);
        let pair = k.shared_tile_of::<St<f32, 1, 1>>(k.warps::<2>());
        let _ = pair.store(&k.zeros::<Rt<f32, 1, 1>>());
    });
    assert!(text.contains("found one to which all warps of the scope store"), "{text}");
    let text = refused(&|k| {
        k.block([128]);
        let _ = k.shared_tile_of::<Sv<f32, 1>>(k.lane());
    });
    assert!(text.contains("expected a scope of whole warps"), "{text}");
    let text = refused(&|k| {
        k.block([64]);
        let tile = k.shared_tile_of::<St<f32, 2, 1>>(k.warp());
        k.if_(k.tid_x().lt(7), || {
            let _ = tile.fill_with(0.0).wait();
        });
    });
    assert!(text.contains("expected the same tile for all lanes of a warp"), "{text}");
}
