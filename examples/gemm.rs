//! D = silu(A·B) on tensor cores, compared with f64: on Hopper with tensor copies, warp specialization and `wgmma`, on other GPUs with `mma.sync`.
//!
//! ```text
//! cargo run --release --example gemm
//! ```
//!
//! Runs on the first GPU if its compute capability is 8.0 or later, otherwise in the simulator of a Hopper GPU.

#[path = "support/errors.rs"]
mod errors;
#[path = "support/numbers.rs"]
mod numbers;

use std::{error::Error, process::ExitCode};

use warpwright::{
    kernels::{Activation, Gemm, GpuKind, MatrixOrder},
    prelude::*,
    run::{self, Device, Simulator},
};

fn main() -> ExitCode {
    match demonstrate() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn demonstrate() -> Result<(), Box<dyn Error>> {
    let first = run::open_default();
    if first.capability() >= (8, 0) { table(&first) } else { table(&Simulator::new()) }
}

fn table(device: &impl Device) -> Result<(), Box<dyn Error>> {
    println!("device   {}", device.describe());
    for (m, n, k, a_order, b_order) in [
        (256, 384, 256, MatrixOrder::Row, MatrixOrder::Row),
        (200, 136, 328, MatrixOrder::Row, MatrixOrder::Col),
        (72, 520, 64, MatrixOrder::Col, MatrixOrder::Row),
    ] {
        let sizes = [m, n, k].map(|size| size as u32);
        let chosen = Gemm::for_problem::<bf16, bf16>(a_order, b_order, sizes, &GpuKind::of(device));
        let gemm = Gemm { activation: Some(Activation::Silu), ..chosen };
        let kernel = gemm.kernel::<bf16, f32, bf16>()?;
        let (a, b) = (Matrix::new(m, k, a_order, 1), Matrix::new(k, n, b_order, 2));
        let mut d = device.output::<bf16>(m * n)?;
        let (device_a, device_b) = (device.upload(&a.elements)?, device.upload(&b.elements)?);
        let (lda, ldb, sizes) = (a.stride(), b.stride(), (m as u32, n as u32, k as u32));
        let arguments = (&device_a, lda, &device_b, ldb, &mut d, n as u32, sizes.0, sizes.1, sizes.2);
        let launched = device.launch(&kernel, arguments)?;
        let case = format!("{m:>4}×{n:<3} by {k:>3} in {:.2?} ({})", launched.time, kernel.name());
        // The roundings of f32 and bf16.
        errors::check(&case, relative_errors(&a, &b, &device.download(&d)?), 1.0 / 128.0)?;
    }
    Ok(())
}

/// A matrix of bf16 whose rows or columns are contiguous.
struct Matrix {
    rows: usize,
    cols: usize,
    order: MatrixOrder,
    elements: Vec<bf16>,
}

impl Matrix {
    /// Returns a matrix of pseudo-random numbers from −1 to 1.
    fn new(rows: usize, cols: usize, order: MatrixOrder, seed: u32) -> Self {
        Self { rows, cols, order, elements: numbers::uniform(rows * cols, seed) }
    }

    fn at(&self, row: usize, col: usize) -> f64 {
        let index =
            if self.order == MatrixOrder::Row { row * self.cols + col } else { col * self.rows + row };
        self.elements[index].to_f64()
    }

    /// Returns the stride between rows or, if the matrix is column-major, between columns.
    fn stride(&self) -> u32 {
        self.order.leading_dimension(self.rows as u32, self.cols as u32)
    }
}

/// Returns the errors compared with f64, relative to the sum of the magnitudes of the products, because sums of either sign may cancel.
fn relative_errors(a: &Matrix, b: &Matrix, found: &[bf16]) -> Vec<f64> {
    let mut errors = Vec::with_capacity(found.len());
    for (row, col) in (0..a.rows).flat_map(|row| (0..b.cols).map(move |col| (row, col))) {
        let products = (0..a.cols).map(|i| a.at(row, i) * b.at(i, col));
        let (sum, magnitude) =
            products.fold((0.0, 1.0), |(sum, magnitude), p| (sum + p, magnitude + p.abs()));
        let expected = sum / (1.0 + (-sum).exp());
        errors.push((found[row * b.cols + col].to_f64() - expected) / magnitude);
    }
    errors
}
