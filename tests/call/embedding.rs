//! Rows selected by indices, and sums into them.

use warpwright::{
    kernels::call,
    prelude::*,
    run::{Device, KernelCache, Simulator},
};

use super::{
    matrix::{Matrix, each, length, rows_of},
    numbers::{assert_near, downloaded_halves, numbers, results},
};

/// Indices of rows of a table, some of them repeated, and two that do not refer to a row.
const INDICES: [i32; 9] = [1, 0, -1, 1, 1, i32::MAX, 0, 1, 0];

fn selected(rows: usize) -> Vec<Option<usize>> {
    INDICES.iter().map(|&index| usize::try_from(index).ok().filter(|&index| index < rows)).collect()
}

#[test]
fn rows_are_selected() {
    each(|device, kernels, size @ [rows, n, ld]| {
        let table = Matrix::new(device, size, 1);
        let indices = device.upload(&INDICES).expect("room");
        let of_y = [INDICES.len(), n, n + 3];
        let mut y = results::<bf16>(device, length(of_y));
        let shape = [INDICES.len() as u32, n as u32];
        let (from, to) = ((&table.buffer, ld as u32), (&mut y, n as u32 + 3));
        call::gather(kernels, shape, rows as u32, from, &indices, to).expect("launched");
        let expected: Vec<f64> = selected(rows)
            .into_iter()
            .flat_map(|row| row.map_or_else(|| vec![0.0; n], |row| table.rows[row].clone()))
            .collect();
        assert_near("y", &rows_of(&downloaded_halves(device, &y), of_y), &expected, 0.0);
    });
}

#[test]
fn rows_are_added() {
    each(|device, kernels, [rows, n, ld]| {
        let x = Matrix::new(device, [INDICES.len(), n, n + 3], 2);
        let indices = device.upload(&INDICES).expect("room");
        // The numbers between rows must not change.
        let before = numbers(rows * ld, 3);
        let mut table = device.upload(&before).expect("room");
        let shape = [INDICES.len() as u32, n as u32];
        let (from, to) = ((&x.buffer, n as u32 + 3), (&mut table, ld as u32));
        call::scatter_add(kernels, shape, rows as u32, from, &indices, to).expect("launched");
        let mut expected: Vec<f64> = before.into_iter().map(f64::from).collect();
        for (x, row) in x.rows.iter().zip(selected(rows)) {
            let Some(row) = row else { continue };
            expected[row * ld..].iter_mut().zip(x).for_each(|(sum, x)| *sum += x);
        }
        let found: Vec<f64> = device.download(&table).expect("copied").into_iter().map(f64::from).collect();
        assert_near("table", &found, &expected, 1e-5);
    });
}

#[test]
fn rows_that_overlap_and_missing_indices_are_refused() {
    let device = Simulator::new();
    let kernels = KernelCache::new(&device);
    let x = device.upload(&[1.0f32; 8]).expect("room");
    let indices = device.upload(&[0]).expect("room");
    let mut y = device.output::<f32>(8).expect("room");
    let error = call::gather(&kernels, [2, 4], 2, &x, &indices, &mut y).expect_err("refused").to_string();
    assert!(
        error.ends_with("parameter `indices`: expected a buffer of at least 2 elements, found 1"),
        "{error}"
    );
    let error = call::scatter_add(&kernels, [1, 4], 2, &x, &indices, (&mut y, 3)).expect_err("refused");
    assert_eq!(
        error.to_string(),
        "scatter_add: expected rows of results that are at least 4 elements apart, found 3"
    );
}
