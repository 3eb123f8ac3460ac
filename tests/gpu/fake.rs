//! The path from probe to launch on the stand-in driver. cudarc opens it too, so each test runs in its own process, which
//! prints its results between the driver's messages.
#![allow(unsafe_code, reason = "launches")]

use super::stand_in::{StandIn, is_child};
use pretty_assertions::assert_eq;
use warpwright::gpu::*;

/// Runs the ignored test of this name on a fake driver built with these macros.
fn run(test: &str, macros: &[&str]) -> Option<String> {
    Some(StandIn::build(macros)?.run(&format!("gpu::fake::{test}")).join("\n"))
}

/// `None` in a run that includes ignored tests but has no stand-in.
fn fake_gpu() -> Option<Gpu> {
    is_child().then(|| Gpu::new(0).expect("the stand-in works"))
}

#[test]
fn nothing_panics_on_a_useless_driver() {
    let cases: [(&[&str], &str); 4] = [
        (&["STUB"], "libcuda.so is not a working NVIDIA driver: it has no symbol `cuInit`"),
        (&["cuMemAllocAsync=absent"], "it has no symbol `cuMemAllocAsync`"),
        (&["INIT=100"], "the NVIDIA driver (CUDA 13.0) finds no device"),
        (&["VERSION=11080"], "expected an NVIDIA driver that supports CUDA 12.0 or later, found CUDA 11.8"),
    ];
    for (macros, expected) in cases {
        let Some(printed) = run("child_useless", macros) else { return };
        assert!(printed.lines().count() == 2 && printed.lines().all(|l| l.ends_with(expected)), "{printed}");
    }
}

#[test]
#[ignore = "run by nothing_panics_on_a_useless_driver"]
fn child_useless() {
    if is_child() {
        println!("{}", probe().expect_err("useless"));
        println!("{}", Gpu::new(0).expect_err("useless"));
    }
}

/// Without the fake driver: nothing panics on this machine, whatever driver it has.
#[test]
fn nothing_panics_on_this_machine() {
    let printed = super::stand_in::run_in("", "gpu::fake::child_this_machine");
    assert_eq!(printed.len(), 2, "{printed:?}");
}

#[test]
#[ignore = "run by nothing_panics_on_this_machine"]
fn child_this_machine() {
    if is_child() {
        println!("{:?}", probe().map_err(|why| why.to_string()));
        println!("{:?}", Gpu::new(0).map(|gpu| gpu.properties().to_string()).map_err(|why| why.to_string()));
    }
}

#[test]
fn properties_and_errors() {
    let Some(printed) = run("child_properties_and_errors", &[]) else { return };
    assert_eq!(
        printed,
        "Fake GPU (sm_90, 132 SMs, 3.0 GiB, driver for CUDA 13.0)
expected a device ordinal below 1, found 1
the module has no kernel named `kernal`
the module has no kernel named `ker\0nel`
the module has no global named `tabel`
(4096, 64)
unload ok"
    );
}

#[test]
#[ignore = "run by properties_and_errors"]
fn child_properties_and_errors() {
    let Some(gpu) = fake_gpu() else { return };
    println!("{}", gpu.properties());
    println!("{}", Gpu::new(1).expect_err("one device"));
    let module = Module::load(&gpu, "").expect("the stand-in takes anything");
    println!("{}", module.function("kernal").expect_err("no such kernel"));
    println!("{}", module.function("ker\0nel").expect_err("no such kernel"));
    println!("{}", module.global("tabel").expect_err("no such global"));
    println!("{:?}", module.global("table").expect("it exists"));
}

#[test]
fn load() {
    let Some(printed) = run("child_load", &[]) else { return };
    assert_eq!(
        printed,
        "the driver rejected the PTX: CUDA_ERROR_INVALID_PTX (218)
  line 7: error: Arguments mismatch for instruction 'add'
  line 9: error: Unknown symbol '%r9'
  fatal: Ptx assembly aborted due to errors
[Some(7), Some(9), None]
PTX line 2: expected text without NUL bytes, found one at byte 3 of the text
8.5 ms: 10 registers, 2048 bytes shared, 8 + 12 bytes spilled
jit line info 1
jit max registers 96
jit optimization 2
unload ok
FunctionAttributes { registers: 10, local_bytes: 16, shared_bytes: 2048, constant_bytes: 0, \
max_threads: 512, ptx_version: 80, binary_version: 90, required_cluster: None }
[8, 8, 4, 128]
unload ok"
    );
}

