//! Kernels on rows with odd lengths and odd strides.

use std::iter;

use warpwright::{
    kernels::{
        NormFunction, PointwiseFunction, RotaryPairs,
        call::{self, DropoutMask, RotaryTables},
    },
    prelude::*,
    run::{BufferRef, Device, KernelCache, Simulator},
    sim::Arch,
};

use super::{
    matrix::{Matrix, each, length, rows_of},
    norms::{EPSILON, norm},
    numbers::{assert_near, downloaded_floats, downloaded_halves, halves, in_f64, numbers, results},
    softmax::softmax,
};
use crate::devices;

#[test]
fn norms_agree_with_f64() {
    each(|device, kernels, size @ [m, n, ld]| {
        for function in [NormFunction::Rms, NormFunction::Layer] {
            let x = Matrix::new(device, size, 1);
            let w = halves(n, 2);
            let on_w = device.upload(&w).expect("room");
            let mut y = results::<f32>(device, length(size));
            let [m, n, ld] = [m, n, ld].map(|n| n as u32);
            call::norm(kernels, function, [m, n], EPSILON, (&x.buffer, ld), &on_w, (&mut y, ld))
                .expect("launched");
            let expected: Vec<f64> = x.rows.iter().flat_map(|row| norm(function, row, &in_f64(&w))).collect();
            let found = rows_of(&downloaded_floats(device, &y), size);
            assert_near(&format!("{function:?} {size:?}"), &found, &expected, 1e-5);
        }
    });
}

#[test]
fn sums_are_stored_and_normalized() {
    each(|device, kernels, size @ [m, n, ld]| {
        let (x, r) = (Matrix::new(device, size, 1), Matrix::new(device, size, 2));
        let w = halves(n, 3);
        let on_w = device.upload(&w).expect("room");
        let (mut h, mut y) = (results::<bf16>(device, length(size)), results::<f32>(device, length(size)));
        let [m, n, ld] = [m, n, ld].map(|n| n as u32);
        let (inputs, outputs) = (((&x.buffer, ld), (&r.buffer, ld)), ((&mut h, ld), (&mut y, ld)));
        call::residual_norm(kernels, NormFunction::Rms, [m, n], EPSILON, inputs, &on_w, outputs)
            .expect("launched");
        let sums = iter::zip(&x.rows, &r.rows)
            .map(|(x, r)| iter::zip(x, r).map(|(x, r)| bf16::from_f64(x + r).to_f64()).collect());
        let sums: Vec<Vec<f64>> = sums.collect();
        let expected: Vec<f64> =
            sums.iter().flat_map(|row| norm(NormFunction::Rms, row, &in_f64(&w))).collect();
        assert_near("h", &rows_of(&downloaded_halves(device, &h), size), &sums.concat(), 0.0);
        assert_near("y", &rows_of(&downloaded_floats(device, &y), size), &expected, 1e-5);
    });
}

#[test]
fn softmax_and_its_logarithm_agree_with_f64() {
    each(|device, kernels, size @ [m, n, ld]| {
        for log in [false, true] {
            let x = Matrix::new(device, size, 4);
            let mut y = results::<f32>(device, length(size));
            let [m, n, ld] = [m, n, ld].map(|n| n as u32);
            call::softmax(kernels, log, [m, n], 3.0, (&x.buffer, ld), (&mut y, ld)).expect("launched");
            let expected: Vec<f64> = x.rows.iter().flat_map(|row| softmax(row, n as usize, log)).collect();
            let found = rows_of(&downloaded_floats(device, &y), size);
            assert_near(&format!("{log} {size:?}"), &found, &expected, 1e-5);
        }
    });
}

#[test]
fn losses_agree_with_f64() {
    each(|device, kernels, size @ [m, n, ld]| {
        let x = Matrix::new(device, size, 5);
        // The first row is ignored.
        let targets: Vec<i32> = (0..m).map(|row| if row == 0 { -1 } else { (row * 5 % n) as i32 }).collect();
        let on_targets = device.upload(&targets).expect("room");
        let (mut losses, mut logs) = (results::<f32>(device, m), results::<f32>(device, m));
        let [m, n, ld] = [m, n, ld].map(|n| n as u32);
        call::cross_entropy(kernels, [m, n], -1, (&x.buffer, ld), &on_targets, &mut losses, &mut logs)
            .expect("launched");
        let sums: Vec<f64> = x.rows.iter().map(|row| row.iter().map(|x| x.exp()).sum::<f64>().ln()).collect();
        let of_row = |(row, log): (usize, &f64)| match targets[row] {
            -1 => 0.0,
            target => log - x.rows[row][target as usize],
        };
        let expected: Vec<f64> = sums.iter().enumerate().map(of_row).collect();
        assert_near("logs", &downloaded_floats(device, &logs), &sums, 1e-5);
        assert_near("losses", &downloaded_floats(device, &losses), &expected, 1e-5);
    });
}

