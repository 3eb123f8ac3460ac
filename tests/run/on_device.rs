//! Tests on a GPU; skipped with a message if none is available.

use super::kernels::double;
use crate::require;
use pretty_assertions::assert_eq;
use warpwright::{
    prelude::*,
    run::{Device, GpuDevice, Simulator},
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
fn loaded_kernels_take_words_for_halves() {
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
