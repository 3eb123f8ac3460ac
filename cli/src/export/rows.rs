//! Kernels on rows, for several lengths of rows.

use warpwright::{
    kernels::{Norm, NormFunction, RowTiling, Softmax},
    ptx::{BuildError, Element, Kernel, Module},
    tiles::Convert,
};

/// The longest rows that the kernels of a module are for.
const LENGTHS: [u32; 3] = [1024, 4096, 16384];

/// Adds a kernel for each length of rows, whose sizes `divisor` divides, of elements of `bytes` bytes.
pub(super) fn add<A>(
    module: &mut Module,
    bytes: u32,
    divisor: u32,
    build: impl Fn(RowTiling) -> Result<Kernel<A>, BuildError>,
) -> Result<(), String> {
    for n in LENGTHS {
        let tiling = RowTiling::for_rows(module.target(), bytes, &[n, divisor]);
        super::kernels::add(module, |_| build(tiling))?;
    }
    Ok(())
}

/// Adds softmax, or its logarithm.
pub(super) fn softmax<T: Convert<f32>>(module: &mut Module, divisor: u32, log: bool) -> Result<(), String>
where
    f32: Convert<T>,
{
    let target = module.target();
    add(module, T::SIZE, divisor, |tiling| Softmax { tiling, log }.kernel::<T, T>(target))
}

/// Adds a norm without bias, and the one of a residual sum.
pub(super) fn norm<T: Convert<f32>>(
    module: &mut Module,
    divisor: u32,
    function: NormFunction,
) -> Result<(), String>
where
    f32: Convert<T>,
{
    let target = module.target();
    add(module, T::SIZE, divisor, |tiling| Norm { tiling, function }.kernel::<T, T, T>(target))?;
    add(module, T::SIZE, divisor, |tiling| Norm { tiling, function }.residual_kernel::<T, T, T>(target))
}
