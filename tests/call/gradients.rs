//! Gradients of kernels on rows.

use std::iter;

use warpwright::{
    kernels::{NormBackward, NormFunction, PointwiseFunction, call},
    prelude::*,
    run::{AnyDevice, Device, KernelCache, Simulator},
};

use super::{
    matrix::{Matrix, each, length, rows_of},
    norms::{EPSILON, statistics},
    numbers::{assert_near, downloaded_floats, downloaded_halves, halves, in_f64, numbers, results},
    softmax::softmax,
};
use crate::devices;

/// Returns SiLU and its derivative.
fn silu(x: f64) -> [f64; 2] {
    let s = 1.0 / (1.0 + (-x).exp());
    [x * s, s * (1.0 + x * (1.0 - s))]
}

#[test]
fn functions_and_gates() {
    each(|device, kernels, size @ [m, n, ld]| {
        let [x, u, dy] = [1, 2, 3].map(|seed| Matrix::new(device, size, seed));
        let [mut dx, mut gated_dx, mut du] = [(); 3].map(|()| results::<bf16>(device, length(size)));
        let [m, n, ld] = [m, n, ld].map(|n| n as u32);
        let [of_x, of_u, of_dy] = [&x, &u, &dy].map(|matrix| (&matrix.buffer, ld));
        let function = PointwiseFunction::Silu;
        call::pointwise_backward(kernels, function, [m, n], of_x, of_dy, (&mut dx, ld)).expect("launched");
        let derivatives = ((&mut gated_dx, ld), (&mut du, ld));
        call::gated_backward(kernels, function, [m, n], of_x, of_u, of_dy, derivatives).expect("launched");

        let [x, u, dy] = [x, u, dy].map(|matrix| matrix.rows.concat());
        let expected = |of: &dyn Fn(usize) -> f64| (0..x.len()).map(of).collect::<Vec<_>>();
        for (what, found, expected) in [
            ("dx", &dx, expected(&|i| silu(x[i])[1] * dy[i])),
            ("dx of a gate", &gated_dx, expected(&|i| silu(x[i])[1] * u[i] * dy[i])),
            ("du", &du, expected(&|i| silu(x[i])[0] * dy[i])),
        ] {
            let found = rows_of(&downloaded_halves(device, found), size);
            assert_near(&format!("{what} {size:?}"), &found, &expected, 0.005);
        }
    });
}

#[test]
fn softmax_and_its_logarithm() {
    each(|device, kernels, size @ [m, n, ld]| {
        for log in [false, true] {
            let rows: Vec<Vec<f64>> = numbers(m * n, 4)
                .chunks(n)
                .map(|row| softmax(&row.iter().map(|&x| x.into()).collect::<Vec<_>>(), n, log))
                .collect();
            let y: Vec<f32> = rows.concat().iter().map(|&y| y as f32).collect();
            let dy = numbers(m * n, 5);
            let [on_y, on_dy] = [&y, &dy].map(|elements| device.upload(elements).expect("room"));
            let mut dx = results::<f32>(device, length(size));
            let size_of_rows = [m as u32, n as u32];
            call::softmax_backward(kernels, log, size_of_rows, 3.0, &on_y, &on_dy, (&mut dx, ld as u32))
                .expect("launched");
            let of_row = |(y, dy): (&Vec<f64>, &[f32])| {
                let dy: Vec<f64> = dy.iter().map(|&dy| dy.into()).collect();
                let along: f64 = iter::zip(y, &dy).map(|(y, dy)| if log { *dy } else { y * dy }).sum();
                let element = |(y, dy): (&f64, &f64)| match log {
                    true => 3.0 * (dy - y.exp() * along),
                    false => 3.0 * y * (dy - along),
                };
                iter::zip(y, &dy).map(element).collect::<Vec<_>>()
            };
            let expected: Vec<f64> = iter::zip(&rows, dy.chunks(n)).flat_map(of_row).collect();
            let found = rows_of(&downloaded_floats(device, &dx), size);
            assert_near(&format!("{log} {size:?}"), &found, &expected, 1e-4);
        }
    });
}

#[test]
fn losses() {
    each(|device, kernels, size @ [m, n, ld]| {
        let x = Matrix::new(device, size, 6);
        // The first row is ignored.
        let targets: Vec<i32> = (0..m).map(|row| if row == 0 { -1 } else { (row * 5 % n) as i32 }).collect();
        let logs: Vec<f64> = x.rows.iter().map(|row| row.iter().map(|x| x.exp()).sum::<f64>().ln()).collect();
        let dlosses = numbers(m, 7);
        let on_targets = device.upload(&targets).expect("room");
        let on_logs = device.upload(&logs.iter().map(|&log| log as f32).collect::<Vec<_>>()).expect("room");
        let on_dlosses = device.upload(&dlosses).expect("room");
        let mut dx = results::<bf16>(device, length(size));
        let (of_x, of_dx) = ((&x.buffer, ld as u32), (&mut dx, ld as u32));
        let size_of_rows = [m as u32, n as u32];
        call::cross_entropy_backward(
            kernels,
            size_of_rows,
            -1,
            of_x,
            &on_targets,
            &on_logs,
            &on_dlosses,
            of_dx,
        )
        .expect("launched");
        let element = |row: usize, col: usize| {
            let one = if targets[row] == col as i32 { 1.0 } else { 0.0 };
            let derivative = ((x.rows[row][col] - logs[row]).exp() - one) * f64::from(dlosses[row]);
            if targets[row] == -1 { 0.0 } else { derivative }
        };
        let expected: Vec<f64> = (0..m * n).map(|at| element(at / n, at % n)).collect();
        assert_near(&format!("{size:?}"), &rows_of(&downloaded_halves(device, &dx), size), &expected, 0.005);
    });
}

