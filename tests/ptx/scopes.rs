//! Scopes as values: ranks, sizes, barriers, and work by one warp.
#![allow(unsafe_code, reason = "plain pointers to results")]

use pretty_assertions::assert_eq;
use warpwright::{
    prelude::*,
    ptx::{BuildErrorKind, Uniformity},
    run::{Device, Simulator},
};

/// Returns the number that every thread of a block of this shape computes.
fn each_thread<const N: usize>(
    shape: [u32; N],
    write: impl for<'k> FnOnce(Builder<'k>, Block<'k>) -> Val<'k, u32>,
) -> Vec<u32> {
    let threads = shape.iter().product::<u32>();
    let kernel = Kernel::<(Out<u32>,)>::build("f(y)", Target::SM_80, |k, (y,)| {
        let block = k.block(shape);
        k.grid([1]);
        assert_eq!(block.size(), threads);
        let value = write(k, block);
        unsafe { y.at(block.thread()).store(value) };
    })
    .unwrap_or_else(|e| panic!("{e}"));
    let device = Simulator::new();
    let mut y = device.output::<u32>(threads as usize).unwrap();
    device.launch(&kernel, (&mut y,)).unwrap_or_else(|e| panic!("{e}"));
    device.download(&y).unwrap()
}

#[test]
fn threads_have_indices_in_every_scope() {
    let expected = |f: fn(u32) -> u32| (0..256).map(f).collect::<Vec<_>>();
    assert_eq!(each_thread([256], |k, _| k.warp() * 100 + k.lane()), expected(|t| t / 32 * 100 + t % 32));
    assert_eq!(each_thread([32, 4, 2], |k, _| k.warp().rank()), expected(|t| t / 32));
    assert_eq!(each_thread([8, 8, 4], |k, _| k.warp().thread()), expected(|t| t % 32));
    assert_eq!(
        each_thread([256], |k, _| k.warp_group() * 1000 + k.warp_group().thread()),
        expected(|t| t / 128 * 1000 + t % 128)
    );
    assert_eq!(
        each_thread([16, 16], |k, _| k.warps::<2>() * 100 + k.warps::<2>().thread()),
        expected(|t| t / 64 * 100 + t % 64)
    );
    assert_eq!(each_thread([256], |_, block| block + 5), expected(|_| 5));
}

/// The clusters of a grid are numbered from 0, x fastest, then y, then z, whichever of its dimensions are known to be 1.
#[test]
fn clusters_are_numbered() {
    let ranks = |cluster: [u32; 3], grid: [u32; 3], declared: bool| {
        let [x, y, z] = grid;
        let kernel = Kernel::<(Out<u32>, Out<u32>, u32)>::build(
            "f(ranks, threads, n)",
            Target::SM_90,
            |k, (ranks, threads, n)| {
                let block = k.block([32]);
                let cluster = k.cluster(cluster);
                if declared {
                    k.grid(grid);
                } else {
                    k.grid([n.into_dim() * x, n.into_dim() * y, n.into_dim() * z]);
                }
                let index = (k.ctaid_z() * y + k.ctaid_y()) * x + k.ctaid_x();
                unsafe { ranks.at(index).store(cluster.rank()) };
                let thread = cluster.rank() * cluster.size() + cluster.thread();
                unsafe { threads.at(index * 32 + block.thread()).store(thread) };
            },
        )
        .unwrap_or_else(|e| panic!("{e}"));
        let device = Simulator::new();
        let blocks = x * y * z;
        let mut ranks = device.output::<u32>(blocks as usize).unwrap();
        let mut threads = device.output::<u32>(32 * blocks as usize).unwrap();
        device.launch(&kernel, (&mut ranks, &mut threads, 1)).unwrap_or_else(|e| panic!("{e}"));
        // Every thread of the grid has a number of its own.
        let mut threads = device.download(&threads).unwrap();
        threads.sort_unstable();
        assert!(threads.iter().copied().eq(0..32 * blocks), "{cluster:?} {grid:?}");
        device.download(&ranks).unwrap()
    };
    for (cluster, grid) in [
        ([2, 1, 1], [6, 1, 1]),
        ([2, 1, 1], [6, 3, 1]),
        ([2, 1, 1], [6, 1, 3]),
        ([2, 1, 1], [6, 3, 2]),
        ([1, 2, 1], [1, 6, 2]),
        ([1, 1, 2], [3, 1, 4]),
        ([2, 2, 2], [4, 6, 4]),
    ] {
        let [x, y, z]: [u32; 3] = std::array::from_fn(|axis| grid[axis] / cluster[axis]);
        let expected: Vec<u32> = (0..grid.iter().product())
            .map(|index| {
                let at = [index % grid[0], index / grid[0] % grid[1], index / grid[0] / grid[1]];
                let [i, j, k]: [u32; 3] = std::array::from_fn(|axis| at[axis] / cluster[axis]);
                (k * y + j) * x + i
            })
            .collect();
        assert_eq!(expected.iter().max(), Some(&(x * y * z - 1)));
        for declared in [true, false] {
            assert_eq!(ranks(cluster, grid, declared), expected, "{cluster:?} {grid:?} {declared}");
        }
    }
}

