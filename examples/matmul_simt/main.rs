//! C = A·Bᵀ with `TiledCopy` and `TiledMma` on fused multiply-adds: 2048×2048×256 in f32.
//!
//! ```text
//! cargo run --release --example matmul_simt
//! ```

mod kernel;
#[path = "../support/product.rs"]
mod product;

use std::{error::Error, process::ExitCode};

use kernel::{Copies, matmul};
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
    let device = run::open_default();
    println!("device      {}", device.describe());
    let size = Size { m: 2048, n: 2048, k: 256 };
    for (name, copies) in [("by elements", Copies::Elements), ("by vectors", Copies::Vectors)] {
        let kernel = matmul(Target::SM_75, copies)?;
        println!("{name:<11} {}", run_and_check(&device, &kernel, size, Order::Columns)?);
    }
    Ok(())
}
