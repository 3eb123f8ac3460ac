//! Tests on a GPU; skipped with a message if none is available.
#![allow(unsafe_code, reason = "launches")]

use crate::require;
use pretty_assertions::assert_eq;
use warpwright::gpu::*;

/// `out[i] = factor · in[i]` for `i < n`, by way of static shared memory; and an integer global.
pub(super) const SCALE: &str = "
.version 8.0
.target sm_80
.address_size 64

.visible .global .align 4 .b32 answer = 42;

.visible .entry scale(
    .param .u64 out, .param .u64 in, .param .f32 factor, .param .u32 n
)
.maxntid 128, 1, 1
{
    .shared .align 4 .b8 staged[512];
    .reg .pred %p<2>;
    .reg .b32 %r<9>;
    .reg .f32 %f<4>;
    .reg .b64 %rd<6>;

    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    ld.param.u32 %r5, [n];
    setp.ge.u32 %p1, %r4, %r5;
    @%p1 bra done;
    ld.param.u64 %rd1, [in];
    mul.wide.u32 %rd2, %r4, 4;
    add.u64 %rd3, %rd1, %rd2;
    ld.global.f32 %f1, [%rd3];
    shl.b32 %r6, %r3, 2;
    mov.u32 %r7, staged;
    add.u32 %r8, %r7, %r6;
    st.volatile.shared.f32 [%r8], %f1;
    ld.volatile.shared.f32 %f2, [%r8];
    ld.param.f32 %f3, [factor];
    mul.f32 %f2, %f2, %f3;
    ld.param.u64 %rd4, [out];
    add.u64 %rd5, %rd4, %rd2;
    st.global.f32 [%rd5], %f2;
done:
    ret;
}
";

/// The text with one wrong instruction, and its line.
pub(super) fn broken() -> (String, u32) {
    let text = SCALE.replace("shl.b32 %r6", "frobnicate.b32 %r6");
    let line = text.lines().position(|line| line.contains("frobnicate")).expect("it was put there");
    (text, line as u32 + 1)
}

/// Each block writes `1000·(rank in cluster) + (blocks in cluster)`, then the last 32-bit word of its dynamic shared
/// memory, which thread 0 set to the block's number.
pub(super) const SHAPE: &str = "
.version 8.0
.target sm_90
.address_size 64

.extern .shared .align 16 .b8 dynamic[];

.visible .entry shape(.param .u64 out, .param .u32 last)
{
    .reg .b32 %r<8>;
    .reg .b64 %rd<5>;

    mov.u32 %r1, %cluster_ctarank;
    mov.u32 %r2, %cluster_nctarank;
    mad.lo.u32 %r3, %r1, 1000, %r2;
    mov.u32 %r4, %ctaid.x;
    ld.param.u32 %r5, [last];
    mov.u32 %r6, dynamic;
    add.u32 %r6, %r6, %r5;
    st.volatile.shared.u32 [%r6], %r4;
    bar.warp.sync 0xffffffff;
    ld.volatile.shared.u32 %r7, [%r6];
    ld.param.u64 %rd1, [out];
    mul.wide.u32 %rd2, %r4, 8;
    add.u64 %rd3, %rd1, %rd2;
    st.global.v2.u32 [%rd3], {%r3, %r7};
    ret;
}
";

#[test]
fn facts() {
    let Some(gpu) = require::gpu() else { return };
    let facts = gpu.properties();
    println!("{facts}");
    assert!(!facts.name.is_empty() && facts.capability.0 >= 5 && facts.multiprocessors > 0);
    assert!(facts.shared_bytes_per_block_opt_in >= facts.shared_bytes_per_block);
    assert!(facts.max_threads_per_block >= 512 && facts.memory_bytes > 1 << 28);
    let (free, total) = gpu.memory().expect("told");
    assert!(free <= total);
}

#[test]
fn load_launch_and_read_back() {
    let Some(gpu) = require::gpu() else { return };
    let module = Module::load(&gpu, SCALE).expect("valid PTX");
    let info = module.info();
    println!("{} ms\n{}", info.wall_ms, info.log);
    assert_eq!(info.warnings().next(), None);
    let function = module.function("scale").expect("it exists");
    let attributes = function.attributes();
    println!("{attributes:?}");
    assert_eq!((attributes.shared_bytes, attributes.max_threads, attributes.ptx_version), (512, 128, 80));
    if let Some(kernel) = info.kernel("scale") {
        assert_eq!((kernel.registers, kernel.shared_bytes), (attributes.registers, 512));
    }
    if let Some(parameters) = function.parameters() {
        assert_eq!(parameters.iter().map(|p| p.size).collect::<Vec<_>>(), [8, 8, 4, 4]);
    }
    assert!(function.blocks_per_multiprocessor(128, 0).expect("told") >= 1);

    let stream = gpu.stream();
    let host: Vec<f32> = (0..1000u16).map(f32::from).collect();
    let input = stream.clone_htod(&host).expect("copied");
    let mut output = stream.alloc_zeros::<f32>(1000).expect("allocated");
    let mut args = Args::new(&stream);
    args.write(&mut output).read(&input).value(3f32).value(900u32);
    // SAFETY: these are the kernel's parameters, and both buffers hold more than 900 elements.
    unsafe { function.launch(&LaunchConfig::new([8, 1, 1], [128, 1, 1]), args) }.expect("launched");
    let back = stream.clone_dtoh(&output).expect("copied");
    let expected: Vec<f32> = host.iter().map(|&x| if x < 900.0 { 3.0 * x } else { 0.0 }).collect();
    assert_eq!(back, expected);
}

