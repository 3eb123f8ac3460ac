//! Convolutions of long sequences.

use super::{
    operands::{Rows, RowsMut, portable_target, product, refused},
    rows::{input, output},
};
use crate::{
    kernels::{FftConvolution, FftConvolutionArgs},
    run::{BufferRef, CallError, Called, Queue},
    tensor::{FloatElement, TensorElement},
    tiles::{Convert, Product},
};

/// Convolves the sequence of each batch and channel with the channel's filter: y = F⁻¹(F(u) ∘ f), where F is the Fourier transform of
/// `size` points, f is the transform of the filter, and ∘ is the elementwise product. `size` must be 1024, 4096, 8192 or 16384. See
/// [`FftConvolution`] for the algorithm.
///
/// u and y have `batches`·`channels` rows of `length` elements. `length` must be at most `size` and a multiple of 64 (32 if `size` is
/// 1024). The strides between rows must be multiples of 8 elements. `re` and `im` are contiguous `[channel][size]` arrays, which contain
/// the real and imaginary parts of f. [`FftConvolution::sizes`] returns the sizes that a target supports.
///
/// # Errors
/// Returns [`CallError`], for example `Refused` if `size` or `length` is not supported.
#[doc(alias = "FlashFFTConv")]
pub fn fft_convolution<'a, T>(
    on: impl Into<Queue<'a>>,
    size: u32,
    [batches, channels, length]: [u32; 3],
    u: impl Rows<'a, T>,
    (re, im): (impl Into<BufferRef<'a, f32>>, impl Into<BufferRef<'a, f32>>),
    y: impl RowsMut<'a, T>,
) -> Result<Called, CallError>
where
    T: TensorElement + FloatElement + Product<T, f32> + Convert<f32>,
    f32: Convert<T>,
{
    const CALL: &str = "fft_convolution";
    let queue = on.into();
    let target = portable_target(CALL, queue)?;
    let divisor = match size {
        1024 => 32,
        4096 | 8192 | 16384 => 64,
        _ => return Err(refused(CALL, "transforms of 1024, 4096, 8192 or 16384 points", size)),
    };
    if length > size || !length.is_multiple_of(divisor) {
        let expected = format!("sequences of a multiple of {divisor} elements, at most {size}");
        return Err(refused(CALL, expected, length));
    }
    let rows = product(CALL, &[batches, channels])?;
    let ((u, ldu), (y, ldy)) = (input(u, length), output(CALL, y, [rows, length])?);
    let strides = |ld: u32| -> Result<[u32; 2], CallError> {
        if !ld.is_multiple_of(8) {
            return Err(refused(CALL, "rows that are a multiple of 8 elements apart", ld));
        }
        Ok([product(CALL, &[channels, ld])?, ld])
    };
    let strides = [strides(ldu)?, strides(ldy)?];
    queue.launch::<_, _, FftConvolutionArgs<T>>(
        CALL,
        FftConvolution { size },
        |convolution| *convolution,
        |convolution| convolution.kernel(target),
        (u, re.into(), im.into(), y, [batches, channels, length], strides),
    )
}
