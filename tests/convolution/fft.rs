//! Convolution by Fourier transforms.

use std::f64::consts::TAU;

use crate::{
    assemble, devices,
    half::{Half, mixed},
};
use warpwright::{
    kernels::FftConvolution,
    prelude::*,
    run::{Device, Simulator},
    tiles::Convert,
};

/// The transform of a power of two of real and imaginary parts; `sign` is −1, or 1 for the inverse times the length.
fn transform(x: &[[f64; 2]], sign: f64) -> Vec<[f64; 2]> {
    let n = x.len();
    if n == 1 {
        return x.to_vec();
    }
    let half = |odd: usize| {
        let numbers: Vec<_> = x.iter().skip(odd).step_by(2).copied().collect();
        transform(&numbers, sign)
    };
    let (even, odd) = (half(0), half(1));
    let number = |k: usize| {
        let (sin, cos) = (sign * TAU * k as f64 / n as f64).sin_cos();
        let ([re, im], [a, b]) = (even[k % (n / 2)], odd[k % (n / 2)]);
        [re + a * cos - b * sin, im + a * sin + b * cos]
    };
    (0..n).map(number).collect()
}

#[test]
fn transforms_agree_with_their_definition() {
    let x: Vec<_> = (0..64).map(|t| [mixed(t), mixed(t + 64)]).collect();
    for sign in [-1.0, 1.0] {
        for (k, found) in transform(&x, sign).into_iter().enumerate() {
            let expected = x.iter().enumerate().fold([0.0; 2], |[re, im], (t, [a, b])| {
                let (sin, cos) = (sign * TAU * (k * t) as f64 / 64.0).sin_cos();
                [re + a * cos - b * sin, im + a * sin + b * cos]
            });
            let near = found.iter().zip(&expected).all(|(found, expected)| (found - expected).abs() < 1e-12);
            assert!(near, "number {k}: expected {expected:?}, found {found:?}");
        }
    }
}

fn real(x: &[f64]) -> Vec<[f64; 2]> {
    x.iter().map(|&x| [x, 0.0]).collect()
}

/// The error of a result relative to the root mean square of the results of its sequence, in errors of a product.
const ERRORS: f64 = 4.0;

/// The elements after each sequence in memory.
const GAP: usize = 8;

/// Convolves sequences of `length` numbers, and compares them with convolutions in f64.
fn check<T: Half>(size: usize, sizes: [usize; 3])
where
    f32: Convert<T>,
{
    check_scaled::<T>(size, sizes, 1.0);
}

/// The same with filters of other magnitudes.
fn check_scaled<T: Half>(size: usize, [batches, channels, length]: [usize; 3], scale: f64)
where
    f32: Convert<T>,
{
    let convolution = FftConvolution { size: size as u32 };
    let lowest = if size == 16384 { Target::SM_90 } else { Target::SM_80 };
    let [kernel, _] = [lowest, Target::SM_90A].map(|target| {
        let kernel = convolution.kernel::<T>(target).unwrap_or_else(|error| panic!("{error}"));
        assemble::kernel(&kernel);
        kernel
    });
    let pitch = length + GAP;
    let strides = [[channels * pitch, pitch].map(|stride| stride as u32); 2];
    let mut u = vec![T::NAN; batches * channels * pitch];
    for (sequence, u) in u.chunks_mut(pitch).enumerate() {
        (0..length).for_each(|t| u[t] = T::of(mixed(sequence * 5003 + t)));
    }
    // Filters that decay, so that not all of their frequencies are alike.
    let filter = |channel: usize| -> Vec<f64> {
        let number = |t: usize| scale * mixed(channel * 7919 + t + (1 << 20)) * f64::exp(-(t as f64) / 60.0);
        (0..size).map(number).collect()
    };
    let filters: Vec<_> = (0..channels).map(filter).collect();
    let spectra: Vec<_> = filters.iter().map(|filter| transform(&real(filter), -1.0)).collect();
    let part =
        |which: usize| -> Vec<f32> { spectra.iter().flatten().map(|number| number[which] as f32).collect() };
    let (re, im) = (part(0), part(1));
    let sizes = [batches, channels, length].map(|size| size as u32);
    // Only some devices that run the code of sm_80 have enough shared memory for more than 4096 numbers.
    let of = if size > 4096 { Target::SM_90 } else { Target::SM_80 };
    let found = devices::everywhere_of(of, |device| {
        let run = || {
            let [re, im] = [&re, &im].map(|part| device.upload(part).expect("room"));
            let (u, mut y) =
                (device.upload(&u).expect("room"), device.upload(&vec![T::NAN; u.len()]).expect("room"));
            device
                .launch(&kernel, (&u, &re, &im, &mut y, sizes, strides))
                .unwrap_or_else(|error| panic!("{error}"));
            device.download(&y).expect("copied").into_iter().map(T::to_mem_bits).collect::<Vec<_>>()
        };
        let (first, second) = (run(), run());
        assert!(first == second, "two launches differ");
        first
    });

    for sequence in 0..batches * channels {
        let what = format!("{convolution:?}, {}, sequence {sequence} of {length}", T::NAME);
        let (filter, at) = (&filters[sequence % channels], sequence * pitch);
        let mut padded: Vec<f64> = u[at..at + length].iter().map(|u| u.number()).collect();
        padded.resize(size, 0.0);
        // F⁻¹(F(u) ∘ F(filter)).
        let products = transform(&real(&padded), -1.0).into_iter().zip(&spectra[sequence % channels]);
        let products: Vec<_> = products.map(|([a, b], [c, d])| [a * c - b * d, a * d + b * c]).collect();
        let expected = transform(&products, 1.0).into_iter().take(length);
        let expected: Vec<f64> = expected.map(|[re, _]| re / size as f64).collect();
        if sequence == 0 && size == 1024 {
            for (i, found) in expected.iter().enumerate() {
                let sum: f64 = (0..length).map(|j| filter[(i + size - j) % size] * padded[j]).sum();
                assert!((found - sum).abs() < 1e-9, "{found} and {sum}");
            }
        }
        let norm = (expected.iter().map(|y| y * y).sum::<f64>() / length as f64).sqrt();
        for (i, (&bits, expected)) in found[at..].iter().zip(&expected).enumerate() {
            let found = T::from_mem_bits(bits).number();
            let agrees = (found - expected).abs() <= norm * ERRORS * T::ERROR;
            assert!(
                agrees,
                "{what}: number {i}: expected {expected} ± {norm} · {}, found {found}",
                ERRORS * T::ERROR
            );
        }
        let gap = &found[at + length..at + pitch];
        assert!(
            gap.iter().all(|&bits| T::from_mem_bits(bits).number().is_nan()),
            "{what}: wrote past the end"
        );
    }
}

