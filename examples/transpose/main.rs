//! Copy and transpose of 2048×2048 f32 through shared memory: plain, with `cp.async`, padded, and with the crate's kernels.
//!
//! ```text
//! cargo run --release --example transpose
//! ```

mod kernel;

use std::{error::Error, process::ExitCode};

use kernel::{Args, Way, copy_kernel, transpose_kernel};
use warpwright::{
    kernels,
    layout::Layout,
    ptx::{Kernel, Target},
    run::{self, Device},
};

const SIZE: usize = 2048;

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
    let target = Target::SM_80;
    let device = run::open_default();
    println!("device               {}", device.describe());
    let plain = Layout::column_major((32, 32))?;
    let padded: Layout = "(32,32):(1,33)".parse()?;

    run_and_check(&device, "copy", &copy_kernel(target, Way::Registers, &plain)?, false)?;
    run_and_check(&device, "copy, cp.async", &copy_kernel(target, Way::Chosen, &plain)?, false)?;
    run_and_check(&device, "copy, padded", &copy_kernel(target, Way::Chosen, &padded)?, false)?;
    run_and_check(&device, "transpose", &transpose_kernel(target, &plain)?, true)?;
    run_and_check(&device, "transpose, padded", &transpose_kernel(target, &padded)?, true)?;
    ready(&device)?;

    match copy_kernel(target, Way::Chosen, &"(32,32):(1,31)".parse()?) {
        Ok(_) => Err("columns that overlap were not refused".into()),
        Err(refused) => {
            println!("\nMoYe's padding (1,31) is refused:\n  {refused}");
            Ok(())
        }
    }
}

fn source() -> Vec<f32> {
    (0..SIZE * SIZE).map(|i| i as f32).collect()
}

/// Checks that `found` is the source or its transpose.
fn check(found: &[f32], transposed: bool) -> Result<(), String> {
    for (at, &found) in found.iter().enumerate() {
        let from = if transposed { at % SIZE * SIZE + at / SIZE } else { at };
        if found != from as f32 {
            return Err(format!("element {at} is {found}, not {from}"));
        }
    }
    Ok(())
}

fn run_and_check<D: Device>(
    device: &D,
    name: &str,
    kernel: &Kernel<Args>,
    transposed: bool,
) -> Result<(), Box<dyn Error>> {
    let (src, mut dst) = (device.upload(&source())?, device.output::<f32>(SIZE * SIZE)?);
    let launched = device.launch(kernel, (&mut dst, &src, SIZE as u32, SIZE as u32))?;
    check(&device.download(&dst)?, transposed)?;
    println!("{name:<20} {SIZE}×{SIZE} in {:.2?}, all elements right", launched.time);
    Ok(())
}

/// Runs the crate's kernels: 64×64 tiles, 16 bytes per access.
fn ready<D: Device>(device: &D) -> Result<(), Box<dyn Error>> {
    let (size, src) = (SIZE as u32, device.upload(&source())?);
    let mut dst = device.output::<f32>(SIZE * SIZE)?;
    let copy = kernels::copy_elements::<f32>(Target::SM_80)?;
    let launched = device.launch(&copy, (&src, &mut dst, size * size))?;
    check(&device.download(&dst)?, false)?;
    println!("{:<20} {SIZE}×{SIZE} in {:.2?}, all elements right", "kernels::copy", launched.time);
    for divisor in [4, 1] {
        let transpose = kernels::transpose::<f32>(Target::SM_80, divisor)?;
        let mut dst = device.output::<f32>(SIZE * SIZE)?;
        let launched = device.launch(&transpose, (&src, &mut dst, size, size))?;
        check(&device.download(&dst)?, true)?;
        let name = format!("kernels::transpose/{divisor}");
        println!("{name:<20} {SIZE}×{SIZE} in {:.2?}, all elements right", launched.time);
    }
    Ok(())
}