#[test]
fn functions_and_gates_agree_with_f64() {
    each(|device, kernels, size @ [m, n, ld]| {
        let (x, u) = (Matrix::new(device, size, 6), Matrix::new(device, size, 7));
        let [mut y, mut z, mut sum] = [(); 3].map(|()| results::<f32>(device, length(size)));
        let [m, n, ld] = [m, n, ld].map(|n| n as u32);
        let function = PointwiseFunction::Silu;
        call::pointwise(kernels, function, [m, n], (&x.buffer, ld), (&mut y, ld)).expect("launched");
        call::gated(kernels, function, [m, n], (&x.buffer, ld), (&u.buffer, ld), (&mut z, ld))
            .expect("launched");
        let identity = PointwiseFunction::Identity;
        call::add(kernels, identity, [m, n], (&x.buffer, ld), (&u.buffer, ld), (&mut sum, ld))
            .expect("launched");
        let sums: Vec<f64> = iter::zip(x.rows.concat(), u.rows.concat()).map(|(x, u)| x + u).collect();
        assert_near("sum", &rows_of(&downloaded_floats(device, &sum), size), &sums, 1e-6);
        let silu: Vec<f64> = x.rows.concat().into_iter().map(|x| x / (1.0 + (-x).exp())).collect();
        let gated: Vec<f64> = iter::zip(&silu, u.rows.concat()).map(|(silu, u)| silu * u).collect();
        assert_near("y", &rows_of(&downloaded_floats(device, &y), size), &silu, 2e-5);
        assert_near("z", &rows_of(&downloaded_floats(device, &z), size), &gated, 2e-5);
    });
}

/// Some elements of each head are rotated, and the others copied.
#[test]
fn heads_are_rotated_by_their_positions() {
    let [tokens, heads, n, half] = [5, 3, 20, 6];
    for device in devices::all() {
        let kernels = KernelCache::new(&device);
        let x = halves(tokens * heads * n, 8);
        let positions = [2, 0, 1, 3, 3];
        let (cos, sin) = (numbers(4 * half, 9), numbers(4 * half, 10));
        let [on_cos, on_sin] = [&cos, &sin].map(|table| device.upload(table).expect("room"));
        let (on_x, on_positions) =
            (device.upload(&x).expect("room"), device.upload(&positions).expect("room"));
        let tables = RotaryTables {
            cos: BufferRef::from(&on_cos),
            sin: BufferRef::from(&on_sin),
            rows: 4,
            half: half as u32,
            positions: BufferRef::from(&on_positions),
        };
        let mut y = results::<bf16>(&device, x.len());
        let size = [tokens, heads, n].map(|n| n as u32);
        call::rotary(&kernels, RotaryPairs::Halves, size, &tables, &on_x, &mut y).expect("launched");
        let mut expected = in_f64(&x);
        for (row, elements) in expected.chunks_mut(n).enumerate() {
            for pair in 0..half {
                let at = positions[row / heads] as usize * half + pair;
                let (cos, sin) = (f64::from(cos[at]), f64::from(sin[at]));
                let (a, b) = (elements[pair], elements[pair + half]);
                (elements[pair], elements[pair + half]) = (a * cos - b * sin, b * cos + a * sin);
            }
        }
        assert_near("y", &downloaded_halves(&device, &y), &expected, 0.01);

        // The transpose of each rotation.
        let mut dx = results::<bf16>(&device, x.len());
        call::rotary_backward(&kernels, RotaryPairs::Halves, size, &tables, &on_x, &mut dx)
            .expect("launched");
        let mut expected = in_f64(&x);
        for (row, elements) in expected.chunks_mut(n).enumerate() {
            for pair in 0..half {
                let at = positions[row / heads] as usize * half + pair;
                let (cos, sin) = (f64::from(cos[at]), f64::from(sin[at]));
                let (a, b) = (elements[pair], elements[pair + half]);
                (elements[pair], elements[pair + half]) = (a * cos + b * sin, b * cos - a * sin);
            }
        }
        assert_near("dx", &downloaded_halves(&device, &dx), &expected, 0.01);
    }
}