#[test]
fn circular() {
    check::<bf16>(1024, [2, 3, 1024]);
    check::<f16>(1024, [1, 2, 1024]);
    check::<bf16>(4096, [2, 1, 4096]);
    check::<f16>(4096, [1, 1, 4096]);
    check::<bf16>(8192, [1, 2, 8192]);
    check::<f16>(8192, [2, 1, 8192]);
    check::<bf16>(16384, [2, 1, 16384]);
    check::<f16>(16384, [1, 2, 16384]);
}

/// More sequences than a block has, and filters in which ends do not meet.
#[test]
fn padded() {
    check::<bf16>(1024, [18, 1, 512]);
    check::<f16>(1024, [1, 1, 32]);
    check::<f16>(4096, [3, 1, 1984]);
    check::<f16>(8192, [17, 1, 64]);
    check::<bf16>(8192, [1, 1, 4096]);
    check::<f16>(16384, [1, 1, 7936]);
    check::<bf16>(16384, [1, 1, 12352]);
}

/// Spectra far from 1, which f16 must not lose.
#[test]
fn small_and_large_filters() {
    check_scaled::<f16>(1024, [1, 1, 1024], 1.0 / 512.0);
    check_scaled::<f16>(4096, [1, 1, 4096], 1.0 / 512.0);
    check_scaled::<f16>(4096, [1, 1, 4096], 32.0);
    check_scaled::<f16>(16384, [1, 1, 16384], 1.0 / 512.0);
    check_scaled::<f16>(16384, [1, 1, 16384], 32.0);
}

#[test]
fn longer_sequences_are_refused() {
    let kernel = FftConvolution { size: 1024 }.kernel::<bf16>(Target::SM_80).expect("it builds");
    let device = Simulator::new();
    let u = device.zeros::<bf16>(2048).expect("room");
    let [re, im] = [(); 2].map(|()| device.zeros::<f32>(1024).expect("room"));
    let mut y = device.zeros::<bf16>(2048).expect("room");
    let refused = device.launch(&kernel, (&u, &re, &im, &mut y, [1, 1, 2048], [[2048, 2048]; 2]));
    let error = refused.expect_err("2048 numbers do not fit").to_string();
    assert!(error.contains("at most 1024, found 2048"), "{error}");
}

#[test]
fn other_sizes_are_refused() {
    let error = FftConvolution { size: 2048 }.kernel::<bf16>(Target::SM_80).expect_err("no such kernel");
    assert!(
        error.to_string().contains("expected transforms of 1024, 4096, 8192 or 16384 numbers, found 2048"),
        "{error}"
    );
}

#[test]
fn targets_support_their_sizes() {
    for target in Target::ALL {
        let builds = |size: &u32| FftConvolution { size: *size }.kernel::<bf16>(target).is_ok();
        let built: Vec<_> = [1024, 4096, 8192, 16384].into_iter().filter(builds).collect();
        assert_eq!(built, FftConvolution::sizes(target), "{target}");
    }
}
