//! Tests on a GPU; skipped with a message if none is available.
#![allow(unsafe_code, reason = "a tensor map that the application encodes")]

use super::kernels::double;
use crate::require;
use pretty_assertions::assert_eq;
use warpwright::{
    gpu::{self, ElementType, L2Promotion, OutOfBounds, Swizzle, TiledTensor},
    prelude::*,
    ptx::{Hints, ProxySpace, TensorMap},
    run::{BufferRef, Device, GpuDevice, RunError, Simulator, TensorBox},
};

/// y[i] = x[i] + 1 in bf16.
fn add_one() -> Kernel<(In<bf16>, Out<bf16>, u32)> {
    let kernel =
        Kernel::<(In<bf16>, Out<bf16>, u32)>::build("add_one(x, y, n)", Target::SM_80, |k, (x, y, n)| {
            k.block([64]);
            k.grid([n.tiles(64)]);
            let i = k.ctaid_x() * 64 + k.tid_x();
            let (x, y) = (k.slice(x, n), k.slice(y, n));
            y.at(i).store((x.at(i).load().cast::<f32>() + 1.0).cast::<bf16>());
        });
    kernel.expect("it builds")
}

#[test]
fn loaded_kernels_accept_words_for_halves() {
    let Some(gpu) = require::gpu() else { return };
    let kernel = gpu.load(&add_one()).expect("loaded");
    assert_eq!(kernel.attributes().local_bytes, 0);
    let stream = gpu.stream();
    let host: Vec<u16> = (0..200u8).map(|i| bf16::from_f32(i.into()).to_bits()).collect();
    let x = stream.clone_htod(&host).expect("copied");
    let mut y = stream.alloc_zeros::<u16>(200).expect("allocated");
    kernel.launch(&stream, (&x, &mut y, 200)).expect("launched");
    let back = stream.clone_dtoh(&y).expect("copied");
    let wanted: Vec<u16> = (1..201u8).map(|i| bf16::from_f32(i.into()).to_bits()).collect();
    assert_eq!(back, wanted);
}

#[test]
fn simulator_and_gpu_agree() {
    let Some(gpu) = require::gpu() else { return };
    let host: Vec<f32> = (0..1000u16).map(|i| f32::from(i) / 7.0).collect();
    fn on(device: &impl Device, host: &[f32]) -> Vec<f32> {
        let kernel = double(Target::SM_80).expect("it builds");
        let x = device.upload(host).expect("room");
        let mut y = device.output(host.len()).expect("room");
        let launched = device.launch(&kernel, (&x, &mut y, host.len() as u32)).expect("it runs");
        println!("{}: {:?}", device.describe(), launched.time);
        device.download(&y).expect("copied")
    }
    assert_eq!(on(&GpuDevice::from(gpu), &host), on(&Simulator::new(), &host));
}

/// `(x, y)` of [`move_box`].
type MoveBoxArgs = (TensorMap<In<f32>>, TensorMap<Out<f32>>);

/// Copies the 16×8 box at (16, 8) of X to the same place of Y.
fn move_box() -> Kernel<MoveBoxArgs> {
    let kernel = Kernel::<MoveBoxArgs>::build("move_box(x, y)", Target::SM_90, |k, (x, y)| {
        let block = k.block([32]);
        k.grid([1]);
        let (tile, full) = (k.shared_aligned::<f32>(16 * 8, 128), k.mbarriers(1));
        k.if_(block.thread().eq(0), || {
            full.init(1);
            k.fence_mbarrier_init();
            full.arrive_expect_tx(16 * 8 * 4);
            x.load(tile, [16, 8], full, Hints::default());
            full.wait(0);
            k.fence_proxy_async(ProxySpace::Shared);
            y.store(tile, [16, 8], Hints::default());
            k.cp_async_bulk_commit_group();
            k.cp_async_bulk_wait_group(0);
        });
    });
    kernel.unwrap_or_else(|why| panic!("{why}"))
}

#[test]
fn maps_of_the_applications_buffers_are_passed() {
    let Some(gpu) = require::gpu() else { return };
    if gpu.properties().capability < (9, 0) {
        require::skip("hopper", "tensor maps need compute capability 9.0");
        return;
    }
    let (kernel, stream) = (gpu.load(&move_box()).expect("loaded"), gpu.stream());
    let host: Vec<f32> = (0..40 * 20u16).map(f32::from).collect();
    let expected: Vec<f32> = host
        .iter()
        .enumerate()
        .map(|(i, &x)| if (16..32).contains(&(i % 40)) && (8..16).contains(&(i / 40)) { x } else { 0.0 })
        .collect();
    let x = stream.clone_htod(&host).expect("copied");
    let tensor = TensorBox::new([40, 20], [16, 8]);

    // Buffers of cudarc, with maps that the launch encodes.
    let mut y = stream.alloc_zeros::<f32>(800).expect("allocated");
    kernel.launch(&stream, (tensor.clone().of(&x), tensor.clone().of(&mut y))).expect("launched");
    assert_eq!(stream.clone_dtoh(&y).expect("copied"), expected);

    // Maps that the application encodes.
    let mut y = stream.alloc_zeros::<f32>(800).expect("allocated");
    {
        let (to, _to_guard) = cudarc::driver::DevicePtrMut::device_ptr_mut(&mut y, &stream);
        let (from, _from_guard) = cudarc::driver::DevicePtr::device_ptr(&x, &stream);
        let encode = |address| {
            let tensor = TiledTensor {
                address,
                element: ElementType::F32,
                dims: vec![40, 20],
                strides: vec![160],
                box_dims: vec![16, 8],
                element_strides: vec![1, 1],
                swizzle: Swizzle::None,
                l2_promotion: L2Promotion::None,
                out_of_bounds: OutOfBounds::Zero,
            };
            gpu::TensorMap::encode(&gpu, &tensor).expect("every rule is kept")
        };
        // SAFETY: the maps are of matrices of 40×20 f32 in live buffers, which only this launch accesses.
        let [from, to] = [from, to].map(|address| unsafe { encode(address).assume_valid() });
        kernel.launch(&stream, (from, to)).expect("launched");
    }
    assert_eq!(stream.clone_dtoh(&y).expect("copied"), expected);

    // A tensor that exceeds its buffer.
    let long = TensorBox::new([40, 21], [16, 8]);
    let refused = kernel.launch(&stream, (long.of(&x), tensor.clone().of(&mut y))).expect_err("too long");
    assert!(matches!(refused, RunError::TooShort { expected: 840, found: 800, .. }), "{refused}");
}

#[test]
fn maps_of_borrowed_buffers_are_passed_to_devices() {
    let simulator = Simulator::new();
    let x = simulator.upload(&(0..800u16).map(f32::from).collect::<Vec<_>>()).expect("room");
    let mut y = simulator.upload(&[0.0f32; 800]).expect("room");
    let tensor = TensorBox::new([40, 20], [16, 8]);
    let args = (tensor.clone().of(BufferRef::from(&x)), tensor.of(&mut y));
    simulator.launch(&move_box(), args).unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(simulator.download(&y).expect("copied")[8 * 40 + 15..8 * 40 + 17], [0.0, 336.0]);
}
