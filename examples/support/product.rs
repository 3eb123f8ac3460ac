//! Matrices of small integers, whose products are exact in f32 in any order of summation, and the reference product.

use std::time::Instant;

use warpwright::{
    ptx::{In, Kernel, Out},
    run::{Device, RunError},
};

/// `(a, b, c, m, n, k)`.
pub(crate) type Args = (In<f32>, In<f32>, Out<f32>, u32, u32, u32);

/// The number of rows of A and of B, and the shared extent k.
#[derive(Clone, Copy)]
pub(crate) struct Size {
    pub(crate) m: usize,
    pub(crate) n: usize,
    pub(crate) k: usize,
}

/// The storage order of a factor.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Order {
    /// Column-major.
    Columns,
    /// Row-major.
    Rows,
}

/// Returns element (row, col) of a matrix, an integer from −3 to 3.
fn entry(row: usize, col: usize, seed: usize) -> f32 {
    let mix = (row * 31 + col * 17 + seed * 7) ^ (row / 3 * 5 + col / 5 * 11);
    (mix % 7) as f32 - 3.0
}

fn matrix(rows: usize, cols: usize, seed: usize, order: Order) -> Vec<f32> {
    match order {
        Order::Columns => (0..cols).flat_map(|j| (0..rows).map(move |i| entry(i, j, seed))).collect(),
        Order::Rows => (0..rows).flat_map(|i| (0..cols).map(move |j| entry(i, j, seed))).collect(),
    }
}

/// Runs C = A·Bᵀ and compares every element: A m×k column-major, B n×k in order `b`, C m×n column-major. Returns a summary.
pub(crate) fn run_and_check<D: Device>(
    device: &D,
    kernel: &Kernel<Args>,
    Size { m, n, k }: Size,
    b_order: Order,
) -> Result<String, Box<dyn std::error::Error>> {
    let (a, b) = (matrix(m, k, 1, Order::Columns), matrix(n, k, 2, b_order));
    let start = Instant::now();
    let found = launch(device, kernel, Size { m, n, k }, &a, &b)?;
    let time = start.elapsed();

    let b_at = |j: usize, p: usize| if b_order == Order::Rows { b[j * k + p] } else { b[p * n + j] };
    for j in 0..n {
        let mut expect = vec![0.0_f32; m];
        for p in 0..k {
            let factor = b_at(j, p);
            expect.iter_mut().zip(&a[p * m..]).for_each(|(sum, a)| *sum += a * factor);
        }
        if let Some(i) = (0..m).find(|&i| found[j * m + i] != expect[i]) {
            return Err(format!("C[{i}, {j}] is {}, not {}", found[j * m + i], expect[i]).into());
        }
    }
    Ok(format!("{m}×{n}×{k} in {time:.2?}, all {} elements right", m * n))
}

fn launch<D: Device>(
    device: &D,
    kernel: &Kernel<Args>,
    Size { m, n, k }: Size,
    a: &[f32],
    b: &[f32],
) -> Result<Vec<f32>, RunError> {
    let (a, b) = (device.upload(a)?, device.upload(b)?);
    let mut c = device.output::<f32>(m * n)?;
    device.launch(kernel, (&a, &b, &mut c, m as u32, n as u32, k as u32))?;
    device.download(&c)
}
