//! Typed launches on the stand-in driver, each in its own process. The driver's kernel is `kernel(x, y, n)`: y[i] = 2·x[i].
#![allow(unsafe_code, reason = "the text alone")]

use super::{
    kernels::{Double, double, double_eights},
    stand_in::{StandIn, is_child},
};
use pretty_assertions::assert_eq;
use warpwright::{
    gpu::{Gpu, LoadOptions},
    prelude::*,
    ptx::B16,
    run::{Details, Device, GpuDevice, RunError, Simulator, StorageFor},
    tiles::{Auto, consumers, producer},
};

fn run(test: &str, macros: &[&str]) -> Option<String> {
    let macros = [macros, &["MAP=0"]].concat();
    let printed = StandIn::build(&macros)?.run(&format!("run::cuda::{test}"));
    let printed = printed
        .into_iter()
        .filter(|line| !["record", "unload", "jit"].iter().any(|head| line.starts_with(head)));
    Some(printed.collect::<Vec<_>>().join("\n"))
}

/// `None` in a run that includes ignored tests but has no stand-in.
fn fake_gpu() -> Option<Gpu> {
    is_child().then(|| Gpu::new(0).expect("the stand-in works"))
}

#[test]
fn loaded_kernels_accept_cudarc_buffers() {
    let Some(printed) = run("child_loaded", &[]) else { return };
    assert_eq!(
        printed,
        "launch grid 2,1,1 block 32,1,1 shared 0
[2.0, 4.0, 6.0]
launch grid 1,1,1 block 32,1,1 shared 0
[10.0, 0.0]
launch grid 1,1,1 block 32,1,1 shared 0
kernel `kernel`: parameter `x`: expected an address that is a multiple of 16, found +0x4
kernel `kernel`: parameter `n`: expected a multiple of 8, found 12
kernel `kernel`: expected a target that Fake GPU (sm_90) can run, found sm_100a"
    );
}

#[test]
#[ignore = "run by loaded_kernels_accept_cudarc_buffers"]
fn child_loaded() {
    let Some(gpu) = fake_gpu() else { return };
    let stream = gpu.stream();
    let kernel = gpu.load(&double(Target::SM_80).expect("it builds")).expect("loaded");
    let mut host = [0.0f32; 33];
    host[..5].copy_from_slice(&[1.0, 2.0, 3.0, 4.0, 5.0]);
    let x = stream.clone_htod(&host).expect("copied");
    let mut y = stream.alloc_zeros::<f32>(33).expect("allocated");
    kernel.launch(&stream, (&x, &mut y, 33)).expect("launched");
    println!("{:?}", &stream.clone_dtoh(&y).expect("copied")[..3]);

    // Views that start 16 bytes in, and an empty grid, which queues nothing.
    let mut z = stream.alloc_zeros::<f32>(8).expect("allocated");
    kernel.launch(&stream, (&x.slice(4..), &mut z.slice_mut(4..), 1)).expect("launched");
    kernel.launch(&stream, (&x, &mut z, 0)).expect("nothing to do");
    println!("{:?}", &stream.clone_dtoh(&z).expect("copied")[4..6]);
    kernel.launch_grid(&stream, [1, 1, 1], (&x, &mut z, 1)).expect("launched");

    let error = kernel.launch(&stream, (&x.slice(1..), &mut y, 1)).expect_err("misaligned");
    let RunError::Misaligned { found, .. } = &error else { panic!("{error}") };
    println!("{}", error.to_string().replace(&format!("{found:#x}"), &format!("+{:#x}", found % 16)));
    let kernel = gpu.load(&double_eights().expect("it builds")).expect("loaded");
    println!("{}", kernel.launch(&stream, (&x, &mut y, 12)).expect_err("refused"));
    println!("{}", gpu.load(&double(Target::SM_100A).expect("it builds")).expect_err("refused"));
}

#[test]
fn a_prepared_launch_is_repeated() {
    let Some(printed) = run("child_prepared", &[]) else { return };
    assert_eq!(
        printed,
        "prepared
launch grid 2,1,1 block 32,1,1 shared 0
launch grid 2,1,1 block 32,1,1 shared 0
[2.0, 4.0, 6.0]
kernel `kernel`: parameter `n`: expected a multiple of 8, found 12"
    );
}

