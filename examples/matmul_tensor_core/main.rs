//! C = A·Bᵀ on tensor cores: tf32, blocks of 128×128×16, two slices in flight, 2048×2048×256.
//!
//! ```text
//! cargo run --release --example matmul_tensor_core
//! ```

mod kernel;
#[path = "../support/product.rs"]
mod product;

use std::{error::Error, process::ExitCode, time::Instant};

use product::{Order, Size, run_and_check};
use warpwright::{
    ptx::Target,
    run::{self, Device},
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
    let start = Instant::now();
    let kernel = kernel::matmul(Target::SM_80)?;
    println!("build       {:.2?}, {} instructions", start.elapsed(), kernel.entry().instructions);
    let device = run::open_default();
    println!("device      {}", device.describe());
    let size = Size { m: 2048, n: 2048, k: 256 };
    println!("tf32        {}", run_and_check(&device, &kernel, size, Order::Rows)?);
    Ok(())
}
