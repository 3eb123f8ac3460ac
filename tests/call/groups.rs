//! Products of groups of rows with a separate factor for each group.

use warpwright::{
    kernels::{
        MatrixOrder,
        call::{self, GemmGroups, GemmShape},
    },
    prelude::*,
    run::{AnyDevice, Device, KernelCache, Simulator},
    sim::Arch,
};

use super::{
    gemm::{Matrix, product, shape},
    numbers::{assert_near, downloaded_floats, on_hopper, results},
};

/// Compares a product of groups of `rows` rows, the last of them shorter, with f64; matrices B are `gap` elements apart.
fn check(device: &AnyDevice, rows: usize, [n, k]: [usize; 2], gap: usize) {
    let kernels = KernelCache::new(device);
    let indices = [2u32, 0, 0, 1];
    let sizes @ [m, ..] = [3 * rows + 5, n, k];
    let a = Matrix::new(m, k, MatrixOrder::Row, 1);
    let b: Vec<_> = (2..5).map(|seed| Matrix::new(k, n, MatrixOrder::Col, seed)).collect();
    let elements = |matrix: &Matrix| [&matrix.elements[..], &vec![bf16::NAN; gap]].concat();
    let on_a = device.upload(&a.elements).expect("room");
    let on_b = device.upload(&b.iter().flat_map(elements).collect::<Vec<_>>()).expect("room");
    let on_indices = device.upload(&indices).expect("room");
    let groups = GemmGroups {
        rows: rows as u32,
        groups: (&on_indices).into(),
        count: 3,
        b_batch_stride: (gap > 0).then_some((n * k + gap) as u32),
    };
    let mut d = results::<f32>(device, m * n);
    let shape = GemmShape { b: MatrixOrder::Col, ..shape(sizes) };
    let called = call::grouped_gemm(&kernels, &shape, &groups, &on_a, &on_b, &mut d).expect("launched");
    let products: Vec<_> = b.iter().map(|b| product(&a, b, sizes)).collect();
    let expected: Vec<f64> = (0..m * n).map(|at| products[indices[at / n / rows] as usize][at]).collect();
    let what = format!("{rows} rows, {}", called.kernel.name);
    assert_near(&what, &downloaded_floats(device, &d), &expected, 1e-5 * k as f64);
}

#[test]
fn every_group_has_its_factor() {
    on_hopper(|device| {
        for (rows, gap) in [(16, 0), (64, 8), (128, 0)] {
            check(device, rows, [136, 72], gap);
        }
    });
    let device = AnyDevice::Sim(Simulator::new().arch(Arch::Sm80));
    check(&device, 64, [136, 72], 0);
    check(&device, 128, [45, 67], 3);
}

#[test]
fn groups_without_a_tile_are_refused() {
    for (arch, expected) in [(Arch::Sm90, "16, 64, 128, 192, 256"), (Arch::Sm80, "64, 128")] {
        let device = Simulator::new().arch(arch);
        let kernels = KernelCache::new(&device);
        let a = device.upload(&[bf16::ONE; 64 * 64]).expect("room");
        let indices = device.upload(&[0u32]).expect("room");
        let mut d = device.output::<f32>(64 * 64).expect("room");
        let mut refused = |rows| {
            let groups = GemmGroups { rows, groups: (&indices).into(), count: 1, b_batch_stride: None };
            call::grouped_gemm(&kernels, &GemmShape::new(64, 64, 64), &groups, &a, &a, &mut d)
                .map_err(|error| error.to_string())
        };
        let error = refused(32).expect_err("refused");
        assert_eq!(error, format!("grouped_gemm: expected one of {expected} rows per tile, found 32"));
        refused(64).expect("launched");
        if arch == Arch::Sm90 {
            let error = refused(16).expect_err("refused");
            assert!(
                error.ends_with("`groups`: expected a buffer of at least 4 elements, found 1"),
                "{error}"
            );
        }
    }
}