#[test]
#[ignore = "run by a_prepared_launch_is_repeated"]
fn child_prepared() {
    let Some(gpu) = fake_gpu() else { return };
    let stream = gpu.stream();
    let kernel = gpu.load(&double(Target::SM_80).expect("it builds")).expect("loaded");
    let mut host = [0.0f32; 33];
    host[..3].copy_from_slice(&[1.0, 2.0, 3.0]);
    let x = stream.clone_htod(&host).expect("copied");
    let mut y = stream.alloc_zeros::<f32>(33).expect("allocated");
    let launched = kernel.prepare(&stream, (&x, &mut y, 33), |prepared| {
        println!("prepared");
        (0..2).try_for_each(|_| prepared.launch())
    });
    launched.expect("prepared").expect("launched twice");
    println!("{:?}", &stream.clone_dtoh(&y).expect("copied")[..3]);

    let empty = kernel.prepare(&stream, (&x, &mut y, 0), |empty| empty.launch());
    empty.expect("prepared").expect("nothing to do");
    let kernel = gpu.load(&double_eights().expect("it builds")).expect("loaded");
    println!("{}", kernel.prepare(&stream, (&x, &mut y, 12), |_| ()).expect_err("refused"));
}

/// The driver encodes the map of a tensor once; other tensors have other maps.
#[test]
fn tensor_maps_are_encoded_once() {
    let Some(stand_in) = StandIn::build(&[]) else { return };
    let printed = stand_in.run("run::cuda::child_maps");
    let steps = printed.iter().filter_map(|line| match line {
        map if map.starts_with("tensor map") => {
            map.split_once(" dims ").map(|(_, dims)| format!("map {dims}"))
        }
        passed if passed.starts_with("params") => Some(passed.clone()),
        _ => None,
    });
    let map = |rows| format!("map 64,{rows} stride 128 box 64,64 steps 1,1 modes 0,3,2,0");
    let params = |n| format!("params n={n} map=7..7");
    assert_eq!(
        steps.collect::<Vec<_>>(),
        [map(64), params(64), params(64), map(64), params(64), map(32), params(32), params(64)]
    );
}

#[test]
#[ignore = "run by tensor_maps_are_encoded_once"]
fn child_maps() {
    let Some(gpu) = fake_gpu() else { return };
    let stream = gpu.stream();
    let kernel = gpu.load(&first_tile().expect("it builds")).expect("loaded");
    let [x, other] = [(); 2].map(|()| stream.alloc_zeros::<u16>(64 * 64).expect("allocated"));
    let mut y = stream.alloc_zeros::<f32>(64 * 64).expect("allocated");
    for (x, n) in [(&x, 64), (&x, 64), (&other, 64), (&x, 32), (&x, 64)] {
        kernel.launch(&stream, (x, &mut y, n)).expect("launched");
    }
}

/// `(x, y, n)` of [`first_tile`].
type FirstTileArgs = (In<bf16>, Out<f32>, u32);

