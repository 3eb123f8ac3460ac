use cudarc::driver::{CudaSlice, CudaStream};
use warpwright::{
    prelude::*,
    run::{Loaded, RunError},
};

fn main() {}

fn run(
    stream: &CudaStream,
    kernel: &Loaded<(In<bf16>, Out<f32>, u32)>,
    x: &CudaSlice<f32>,
    y: &mut CudaSlice<f32>,
) -> Result<(), RunError> {
    kernel.launch(stream, (x, y, 8))
}
