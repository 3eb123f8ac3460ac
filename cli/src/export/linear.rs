//! The exported kernels of linear attention and convolutions.

use super::kernels::add;
use warpwright::{
    kernels::{DecayedAttention, FftConvolution, Hedgehog, StateSpace, TaylorAttention},
    ptx::Module,
    tensor::{Arithmetic, FloatElement},
    tiles::{Convert, Product},
};

/// Adds linear attention with decays, for two row lengths.
pub(super) fn decayed<T>(module: &mut Module) -> Result<(), String>
where
    T: Arithmetic + Product<T, f32> + Convert<f32>,
    f32: Convert<T>,
{
    [64, 128].into_iter().try_for_each(|size| {
        add(module, |target| DecayedAttention { key_size: size, value_size: size }.kernel::<T>(target))
    })
}

/// Adds Hedgehog attention, for two row lengths of V.
pub(super) fn hedgehog<T>(module: &mut Module) -> Result<(), String>
where
    T: Arithmetic + Product<T, f32> + Convert<f32>,
    f32: Convert<T>,
{
    [64, 128]
        .into_iter()
        .try_for_each(|value_size| add(module, |target| Hedgehog { value_size }.kernel::<T>(target)))
}

/// Adds the state space model, for two state sizes.
pub(super) fn state_space<T>(module: &mut Module) -> Result<(), String>
where
    T: Arithmetic + Product<T, f32> + Convert<f32>,
    f32: Convert<T>,
{
    [64, 128].into_iter().try_for_each(|state_size| {
        add(module, |target| StateSpace { head_size: 64, state_size }.kernel::<T>(target))
    })
}

/// Adds linear attention with a Taylor expansion, with and without normalization.
pub(super) fn taylor<T>(module: &mut Module) -> Result<(), String>
where
    T: Arithmetic + Product<T, f32> + Convert<f32>,
    f32: Convert<T>,
{
    [false, true]
        .into_iter()
        .try_for_each(|normalized| add(module, |target| TaylorAttention { normalized }.kernel::<T>(target)))
}

/// Adds convolutions with Fourier transforms of all lengths that the target supports.
pub(super) fn fft_convolution<T>(module: &mut Module) -> Result<(), String>
where
    T: FloatElement + Product<T, f32> + Convert<f32>,
    f32: Convert<T>,
{
    FftConvolution::sizes(module.target())
        .iter()
        .try_for_each(|&size| add(module, |target| FftConvolution { size }.kernel::<T>(target)))
}
