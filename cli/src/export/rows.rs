//! Kernels on rows, for several lengths of rows.

use warpwright::{
    kernels::{
        ColumnReduction, CrossEntropy, Norm, NormBackward, NormFunction, Pointwise, PointwiseFunction,
        Reduction, RowReduction, RowTiling, Softmax, SoftmaxBackward,
    },
    ptx::{BuildError, Kernel, Module},
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

/// Adds the derivative of softmax, or of its logarithm.
pub(super) fn softmax_backward<T: Convert<f32>>(
    module: &mut Module,
    divisor: u32,
    log: bool,
) -> Result<(), String>
where
    f32: Convert<T>,
{
    let target = module.target();
    add(module, T::SIZE, divisor, |tiling| SoftmaxBackward { tiling, log }.kernel::<T, T>(target))
}

/// Adds the derivative of a norm.
pub(super) fn norm_backward<T: Convert<f32>>(
    module: &mut Module,
    divisor: u32,
    function: NormFunction,
) -> Result<(), String>
where
    f32: Convert<T>,
{
    for n in [1024, 4096, 8192] {
        let kernel = NormBackward::for_rows(function, module.target(), T::SIZE, &[n, divisor]);
        super::kernels::add(module, |target| kernel.kernel::<T, T>(target))?;
    }
    Ok(())
}

/// Adds the loss and its derivative, for rows of any length.
pub(super) fn cross_entropy<T: Convert<f32>>(module: &mut Module, divisor: u32) -> Result<(), String>
where
    f32: Convert<T>,
{
    let kernels = CrossEntropy::for_rows(module.target(), T::SIZE, &[1 << 20, divisor]);
    super::kernels::add(module, |target| kernels.kernel::<T>(target))?;
    super::kernels::add(module, |target| kernels.backward_kernel::<T>(target))
}

/// Adds a function of elements, the one that it gates, and the derivatives of both, for rows of any length.
pub(super) fn pointwise<T: Convert<f32>>(
    module: &mut Module,
    divisor: u32,
    function: PointwiseFunction,
) -> Result<(), String>
where
    f32: Convert<T>,
{
    let kernels = Pointwise::for_rows(function, module.target(), T::SIZE, &[1 << 20, divisor]);
    super::kernels::add(module, |target| kernels.kernel::<T, T>(target))?;
    super::kernels::add(module, |target| kernels.backward_kernel::<T>(target))?;
    super::kernels::add(module, |target| kernels.gated_kernel::<T, T>(target))?;
    super::kernels::add(module, |target| kernels.gated_backward_kernel::<T>(target))
}

/// Adds the reductions of rows and of columns of any length.
pub(super) fn reductions<T: Convert<f32>>(module: &mut Module, divisor: u32) -> Result<(), String> {
    let sizes = [1 << 20, divisor];
    for function in [Reduction::Sum, Reduction::Mean, Reduction::Max, Reduction::Min, Reduction::Norm] {
        let rows = RowReduction::for_rows(function, module.target(), T::SIZE, &sizes);
        super::kernels::add(module, |target| rows.kernel::<T>(target))?;
        let columns = ColumnReduction::for_rows(function, module.target(), T::SIZE, &sizes);
        super::kernels::add(module, |target| columns.kernel::<T>(target))?;
    }
    Ok(())
}
