use warpwright::{
    prelude::*,
    run::{Buffer, Device, RunError},
};

fn main() {}

fn run(
    device: &impl Device,
    kernel: &Kernel<(In<f32>, Out<f32>, u32)>,
    x: Buffer<f32>,
    mut y: Buffer<f32>,
) -> Result<(), RunError> {
    device.launch(kernel, (&mut y, &x, 8))?;
    Ok(())
}