/// Few rows, and, on a device with two multiprocessors, more rows than partial sums.
#[test]
fn norms() {
    let small = AnyDevice::Sim(Simulator::new().multiprocessors(2));
    for device in devices::all().into_iter().chain([small]) {
        let kernels = KernelCache::new(&device);
        let functions = [NormFunction::Rms, NormFunction::Layer];
        let sizes = [[3, 64, 64], [2, 1001, 1003], [5, 7, 8], [40, 1000, 1000]];
        for (function, size @ [m, n, ld]) in functions.into_iter().flat_map(|f| sizes.map(|size| (f, size))) {
            let (x, dy) = (Matrix::new(&device, size, 8), Matrix::new(&device, size, 9));
            let w = halves(n, 10);
            let on_w = device.upload(&w).expect("room");
            let mut dx = results::<bf16>(&device, length(size));
            let (mut dw, mut db) = (results::<f32>(&device, n), results::<f32>(&device, n));
            let shape = [m as u32, n as u32];
            let length = call::norm_backward_workspace::<bf16>(&kernels, shape);
            let [mut dw_parts, mut db_parts] = [(); 2].map(|()| results::<f32>(&device, length));
            let ld = ld as u32;
            call::norm_backward(
                &kernels,
                function,
                shape,
                EPSILON,
                (&x.buffer, ld),
                &on_w,
                (&dy.buffer, ld),
                (&mut dx, ld),
                (&mut dw, &mut db),
                [&mut dw_parts, &mut db_parts],
            )
            .expect("launched");
            // The canaries after the workspaces are still there.
            for parts in [&dw_parts, &db_parts] {
                downloaded_floats(&device, parts);
            }

            let (mut dws, mut dbs, mut dxs) = (vec![0.0; n], vec![0.0; n], Vec::new());
            for (x, dy) in iter::zip(&x.rows, &dy.rows) {
                let [mean, scale] = statistics(function, x);
                let normed: Vec<f64> = x.iter().map(|x| (x - mean) * scale).collect();
                let g: Vec<f64> = iter::zip(dy, in_f64(&w)).map(|(dy, w)| dy * w).collect();
                let of_g =
                    if function == NormFunction::Layer { g.iter().sum::<f64>() / n as f64 } else { 0.0 };
                let along = iter::zip(&g, &normed).map(|(g, x)| g * x).sum::<f64>() / n as f64;
                for (col, (g, x)) in iter::zip(&g, &normed).enumerate() {
                    dxs.push(scale * (g - of_g - along * x));
                    dws[col] += dy[col] * x;
                    dbs[col] += dy[col];
                }
            }
            let what = format!("{function:?} {size:?}");
            assert_near(&what, &rows_of(&downloaded_halves(&device, &dx), size), &dxs, 0.005);
            assert_near(&what, &downloaded_floats(&device, &dw), &dws, 1e-4);
            assert_near(&what, &downloaded_floats(&device, &db), &dbs, 1e-4);
        }
    }
}

#[test]
fn short_workspaces_and_scales_are_refused() {
    let device = Simulator::new();
    let kernels = KernelCache::new(&device);
    let x = device.upload(&[1.0f32; 64 * 4]).expect("room");
    let mut dx = device.output::<f32>(64 * 4).expect("room");
    let [mut dw, mut db, mut short, mut parts] =
        [4, 4, 3, 64 * 4].map(|len| device.output(len).expect("room"));
    let error = call::norm_backward(
        &kernels,
        NormFunction::Rms,
        [64, 4],
        EPSILON,
        &x,
        &x,
        &x,
        &mut dx,
        (&mut dw, &mut db),
        [&mut parts, &mut short],
    );
    let error = error.expect_err("refused").to_string();
    assert!(
        error.starts_with("norm_backward: ") && error.contains("`db`: expected a buffer of at least"),
        "{error}"
    );
    let error = call::softmax_backward(&kernels, false, [64, 4], -1.0, &x, &x, &mut dx).expect_err("refused");
    assert_eq!(error.to_string(), "softmax_backward: expected a positive scale of at most 2.3e38, found -1");
}

/// The workspace suffices for each function and stride, which determine the tiling.
#[test]
fn workspaces_of_norms_suffice() {
    let device = Simulator::new();
    let kernels = KernelCache::new(&device);
    let (major, minor) = kernels.capability();
    let target = Target::newest_portable(major, minor).expect("it has clusters");
    let m = 100_000;
    for n in (100..4700).step_by(61).chain([1531, 2041, 2304, 2568, 12_001, 16_386, 20_002, 32_001, 65_535]) {
        let length = call::norm_backward_workspace::<bf16>(&kernels, [m, n]);
        for (function, gap) in
            [NormFunction::Rms, NormFunction::Layer].into_iter().flat_map(|f| (0..9).map(move |gap| (f, gap)))
        {
            let backward = NormBackward::for_rows(function, target, 2, &[n, n + gap]);
            let parts = backward.parts(kernels.resident_clusters(backward.tiling.cluster));
            assert!(parts as usize * n as usize <= length, "{function:?}, {n}, {gap}: {parts} parts");
        }
    }
}
