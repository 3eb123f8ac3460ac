use warpwright::{
    prelude::*,
    run::{Buffer, Device, RunError},
};

fn main() {}

fn run(
    device: &impl Device,
    kernel: &Kernel<(In<f32>, Out<f32>, u32)>,
    mut x: Buffer<f32>,
) -> Result<(), RunError> {
    device.launch(kernel, (&x, &mut x, 8))?;
    Ok(())
}
