//! Convolutions of long sequences.

use std::f64::consts::TAU;

use warpwright::{
    kernels::{FftConvolution, call},
    prelude::*,
    run::{Device, KernelCache, Simulator},
};

use super::numbers::{downloaded_halves, halves, in_f64, numbers, results};
use crate::devices;

/// The length of the filters.
const TAPS: usize = 40;

/// Returns the real and imaginary parts of the transform of a filter.
fn transform(filter: &[f32], size: usize) -> [Vec<f32>; 2] {
    let part = |of: fn(f64) -> f64| {
        let number = |k: usize| {
            let term = |(t, x): (usize, &f32)| f64::from(*x) * of(-TAU * (k * t % size) as f64 / size as f64);
            filter.iter().enumerate().map(term).sum::<f64>() as f32
        };
        (0..size).map(number).collect()
    };
    [part(f64::cos), part(f64::sin)]
}

#[test]
fn convolutions_agree_with_f64() {
    let [batches, channels] = [2, 3];
    for device in devices::all() {
        let kernels = KernelCache::new(&device);
        // A causal convolution, and one that wraps around.
        let (major, minor) = device.capability();
        let supported = Target::newest_portable(major, minor).map_or(&[][..], FftConvolution::sizes);
        for (size, length) in [(1024, 512), (4096, 4096), (16384, 16384)] {
            if !supported.contains(&(size as u32)) {
                continue;
            }
            let (ldu, ldy) = (length + 8, length + 16);
            let u = halves(batches * channels * ldu, 1);
            let filters = numbers(channels * TAPS, 2);
            let parts: Vec<_> = filters.chunks(TAPS).map(|filter| transform(filter, size)).collect();
            let [re, im] = [0, 1].map(|which| {
                let part: Vec<f32> = parts.iter().flat_map(|parts| parts[which].clone()).collect();
                device.upload(&part).expect("room")
            });
            let on_u = device.upload(&u).expect("room");
            let mut y = results(&device, (batches * channels - 1) * ldy + length);
            let sizes = [batches, channels, length].map(|n| n as u32);
            let (from, to) = ((&on_u, ldu as u32), (&mut y, ldy as u32));
            call::fft_convolution(&kernels, size as u32, sizes, from, (&re, &im), to).expect("launched");
            let (u, y) = (in_f64(&u), downloaded_halves(&device, &y));
            for sequence in 0..batches * channels {
                let filter = &filters[sequence % channels * TAPS..][..TAPS];
                let (u, y) = (&u[sequence * ldu..][..length], &y[sequence * ldy..]);
                let expected: Vec<f64> = (0..length)
                    .map(|t| {
                        let term = |(s, x): (usize, &f32)| {
                            u.get((t + size - s) % size).map_or(0.0, |u| f64::from(*x) * u)
                        };
                        filter.iter().enumerate().map(term).sum()
                    })
                    .collect();
                let root = (expected.iter().map(|x| x * x).sum::<f64>() / length as f64).sqrt();
                for (t, (found, expected)) in y.iter().zip(&expected).enumerate() {
                    let what =
                        format!("{size}, sequence {sequence}, {t}: expected {expected}, found {found}");
                    assert!((found - expected).abs() <= 0.04 * root, "{what}");
                }
                let gap = y[length..].iter().take(ldy - length);
                assert!(gap.into_iter().all(|y| y.is_nan()), "wrote between sequences");
            }
        }
    }
}

#[test]
fn other_lengths_are_refused() {
    let device = Simulator::new();
    let kernels = KernelCache::new(&device);
    let u = device.upload(&halves(2048, 1)).expect("room");
    let part = device.upload(&[0.0f32; 1023]).expect("room");
    let mut y = device.output::<bf16>(2048).expect("room");
    let mut refused = |size, length, ldu| {
        call::fft_convolution(&kernels, size, [1, 1, length], (&u, ldu), (&part, &part), &mut y)
            .expect_err("refused")
            .to_string()
    };
    for (size, length, ldu, expected) in [
        (2048, 64, 64, "transforms of 1024, 4096, 8192 or 16384 points, found 2048"),
        (1024, 48, 48, "sequences of a multiple of 32 elements, at most 1024, found 48"),
        (4096, 4160, 4160, "sequences of a multiple of 64 elements, at most 4096, found 4160"),
        (16384, 96, 96, "sequences of a multiple of 64 elements, at most 16384, found 96"),
        (1024, 64, 68, "rows that are a multiple of 8 elements apart, found 68"),
    ] {
        assert_eq!(refused(size, length, ldu), format!("fft_convolution: expected {expected}"));
    }
    let error = refused(1024, 64, 64);
    assert!(error.ends_with("`re`: expected a buffer of at least 1024 elements, found 1023"), "{error}");
}