#[test]
fn axes_are_put_in_another_order() {
    for device in devices::all() {
        let kernels = KernelCache::new(&device);
        let x = halves(3 * 5 * 7, 11);
        let on_x = device.upload(&x).expect("room");
        let mut y = results::<bf16>(&device, x.len());
        call::permute(&kernels, &[3, 5, 7], &[2, 0, 1], &on_x, &mut y).expect("launched");
        let expected = (0..x.len()).map(|at| x[at % 15 * 7 + at / 15].to_f64());
        assert_near("y", &downloaded_halves(&device, &y), &expected.collect::<Vec<_>>(), 0.0);
        let error = call::permute(&kernels, &[3, 5], &[1, 1], &on_x, &mut y).expect_err("refused");
        assert_eq!(error.to_string(), "permute: expected each of the 2 axes exactly once, found [1, 1]");
    }
}

/// The same elements are dropped alone and in a sum.
#[test]
fn a_mask_is_the_same_in_every_call() {
    let [m, n] = [3, 100];
    let mask = DropoutMask { p: 0.5, seed: 7, offset: 1 << 40 };
    for device in devices::all() {
        let kernels = KernelCache::new(&device);
        let (x, r) = (halves(m * n, 12), halves(m * n, 13));
        let (w, b) = (halves(n, 14), halves(n, 15));
        let [on_x, on_r, on_w, on_b] =
            [&x, &r, &w, &b].map(|elements| device.upload(elements).expect("room"));
        let mut dropped = results::<bf16>(&device, m * n);
        let (mut h, mut y) = (results::<bf16>(&device, m * n), results::<f32>(&device, m * n));
        let size = [m, n].map(|n| n as u32);
        call::dropout(&kernels, mask, size, &on_x, &mut dropped).expect("launched");
        let (inputs, weights, outputs) = ((&on_x, &on_r), (&on_w, &on_b), (&mut h, &mut y));
        call::dropout_norm(&kernels, mask, NormFunction::Layer, size, EPSILON, inputs, weights, outputs)
            .expect("launched");

        let dropped = downloaded_halves(&device, &dropped);
        let kept = iter::zip(&dropped, in_f64(&x)).filter(|(dropped, x)| **dropped == 2.0 * x).count();
        let zeros = dropped.iter().filter(|x| **x == 0.0).count();
        assert!(kept + zeros >= m * n && (100..200).contains(&kept), "{kept} kept, {zeros} dropped");
        let sums = iter::zip(&dropped, in_f64(&r)).map(|(x, r)| bf16::from_f64(x + r).to_f64());
        let sums: Vec<f64> = sums.collect();
        assert_near("h", &downloaded_halves(&device, &h), &sums, 0.0);
        let expected = sums.chunks(n).flat_map(|row| {
            let normed = norm(NormFunction::Layer, row, &in_f64(&w));
            iter::zip(normed, in_f64(&b)).map(|(y, b)| y + b).collect::<Vec<_>>()
        });
        assert_near("y", &downloaded_floats(&device, &y), &expected.collect::<Vec<_>>(), 1e-5);

        let wrong = DropoutMask { p: 1.5, ..mask };
        let error = call::dropout(&kernels, wrong, size, &on_x, &mut h).expect_err("refused");
        assert_eq!(error.to_string(), "dropout: expected a probability from 0 to 1, found 1.5");
    }
}

/// Targets with little shared memory have kernels for long rows, too.
#[test]
fn long_rows_run_on_every_architecture() {
    const N: usize = 9001;
    for arch in [Arch::Sm80, Arch::Sm86, Arch::Sm89, Arch::Sm90, Arch::Sm120] {
        let device = Simulator::new().arch(arch);
        let kernels = KernelCache::new(&device);
        let ones = device.upload(&vec![1.0f32; N]).expect("room");
        let mut y = device.output::<f32>(N).expect("room");
        let called = call::norm(&kernels, NormFunction::Rms, [1, N as u32], 0.0, &ones, &ones, &mut y);
        called.unwrap_or_else(|error| panic!("{arch:?}: {error}"));
        let found = device.download(&y).expect("copied");
        assert!(found.iter().all(|y| (y - 1.0).abs() < 1e-6), "{arch:?}");
    }
}

/// Sizes that exceed all buffers are rejected, however large they are.
#[test]
fn rows_beyond_all_buffers_are_refused() {
    let device = Simulator::new();
    let kernels = KernelCache::new(&device);
    let few = device.upload(&[bf16::ONE; 8]).expect("room");
    let mut y = device.output::<bf16>(8).expect("room");
    for n in [u32::MAX, u32::MAX - 6, 1 << 31] {
        let called = call::norm(&kernels, NormFunction::Rms, [1, n], 0.0, &few, &few, &mut y);
        assert!(called.is_err(), "{n}");
    }
}
