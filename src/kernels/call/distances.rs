//! The matrices of a product in the form that the kernel requires. Factors that the kernel cannot read in place are copied first.

use std::sync::Arc;

use super::{
    gemm::GemmShape,
    operands::{portable_target, product, refused},
};
use crate::{
    kernels::{Gemm, MatrixOrder, Permute, PermuteArgs},
    ptx::Target,
    run::{Buffer, BufferMut, BufferRef, CallError, Called, Picked, Queue},
    tensor::TensorElement,
};

/// The matrices of a product, with the strides between their rows or columns.
pub(super) struct Matrices<'a, T, D> {
    /// The shape with the orders in which the kernel reads the factors.
    pub(super) shape: GemmShape,
    pub(super) a: Factor<'a, T>,
    pub(super) b: Factor<'a, T>,
    pub(super) d: BufferMut<'a, D>,
    pub(super) ldd: u32,
    /// The distance between consecutive D matrices.
    pub(super) d_batch_stride: u32,
    pub(super) any: AnyDistance,
}

/// Whether the kernel must support lengths, strides or distances that are not multiples of 16 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct AnyDistance {
    /// Whether A or B has a length, stride or distance that is not a multiple of 16 bytes. For kernels with tensor copies, always false.
    pub(super) operands: bool,
    /// Whether D has a length, stride or distance that is not a multiple of 16 bytes. For kernels with tensor copies, the length does not
    /// matter.
    pub(super) result: bool,
}

/// The numbers of A, B and D matrices, and the distances between consecutive matrices. A distance of `None` means that there are no gaps
/// between the matrices.
#[derive(Clone, Copy)]
pub(super) struct Counts {
    pub(super) a: (u32, Option<u32>),
    pub(super) b: (u32, Option<u32>),
    pub(super) d: (u32, Option<u32>),
    /// Whether B consists of two halves, so that tiles also begin at column n.
    pub(super) is_gated: bool,
}

impl Counts {
    /// The counts of a single product.
    pub(super) const ONE: Self = Self { a: (1, None), b: (1, None), d: (1, None), is_gated: false };
}

type Operand<'a, T> = (BufferRef<'a, T>, Option<u32>);

impl<'a, T: TensorElement, D: TensorElement> Matrices<'a, T, D> {
    /// Checks the matrices of products in which B has `cols` columns, and copies factors where necessary.
    pub(super) fn of(
        call: &'static str,
        queue: Queue<'_>,
        shape: &GemmShape,
        cols: u32,
        (a, b): (Operand<'a, T>, Operand<'a, T>),
        (d, ldd): (BufferMut<'a, D>, Option<u32>),
        counts: Counts,
    ) -> Result<Self, CallError> {
        let GemmShape { m, n, k, .. } = *shape;
        let of_d = Lines::new(MatrixOrder::Row, [m, n], Some(stride_of_result(call, [m, n], ldd)?));
        let d_batch_stride = of_d.apart(call, counts.d)?;
        let end = of_d.end(m, of_d.stride);
        // The matrices are stored one after the other, or their rows are interleaved, like those of heads.
        let is_apart = u64::from(d_batch_stride) >= end
            || d_batch_stride >= n && u64::from(of_d.stride) >= of_d.end(counts.d.0, d_batch_stride);
        if counts.d.0 > 1 && !is_apart {
            return Err(refused(
                call,
                format!("matrices D that are at least {end} elements apart"),
                d_batch_stride,
            ));
        }
        let a = Given::new([call, "A"], shape.a, [m, k], a, counts.a)?;
        let b = Given::new([call, "B"], shape.b, [k, cols], b, counts.b)?;
        // `wgmma` and `ldmatrix` transpose only 16-bit elements. Boxes of tensor copies begin at multiples of 16 bytes within a row.
        let cannot_transpose = T::SIZE != 2;
        let halves = counts.is_gated && !is_whole::<T>(n);
        let a = a.readable(call, queue, cannot_transpose.then_some(MatrixOrder::Row))?;
        let b = b.readable(call, queue, (cannot_transpose || halves).then_some(MatrixOrder::Col))?;
        let is_whole_result = is_whole::<D>(d_batch_stride) && is_whole::<D>(of_d.stride);
        let any = if has_tensor_copies(queue) {
            // Tensor copies clip rows of any length.
            AnyDistance { operands: false, result: !is_whole_result }
        } else {
            let operands = !(a.is_whole() && b.is_whole());
            AnyDistance { operands, result: !(is_whole_result && of_d.are_whole::<D>()) }
        };
        let shape = GemmShape { a: a.lines.order, b: b.lines.order, ..*shape };
        Ok(Self { shape, a, b, d, ldd: of_d.stride, d_batch_stride, any })
    }
}

/// A factor as the kernel reads it.
pub(super) struct Factor<'a, T> {
    memory: Memory<'a, T>,
    lines: Lines,
    /// The distance between consecutive matrices; 0 for a single matrix.
    pub(super) distance: u32,
    copied: Option<Arc<Picked>>,
}

