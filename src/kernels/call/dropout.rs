//! Dropout.

use super::{
    operands::{Rows, RowsMut, portable_target, refused},
    rows::{input, output, wider},
};
use crate::{
    kernels::{Dropout, DropoutArgs, DropoutNormArgs, Norm, NormFunction},
    run::{BufferRef, CallError, Called, Queue},
    tensor::TensorElement,
    tiles::Convert,
};

/// The parameters that determine which elements become 0; [`Dropout`] defines the random numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DropoutMask {
    /// The probability that an element becomes 0, from 0 to 1.
    pub p: f32,
    /// The key of the random number generator.
    pub seed: u64,
    /// The offset of the random number generator. Matrices with the same seed but different offsets have different random numbers.
    pub offset: u64,
}

impl DropoutMask {
    fn check(self, call: &'static str) -> Result<(), CallError> {
        let is_probability = (0.0..=1.0).contains(&self.p);
        if is_probability { Ok(()) } else { Err(refused(call, "a probability from 0 to 1", self.p)) }
    }
}

/// Computes y = dropout(x) for m rows of n elements: each element becomes 0 with probability `mask.p`, and the other elements are
/// multiplied by 1 / (1 − `mask.p`). To compute the gradient with respect to x, pass the gradient with respect to y as x, with the same
/// `mask`.
///
/// # Errors
/// Returns [`CallError`], for example `Refused` if `mask.p` is less than 0 or greater than 1.
pub fn dropout<'a, X, Y>(
    on: impl Into<Queue<'a>>,
    mask: DropoutMask,
    [m, n]: [u32; 2],
    x: impl Rows<'a, X>,
    y: impl RowsMut<'a, Y>,
) -> Result<Called, CallError>
where
    X: Convert<f32>,
    Y: TensorElement,
    f32: Convert<Y>,
{
    const CALL: &str = "dropout";
    let queue = on.into();
    let target = portable_target(CALL, queue)?;
    mask.check(CALL)?;
    let ((x, ldx), (y, ldy)) = (input(x, n), output(CALL, y, [m, n])?);
    queue.launch::<_, _, DropoutArgs<X, Y>>(
        CALL,
        [n, ldx, ldy],
        |sizes| Dropout::for_rows(target, wider::<X, Y>(), sizes),
        |dropout| dropout.kernel(target),
        (x, ldx, y, ldy, m, n, mask.p, mask.seed, mask.offset),
    )
}

/// Computes h = dropout(x) + r, rounded to the type of x, and y = norm(h) · w + b for each of m rows of n elements, where norm is the given
/// [`NormFunction`] with ε = `epsilon`. w and b have n elements. Dropout is applied as in [`dropout`].
///
/// # Errors
/// Returns the same errors as [`dropout`].
pub fn dropout_norm<'a, X, W, Y>(
    on: impl Into<Queue<'a>>,
    mask: DropoutMask,
    function: NormFunction,
    [m, n]: [u32; 2],
    epsilon: f32,
    (x, r): (impl Rows<'a, X>, impl Rows<'a, X>),
    (w, b): (impl Into<BufferRef<'a, W>>, impl Into<BufferRef<'a, W>>),
    (h, y): (impl RowsMut<'a, X>, impl RowsMut<'a, Y>),
) -> Result<Called, CallError>
where
    X: Convert<f32>,
    W: Convert<f32>,
    Y: TensorElement,
    f32: Convert<X> + Convert<Y>,
{
    const CALL: &str = "dropout_norm";
    let queue = on.into();
    let target = portable_target(CALL, queue)?;
    mask.check(CALL)?;
    let DropoutMask { p, seed, offset } = mask;
    let ((x, ldx), (r, ldr)) = (input(x, n), input(r, n));
    let ((h, ldh), (y, ldy)) = (output(CALL, h, [m, n])?, output(CALL, y, [m, n])?);
    let (w, b) = (w.into(), b.into());
    queue.launch::<_, _, DropoutNormArgs<X, W, Y>>(
        CALL,
        (function, [n, ldx, ldr, ldh, ldy]),
        |(function, sizes)| Norm::for_dropout_rows(*function, target, wider::<X, Y>(), sizes),
        |norm| norm.dropout_kernel(target),
        (x, ldx, r, ldr, w, b, h, ldh, y, ldy, m, n, epsilon, p, seed, offset),
    )
}