#[test]
fn clusters_at_the_same_time() {
    let Some(gpu) = require::gpu() else { return };
    let all = gpu.properties().multiprocessors;
    assert_eq!(gpu.resident_clusters(1).expect("counted"), all);
    let mut fewer = all;
    for size in [2, 4, 8] {
        let clusters = gpu.resident_clusters(size).expect("counted");
        if gpu.properties().capability < (9, 0) {
            assert_eq!(clusters, 0);
            continue;
        }
        assert!((1..=all / size).contains(&clusters) && clusters <= fewer, "{clusters} clusters of {size}");
        assert_eq!(gpu.resident_clusters(size).expect("known"), clusters);
        fewer = clusters;
    }
}

#[test]
fn views_on_two_streams() {
    let Some(gpu) = require::gpu() else { return };
    let function = Module::load(&gpu, SCALE).expect("valid PTX").function("scale").expect("it exists");
    let (one, two) = (gpu.context().new_stream(), gpu.context().new_stream());
    let (one, two) = (one.expect("created"), two.expect("created"));
    let n = 1 << 20;
    let mut a = one.clone_htod(&vec![1f32; n]).expect("copied");
    let mut b = one.alloc_zeros::<f32>(n).expect("allocated");
    let config = LaunchConfig::new([n as u32 / 256, 1, 1], [128, 1, 1]);
    // Alternates between the streams, half a buffer at a time: correct only if each launch waits for the previous one.
    for _ in 0..10 {
        let (from, mut to) = (a.slice(..n / 2), b.slice_mut(..n / 2));
        let mut args = Args::new(&one);
        args.write(&mut to).read(&from).value(2f32).value(n as u32 / 2);
        // SAFETY: these are the kernel's parameters, and both views hold n/2 elements.
        unsafe { function.launch(&config, args) }.expect("launched");
        let mut args = Args::new(&two);
        args.write(&mut a).read(&b).value(1f32).value(n as u32 / 2);
        // SAFETY: these are the kernel's parameters, and both buffers hold n elements.
        unsafe { function.launch(&config, args) }.expect("launched");
    }
    let back = one.clone_dtoh(&a).expect("copied");
    assert!(back[..n / 2].iter().all(|&x| x == 1024.0) && back[n / 2..].iter().all(|&x| x == 1.0));
}

#[test]
fn errors_of_ptx_name_the_line() {
    let Some(gpu) = require::gpu() else { return };
    let (text, line) = broken();
    let error = Module::load(&gpu, &text).expect_err("the instruction does not exist");
    println!("{error}");
    assert_eq!(error.messages()[0].line, Some(line));
    assert!(error.messages()[0].text.contains("frobnicate"), "{error}");
    let LoadError::Rejected { code, .. } = error else { panic!("{error}") };
    assert_eq!(code, CudaCode::INVALID_PTX);
}

#[test]
fn symbols_of_a_module() {
    let Some(gpu) = require::gpu() else { return };
    let module = Module::load(&gpu, SCALE).expect("valid PTX");
    assert_eq!(module.global("answer").expect("it exists").1, 4);
    assert!(matches!(module.global("question"), Err(GpuError::NoSuchGlobal { .. })));
    assert!(matches!(module.function("scala"), Err(GpuError::NoSuchFunction { .. })));
}

#[test]
fn wrong_arguments_are_refused() {
    let Some(gpu) = require::gpu() else { return };
    let function = Module::load(&gpu, SCALE).expect("valid PTX").function("scale").expect("it exists");
    if function.parameters().is_none() {
        require::skip("gpu", "its driver predates CUDA 12.4 and cannot tell a kernel's parameters");
        return;
    }
    let stream = gpu.stream();
    let config = LaunchConfig::new([1, 1, 1], [128, 1, 1]);
    let mut args = Args::new(&stream);
    args.value(0u64).value(0u64).value(1f32);
    // SAFETY: refused before it reaches the driver.
    let few = unsafe { function.launch(&config, args) };
    assert!(matches!(few, Err(LaunchError::ParameterCount { expected: 4, found: 3, .. })), "{few:?}");
    let mut args = Args::new(&stream);
    args.value(0u64).value(0u64).value(1f64).value(0u32);
    // SAFETY: refused before it reaches the driver.
    let wide = unsafe { function.launch(&config, args) };
    assert!(
        matches!(wide, Err(LaunchError::ParameterSize { index: 2, expected: 4, found: 8, .. })),
        "{wide:?}"
    );
    let args = Args::new(&stream);
    // SAFETY: refused before it reaches the driver.
    let large = unsafe { function.launch(&LaunchConfig::new([1; 3], [129, 1, 1]), args) };
    assert!(matches!(large, Err(LaunchError::TooManyThreads { limit: 128, .. })), "{large:?}");
}

