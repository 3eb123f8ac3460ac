//! Scopes as values: ranks, sizes, barriers, work for one warp.

use pretty_assertions::assert_eq;
use warpwright::{
    prelude::*,
    ptx::BuildErrorKind,
    run::{Device, Simulator},
};

/// What every thread of a block of this shape computes.
fn each_thread<const N: usize>(
    shape: [u32; N],
    write: impl for<'k> FnOnce(Builder<'k>, Block<'k>) -> Val<'k, u32>,
) -> Vec<u32> {
    let threads = shape.iter().product::<u32>();
    let kernel = Kernel::<(Out<u32>,)>::build("f(y)", Target::SM_80, |k, (y,)| {
        let block = k.block(shape);
        k.grid([]);
        assert_eq!(block.size(), threads);
        let value = write(k, block);
        y.at(block.thread()).store(value);
    })
    .unwrap_or_else(|e| panic!("{e}"));
    let device = Simulator::new();
    let mut y = device.output::<u32>(threads as usize).unwrap();
    device.launch(&kernel, (&mut y,)).unwrap_or_else(|e| panic!("{e}"));
    device.download(&y).unwrap()
}

#[test]
fn threads_know_where_they_are() {
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

#[test]
fn parts_of_a_block_wait_for_themselves() {
    // Each group of warps turns its own part of shared memory round, with a barrier of its own.
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
fn a_block_has_no_such_scope() {
    let refused = |write: for<'k> fn(Builder<'k>)| {
        let error = Kernel::<()>::build("f", Target::SM_90, |k, ()| write(k)).unwrap_err();
        assert!(matches!(error.kind(), BuildErrorKind::Refused(_)), "{error}");
        error.to_string()
    };
    let text = refused(|k| drop(k.warp()));
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