#[test]
fn scopes_of_a_block_synchronize_separately() {
    // Each group of warps reverses its own part of shared memory, with a separate barrier.
    let reversed = each_thread([192], |k, block| {
        let shared = k.shared::<u32>(192);
        let pair = k.warps::<2>();
        shared.at(block.thread()).store(block.thread());
        pair.sync();
        let own = pair * 64;
        shared.at(own + (Val::from(63) - pair.thread())).load()
    });
    assert_eq!(reversed, (0..192).map(|t| t / 64 * 64 + 63 - t % 64).collect::<Vec<_>>());
}

#[test]
fn work_for_one_warp() {
    let shared = each_thread([128], |k, block| {
        let shared = k.shared::<u32>(32);
        k.when_warp(2, |warp| {
            let sum = k.redux_add(block.thread(), u32::MAX);
            shared.at(warp.thread()).store(sum);
        });
        block.sync();
        shared.at(k.lane().rank()).load()
    });
    assert_eq!(shared, vec![(64..96).sum::<u32>(); 128]);
}

#[test]
fn scopes_that_the_block_does_not_have_are_refused() {
    let refused = |write: for<'k> fn(Builder<'k>)| {
        let error = Kernel::<()>::build("f", Target::SM_90, |k, ()| write(k)).unwrap_err();
        assert!(matches!(error.kind(), BuildErrorKind::Refused(_)), "{error}");
        error.to_string()
    };
    let text = refused(|k| _ = k.warp());
    assert!(text.contains("call `block` first"), "{text}");
    let text = refused(|k| {
        k.block([48]);
        let _ = k.warp();
    });
    assert!(text.contains("a multiple of 32 threads for a scope of 1 warps, found 48"), "{text}");
    let text = refused(|k| {
        k.block([192]);
        let _ = k.warp_group();
    });
    assert!(text.contains("a multiple of 128 threads"), "{text}");
    // 16 pairs of warps and no more than 15 named barriers.
    let text = refused(|k| {
        k.block([1024]);
        k.warps::<2>().sync();
    });
    assert!(text.contains("expected 16 for groups of 64 threads, found 15 free"), "{text}");
}

/// Compares the sum, maximum, minimum and both scans of `x` over a scope, and the product of other values, with the host's: once, and in
/// an emitted loop.
macro_rules! check_reductions {
    ($t:ty, $target:expr, $threads:expr, $group:expr, $scope:path, $from:expr) => {{
        let (threads, group) = ($threads as usize, $group as usize);
        let kernel = Kernel::<(In<$t>, Out<$t>)>::build("f(x, y)", $target, |k, (x, y)| {
            let block = k.block([$threads]);
            k.grid([1]);
            let at = |row: u32| block.thread() + row * block.size();
            let x = unsafe { x.at(block.thread()).load() };
            let scope = $scope(k);
            let results =
                [scope.sum(x), scope.max(x), scope.min(x), scope.inclusive_scan(x), scope.exclusive_scan(x)];
            for (row, result) in (0..).zip(results) {
                unsafe { y.at(at(row)).store(result) };
            }
            // The second iteration must not overtake the first one's reads.
            k.for_(2, |i| {
                let scaled = k.var(x);
                k.if_(i.eq(0), || scaled.set(<$t>::from($from(1))));
                unsafe { y.at(at(5)).store(scope.sum(scaled.get())) };
            });
            let factor = (block.thread() % 97).eq(5).select(<$t>::from($from(2)), <$t>::from($from(1)));
            unsafe { y.at(at(6)).store(scope.product(factor)) };
        })
        .unwrap_or_else(|e| panic!("{e}"));
        let values: Vec<u32> = (0..threads as u32).map(|t| (t * 7 + t / 32) % 13).collect();
        let x: Vec<$t> = values.iter().map(|&v| $from(v as u8)).collect();
        let device = Simulator::new();
        let input = device.upload(&x).unwrap();
        let mut y = device.output::<$t>(7 * threads).unwrap();
        device.launch(&kernel, (&input, &mut y)).unwrap_or_else(|e| panic!("{e}"));
        let found = device.download(&y).unwrap();
        let wide = |n: u32| <$t>::from_wide(n);
        for t in 0..threads {
            let of_group = &values[t / group * group..][..group];
            let before: u32 = of_group[..t % group].iter().sum();
            let sum: u32 = of_group.iter().sum();
            let expected = [
                wide(sum),
                wide(*of_group.iter().max().unwrap()),
                wide(*of_group.iter().min().unwrap()),
                wide(before + values[t]),
                wide(before),
                wide(sum),
                wide(1 << (t / group * group..).take(group).filter(|other| other % 97 == 5).count()),
            ];
            for (row, expected) in expected.into_iter().enumerate() {
                let what = (stringify!($t), $target, threads, group, row, t);
                assert_eq!(found[row * threads + t], expected, "{what:?}");
            }
        }
    }};
}

