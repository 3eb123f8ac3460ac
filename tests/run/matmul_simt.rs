//! The product without tensor cores on every device, equal to chains of fused multiply-adds on the host bit for bit.

use crate::{assemble, devices};
use proptest::prelude::*;
use warpwright::{
    kernels::{MatmulArgs, matmul_simt, pitch_divisor},
    prelude::*,
    run::{AnyDevice, Device},
};

/// The elements before and after D that a kernel must not write.
const MARGIN: usize = 64;
const UNTOUCHED: f32 = -12_345.0;

/// Checks a product of these sizes with the kernel for a target.
fn check(device: &impl Device, kernel: &Kernel<MatmulArgs<f32>>, [m, n, k]: [usize; 3]) {
    let entry = |seed: usize| move |i: usize| ((i * 7919 + seed) % 1013) as f32 / 512.0 - 1.0;
    let a: Vec<f32> = (0..m * k).map(entry(1)).collect();
    let b: Vec<f32> = (0..k * n).map(entry(2)).collect();
    let (on_a, on_b) = (device.upload(&a).expect("room"), device.upload(&b).expect("room"));
    let mut on_d = device.upload(&vec![UNTOUCHED; m * n + MARGIN]).expect("room");
    let [rows, cols, depth] = [m, n, k].map(|size| size as u32);
    let launched = device.launch(kernel, (&on_a, &on_b, &mut on_d, rows, cols, depth));
    launched.unwrap_or_else(|error| panic!("{m}×{n}×{k}: {error}"));
    let found = device.download(&on_d).expect("copied");
    for (i, &found) in found.iter().enumerate() {
        let (row, col) = (i / n, i % n);
        let sum = |row: usize| (0..k).fold(0.0, |sum, at| a[row * k + at].mul_add(b[at * n + col], sum));
        let expected: f32 = if row < m { sum(row) } else { UNTOUCHED };
        assert_eq!(
            found.to_bits(),
            expected.to_bits(),
            "{m}×{n}×{k}, row {row}, column {col}: {found}, not {expected}"
        );
    }
}

/// Returns whether blocks of the device have the shared memory of those of a target.
fn has_room(device: &AnyDevice, target: Target) -> bool {
    let small = matches!(device.capability(), (8, 6 | 9) | (12, _));
    !small || target.max_shared_bytes() <= Target::SM_86.max_shared_bytes()
}

/// Sizes up to 150, with a bias toward those that allow wide copies.
fn size() -> impl Strategy<Value = usize> {
    prop_oneof![2 => 1..=150usize, 1 => (1..=37usize).prop_map(|n| 4 * n), 1 => (1..=75usize).prop_map(|n| 2 * n)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_sizes_are_exact(m in size(), n in size(), k in size()) {
        let devices = devices::all();
        for target in [Target::SM_80, Target::SM_86] {
            let kernel = matmul_simt(target, pitch_divisor(n as u32, k as u32).min(4)).expect("it builds");
            for device in devices.iter().filter(|device| has_room(device, target)) {
                check(device, &kernel, [m, n, k]);
            }
        }
    }
}

/// Several tiles of both heights, their edges, and depths around those of stages.
#[test]
fn edges_of_tiles_are_exact() {
    let devices = devices::all();
    for (target, divisor) in
        [(Target::SM_90A, 4), (Target::SM_89, 4), (Target::SM_80, 2), (Target::SM_90A, 1)]
    {
        let kernel = matmul_simt(target, divisor).expect("it builds");
        assemble::kernel(&kernel);
        for sizes in [[257, 132, 36], [255, 128, 32], [1, 4, 4], [128, 260, 28], [129, 124, 100]] {
            let runs = |device: &&AnyDevice| {
                has_room(device, target) && (target != Target::SM_90A || device.capability() == (9, 0))
            };
            for device in devices.iter().filter(runs) {
                check(device, &kernel, sizes);
            }
        }
    }
}

#[test]
fn a_divisor_of_no_size_is_rejected() {
    let error = matmul_simt(Target::SM_80, 0).map(drop).expect_err("0 divides no size").to_string();
    assert!(error.contains("expected a divisor of n and k, found 0"), "{error}");
}