#[test]
#[ignore = "run by load"]
fn child_load() {
    let Some(gpu) = fake_gpu() else { return };
    let error = Module::load(&gpu, "BAD").expect_err("refused");
    println!("{error}");
    println!("{:?}", error.messages().iter().map(|m| m.line).collect::<Vec<_>>());
    println!("{}", Module::load(&gpu, "ab\n\0").expect_err("refused"));

    let module = Module::load(&gpu, "good").expect("taken");
    let info = module.info();
    let kernel = info.kernel("kernel").expect("the log has it");
    println!(
        "{} ms: {} registers, {} bytes shared, {} + {} bytes spilled",
        info.wall_ms,
        kernel.registers,
        kernel.shared_bytes,
        kernel.spill_store_bytes,
        kernel.spill_load_bytes
    );
    let options = LoadOptions {
        line_info: true,
        max_registers: Some(96),
        optimization: Some(2),
        ..LoadOptions::default()
    };
    drop(Module::load_with(&gpu, "good", &options).expect("taken"));

    let function = module.function("kernel").expect("it exists");
    drop(module);
    println!("{:?}", function.attributes());
    let sizes = function.parameters().expect("the stand-in tells").iter().map(|p| p.size);
    println!("{:?}", sizes.collect::<Vec<_>>());
    // A separate thread has no current context.
    std::thread::spawn(|| drop(function)).join().expect("dropped");
}