/// A small integer in another type, rounded once.
trait FromWide {
    fn from_wide(n: u32) -> Self;
}

macro_rules! from_wide {
    ($($t:ty, $from:expr;)*) => {$(
        impl FromWide for $t {
            fn from_wide(n: u32) -> Self {
                let from: fn(u32) -> $t = $from;
                from(n)
            }
        }
    )*};
}

from_wide! {
    u32,  |n| n;
    i32,  |n| n as i32;
    u64,  |n| n.into();
    i64,  |n| n.into();
    f16,  |n| f16::from_f32(n as f32);
    bf16, |n| bf16::from_f32(n as f32);
    f32,  |n| n as f32;
    f64,  |n| n.into();
}

macro_rules! check_types {
    ($target:expr, $threads:expr, $group:expr, $scope:path) => {{
        check_reductions!(u32, $target, $threads, $group, $scope, |v: u8| u32::from(v));
        check_reductions!(i32, $target, $threads, $group, $scope, |v: u8| i32::from(v));
        check_reductions!(u64, $target, $threads, $group, $scope, |v: u8| u64::from(v));
        check_reductions!(i64, $target, $threads, $group, $scope, |v: u8| i64::from(v));
        check_reductions!(f16, $target, $threads, $group, $scope, |v: u8| f16::from(v));
        check_reductions!(bf16, $target, $threads, $group, $scope, |v: u8| bf16::from(v));
        check_reductions!(f32, $target, $threads, $group, $scope, |v: u8| f32::from(v));
        check_reductions!(f64, $target, $threads, $group, $scope, |v: u8| f64::from(v));
    }};
}

#[test]
fn a_warp_reduces_and_scans() {
    check_types!(Target::SM_80, 96, 32, Builder::warp);
}

#[test]
fn a_block_reduces_and_scans() {
    for threads in [32, 64, 96, 160, 512, 1024] {
        check_types!(Target::SM_80, threads, threads, Builder::this_block);
    }
}

/// Without `redux.sync`, and without conversions to bf16.
#[test]
fn a_target_without_redux_reduces_by_shuffles() {
    check_reductions!(u32, Target::SM_75, 96, 32, Builder::warp, |v: u8| u32::from(v));
    check_reductions!(i32, Target::SM_75, 96, 96, Builder::this_block, |v: u8| i32::from(v));
    check_reductions!(f16, Target::SM_75, 64, 64, Builder::this_block, |v: u8| f16::from(v));
}

#[test]
fn warps_of_a_block_reduce_and_scan() {
    check_types!(Target::SM_80, 256, 64, Builder::warps::<2>);
    check_types!(Target::SM_80, 192, 96, Builder::warps::<3>);
    check_types!(Target::SM_80, 256, 128, Builder::warp_group);
}

#[test]
fn a_block_of_parts_of_warps_does_not_reduce() {
    let refused = |threads: u32, write: for<'k> fn(Block<'k>) -> Val<'k, u32>| {
        let kernel = Kernel::<(Out<u32>,)>::build("f(y)", Target::SM_80, |k, (y,)| {
            let block = k.block([threads]);
            unsafe { y.at(block.thread()).store(write(block)) };
        });
        let error = kernel.err().unwrap_or_else(|| panic!("{threads} threads are not whole warps"));
        let expected = format!(
            "expected a block whose number of threads is a multiple of 32 for reductions and scans, found {threads}"
        );
        assert!(error.to_string().ends_with(&expected), "{error}");
    };
    for threads in [1, 16, 31, 48, 80] {
        refused(threads, |block| block.sum(block.thread()));
        refused(threads, |block| block.max(block.thread()));
        refused(threads, |block| block.inclusive_scan(block.thread()));
        refused(threads, |block| block.exclusive_scan(block.thread()));
    }
}

