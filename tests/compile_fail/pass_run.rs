//! The valid counterparts of the programs of `run/`.

use warpwright::{
    prelude::*,
    run::{Buffer, Device, RunError},
};

type Arguments = (In<bf16>, Out<f32>, InOut<f16>, u32, f64);

#[expect(dead_code, reason = "is only compiled")]
fn run(
    device: &impl Device,
    kernel: &Kernel<Arguments>,
    x: &Buffer<bf16>,
    mut y: Buffer<f32>,
    z: &mut Buffer<f16>,
) -> Result<(), RunError> {
    device.launch(kernel, (x, &mut y, z, 8, 1.5))?;
    Ok(())
}
