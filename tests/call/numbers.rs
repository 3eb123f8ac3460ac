//! Devices, and buffers that are followed by canaries.

use warpwright::{
    prelude::*,
    ptx::Element,
    run::{AnyDevice, Buffer, Device},
};

use crate::devices;

/// The number of elements after each result, which must not change.
const CANARIES: usize = 40;

/// Runs on every device that runs sm_90a.
pub(super) fn on_hopper(test: impl Fn(&AnyDevice)) {
    devices::all().iter().filter(|device| device.capability() == (9, 0)).for_each(test);
}

/// Numbers between −1 and 1.
pub(super) fn numbers(count: usize, seed: u32) -> Vec<f32> {
    let mut state = seed;
    let number = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) as f32 / 32_768.0 - 1.0
    };
    (0..count).map(number).collect()
}

/// The same as bf16.
pub(super) fn halves(count: usize, seed: u32) -> Vec<bf16> {
    numbers(count, seed).into_iter().map(bf16::from_f32).collect()
}

pub(super) fn in_f64(elements: &[bf16]) -> Vec<f64> {
    elements.iter().map(|x| x.to_f64()).collect()
}

/// A buffer for results, followed by canaries.
pub(super) fn results<T: Element>(device: &AnyDevice, len: usize) -> Buffer<T> {
    device.output(len + CANARIES).expect("room")
}

/// Returns the results; the canaries must not have been written.
pub(super) fn downloaded<T: Element>(
    device: &AnyDevice,
    buffer: &Buffer<T>,
    is_canary: fn(T) -> bool,
) -> Vec<T> {
    let mut all = device.download(buffer).expect("copied");
    let behind = all.split_off(all.len() - CANARIES);
    assert!(behind.into_iter().all(is_canary), "wrote past the result");
    all
}

pub(super) fn downloaded_halves(device: &AnyDevice, buffer: &Buffer<bf16>) -> Vec<f64> {
    in_f64(&downloaded(device, buffer, |x: bf16| x.to_bits() == 0xFFFF))
}

pub(super) fn downloaded_floats(device: &AnyDevice, buffer: &Buffer<f32>) -> Vec<f64> {
    downloaded(device, buffer, |x: f32| x.to_bits() == u32::MAX).into_iter().map(f64::from).collect()
}

/// Compares numbers; `allowed` is relative, and absolute for those of less than 1.
pub(super) fn assert_near(what: &str, found: &[f64], expected: &[f64], allowed: f64) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!(
            (found - expected).abs() <= allowed * expected.abs().max(1.0),
            "{what}, element {i}: expected {expected}, found {found}"
        );
    }
}