#[test]
fn clusters_and_large_shared_memory() {
    let Some(gpu) = require::gpu() else { return };
    if gpu.properties().capability < (9, 0) {
        require::skip("hopper", "clusters need compute capability 9.0");
        return;
    }
    let function = Module::load(&gpu, SHAPE).expect("valid PTX").function("shape").expect("it exists");
    let stream = gpu.stream();
    let most = gpu.properties().shared_bytes_per_block_opt_in;
    for (cluster, shared) in [(None, 16), (Some(2), 49 << 10), (Some(8), most), (Some(16), 1 << 10)] {
        let mut config = LaunchConfig::new([16, 1, 1], [32, 1, 1]).dynamic_shared(shared);
        if let Some(blocks) = cluster {
            config = config.cluster([blocks, 1, 1]);
            assert!(function.active_clusters(&config).expect("told") >= 1);
        }
        let mut output = stream.alloc_zeros::<u32>(32).expect("allocated");
        let mut args = Args::new(&stream);
        args.write(&mut output).value(shared - 4);
        // SAFETY: these are the kernel's parameters; it writes 16 pairs and the last word of its shared memory.
        unsafe { function.launch(&config, args) }.expect("launched");
        let blocks = cluster.unwrap_or(1);
        let expected = (0..16).flat_map(|block| [block % blocks * 1000 + blocks, block]);
        assert_eq!(stream.clone_dtoh(&output).expect("copied"), expected.collect::<Vec<_>>());
    }
}

#[test]
fn timing() {
    let Some(gpu) = require::gpu() else { return };
    let function = Module::load(&gpu, SCALE).expect("valid PTX").function("scale").expect("it exists");
    let stream = gpu.context().new_stream().expect("created");
    // Few enough that a simulated device is fast too.
    let n = 1 << 16;
    let input = stream.alloc_zeros::<f32>(n).expect("allocated");
    let mut output = stream.alloc_zeros::<f32>(n).expect("allocated");
    let config = LaunchConfig::new([n as u32 / 128, 1, 1], [128, 1, 1]);
    let timings = time(&stream, 3, 10, |_| {
        let mut args = Args::new(&stream);
        args.write(&mut output).read(&input).value(3f32).value(n as u32);
        // SAFETY: these are the kernel's parameters, and both buffers hold n elements.
        unsafe { function.launch(&config, args) }.map_err(Failure::Launch)
    });
    let timings = timings.expect("timed");
    println!("{n} elements: {:.1} µs ({:.1} to {:.1})", timings.median(), timings.min(), timings.max());
    assert_eq!(timings.micros().len(), 10);
    assert!(timings.min() > 1.0 && timings.median() < 1e6, "{timings:?}");
}

/// An example of a caller's own error type.
#[derive(Debug)]
#[allow(dead_code, reason = "printed when the test fails")]
enum Failure {
    Gpu(GpuError),
    Launch(LaunchError),
}

impl From<GpuError> for Failure {
    fn from(error: GpuError) -> Self {
        Self::Gpu(error)
    }
}

#[test]
fn tensor_map() {
    let Some(gpu) = require::gpu() else { return };
    if gpu.properties().capability < (9, 0) {
        require::skip("hopper", "tensor maps need compute capability 9.0");
        return;
    }
    let buffer = gpu.stream().alloc_zeros::<u16>(104 * 50).expect("allocated");
    let stream = gpu.stream();
    let (address, _guard) = cudarc::driver::DevicePtr::device_ptr(&buffer, &stream);
    let matrix = TiledTensor { address, ..super::tensor_map::matrix() };
    let map = TensorMap::encode(&gpu, &matrix).expect("every rule is kept");
    assert_ne!(map.as_bytes(), &[0; 128]);
    // The driver accepts maps at the limit of each rule.
    for change in super::tensor_map::ALLOWED {
        let mut edge = matrix.clone();
        change(&mut edge);
        TensorMap::encode(&gpu, &edge).unwrap_or_else(|error| panic!("{error}: {edge:?}"));
    }
    let mut images = super::tensor_map::images();
    images.tensor.address = address;
    let map = TensorMap::encode_im2col(&gpu, &images).unwrap_or_else(|error| panic!("{error}: {images:?}"));
    assert_ne!(map.as_bytes(), &[0; 128]);
}
