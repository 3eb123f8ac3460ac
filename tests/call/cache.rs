//! The kernels that are built once, and those that are reused.

use std::{cell::Cell, sync::Arc};

use warpwright::{
    kernels::{NormFunction, call},
    prelude::*,
    run::{Called, Device, KernelCache, Queue, Simulator},
};

type Scaled = (In<f32>, Out<f32>, u32);

/// y[i] = `factor`·x[i].
fn scaled(factor: f32) -> Result<Kernel<Scaled>, BuildError> {
    Kernel::<Scaled>::build("scaled(x, y, n)", Target::SM_80, |k, (x, y, n)| {
        k.block([32]);
        k.grid([n.tiles(32)]);
        let (x, y) = (k.slice(x, n), k.slice(y, n));
        let i = k.ctaid_x() * 32 + k.tid_x();
        y.at(i).store(x.at(i).load() * factor);
    })
}

/// Problems are tens and units; the kernel depends on the tens only.
#[test]
fn kernels_are_picked_for_each_problem_and_built_once() {
    let device = Simulator::new();
    let kernels = KernelCache::new(&device);
    let x = device.upload(&[1.0f32, 2.0]).expect("room");
    let (picked, built) = (Cell::new(0), Cell::new(0));
    let call = |name, problem: u32| -> (Vec<f32>, Called) {
        let mut y = device.output::<f32>(2).expect("room");
        let pick = |problem: &u32| {
            picked.set(picked.get() + 1);
            problem / 10
        };
        let build = |tens: &u32| {
            built.set(built.get() + 1);
            scaled(*tens as f32)
        };
        let called = Queue::from(&kernels).launch(name, problem, pick, build, (&x, &mut y, 2));
        (device.download(&y).expect("copied"), called.expect("launched"))
    };

    let (y, first) = call("a", 31);
    assert_eq!((y, first.reused, picked.get(), built.get()), (vec![3.0, 6.0], false, 1, 1));
    let (y, second) = call("a", 31);
    assert_eq!((y, second.reused, picked.get(), built.get()), (vec![3.0, 6.0], true, 1, 1));
    let (_, third) = call("a", 32);
    assert_eq!((third.reused, picked.get(), built.get()), (true, 2, 1));
    let (y, other) = call("a", 41);
    assert_eq!((y, other.reused, picked.get(), built.get()), (vec![4.0, 8.0], false, 3, 2));
    // Another call may have the same problem and other kernels.
    let (_, other) = call("b", 31);
    assert_eq!((other.reused, picked.get(), built.get()), (false, 4, 3));

    // A problem that equals the choice that determined the kernel of another problem.
    let (y, other) = call("a", 3);
    assert_eq!((y, other.reused, picked.get(), built.get()), (vec![0.0, 0.0], false, 5, 4));

    assert!(Arc::ptr_eq(&first.kernel, &third.kernel));
    assert_eq!((&*first.kernel.name, first.kernel.target), ("scaled", Target::SM_80));
    assert!(first.launched.is_some_and(|launched| launched.grid == [1, 1, 1]));
}

/// A kernel that cannot be built is not kept, nor is the next call affected.
#[test]
fn failures_are_not_kept() {
    let device = Simulator::new();
    let kernels = KernelCache::new(&device);
    let x = device.upload(&[1.0f32]).expect("room");
    let mut y = device.output::<f32>(1).expect("room");
    for _ in 0..2 {
        let build = |_: &u32| {
            Kernel::<Scaled>::build("bad(x, y, n)", Target::SM_80, |k, (x, _, n)| {
                // More threads than any device supports.
                k.block([4096]);
                k.slice(x, n).at(0).load();
            })
        };
        let queue = Queue::from(&kernels);
        let error = queue.launch("bad", 1u32, |n| *n, build, (&x, &mut y, 1)).expect_err("refused");
        assert!(error.to_string().starts_with("bad: "), "{error}");
    }
    let called = Queue::from(&kernels).launch("bad", 1u32, |n| *n, |_| scaled(2.0), (&x, &mut y, 1));
    assert!(!called.expect("launched").reused);
    assert_eq!(device.download(&y).expect("copied"), [2.0]);
}

/// Calls of several threads share a cache.
#[test]
fn a_cache_is_shared_by_threads() {
    let device = Simulator::new();
    let kernels = KernelCache::new(&device);
    let work = || {
        let (x, w) =
            (device.upload(&[2.0f32; 24]).expect("room"), device.upload(&[3.0f32; 8]).expect("room"));
        let mut y = device.output::<f32>(24).expect("room");
        call::norm(&kernels, NormFunction::Rms, [3, 8], 0.0, &x, &w, &mut y).expect("launched");
        device.download(&y).expect("copied")
    };
    let results: Vec<Vec<f32>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    assert!(results.iter().flatten().all(|y| (y - 3.0).abs() < 1e-6), "{results:?}");
}
