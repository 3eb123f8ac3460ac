//! The strides of the matrices of a product.

use super::{
    gemm::GemmShape,
    operands::{product, refused},
};
use crate::{
    kernels::{Gemm, MatrixOrder},
    ptx::Target,
    run::{BufferMut, BufferRef, CallError, Queue},
    tensor::TensorElement,
};

/// The matrices of a product, with the strides between their rows or columns.
pub(super) struct Distances<'a, T, D> {
    pub(super) a: (BufferRef<'a, T>, u32),
    pub(super) b: (BufferRef<'a, T>, u32),
    pub(super) d: (BufferMut<'a, D>, u32),
    pub(super) any: AnyDistance,
}

/// The rows that the kernel must support although 16-byte copies do not.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct AnyDistance {
    /// Whether rows of A and B are not multiples of 16 bytes long and apart.
    pub(super) operands: bool,
    /// The same for rows of D.
    pub(super) result: bool,
}

impl<'a, T: TensorElement, D: TensorElement> Distances<'a, T, D> {
    /// Checks the strides of a product whose B has this number of columns.
    pub(super) fn of(
        call: &'static str,
        queue: Queue<'_>,
        shape: &GemmShape,
        cols: u32,
        ((a, lda), (b, ldb)): (Operand<'a, T>, Operand<'a, T>),
        (d, ldd): (BufferMut<'a, D>, Option<u32>),
    ) -> Result<Self, CallError> {
        let GemmShape { m, n, k, .. } = *shape;
        let lines_of_a = Lines::new(shape.a, [m, k], lda);
        let lines_of_b = Lines::new(shape.b, [k, cols], ldb);
        let lines_of_d = Lines::new(MatrixOrder::Row, [m, n], ldd);
        if lines_of_d.distance < n && m > 1 {
            let expected = format!("rows of D that are at least {n} elements apart");
            return Err(refused(call, expected, lines_of_d.distance));
        }
        let any = if Gemm::target_of(queue.cache().capability()) == Target::SM_90A {
            lines_of_a.check::<T>(call, "A")?;
            lines_of_b.check::<T>(call, "B")?;
            // Tensor copies clip rows of any length.
            AnyDistance { operands: false, result: !is_whole::<D>(lines_of_d.distance) }
        } else {
            let operands = !(lines_of_a.are_whole::<T>() && lines_of_b.are_whole::<T>());
            AnyDistance { operands, result: !lines_of_d.are_whole::<D>() }
        };
        let [lda, ldb, ldd] = [lines_of_a, lines_of_b, lines_of_d].map(|lines| lines.distance);
        Ok(Self { a: (a, lda), b: (b, ldb), d: (d, ldd), any })
    }
}

/// The distances between consecutive matrices of several products, and the rows that the kernel must support.
pub(super) struct MatrixDistances {
    pub(super) a: u32,
    pub(super) b: u32,
    pub(super) d: u32,
    pub(super) any: AnyDistance,
}

impl MatrixDistances {
    /// Checks the distances between matrices with these strides. Without gaps, a matrix begins after the last row, or column, of the
    /// preceding one.
    pub(super) fn of<T: TensorElement, D: TensorElement>(
        call: &'static str,
        queue: Queue<'_>,
        shape: &GemmShape,
        matrices: &Distances<'_, T, D>,
        [a, b, d]: [Option<u32>; 3],
    ) -> Result<Self, CallError> {
        let GemmShape { m, n, k, .. } = *shape;
        let without_gaps = |order, [rows, cols]: [u32; 2], stride| {
            product(call, &[if order == MatrixOrder::Row { rows } else { cols }, stride])
        };
        let a = a.map_or_else(|| without_gaps(shape.a, [m, k], matrices.a.1), Ok)?;
        let b = b.map_or_else(|| without_gaps(shape.b, [k, n], matrices.b.1), Ok)?;
        let d = d.map_or_else(|| without_gaps(MatrixOrder::Row, [m, n], matrices.d.1), Ok)?;
        let end = u64::from(m.saturating_sub(1)) * u64::from(matrices.d.1) + u64::from(n);
        if u64::from(d) < end {
            return Err(refused(call, format!("matrices D that are at least {end} elements apart"), d));
        }
        let mut any = matrices.any;
        any.result |= !is_whole::<D>(d);
        if Gemm::target_of(queue.cache().capability()) != Target::SM_90A {
            any.operands |= !(is_whole::<T>(a) && is_whole::<T>(b));
            return Ok(Self { a, b, d, any });
        }
        for (name, distance) in [("A", a), ("B", b)] {
            if !is_whole::<T>(distance) {
                let expected =
                    format!("matrices {name} that are a multiple of {} elements apart", 16 / T::SIZE);
                return Err(refused(call, expected, distance));
            }
        }
        Ok(Self { a, b, d, any })
    }
}

type Operand<'a, T> = (BufferRef<'a, T>, Option<u32>);

/// The rows, or columns, of a matrix that are contiguous.
struct Lines {
    order: MatrixOrder,
    length: u32,
    distance: u32,
}

impl Lines {
    fn new(order: MatrixOrder, [rows, cols]: [u32; 2], distance: Option<u32>) -> Self {
        let length = if order == MatrixOrder::Row { cols } else { rows };
        Self { order, length, distance: distance.unwrap_or(length) }
    }

    /// Returns whether they are multiples of 16 bytes long and apart.
    fn are_whole<T: TensorElement>(&self) -> bool {
        is_whole::<T>(self.length) && is_whole::<T>(self.distance)
    }

    /// Rejects distances that are not multiples of 16 bytes.
    fn check<T: TensorElement>(&self, call: &'static str, name: &str) -> Result<(), CallError> {
        let distance = self.distance;
        if is_whole::<T>(distance) {
            return Ok(());
        }
        let lines = self.order.plural();
        let expected = format!("{lines} of {name} that are a multiple of {} elements apart", 16 / T::SIZE);
        Err(refused(call, expected, format!("{distance}: `pad_rows` copies others")))
    }
}

/// Returns whether this number of elements is a multiple of 16 bytes.
fn is_whole<T: TensorElement>(elements: u32) -> bool {
    (u64::from(elements) * u64::from(T::SIZE)).is_multiple_of(16)
}
