use cudarc::driver::{CudaSlice, CudaStream};
use warpwright::{
    prelude::*,
    run::{Loaded, RunError},
};

fn main() {}

fn run(
    stream: &CudaStream,
    kernel: &Loaded<(In<bf16>, Out<f32>, u32)>,
    x: CudaSlice<u16>,
    mut y: CudaSlice<f32>,
) -> Result<(), RunError> {
    kernel.launch(stream, (&x, &mut y))
}
