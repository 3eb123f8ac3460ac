//! Calls on buffers and streams of cudarc with the stand-in driver, each in its own process. The driver's kernel is `kernel(x, y, n)`: y[i]
//! = 2·x[i].

use super::stand_in::{StandIn, is_child};
use pretty_assertions::assert_eq;
use warpwright::{
    gpu::Gpu,
    prelude::*,
    run::{BufferMut, BufferRef, Device, GpuDevice, KernelCache, Queue, Simulator},
    tiles::{Auto, consumers, producer},
};

/// `None` in a run that includes ignored tests but has no stand-in.
fn fake_gpu() -> Option<Gpu> {
    is_child().then(|| Gpu::new(0).expect("the stand-in works"))
}

type Double = (In<f32>, Out<f32>, u32);

fn double(_: &u32) -> Result<Kernel<Double>, BuildError> {
    Kernel::<Double>::build("kernel(x, y, n)", Target::SM_80, |k, (x, y, n)| {
        k.block([32]);
        k.grid([n.tiles(32)]);
        let (x, y) = (k.slice(x, n), k.slice(y, n));
        let i = k.ctaid_x() * 32 + k.tid_x();
        y.at(i).store(x.at(i).load() * 2.0);
    })
}

/// Returns what a child printed, with `jit` for each compilation.
fn printed(test: &str, macros: &[&str]) -> Option<Vec<String>> {
    let printed = StandIn::build(macros)?.run(&format!("call::streams::{test}"));
    let kept = |line: &String| !["record", "unload", "wait"].iter().any(|head| line.starts_with(head));
    Some(printed.into_iter().filter(kept).collect())
}

#[test]
fn kernels_are_loaded_once() {
    let Some(printed) = printed("child_loaded_once", &["MAP=0"]) else { return };
    assert_eq!(
        printed,
        [
            "jit line info 1",
            "launch grid 1,1,1 block 32,1,1 shared 0",
            "[2.0, 4.0, 6.0, 0.0, 0.0] false",
            "launch grid 1,1,1 block 32,1,1 shared 0",
            "[2.0, 4.0, 6.0, 0.0, 10.0] true",
            "double: kernel `kernel`: parameter `x`: expected a buffer of at least 6 elements, found 5",
            "double: kernel `kernel`: parameter `x`: expected a buffer on this device (Fake GPU), found one on another device",
            "double: kernel `kernel`: parameter `x`: expected a buffer on this device (Fake GPU), found one on another device",
        ]
    );
}

#[test]
#[ignore = "run by kernels_are_loaded_once"]
fn child_loaded_once() {
    let Some(gpu) = fake_gpu() else { return };
    let kernels = KernelCache::new(&gpu);
    let stream = gpu.stream();
    let x = stream.clone_htod(&[1.0f32, 2.0, 3.0, 4.0, 5.0]).expect("copied");
    let mut y = stream.alloc_zeros::<f32>(5).expect("allocated");
    // The default stream, and another one; slices, and views of them.
    let call = |queue: Queue<'_>, x: BufferRef<'_, f32>, y: BufferMut<'_, f32>, n: u32| {
        queue.launch("double", 1u32, |n| *n, double, (x, y, n))
    };
    let called = call(Queue::from(&kernels), (&x).into(), (&mut y).into(), 3).expect("launched");
    println!("{:?} {}", stream.clone_dtoh(&y).expect("copied"), called.reused);
    let other = stream.fork().expect("a stream");
    let (x_view, mut y_view) = (x.slice(4..), y.slice_mut(4..));
    let called = call(kernels.on(&other), (&x_view).into(), (&mut y_view).into(), 1).expect("launched");
    other.synchronize().expect("done");
    println!("{:?} {}", stream.clone_dtoh(&y).expect("copied"), called.reused);

    let error = |x: BufferRef<'_, f32>, y: BufferMut<'_, f32>, n| {
        println!("{}", call(Queue::from(&kernels), x, y, n).expect_err("refused"));
    };
    error((&x).into(), (&mut y).into(), 6);
    let simulator = Simulator::new();
    let elsewhere = simulator.zeros::<f32>(5).expect("room");
    error((&elsewhere).into(), (&mut y).into(), 5);

    // A device takes its own buffers.
    let device = GpuDevice::from(gpu.clone());
    let on_device = KernelCache::new(&device);
    let called = call(Queue::from(&on_device), (&x).into(), (&mut y).into(), 5);
    println!("{}", called.expect_err("refused"));
}