enum Memory<'a, T> {
    Given(BufferRef<'a, T>),
    Copy(Buffer<T>),
}

impl<T: TensorElement> Factor<'_, T> {
    /// Returns the buffer that the kernel reads.
    pub(super) fn buffer(&self) -> BufferRef<'_, T> {
        match &self.memory {
            Memory::Given(buffer) => *buffer,
            Memory::Copy(buffer) => buffer.into(),
        }
    }

    /// Returns the leading dimension.
    pub(super) fn stride(&self) -> u32 {
        self.lines.stride
    }

    /// Returns whether 16-byte copies can read the whole factor.
    fn is_whole(&self) -> bool {
        self.lines.are_whole::<T>() && is_whole::<T>(self.distance)
    }
}

/// Adds the copies of the factors to the report of the call.
pub(super) fn with_copies<T>(mut called: Called, [a, b]: [&Factor<'_, T>; 2]) -> Called {
    called.copies.extend([a, b].into_iter().filter_map(|factor| factor.copied.clone()));
    called
}

/// A factor as passed to the call.
struct Given<'a, T> {
    /// `A` or `B`.
    name: &'static str,
    buffer: BufferRef<'a, T>,
    lines: Lines,
    /// The number of stored matrices; at most 1 if the distance is 0.
    count: u32,
    distance: u32,
}

impl<'a, T: TensorElement> Given<'a, T> {
    fn new(
        [call, name]: [&'static str; 2],
        order: MatrixOrder,
        size: [u32; 2],
        (buffer, stride): Operand<'a, T>,
        count: (u32, Option<u32>),
    ) -> Result<Self, CallError> {
        let lines = Lines::new(order, size, stride);
        let distance = lines.apart(call, count)?;
        Ok(Self {
            name,
            buffer,
            lines,
            count: if distance == 0 { count.0.min(1) } else { count.0 },
            distance,
        })
    }

    /// Returns a factor that the kernel can read: in the order `required`, if given, and, for tensor copies, with strides and distances
    /// that are multiples of 16 bytes. The launch checks the alignment of addresses.
    fn readable(
        self,
        call: &'static str,
        queue: Queue<'_>,
        required: Option<MatrixOrder>,
    ) -> Result<Factor<'a, T>, CallError> {
        let Self { buffer, lines, distance, .. } = self;
        let is_aligned = is_whole::<T>(lines.stride) && is_whole::<T>(distance);
        let transposes = required.is_some_and(|order| lines.order != order);
        if transposes || has_tensor_copies(queue) && !is_aligned {
            return self.copied(call, queue, transposes);
        }
        Ok(Factor { memory: Memory::Given(buffer), lines, distance, copied: None })
    }

    /// Copies the matrices to a workspace in which rows, or columns, are a multiple of 16 bytes apart.
    fn copied(
        self,
        call: &'static str,
        queue: Queue<'_>,
        transposes: bool,
    ) -> Result<Factor<'a, T>, CallError> {
        let Self { name, buffer, lines: from, count, distance } = self;
        let target = portable_target(call, queue)?;
        // The workspace may be much larger than a buffer that is too short.
        let (needed, found) = (from.all(count, distance), buffer.len());
        if needed > found as u64 {
            return Err(refused(call, format!("a buffer of at least {needed} elements for {name}"), found));
        }
        let to = from.padded::<T>(call, transposes)?;
        let to_distance = to.apart(call, (count, None))?;
        let length = u64::from(count) * u64::from(to.count) * u64::from(to.stride);
        let length =
            usize::try_from(length).map_err(|_| refused(call, "a copy that fits in memory", length))?;
        let mut copy = queue.workspace::<T>(call, length)?;
        let strides = [from.stride, distance, to.stride, to_distance];
        let permute = match transposes {
            true => Permute::tiles::<T>(&[&[from.count, from.length], strides.as_slice()].concat()),
            false => Permute::rows::<T>(from.length, &strides),
        };
        let permute = permute.for_addresses(|bytes| buffer.is_aligned(bytes));
        let all = |distance, stride| [0, 0, distance, stride];
        let (of_x, of_y) = (all(distance, from.stride), all(to_distance, to.stride));
        let called = queue.launch::<_, _, PermuteArgs<T>>(
            call,
            permute,
            |permute| *permute,
            |permute| permute.kernel(target),
            (buffer, &mut copy, [1, 1, count, from.count, from.length], of_x, of_y),
        )?;
        let memory = Memory::Copy(copy);
        Ok(Factor { memory, lines: to, distance: to_distance, copied: Some(called.kernel) })
    }
}