/// Loads the first tile of X, of n rows, through a tensor map.
fn first_tile() -> Result<Kernel<FirstTileArgs>, warpwright::ptx::BuildError> {
    Kernel::<(In<bf16>, Out<f32>, u32)>::build("kernel(x, y, n)", Target::SM_90A, |k, (x, y, n)| {
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

/// A graph would repeat the launch when its buffers are no longer borrowed.
#[test]
fn launches_are_captured_only_if_allowed() {
    let Some(printed) = run("child_captured", &["CAPTURING=1"]) else { return };
    let refused = "kernel `kernel`: expected a stream that is not being captured, found one that is captured into a graph, which does not keep the buffers: see `Gpu::allow_captures`";
    let launched = "launch grid 2,1,1 block 32,1,1 shared 0";
    assert_eq!(printed.lines().collect::<Vec<_>>(), [refused, refused, launched]);
}

#[test]
#[ignore = "run by launches_are_captured_only_if_allowed"]
fn child_captured() {
    let Some(gpu) = fake_gpu() else { return };
    let stream = gpu.stream();
    let kernel = gpu.load(&double(Target::SM_80).expect("it builds")).expect("loaded");
    let x = stream.alloc_zeros::<f32>(33).expect("allocated");
    let mut y = stream.alloc_zeros::<f32>(33).expect("allocated");
    println!("{}", kernel.launch(&stream, (&x, &mut y, 33)).expect_err("rejected"));
    let prepared = kernel.prepare(&stream, (&x, &mut y, 33), |launch| launch.launch()).expect("prepared");
    println!("{}", prepared.expect_err("rejected"));
    // SAFETY: nothing is captured.
    unsafe { gpu.clone().allow_captures() };
    kernel.launch(&stream, (&x, &mut y, 33)).expect("launched");
}

#[test]
fn a_refused_kernel_names_the_rust_line() {
    let bad = bad().expect("it builds");
    let text = bad.ptx_with_lines();
    let line = text.lines().position(|line| line.contains("mul.")).expect("the product") + 1;
    let Some(printed) = run("child_refused", &[&format!("BAD_LINE={line}")]) else { return };
    let (file, ptx) = (file!(), text.lines().nth(line - 1).expect("a line").trim());
    let store = text.lines().nth(line + 1).expect("a line").trim();
    let (mul, st) = (BAD_LINE, BAD_LINE + 1);
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines[0], "kernel `kernel`: the driver rejected the PTX: CUDA_ERROR_INVALID_PTX (218)");
    let begins = |line: &str, place: &str| assert!(line.starts_with(&format!("  {file}:{place}:")), "{line}");
    begins(lines[1], &mul.to_string());
    assert!(
        lines[1]
            .ends_with(&format!("error: Arguments mismatch for instruction 'add' in PTX line {line}: {ptx}"))
    );
    begins(lines[2], &st.to_string());
    assert!(lines[2].ends_with(&format!("error: Unknown symbol '%r9' in PTX line {}: {store}", line + 2)));
    assert_eq!(lines[3..], ["  fatal: Ptx assembly aborted due to errors"]);
}

/// The line of the product in [`bad`]; the store is on the next.
const BAD_LINE: u32 = line!() + 6;

fn bad() -> Result<Kernel<Double>, warpwright::ptx::BuildError> {
    Kernel::<Double>::build("kernel(x, y, n)", Target::SM_80, |k, (x, y, _)| {
        let x = unsafe { x.load() };
        k.comment("BAD");
        let product = x * x;
        unsafe { y.store(product) };
    })
}

#[test]
#[ignore = "run by a_refused_kernel_names_the_rust_line"]
fn child_refused() {
    let Some(gpu) = fake_gpu() else { return };
    println!("{}", gpu.load(&bad().expect("it builds")).expect_err("refused"));
}

/// The note about an instruction is followed to the Rust line that emitted it.
#[test]
fn a_kernel_that_is_compiled_to_slow_code_is_refused() {
    let slow = slow().expect("it builds");
    let text = slow.ptx_with_lines();
    let line = text.lines().position(|line| line.contains("mul.")).expect("the product") + 1;
    let Some(printed) = run("child_slow", &[&format!("BAD_LINE={line}")]) else { return };
    let lines: Vec<&str> = printed.lines().collect();
    let expected = "kernel `kernel`: expected `wgmma` and `setmaxnreg` to be compiled as written, found";
    assert_eq!((lines.len(), lines[0]), (3, expected));
    assert!(lines[1].starts_with("  info: (C7508) "), "{}", lines[1]);
    let (file, ptx) = (file!(), text.lines().nth(line - 1).expect("a line").trim());
    assert!(lines[2].starts_with(&format!("  {file}:{SLOW_LINE}:")), "{}", lines[2]);
    assert!(lines[2].ends_with(&format!("in function 'kernel' in PTX line {line}: {ptx}")), "{}", lines[2]);
}

/// The line of the product in [`slow`].
const SLOW_LINE: u32 = line!() + 6;

fn slow() -> Result<Kernel<Double>, warpwright::ptx::BuildError> {
    Kernel::<Double>::build("kernel(x, y, n)", Target::SM_80, |k, (x, y, _)| {
        let x = unsafe { x.load() };
        k.comment("SLOW");
        let product = x * x;
        unsafe { y.store(product) };
    })
}

#[test]
#[ignore = "run by a_kernel_that_is_compiled_to_slow_code_is_refused"]
fn child_slow() {
    let Some(gpu) = fake_gpu() else { return };
    println!("{}", gpu.load(&slow().expect("it builds")).expect_err("compiled to slow code"));
}

#[test]
fn a_gpu_is_a_device() {
    let Some(printed) = run("child_device", &[]) else { return };
    assert_eq!(
        printed,
        "Fake GPU: Fake GPU (sm_90, 132 SMs, 3.0 GiB, driver for CUDA 13.0)
launch grid 1,1,1 block 32,1,1 shared 0
[2.0, 4.0] NaN
250µs, loaded anew: true, 10 registers
launch grid 1,1,1 block 32,1,1 shared 0
loaded anew: false
[]
kernel `kernel`: parameter `x`: expected a buffer on this device (Fake GPU), found one on another device
expected a buffer on this device (Fake GPU), found one on another device
expected a buffer on this device (simulator), found one on another device"
    );
}

#[test]
#[ignore = "run by a_gpu_is_a_device"]
fn child_device() {
    let Some(gpu) = fake_gpu() else { return };
    let device = GpuDevice::from(gpu);
    println!("{}: {}", device.name(), device.describe());
    let kernel = double(Target::SM_80).expect("it builds");
    let x = device.upload(&[1.0f32, 2.0]).expect("room");
    let mut y = device.output(3).expect("room");
    let launched = device.launch(&kernel, (&x, &mut y, 2)).expect("it runs");
    let back: Vec<f32> = device.download(&y).expect("copied");
    println!("{:?} {}", &back[..2], back[2]);
    let Details::Compiled(attributes) = &launched.details else { panic!("{launched:?}") };
    let anew = !launched.load_time.is_zero();
    println!("{:?}, loaded anew: {anew}, {} registers", launched.time, attributes.registers);
    let again = device.launch(&kernel, (&x, &mut y, 2)).expect("it runs");
    println!("loaded anew: {}", !again.load_time.is_zero());

    let empty = device.upload::<u8>(&[]).expect("room");
    println!("{:?}", device.download(&empty).expect("copied"));
    device.launch(&kernel, (&x, &mut y, 0)).expect("nothing to do");

    let simulator = Simulator::new();
    let elsewhere = simulator.upload(&[1.0f32]).expect("room");
    println!("{}", device.launch(&kernel, (&elsewhere, &mut y, 1)).expect_err("refused"));
    println!("{}", device.download(&elsewhere).expect_err("refused"));
    println!("{}", simulator.download(&y).expect_err("refused"));
}

/// The line table is part of the machine code unless the caller disables it.
#[test]
fn source_lines_are_kept() {
    let macros = ["MAP=0"];
    let Some(stand_in) = StandIn::build(&macros) else { return };
    let printed = stand_in.run("run::cuda::child_lines");
    assert_eq!(printed, ["jit line info 1", "unload ok", "jit max registers 40", "unload ok"]);
}

#[test]
#[ignore = "run by source_lines_are_kept"]
fn child_lines() {
    let Some(gpu) = fake_gpu() else { return };
    let kernel = double(Target::SM_80).expect("it builds");
    drop(gpu.load(&kernel).expect("loaded"));
    let options = LoadOptions { max_registers: Some(40), ..LoadOptions::default() };
    drop(gpu.load_with(&kernel, &options).expect("loaded"));
}

#[test]
fn a_device_too_old_for_the_kernel_is_named() {
    let Some(printed) = run("child_too_old", &["CAPABILITY=7"]) else { return };
    assert_eq!(printed, "kernel `kernel`: expected a target that Fake GPU (sm_70) can run, found sm_80");
}

#[test]
#[ignore = "run by a_device_too_old_for_the_kernel_is_named"]
fn child_too_old() {
    let Some(gpu) = fake_gpu() else { return };
    println!("{}", gpu.load(&double(Target::SM_80).expect("it builds")).expect_err("refused"));
}

#[test]
fn raw_words_hold_elements() {
    fn holds<U: StorageFor<T>, T>() {}
    holds::<u16, bf16>();
    holds::<u16, f16>();
    holds::<u16, B16>();
    holds::<half::bf16, bf16>();
    holds::<f32, f32>();
    holds::<u32, bf16x2>();
    holds::<u8, e4m3>();
    holds::<u8, e5m2>();
    holds::<u8, e3m2>();
    holds::<u8, e2m3>();
    holds::<f32, tf32>();
    holds::<u32, tf32>();
}
