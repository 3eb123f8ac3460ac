//! The largest elements of rows, and sampling.

use super::{
    operands::{Rows, portable_target, refused},
    rows::input,
};
use crate::{
    kernels::{Sample, SampleArgs, TopK, TopKArgs},
    run::{BufferMut, CallError, Called, Queue},
    tiles::Convert,
};

/// Finds the `count` largest elements of each of m rows of n elements, in descending order, and their column indices, as described in
/// [`TopK`]. `values` and `indices` are contiguous m×`count` matrices.
///
/// # Errors
/// Returns [`CallError`], for example if `count` is not between 1 and 512.
#[doc(alias = "topk")]
pub fn top_k<'a, X>(
    on: impl Into<Queue<'a>>,
    [m, n]: [u32; 2],
    count: u32,
    x: impl Rows<'a, X>,
    values: impl Into<BufferMut<'a, X>>,
    indices: impl Into<BufferMut<'a, i32>>,
) -> Result<Called, CallError>
where
    X: Convert<f32>,
    f32: Convert<X>,
{
    const CALL: &str = "top_k";
    let queue = on.into();
    let target = portable_target(CALL, queue)?;
    if !(1..=TopK::MOST).contains(&count) {
        return Err(refused(CALL, format!("1 to {} elements of a row", TopK::MOST), count));
    }
    let (x, ldx) = input(x, n);
    queue.launch::<_, _, TopKArgs<X>>(
        CALL,
        ([n, ldx], count.next_power_of_two()),
        |(sizes, count)| TopK::for_rows(target, X::SIZE, sizes, *count),
        |top_k| top_k.kernel(target),
        (x, ldx, values.into(), indices.into(), m, n, count),
    )
}

/// The parameters that determine how [`Sample`] draws a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampling {
    /// The divisor of the elements before the softmax; 0 selects the largest element.
    pub temperature: f32,
    /// The maximum number of candidate columns, in descending order of their elements. The column of the largest element is always a
    /// candidate. `u32::MAX` excludes no column.
    pub top_k: u32,
    /// A limit from 0 to 1: a column is a candidate only if the total probability of the columns that precede it, in descending order of
    /// their elements, is less than this limit. The column of the largest element is always a candidate. A limit of 1 excludes no column.
    pub top_p: f32,
    /// The key of the random number generator.
    pub seed: u64,
    /// An offset that distinguishes calls with the same seed, so that their random numbers differ.
    pub offset: u64,
}

impl Sampling {
    /// Returns parameters with temperature 1 and without restrictions on the columns.
    pub const fn new(seed: u64, offset: u64) -> Self {
        Self { temperature: 1.0, top_k: u32::MAX, top_p: 1.0, seed, offset }
    }
}

/// Draws a column of each of m rows of n elements with the probabilities of the row's softmax, as described in [`Sample`]. `tokens`
/// receives the column indices.
///
/// ```
/// use warpwright::{kernels::call, prelude::*, run::{Device, KernelCache, Simulator}};
///
/// let device = Simulator::new();
/// let kernels = KernelCache::new(&device);
/// // Two rows of three columns. Only the last column of the first row and the first of the second can be drawn.
/// let x = device.upload(&[f32::NEG_INFINITY, f32::NEG_INFINITY, 1.0, 2.0, f32::NEG_INFINITY, f32::NEG_INFINITY])?;
/// let mut tokens = device.output::<i32>(2)?;
/// let sampling = call::Sampling { temperature: 0.7, top_k: 50, ..call::Sampling::new(1, 0) };
/// call::sample(&kernels, [2, 3], sampling, &x, &mut tokens)?;
/// assert_eq!(device.download(&tokens)?, [2, 0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns [`CallError`], for example if the temperature is negative or `top_p` is not between 0 and 1.
#[doc(alias = "multinomial")]
pub fn sample<'a, X>(
    on: impl Into<Queue<'a>>,
    [m, n]: [u32; 2],
    sampling: Sampling,
    x: impl Rows<'a, X>,
    tokens: impl Into<BufferMut<'a, i32>>,
) -> Result<Called, CallError>
where
    X: Convert<f32>,
{
    const CALL: &str = "sample";
    let queue = on.into();
    let target = portable_target(CALL, queue)?;
    let Sampling { temperature, top_k, top_p, seed, offset } = sampling;
    if temperature.is_nan() || temperature < 0.0 {
        return Err(refused(CALL, "a temperature of 0 or more", temperature));
    }
    if !(0.0..=1.0).contains(&top_p) {
        return Err(refused(CALL, "a probability from 0 to 1", top_p));
    }
    let (x, ldx) = input(x, n);
    queue.launch::<_, _, SampleArgs<X>>(
        CALL,
        [n, ldx],
        |sizes| Sample::for_rows(target, X::SIZE, sizes),
        |sample| sample.kernel(target),
        (x, ldx, tokens.into(), m, n, temperature, top_k, top_p, seed, offset),
    )
}
