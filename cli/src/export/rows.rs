//! The exported kernels that process rows, for several row lengths.

use warpwright::{
    kernels::{
        AdamW, ColumnReduction, CrossEntropy, CumulativeSum, Dropout, Embedding, Norm, NormBackward,
        NormFunction, Pointwise, PointwiseFunction, Quantize, Quantized, Reduction, Rotary, RotaryPairs,
        RowReduction, RowTiling, Sample, ScaleGroup, Softmax, SoftmaxBackward, TopK,
    },
    ptx::{BuildError, Kernel, Module, Target},
    tensor::TensorElement,
    tiles::Convert,
};

/// The maximum row lengths for which kernels are exported.
const LENGTHS: [u32; 3] = [1024, 4096, 16384];

const NORMS: [NormFunction; 2] = [NormFunction::Rms, NormFunction::Layer];

/// A function that chooses a tiling, given the target, the element size in bytes, and the row sizes.
type Tiling<'f> = dyn Fn(Target, u32, &[u32]) -> RowTiling + 'f;

/// Adds a kernel for each row length, for `bytes`-byte elements and sizes that are multiples of `divisor`.
pub(super) fn add<A>(
    module: &mut Module,
    bytes: u32,
    divisor: u32,
    tiling: &Tiling<'_>,
    build: impl Fn(RowTiling) -> Result<Kernel<A>, BuildError>,
) -> Result<(), String> {
    for n in LENGTHS {
        let tiling = tiling(module.target(), bytes, &[n, divisor]);
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
    add(module, T::SIZE, divisor, &softmax_tiling, |tiling| Softmax { tiling, log }.kernel::<T, T>(target))
}

/// Returns the tiling that is chosen for softmax.
fn softmax_tiling(target: Target, bytes: u32, sizes: &[u32]) -> RowTiling {
    Softmax::for_rows(target, bytes, sizes).tiling
}

/// Returns the tiling that is chosen for softmax with a mask.
fn masked_softmax_tiling(target: Target, bytes: u32, sizes: &[u32]) -> RowTiling {
    Softmax::for_masked_rows(target, bytes, sizes).tiling
}

/// Adds softmax with a causal mask, and its logarithm.
pub(super) fn causal_softmax<T: Convert<f32>>(module: &mut Module, divisor: u32) -> Result<(), String>
where
    f32: Convert<T>,
{
    let target = module.target();
    [false, true].into_iter().try_for_each(|log| {
        add(module, T::SIZE, divisor, &masked_softmax_tiling, |tiling| {
            Softmax { tiling, log }.causal_kernel::<T, T>(target)
        })
    })
}

/// Adds softmax for rows of different lengths, and its logarithm.
pub(super) fn lengths_softmax<T: Convert<f32>>(module: &mut Module, divisor: u32) -> Result<(), String>
where
    f32: Convert<T>,
{
    let target = module.target();
    [false, true].into_iter().try_for_each(|log| {
        add(module, T::SIZE, divisor, &masked_softmax_tiling, |tiling| {
            Softmax { tiling, log }.lengths_kernel::<T, T>(target)
        })
    })
}

/// Adds a norm and the norm of a residual sum, with and without a bias.
pub(super) fn norm<T: Convert<f32>>(
    module: &mut Module,
    divisor: u32,
    function: NormFunction,
) -> Result<(), String>
where
    f32: Convert<T>,
{
    let target = module.target();
    let plain = |target, bytes, sizes: &[u32]| Norm::for_rows(function, target, bytes, sizes).tiling;
    let biased = |target, bytes, sizes: &[u32]| Norm::for_biased_rows(function, target, bytes, sizes).tiling;
    let residual =
        |target, bytes, sizes: &[u32]| Norm::for_residual_rows(function, target, bytes, sizes).tiling;
    let norm = |tiling| Norm { tiling, function };
    add(module, T::SIZE, divisor, &plain, |tiling| norm(tiling).kernel::<T, T, T>(target))?;
    add(module, T::SIZE, divisor, &residual, |tiling| norm(tiling).residual_kernel::<T, T, T>(target))?;
    add(module, T::SIZE, divisor, &biased, |tiling| norm(tiling).biased_kernel::<T, T, T>(target))?;
    add(module, T::SIZE, divisor, &residual, |tiling| norm(tiling).residual_biased_kernel::<T, T, T>(target))
}

/// Adds the gradient of softmax, or of its logarithm.
pub(super) fn softmax_backward<T: Convert<f32>>(
    module: &mut Module,
    divisor: u32,
    log: bool,
) -> Result<(), String>
where
    f32: Convert<T>,
{
    let target = module.target();
    add(module, T::SIZE, divisor, &RowTiling::for_rows, |tiling| {
        SoftmaxBackward { tiling, log }.kernel::<T, T>(target)
    })
}

/// Adds the gradients of a norm.
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

/// Adds the cross-entropy loss and its gradient, for rows of any length.
pub(super) fn cross_entropy<T: Convert<f32>>(module: &mut Module, divisor: u32) -> Result<(), String>
where
    f32: Convert<T>,
{
    let kernels = CrossEntropy::for_rows(module.target(), T::SIZE, &[1 << 20, divisor]);
    super::kernels::add(module, |target| kernels.kernel::<T>(target))?;
    super::kernels::add(module, |target| kernels.backward_kernel::<T>(target))
}

/// Adds an elementwise function, its gated variant, and the gradients of both, for rows of any length.
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

/// Adds reductions along rows and along columns of any length.
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

/// Adds the sum of two matrices with rows of any length.
pub(super) fn sum<T: Convert<f32>>(module: &mut Module, divisor: u32) -> Result<(), String>
where
    f32: Convert<T>,
{
    let sizes = [1 << 20, divisor];
    let kernels = Pointwise::for_rows(PointwiseFunction::Identity, module.target(), T::SIZE, &sizes);
    super::kernels::add(module, |target| kernels.added_kernel::<T, T>(target))
}

/// Adds the conversions of elements of type `X` to `Y` and to `Z`, for rows of any length.
pub(super) fn casts<X: Convert<f32>, Y: TensorElement, Z: TensorElement>(
    module: &mut Module,
    divisor: u32,
) -> Result<(), String>
where
    f32: Convert<Y> + Convert<Z>,
{
    cast::<X, Y>(module, divisor)?;
    cast::<X, Z>(module, divisor)
}

/// Adds the conversion of elements of type `X` to `Y`.
fn cast<X: Convert<f32>, Y: TensorElement>(module: &mut Module, divisor: u32) -> Result<(), String>
where
    f32: Convert<Y>,
{
    let (bytes, sizes) = (X::SIZE.max(Y::SIZE), [1 << 20, divisor]);
    let kernels = Pointwise::for_rows(PointwiseFunction::Identity, module.target(), bytes, &sizes);
    super::kernels::add(module, |target| kernels.kernel::<X, Y>(target))
}

/// Adds quantization to `Q`, alone, after both norms and after SwiGLU, with one scale per row and with one scale per block.
pub(super) fn quantize<T: Convert<f32>, Q: Quantized>(module: &mut Module, divisor: u32) -> Result<(), String>
where
    f32: Convert<T> + Convert<Q>,
{
    // The kernels with one scale per block process rows of any length; the threads of one block process one row.
    let lengths = LENGTHS.map(|n| (ScaleGroup::Row, n)).into_iter().chain([(ScaleGroup::Block, 128)]);
    for (group, n) in lengths {
        let kernels = Quantize::for_rows(group, module.target(), T::SIZE, &[n, divisor]);
        super::kernels::add(module, |target| kernels.kernel::<T, Q>(target))?;
        let of_norms = Quantize::for_norm_rows(group, module.target(), T::SIZE, &[n, divisor]);
        for function in NORMS {
            super::kernels::add(module, |target| of_norms.norm_kernel::<T, T, Q>(function, target))?;
        }
        super::kernels::add(module, |target| kernels.gated_kernel::<T, Q>(PointwiseFunction::Silu, target))?;
    }
    Ok(())
}

/// Adds rotary embeddings with both pairings, and their inverses.
pub(super) fn rotary<T: Convert<f32>>(module: &mut Module, divisor: u32) -> Result<(), String>
where
    f32: Convert<T>,
{
    for pairs in [RotaryPairs::Halves, RotaryPairs::Adjacent] {
        for inverse in [false, true] {
            let rotary = Rotary { inverse, ..Rotary::for_rows(pairs, T::SIZE, &[64, divisor]) };
            super::kernels::add(module, |target| rotary.kernel::<T>(target))?;
        }
    }
    Ok(())
}

/// Adds inclusive and exclusive cumulative sums along rows of any length.
pub(super) fn cumulative_sum<T: Convert<f32>>(module: &mut Module, divisor: u32) -> Result<(), String>
where
    f32: Convert<T>,
{
    for inclusive in [true, false] {
        let sums = CumulativeSum::for_rows(inclusive, module.target(), T::SIZE, &[1 << 20, divisor]);
        super::kernels::add(module, |target| sums.kernel::<T, T>(target))?;
    }
    Ok(())
}

/// Adds the kernels that find the largest elements of each row: up to 32 with a warp per row, and up to 256 with a block per row.
pub(super) fn top_k<T: Convert<f32>>(module: &mut Module, divisor: u32) -> Result<(), String>
where
    f32: Convert<T>,
{
    for (n, count) in [(256, 32), (1 << 20, 256)] {
        let top_k = TopK::for_rows(module.target(), T::SIZE, &[n, divisor], count);
        super::kernels::add(module, |target| top_k.kernel::<T>(target))?;
    }
    Ok(())
}

/// Adds sampling from rows of any length.
pub(super) fn sample<T: Convert<f32>>(module: &mut Module, divisor: u32) -> Result<(), String> {
    let sample = Sample::for_rows(module.target(), T::SIZE, &[1 << 20, divisor]);
    super::kernels::add(module, |target| sample.kernel::<T>(target))
}

/// Adds dropout for rows of any length, and dropout in a residual sum before both norms.
pub(super) fn dropout<T: Convert<f32>>(module: &mut Module, divisor: u32) -> Result<(), String>
where
    f32: Convert<T>,
{
    let target = module.target();
    let dropout = Dropout::for_rows(target, T::SIZE, &[1 << 20, divisor]);
    super::kernels::add(module, |target| dropout.kernel::<T, T>(target))?;
    NORMS.into_iter().try_for_each(|function| {
        let tiling =
            |target, bytes, sizes: &[u32]| Norm::for_dropout_rows(function, target, bytes, sizes).tiling;
        add(module, T::SIZE, divisor, &tiling, |tiling| {
            Norm { tiling, function }.dropout_kernel::<T, T, T>(target)
        })
    })
}

/// Adds the selection of rows by index, and the addition of rows at indices.
pub(super) fn embedding<T: Convert<f32>>(module: &mut Module, divisor: u32) -> Result<(), String>
where
    f32: Convert<T>,
{
    let kernels = Embedding::for_rows(module.target(), T::SIZE, &[1 << 20, divisor]);
    super::kernels::add(module, |target| kernels.kernel::<T>(target))?;
    let kernels = Embedding::for_added_rows(module.target(), T::SIZE, &[1 << 20, divisor]);
    super::kernels::add(module, |target| kernels.add_kernel::<T>(target))
}

/// Adds a step of AdamW for parameters and gradients of type `T`.
pub(super) fn adamw<T: Convert<f32>>(module: &mut Module, divisor: u32) -> Result<(), String>
where
    f32: Convert<T>,
{
    let kernels = AdamW::for_rows(module.target(), &[1 << 20, divisor]);
    super::kernels::add(module, |target| kernels.kernel::<T, T>(target))
}
