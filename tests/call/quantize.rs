//! Quantized rows and blocks, with their scales.

use warpwright::{
    kernels::{NormFunction, PointwiseFunction, ScaleGroup, call},
    prelude::*,
    run::{AnyDevice, Device, KernelCache, Simulator},
    sim::Arch,
};

use super::{
    matrix::{Matrix, each, length},
    norms::{EPSILON, norm},
    numbers::{assert_near, downloaded, halves, in_f64, results},
};

/// Compares quantized rows and their scales with f64; an element may differ by `steps` scales, and relatively by `error`.
fn check(
    what: &str,
    group: ScaleGroup,
    (rows, [_, n, ldq]): (&[Vec<f64>], [usize; 3]),
    (q, scales): (&[f64], &[f32]),
    [largest, steps, error]: [f64; 3],
) {
    let block = if group == ScaleGroup::Row { n } else { 128 };
    let lds = group.scales(n as u32) as usize + 1;
    for (row, x) in rows.iter().enumerate() {
        for (i, x) in x.chunks(block).enumerate() {
            let scale = x.iter().fold(0.0, |max: f64, x| max.max(x.abs())) / largest;
            assert_near(what, &[scales[row * lds + i].into()], &[scale], 1e-6 * scale);
            for (col, x) in x.iter().enumerate() {
                let found = q[row * ldq + i * block + col] * scale;
                let allowed = steps * scale + error * x.abs();
                assert!(
                    (found - x).abs() <= allowed,
                    "{what}: row {row}, block {i}, {col}: expected {x}, found {found}"
                );
            }
        }
        let gap = scales.get(row * lds + lds - 1);
        assert!(gap.is_none_or(|scale| scale.is_nan()), "{what}: wrote past the scales of row {row}");
    }
}

#[test]
fn rows_and_blocks_are_quantized() {
    each(|device, kernels, size @ [m, n, ld]| {
        for group in [ScaleGroup::Row, ScaleGroup::Block] {
            let x = Matrix::new(device, size, 1);
            let what = format!("{group:?} {size:?}");
            let columns = group.scales(n as u32);
            // Rows of q are farther apart than those of x.
            let of_result = [m, n, ld + 16];
            let shape = [m as u32, n as u32];
            let mut scales = results::<f32>(device, m * (columns as usize + 1) - 1);
            let mut q = results::<e4m3>(device, length(of_result));
            let (of_x, of_q) = ((&x.buffer, ld as u32), (&mut q, ld as u32 + 16));
            call::quantize(kernels, group, shape, of_x, of_q, (&mut scales, columns + 1)).expect("launched");
            let found = downloaded(device, &q, |q: e4m3| q.to_bits() == 0xFF);
            let q: Vec<f64> = found.into_iter().map(|q| q.to_f32().into()).collect();
            let of_scales = downloaded(device, &scales, |x: f32| x.to_bits() == u32::MAX);
            // Half of the distance between numbers, of subnormal numbers too.
            check(&what, group, (&x.rows, of_result), (&q, &of_scales), [448.0, 1.0 / 1024.0, 1.0 / 15.9]);

            let mut scales = results::<f32>(device, m * (columns as usize + 1) - 1);
            let mut q = results::<i8>(device, length(of_result));
            let (of_x, of_q) = ((&x.buffer, ld as u32), (&mut q, ld as u32 + 16));
            call::quantize(kernels, group, shape, of_x, of_q, (&mut scales, columns + 1)).expect("launched");
            let found = downloaded(device, &q, |q: i8| q == -1);
            let q: Vec<f64> = found.into_iter().map(f64::from).collect();
            let of_scales = downloaded(device, &scales, |x: f32| x.to_bits() == u32::MAX);
            check(&what, group, (&x.rows, of_result), (&q, &of_scales), [127.0, 0.5001, 0.0]);
        }
    });
}

/// Norms and gates; their quotients by the scale are rounded after an error of f32, which may change the direction.
#[test]
fn norms_and_gates_are_quantized() {
    each(|device, kernels, size @ [m, n, ld]| {
        for group in [ScaleGroup::Row, ScaleGroup::Block] {
            let (x, u) = (Matrix::new(device, size, 2), Matrix::new(device, size, 3));
            let w = halves(n, 4);
            let on_w = device.upload(&w).expect("room");
            let columns = group.scales(n as u32);
            let of_result = [m, n, ld + 16];
            let shape = [m as u32, n as u32];
            let (of_x, of_u, ldq) = ((&x.buffer, ld as u32), (&u.buffer, ld as u32), ld as u32 + 16);
            let result = || {
                let scales = results::<f32>(device, m * (columns as usize + 1) - 1);
                (results::<i8>(device, length(of_result)), scales)
            };
            let compare = |what: &str, rows: &[Vec<f64>], q, scales| {
                let found = downloaded(device, q, |q: i8| q == -1);
                let q: Vec<f64> = found.into_iter().map(f64::from).collect();
                let scales = downloaded(device, scales, |x: f32| x.to_bits() == u32::MAX);
                let what = format!("{what} {group:?} {size:?}");
                check(&what, group, (rows, of_result), (&q, &scales), [127.0, 0.51, 0.0]);
            };

            let (mut q, mut scales) = result();
            let (of_q, of_scales) = ((&mut q, ldq), (&mut scales, columns + 1));
            let function = NormFunction::Layer;
            call::norm_quantize(kernels, group, function, shape, EPSILON, of_x, &on_w, of_q, of_scales)
                .expect("launched");
            let rows: Vec<_> = x.rows.iter().map(|row| norm(function, row, &in_f64(&w))).collect();
            compare("norm", &rows, &q, &scales);

            let (mut q, mut scales) = result();
            let (of_q, of_scales) = ((&mut q, ldq), (&mut scales, columns + 1));
            let function = PointwiseFunction::Relu;
            call::gated_quantize(kernels, group, function, shape, of_x, of_u, of_q, of_scales)
                .expect("launched");
            let gate = |(x, u): (&f64, &f64)| x.max(0.0) * u;
            let of_row = |(x, u): (&Vec<f64>, &Vec<f64>)| std::iter::zip(x, u).map(gate).collect();
            let rows: Vec<Vec<f64>> = std::iter::zip(&x.rows, &u.rows).map(of_row).collect();
            compare("gate", &rows, &q, &scales);
        }
    });
}

#[test]
fn rows_that_overlap_and_older_devices_are_refused() {
    let device = AnyDevice::Sim(Simulator::new().arch(Arch::Sm80));
    let kernels = KernelCache::new(&device);
    let x = device.upload(&[1.0f32; 4 * 256]).expect("room");
    let (mut q, mut scales) = (device.output::<i8>(4 * 256).expect("room"), device.output(8).expect("room"));
    let size = [4, 256];
    let refused = |called: Result<_, warpwright::run::CallError>| called.expect_err("refused").to_string();
    assert_eq!(
        refused(call::quantize(&kernels, ScaleGroup::Row, size, &x, (&mut q, 255), &mut scales)),
        "quantize: expected rows of results that are at least 256 elements apart, found 255"
    );
    assert_eq!(
        refused(call::quantize(&kernels, ScaleGroup::Block, size, &x, &mut q, (&mut scales, 1))),
        "quantize: expected rows of results that are at least 2 elements apart, found 1"
    );
    let mut q = device.output::<e4m3>(4 * 256).expect("room");
    let error = refused(call::quantize(&kernels, ScaleGroup::Row, size, &x, &mut q, &mut scales));
    assert!(error.starts_with("quantize: ") && error.contains("sm_89"), "{error}");
}
