//! The product without tensor cores on every device, equal to chains of fused multiply-adds on the host bit for bit.

use crate::{assemble, devices};
use proptest::prelude::*;
use warpwright::{
    kernels::{MatmulArgs, MatmulSimt, SimtTile, pitch_divisor},
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
        let divisor = pitch_divisor(n as u32, k as u32).min(4);
        // Two of the tiles each time.
        for (number, tile) in SimtTile::all(Target::SM_80, divisor).enumerate() {
            if number % 3 == (m + n) % 3 {
                let kernel = MatmulSimt { tile, divisor }.kernel(Target::SM_80).expect("it builds");
                for device in devices.iter().filter(|device| has_room(device, Target::SM_80)) {
                    check(device, &kernel, [m, n, k]);
                }
            }
        }
    }
}

/// Several tiles of every size, their edges, and depths around those of stages.
#[test]
fn edges_of_tiles_are_exact() {
    let devices = devices::all();
    for (target, divisor) in
        [(Target::SM_90A, 4), (Target::SM_89, 4), (Target::SM_80, 2), (Target::SM_90A, 1)]
    {
        for tile in SimtTile::all(target, divisor) {
            let kernel = MatmulSimt { tile, divisor }.kernel(target).expect("it builds");
            assemble::kernel(&kernel);
            for sizes in [[257, 132, 36], [255, 128, 32], [1, 4, 4], [128, 260, 28], [33, 68, 100]] {
                let runs = |device: &&AnyDevice| {
                    has_room(device, target) && (target != Target::SM_90A || device.capability() == (9, 0))
                };
                for device in devices.iter().filter(runs) {
                    check(device, &kernel, sizes);
                }
            }
        }
    }
}

/// Tiles are small enough that few multiprocessors are idle, and otherwise large.
#[test]
fn tiles_are_chosen_for_the_number_of_multiprocessors() {
    let chosen = |target, sizes, multiprocessors| {
        let MatmulSimt { tile, divisor } = MatmulSimt::for_problem(target, sizes, multiprocessors);
        (tile.to_string(), divisor)
    };
    for (target, sizes, multiprocessors, tile, divisor) in [
        (Target::SM_90, [4096; 3], 132, "256x128", 4),
        (Target::SM_90, [2048; 3], 132, "256x128", 4),
        (Target::SM_90, [1000; 3], 132, "64x128", 4),
        (Target::SM_90, [512; 3], 132, "32x64", 4),
        (Target::SM_90, [1; 3], 132, "32x64", 1),
        // Large tiles require 16-byte copies, and shared memory.
        (Target::SM_90, [4095, 4097, 4096], 132, "128x128", 1),
        (Target::SM_86, [4096; 3], 84, "128x128", 4),
        (Target::SM_90, [1000; 3], 1, "256x128", 4),
    ] {
        assert_eq!(chosen(target, sizes, multiprocessors), (tile.to_string(), divisor), "{sizes:?}");
    }
}

#[test]
fn invalid_tiles_and_divisors_are_rejected() {
    let refused = |tile, divisor, target| {
        MatmulSimt { tile, divisor }.kernel(target).map(drop).expect_err("it is rejected").to_string()
    };
    let error = refused(SimtTile::T64x64, 0, Target::SM_80);
    assert!(error.contains("expected a divisor of n and k, found 0"), "{error}");
    for (divisor, target) in [(2, Target::SM_80), (4, Target::SM_86)] {
        let error = refused(SimtTile::T256x128, divisor, target);
        let expected = format!("for tiles of 256x128, found {divisor} and {target}");
        assert!(error.ends_with(&expected), "{error}");
    }
}
