//! Selection of the largest elements of rows, and sampling.

use super::{
    operands::{Rows, portable_target, refused},
    rows::input,
};
use crate::{
    kernels::{Sample, SampleArgs, TopK, TopKArgs},
    run::{BufferMut, CallError, Called, Queue},
    tiles::Convert,
};

/// Finds the `count` largest elements of each of m rows of n elements and their column indices, in descending order of the elements, as
/// described in [`TopK`]. `values` and `indices` are contiguous m×`count` matrices.
///
/// # Errors
/// Returns [`CallError`], for example `Refused` if `count` is 0 or greater than 512.
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
        ([n, ldx], count.next_power_of_two(), has_many(queue, m)),
        |(sizes, count, many)| match many {
            true => TopK::for_many_rows(target, X::SIZE, sizes, *count),
            false => TopK::for_rows(target, X::SIZE, sizes, *count),
        },
        |top_k| top_k.kernel(target),
        (x, ldx, values.into(), indices.into(), m, n, count),
    )
}

/// The parameters that determine how [`Sample`] draws a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampling {
    /// The temperature, by which elements are divided before the softmax. If it is 0, the column of the largest element is drawn.
    pub temperature: f32,
    /// The number of candidate columns: only the columns of the `top_k` largest elements can be drawn. The column of the largest element
    /// can always be drawn. `u32::MAX` excludes no columns.
    pub top_k: u32,
    /// The probability limit for nucleus sampling, from 0 to 1. Columns are considered in descending order of their elements: a column can
    /// be drawn only if the total probability of the preceding columns is less than this limit. The column of the largest element can
    /// always be drawn. A limit of 1 excludes no columns.
    pub top_p: f32,
    /// The key of the random number generator.
    pub seed: u64,
    /// The offset of the random number generator. Calls with the same seed but different offsets use different random numbers.
    pub offset: u64,
}

impl Sampling {
    /// Returns parameters with a temperature of 1 and without restrictions on the columns.
    pub const fn new(seed: u64, offset: u64) -> Self {
        Self { temperature: 1.0, top_k: u32::MAX, top_p: 1.0, seed, offset }
    }
}

/// Draws one column from each of m rows of n elements, with the probabilities given by the row's softmax, as described in [`Sample`].
/// `tokens` receives the m column indices. These indices also depend on the kernel, and thus on the device and on whether there are at
/// least 8 rows per multiprocessor.
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
/// Returns [`CallError`], for example `Refused` if the temperature is negative, or if `top_p` is less than 0 or greater than 1.
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
        ([n, ldx], has_many(queue, m)),
        |(sizes, many)| match many {
            true => Sample::for_many_rows(target, X::SIZE, sizes),
            false => Sample::for_rows(target, X::SIZE, sizes),
        },
        |sample| sample.kernel(target),
        (x, ldx, tokens.into(), m, n, temperature, top_k, top_p, seed, offset),
    )
}

/// The number of rows per multiprocessor from which small blocks are faster.
const MANY_ROWS: u32 = 8;

/// Returns whether there are enough rows to occupy the device with small blocks.
fn has_many(queue: Queue<'_>, m: u32) -> bool {
    m / MANY_ROWS >= queue.cache().multiprocessors()
}
