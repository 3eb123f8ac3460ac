//! The valid counterparts of the programs of `run/cuda/`.

use cudarc::driver::{CudaSlice, CudaStream, CudaView};
use warpwright::{
    prelude::*,
    run::{Loaded, RunError},
};

type Arguments = (In<bf16>, In<bf16>, Out<f32>, InOut<f32>, u32);

#[expect(dead_code, reason = "is only compiled")]
fn run(
    stream: &CudaStream,
    kernel: &Loaded<Arguments>,
    x: CudaSlice<u16>,
    x2: CudaView<'_, bf16>,
    mut y: CudaSlice<f32>,
    z: &mut CudaSlice<f32>,
) -> Result<(), RunError> {
    kernel.launch(stream, (&x, &x2, &mut y, &mut z.slice_mut(4..), 8))
}