/// Returns the stride between the rows of an m×n result (by default n), and rejects overlapping rows.
pub(super) fn stride_of_result(
    call: &'static str,
    [m, n]: [u32; 2],
    stride: Option<u32>,
) -> Result<u32, CallError> {
    let stride = stride.unwrap_or(n);
    if stride < n && m > 1 {
        return Err(refused(call, format!("rows of D that are at least {n} elements apart"), stride));
    }
    Ok(stride)
}

/// The contiguous rows, or columns, of a matrix.
#[derive(Clone, Copy)]
struct Lines {
    order: MatrixOrder,
    count: u32,
    length: u32,
    stride: u32,
}

impl Lines {
    fn new(order: MatrixOrder, [rows, cols]: [u32; 2], stride: Option<u32>) -> Self {
        let [count, length] = if order == MatrixOrder::Row { [rows, cols] } else { [cols, rows] };
        Self { order, count, length, stride: stride.unwrap_or(length) }
    }

    /// Returns the distance between consecutive matrices, or 0 for a single matrix. If the given distance is `None`, each matrix begins
    /// directly after the last row, or column, of the preceding one.
    fn apart(self, call: &'static str, (count, distance): (u32, Option<u32>)) -> Result<u32, CallError> {
        match (count, distance) {
            (..=1, _) => Ok(0),
            (_, Some(distance)) => Ok(distance),
            (_, None) => product(call, &[self.count, self.stride]),
        }
    }

    /// Returns the number of elements from the start of the first line to the end of the last one, for `count` lines with a stride of
    /// `apart` elements.
    fn end(self, count: u32, apart: u32) -> u64 {
        if count == 0 { 0 } else { u64::from(count - 1) * u64::from(apart) + u64::from(self.length) }
    }

    /// Returns the number of elements from the start of the first of `matrices` matrices, `distance` elements apart, to the end of the last.
    fn all(self, matrices: u32, distance: u32) -> u64 {
        if matrices == 0 || self.count == 0 || self.length == 0 {
            return 0;
        }
        u64::from(matrices - 1) * u64::from(distance) + self.end(self.count, self.stride)
    }

    /// Returns the lines of a copy, transposed if `transposes` is true. Long lines begin at cache-line boundaries, so that a kernel's
    /// accesses to a part of a line touch few cache lines.
    fn padded<T: TensorElement>(self, call: &'static str, transposes: bool) -> Result<Self, CallError> {
        let (order, count, length) = match (transposes, self.order) {
            (false, order) => (order, self.count, self.length),
            (true, MatrixOrder::Row) => (MatrixOrder::Col, self.length, self.count),
            (true, MatrixOrder::Col) => (MatrixOrder::Row, self.length, self.count),
        };
        let unit = if u64::from(length) * u64::from(T::SIZE) < LONG { BYTES } else { CACHE_LINE };
        let stride = length.checked_next_multiple_of((unit as u32 / T::SIZE).max(1));
        let too_long = || refused(call, "rows and columns of fewer than 2³² elements", length);
        Ok(Self { order, count, length, stride: stride.ok_or_else(too_long)? })
    }

    /// Returns whether the length and the stride are multiples of 16 bytes.
    fn are_whole<T: TensorElement>(&self) -> bool {
        is_whole::<T>(self.length) && is_whole::<T>(self.stride)
    }
}

/// The size of the widest access in bytes; strides and addresses for tensor copies must be multiples of it.
const BYTES: u64 = 16;
/// The size of a cache line in bytes.
const CACHE_LINE: u64 = 128;
/// The minimum size in bytes of a line that is padded to whole cache lines. For shorter lines, the padding would take too much memory.
const LONG: u64 = 8 * CACHE_LINE;

/// Returns whether `elements` elements occupy a multiple of 16 bytes.
fn is_whole<T: TensorElement>(elements: u32) -> bool {
    (u64::from(elements) * u64::from(T::SIZE)).is_multiple_of(BYTES)
}

/// Returns whether the kernel for the device loads factors with tensor copies.
fn has_tensor_copies(queue: Queue<'_>) -> bool {
    Gemm::target_of(queue.cache().capability()) == Target::SM_90A
}