/// With a power of two of warps, and with other numbers.
#[test]
fn sums_of_negative_zeros_and_extremes_with_nan() {
    for threads in [32, 64, 96, 160] {
        let run = |value: &dyn Fn(u32) -> f32| {
            let kernel = Kernel::<(In<f32>, Out<f32>)>::build("f(x, y)", Target::SM_80, |k, (x, y)| {
                let block = k.block([threads]);
                k.grid([1]);
                let x = unsafe { x.at(block.thread()).load() };
                unsafe { y.at(block.thread()).store(block.sum(x)) };
                unsafe { y.at(block.thread() + threads).store(block.max(x)) };
                unsafe { y.at(block.thread() + 2 * threads).store(block.min(x)) };
            })
            .unwrap_or_else(|e| panic!("{e}"));
            let device = Simulator::new();
            let x = device.upload(&(0..threads).map(value).collect::<Vec<_>>()).unwrap();
            let mut y = device.output::<f32>(3 * threads as usize).unwrap();
            device.launch(&kernel, (&x, &mut y)).unwrap_or_else(|e| panic!("{e}"));
            let y = device.download(&y).unwrap();
            y.chunks(threads as usize)
                .map(|row| {
                    assert!(row.iter().all(|v| v.to_bits() == row[0].to_bits()), "{row:?}");
                    row[0]
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(run(&|_| -0.0).iter().map(|v| v.to_bits()).collect::<Vec<_>>(), [0x8000_0000; 3]);
        let with_nan = run(&|t| if t == 10 { f32::NAN } else { t as f32 - 50.0 });
        assert!(with_nan[0].is_nan());
        assert_eq!(with_nan[1..], [threads as f32 - 51.0, -50.0]);
        assert_eq!(run(&|_| f32::NEG_INFINITY), [f32::NEG_INFINITY; 3]);
        let nan = run(&|_| f32::NAN);
        assert!(nan.iter().all(|x| x.is_nan()), "{threads} threads: {nan:?}");
        let number = run(&|t| if t == threads - 1 { 7.0 } else { f32::NAN });
        assert_eq!(number[1..], [7.0; 2], "{threads} threads");
    }
}

#[test]
fn lanes_exchange_values_of_any_type() {
    let kernel =
        Kernel::<(Out<u64>, Out<u32>)>::build("f(wide, narrow)", Target::SM_80, |k, (wide, narrow)| {
            let block = k.block([64]);
            k.grid([1]);
            let (warp, t) = (k.warp(), block.thread());
            let big = t.cast::<u64>() * 0x1_0000_0003u64;
            unsafe { wide.at(t).store(warp.shfl_bfly(big, 5)) };
            unsafe { wide.at(t + 64).store(warp.broadcast(big, 7)) };
            unsafe { wide.at(t + 128).store(block.broadcast(big, 40)) };
            let half = t.cast::<u16>() * 257u16;
            unsafe { narrow.at(t).store(warp.shfl_up(half, 1).cast::<u32>()) };
            unsafe { narrow.at(t + 64).store(warp.shfl_down((t & 3).eq(1), 2).select(1, 0)) };
            unsafe { narrow.at(t + 128).store(warp.ballot((t & 1).eq(1))) };
            unsafe { narrow.at(t + 192).store(warp.count(t.lt(40))) };
            unsafe { narrow.at(t + 256).store(block.count(t.lt(40))) };
            unsafe {
                narrow.at(t + 320).store(warp.all(t.lt(40)).select(1, 0) + warp.any(t.ge(40)).select(2, 0));
            };
            unsafe {
                narrow.at(t + 384).store(block.all(t.lt(64)).select(1, 0) + block.any(t.ge(64)).select(2, 0));
            };
        })
        .unwrap_or_else(|e| panic!("{e}"));
    let device = Simulator::new();
    let mut wide = device.output::<u64>(192).unwrap();
    let mut narrow = device.output::<u32>(448).unwrap();
    device.launch(&kernel, (&mut wide, &mut narrow)).unwrap_or_else(|e| panic!("{e}"));
    let big = |t: u64| t * 0x1_0000_0003;
    let expected: Vec<u64> = (0..64)
        .map(|t| big(t ^ 5))
        .chain((0..64).map(|t| big(t / 32 * 32 + 7)))
        .chain([big(40); 64])
        .collect();
    assert_eq!(device.download(&wide).unwrap(), expected);
    let rows: [fn(u32) -> u32; 7] = [
        |t| if t % 32 == 0 { t * 257 } else { (t - 1) * 257 },
        |t| {
            let from = if t % 32 < 30 { t + 2 } else { t };
            u32::from(from & 3 == 1)
        },
        |_| 0xAAAA_AAAA,
        |t| if t < 32 { 32 } else { 8 },
        |_| 40,
        |t| if t < 32 { 1 } else { 2 },
        |_| 1,
    ];
    let found = device.download(&narrow).unwrap();
    for (row, expected) in rows.into_iter().enumerate() {
        for t in 0..64 {
            assert_eq!(found[row * 64 + t as usize], expected(t), "row {row}, thread {t}");
        }
    }
}

#[test]
fn results_of_collectives_are_uniform() {
    let kernel = Kernel::<(In<f32>,)>::build("f(x)", Target::SM_80, |k, (x,)| {
        let block = k.block([128]);
        let x = unsafe { x.at(block.thread()).load() };
        let levels = [
            (k.warp().sum(x).uniformity(), Uniformity::WARP),
            (k.warp().max(block.thread()).uniformity(), Uniformity::WARP),
            (k.warp().broadcast(x, 3).uniformity(), Uniformity::WARP),
            (k.warp_group().min(x).uniformity(), Uniformity::Block),
            (k.warps::<2>().min(x).uniformity(), Uniformity::Threads(64)),
            (block.sum(x).uniformity(), Uniformity::Block),
            (block.broadcast(x, 3).uniformity(), Uniformity::Block),
            (block.any(x.gt(0.0)).uniformity(), Uniformity::Block),
            (block.inclusive_scan(x).uniformity(), Uniformity::NONE),
        ];
        for (i, (found, expected)) in levels.into_iter().enumerate() {
            assert_eq!(found, expected, "value {i}");
        }
    });
    kernel.unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn barriers_of_the_kernel_are_not_those_of_scopes() {
    let refused = |write: for<'k> fn(Builder<'k>)| {
        let kernel = Kernel::<()>::build("f", Target::SM_80, |k, ()| {
            k.block([128]);
            write(k);
        });
        kernel.map(|kernel| kernel.ptx()).map_err(|refused| refused.to_string())
    };
    let has = |result: Result<String, String>, why: &str| match result {
        Ok(ptx) => panic!("expected a refusal:\n{ptx}"),
        Err(refused) => assert!(refused.contains(why), "{refused}"),
    };
    has(refused(|k| k.bar_sync(16, 64)), "expected a barrier from 0 to 15, found 16");
    has(
        refused(|k| k.bar_arrive(1, 33)),
        "expected a positive multiple of 32 threads at a barrier, found 33",
    );
    has(
        refused(|k| k.barrier_sync(1, 0)),
        "expected a positive multiple of 32 threads at a barrier, found 0",
    );
    let after = refused(|k| {
        k.warps::<2>().sync();
        k.bar_sync(2, 64);
    });
    has(after, "expected a barrier that scopes and tiles do not use, found 2");
    // Scopes use the barriers after those of the kernel.
    let after = refused(|k| {
        k.bar_sync(3, 64);
        k.warps::<2>().sync();
        k.bar_sync(3, 64);
        k.bar_sync(4, 64);
    });
    has(after, "expected a barrier that scopes and tiles do not use, found 4");
}

#[test]
fn a_barrier_whose_result_is_unread_remains() {
    let kernel = Kernel::<(Out<u32>, u32)>::build("f(y, n)", Target::SM_80, |k, (y, n)| {
        let block = k.block([32]);
        k.grid([1]);
        let tile = k.filled::<Rt<u32, 1, 1>>(1).map(|v| v + n);
        let scaled = tile.map(|v| {
            // The second product is the first one, so it bypasses `by_4`, whose register becomes that of the tile.
            let _ = v * 32u32;
            let by_4 = v * 4u32;
            let _ = by_4 * 8u32;
            by_4
        });
        let _ = block.count(k.laneid().eq(0));
        k.global(y, row_major(16, 16)).tile(0, 0).store(&scaled);
    })
    .expect("it builds");
    assert_eq!(kernel.ptx().matches("bar.red.popc").count(), 1, "{}", kernel.ptx());
}
