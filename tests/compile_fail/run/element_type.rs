use warpwright::{
    prelude::*,
    run::{Buffer, Device, RunError},
};

fn main() {}

fn run(
    device: &impl Device,
    kernel: &Kernel<(In<bf16>, Out<f32>, u32)>,
    x: &Buffer<f32>,
    y: &mut Buffer<f32>,
) -> Result<(), RunError> {
    device.launch(kernel, (x, y, 8))?;
    Ok(())
}
