//! C = A·Bᵀ with `cp.async`: detects the race in MoYe's documentation, then runs the correct program at 2048×2048×256.
//!
//! ```text
//! cargo run --release --example matmul_async
//! ```

mod kernel;
#[path = "../support/product.rs"]
mod product;

use std::{error::Error, process::ExitCode};

use kernel::{Wait, matmul};
use product::{Order, Size, run_and_check};
use warpwright::{
    ptx::Target,
    run::{self, Device, RunError, Simulator},
    sim::FindingKind,
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

fn is_race(error: &(dyn Error + 'static)) -> bool {
    match error.downcast_ref() {
        Some(RunError::Simulation(why)) => why.kind() == Some(FindingKind::SharedRace),
        _ => false,
    }
}

fn demonstrate() -> Result<(), Box<dyn Error>> {
    let small = Size { m: 128, n: 128, k: 16 };
    let race = matmul(Target::SM_80, Wait::OwnCopies, 4, 1)?;
    match run_and_check(&Simulator::new(), &race, small, Order::Columns) {
        Ok(_) => return Err("the simulator let the missing barrier pass".into()),
        Err(found) if is_race(found.as_ref()) => {
            println!("no barrier between wait and product:\n  {found}\n");
        }
        Err(other) => return Err(other),
    }
    match matmul(Target::SM_80, Wait::AllCopies, 8, 1) {
        Ok(_) => return Err("8-byte copies onto a pad of one element were not refused".into()),
        Err(refused) => println!("8 bytes at once onto columns padded by one element:\n  {refused}\n"),
    }

    let device = run::open_default();
    println!("device      {}", device.describe());
    let size = Size { m: 2048, n: 2048, k: 256 };
    for (bytes, pad) in [(4, 1), (8, 2), (16, 4)] {
        let kernel = matmul(Target::SM_80, Wait::AllCopies, bytes, pad)?;
        println!("{bytes:>2} bytes    {}", run_and_check(&device, &kernel, size, Order::Columns)?);
    }
    Ok(())
}