/// Views begin at any element. A workspace is written and read on a stream, and freed in its order.
#[test]
fn views_and_workspaces() {
    let Some(printed) = printed("child_views", &["MAP=0"]) else { return };
    assert_eq!(
        printed,
        [
            "slice true, views [true, false, false, true], written [true, false]",
            "jit line info 1",
            "launch grid 1,1,1 block 32,1,1 shared 0",
            "launch grid 1,1,1 block 32,1,1 shared 0",
            "[4.0, 8.0]",
            "double: kernel `kernel`: parameter `y`: expected a buffer of at least 3 elements, found 2",
        ]
    );
}

#[test]
#[ignore = "run by views_and_workspaces"]
fn child_views() {
    let Some(gpu) = fake_gpu() else { return };
    let kernels = KernelCache::new(&gpu);
    let stream = gpu.stream().fork().expect("a stream");
    let queue = kernels.on(&stream);
    let mut x = stream.clone_htod(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0]).expect("copied");
    let views = [0, 1, 2, 4].map(|first| BufferRef::<f32>::from(&x.slice(first..)).is_aligned(16));
    let slice = BufferRef::<f32>::from(&x).is_aligned(16);
    let written = [0, 1].map(|first| BufferMut::<f32>::from(&mut x.slice_mut(first..)).is_aligned(16));
    println!("slice {slice}, views {views:?}, written {written:?}");

    let mut workspace = queue.workspace::<f32>("double", 2).expect("allocated");
    let mut y = stream.alloc_zeros::<f32>(2).expect("allocated");
    let twice = |from: BufferRef<'_, f32>, to: BufferMut<'_, f32>, n: u32| {
        queue.launch("double", 1u32, |n| *n, double, (from, to, n))
    };
    twice((&x).into(), (&mut workspace).into(), 2).expect("launched");
    twice((&workspace).into(), (&mut y).into(), 2).expect("launched");
    drop(workspace);
    stream.synchronize().expect("done");
    println!("{:?}", stream.clone_dtoh(&y).expect("copied"));
    println!("{}", twice((&x).into(), (&mut y).into(), 3).expect_err("refused"));
}

type FirstTile = (In<bf16>, Out<f32>, u32);

/// Loads the first tile of X, of n rows, through a tensor map.
fn first_tile(_: &u32) -> Result<Kernel<FirstTile>, BuildError> {
    Kernel::<FirstTile>::build("kernel(x, y, n)", Target::SM_90A, |k, (x, y, n)| {
        k.block([256]);
        k.grid([1]);
        let (x, y) = (k.global(x, row_major(n, 64)), k.global(y, row_major(64, 64)));
        let ring = k.ring::<(St<'_, bf16, 4, 4, Auto>,), 2, 1>();
        k.specialize(
            producer(40, |p| p.run(&ring, 1, |_, stage| stage.fill((x.tile(0, 0),)))),
            consumers::<1, _>(232, |c| {
                c.each(&ring, 1, (), |_, (), (tile,)| {
                    let tile: Rt<bf16, 1, 4> = tile.tile_of(c.group()).load();
                    y.tile_of(c.group(), 0, 0).store(&tile);
                });
            }),
        );
    })
}

/// A tensor is encoded by the first call with it, and the kernel is compiled once.
#[test]
fn maps_are_encoded_once() {
    let Some(printed) = printed("child_maps_once", &[]) else { return };
    let count = |head: &str| printed.iter().filter(|line| line.starts_with(head)).count();
    assert_eq!((count("jit"), count("tensor map"), count("launch")), (1, 2, 4), "{printed:#?}");
}

#[test]
#[ignore = "run by maps_are_encoded_once"]
fn child_maps_once() {
    let Some(gpu) = fake_gpu() else { return };
    let kernels = KernelCache::new(&gpu);
    let stream = gpu.stream();
    let [a, b] = [(); 2].map(|()| stream.alloc_zeros::<u16>(64 * 64).expect("allocated"));
    let mut y = stream.alloc_zeros::<f32>(64 * 64).expect("allocated");
    for x in [&a, &a, &b, &a] {
        let (x, y) = (BufferRef::<bf16>::from(x), BufferMut::<f32>::from(&mut y));
        Queue::from(&kernels).launch("tile", 1u32, |n| *n, first_tile, (x, y, 64)).expect("launched");
    }
}