/// The module is unloaded when loading fails because of the compiler's log, and may be loaded nevertheless.
#[test]
fn advisories() {
    let Some(printed) = run("child_advisories", &[]) else { return };
    assert_eq!(
        printed,
        "unload ok
kernel `kernel`: expected `wgmma` and `setmaxnreg` to be compiled as written, found
  info: (C7508) Potential Performance Loss: 'setmaxnreg' ignored; unable to determine register count at entry.
  line 7: info: (C7517) warpgroup.wait is injected in around line 7 by compiler to allow use of registers defined by GMMA in function 'kernel'
[None, Some(\"kernel\")]
2 advisories
unload ok"
    );
}

#[test]
#[ignore = "run by advisories"]
fn child_advisories() {
    let Some(gpu) = fake_gpu() else { return };
    let error = Module::load(&gpu, "SLOW").expect_err("compiled to slow code");
    println!("{error}");
    println!("{:?}", error.messages().iter().map(JitMessage::kernel).collect::<Vec<_>>());
    let options = LoadOptions { allow_advisories: true, ..LoadOptions::default() };
    let module = Module::load_with(&gpu, "SLOW", &options).expect("allowed");
    println!("{} advisories", module.info().hopper_advisories().count());
}

#[test]
fn launch() {
    let Some(printed) = run("child_launch", &[]) else { return };
    assert_eq!(
        printed,
        "launch grid 4,2,1 block 32,1,1 shared 100
params n=3 map=9..9
[2.0, 4.0, 6.0]
launch grid 4,2,1 block 32,1,1 shared 47104
params n=3 map=9..9
set attribute 8 to 47105
launch grid 4,2,1 block 32,1,1 shared 47105
params n=3 map=9..9
launch grid 4,2,1 block 32,1,1 shared 47105
params n=3 map=9..9
launch grid 4,2,1 block 32,1,1 shared 0
attribute 4: 2,2,1
attribute 2: 1,0,0
params n=3 map=9..9
set attribute 14 to 1
launch grid 16,2,1 block 32,1,1 shared 0
attribute 4: 16,1,1
params n=3 map=9..9
set attribute 8 to 200000
occupancy with 200000 bytes
16
33
kernel `kernel`: expected 4 arguments, found 3
kernel `kernel`, argument 2: expected 4 bytes, found 8
unload ok"
    );
}

#[test]
#[ignore = "run by launch"]
fn child_launch() {
    let Some(gpu) = fake_gpu() else { return };
    let stream = gpu.stream();
    let function = Module::load(&gpu, "").expect("taken").function("kernel").expect("it exists");
    let input = stream.clone_htod(&[1f32, 2.0, 3.0]).expect("copied");
    let mut output = stream.alloc_zeros::<f32>(3).expect("allocated");
    let map = [9u8; 128];

    let plain = LaunchConfig::new([4, 2, 1], [32, 1, 1]);
    let mut go = |config: &LaunchConfig| {
        let mut args = Args::new(&stream);
        args.read(&input).write(&mut output).value(3i32).bytes(&map);
        // SAFETY: these are the stand-in kernel's parameters.
        unsafe { function.launch(config, args) }.expect("launched");
        stream.clone_dtoh(&output).expect("copied")
    };
    println!("{:?}", go(&plain.dynamic_shared(100)));
    // 48 KiB less the kernel's own 2 KiB need no opting in; one byte more does, once.
    go(&plain.dynamic_shared(46 << 10));
    go(&plain.dynamic_shared((46 << 10) + 1));
    go(&plain.dynamic_shared((46 << 10) + 1));
    go(&plain.cluster([2, 2, 1]).cooperative());
    go(&LaunchConfig::new([16, 2, 1], [32, 1, 1]).cluster([16, 1, 1]));
    println!("{}", function.blocks_per_multiprocessor(128, 200_000).expect("told"));
    println!("{}", function.active_clusters(&plain.cluster([2, 1, 1])).expect("told"));

    let refused = |args: Args<'_>| {
        // SAFETY: refused before it reaches the driver.
        println!("{}", unsafe { function.launch(&plain, args) }.expect_err("refused"));
    };
    let mut args = Args::new(&stream);
    args.value(0u64).value(0u64).value(3i32);
    refused(args);
    let mut args = Args::new(&stream);
    args.value(0u64).value(0u64).value(3i64).bytes(&map);
    refused(args);
}

#[test]
fn parameters_are_unknown_before_cuda_12_4() {
    let Some(printed) = run("child_old_parameters", &["cuFuncGetParamInfo=absent"]) else { return };
    assert_eq!(printed, "None\nunload ok");
}

#[test]
#[ignore = "run by parameters_are_unknown_before_cuda_12_4"]
fn child_old_parameters() {
    let Some(gpu) = fake_gpu() else { return };
    let function = Module::load(&gpu, "").expect("taken").function("kernel").expect("it exists");
    println!("{:?}", function.parameters());
}

/// With two streams, cudarc orders them through each buffer's events: two per buffer, made at allocation, in the
/// order read, write.
#[test]
fn reads_and_writes_are_tracked() {
    let Some(printed) = run("child_tracking", &[]) else { return };
    let (_, launch) = printed.split_once("now\n").expect("printed by the child");
    let (launch, _) = launch.split_once("\ndone").expect("printed by the child");
    assert_eq!(
        launch,
        "wait for event 1
wait for event 2
wait for event 3
launch grid 1,1,1 block 1,1,1 shared 0
params n=2 map=9..9
record event 0
record event 3"
    );
}

#[test]
#[ignore = "run by reads_and_writes_are_tracked"]
fn child_tracking() {
    let Some(gpu) = fake_gpu() else { return };
    let (first, second) = (gpu.context().new_stream(), gpu.context().new_stream());
    let (first, second) = (first.expect("created"), second.expect("created"));
    let function = Module::load(&gpu, "").expect("taken").function("kernel").expect("it exists");
    let input = first.clone_htod(&[1f32, 2.0]).expect("copied");
    let mut output = first.alloc_zeros::<f32>(2).expect("allocated");
    let mut args = Args::new(&second);
    println!("now");
    let map = [9u8; 128];
    args.read(&input).write(&mut output).value(2i32).bytes(&map);
    // SAFETY: these are the stand-in kernel's parameters.
    unsafe { function.launch(&LaunchConfig::new([1; 3], [1; 3]), args) }.expect("launched");
    println!("done");
}

#[test]
fn timing() {
    for macros in [[].as_slice(), &["cuEventElapsedTime=cuEventElapsedTime_v2"]] {
        let Some(printed) = run("child_timing", macros) else { return };
        let lines: Vec<_> = printed.lines().filter(|line| !line.starts_with("record")).collect();
        let works = ["work 0", "work 1", "work 2", "work 3", "work 4"];
        assert_eq!(lines[..5], works);
        assert_eq!(lines[5..], ["[250.0, 250.0, 250.0]", "stop at 1"]);
        assert_eq!(printed.matches("record event").count(), 6 + 1);
    }
}

#[test]
#[ignore = "run by timing"]
fn child_timing() {
    let Some(gpu) = fake_gpu() else { return };
    let stream = gpu.stream();
    let timings = time(&stream, 2, 3, |i| {
        println!("work {i}");
        Ok::<_, GpuError>(())
    });
    println!("{:?}", timings.expect("timed").micros());

    #[derive(Debug)]
    struct Stop(usize);
    impl From<GpuError> for Stop {
        fn from(error: GpuError) -> Self {
            panic!("{error}")
        }
    }
    let stopped = time(&stream, 1, 2, |i| if i == 1 { Err(Stop(i)) } else { Ok(()) });
    println!("stop at {}", stopped.expect_err("stopped").0);
}

#[test]
fn tensor_maps() {
    let Some(printed) = run("child_tensor_map", &[]) else { return };
    assert_eq!(
        printed,
        "tensor map type 9 rank 2 address 4096 dims 100,50 stride 208 box 64,32 steps 1,1 modes 0,3,2,0
[7, 7]
im2col map type 9 rank 3 address 4096 dims 64,50,4 stride 128,6400 corners -1,2 channels 32 pixels 100 steps 1,1 modes 0,3,2,0
[9, 9]"
    );
    let Some(printed) = run("child_tensor_map", &["CAPABILITY=8"]) else { return };
    assert_eq!(printed, "expected a device of compute capability 9.0 or later for tensor maps, found 8.0");
}

#[test]
#[ignore = "run by tensor_maps"]
fn child_tensor_map() {
    let Some(gpu) = fake_gpu() else { return };
    match TensorMap::encode(&gpu, &super::tensor_map::matrix()) {
        Ok(map) => println!("{:?}", [map.as_bytes()[0], map.as_bytes()[127]]),
        Err(error) => return println!("{error}"),
    }
    let map = TensorMap::encode_im2col(&gpu, &super::tensor_map::images()).expect("every rule is kept");
    println!("{:?}", [map.as_bytes()[0], map.as_bytes()[127]]);
}
