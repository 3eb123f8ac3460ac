//! Boxes: the blocks of matrices in global memory that tensor copies move (PTX ISA, "Tensors").

use arrayvec::ArrayVec;

use super::{element::TensorElement, memory::Tensor, moved::saturating_sum, offset::MAX_AXES};
use crate::{
    layout::Tuple,
    ptx::{
        BufferMap, Global, Hints, IntoDim, Mbarrier, Ptr, Readable, ReduceOp, Shared, SwizzleMode,
        TensorMapPtr, Val, Writable, divisor::gcd, traits::SharedSpace,
    },
};

/// The boxes of a matrix `(row, col)` in global memory, accessed through a tensor map that the launch creates.
pub(crate) struct Boxes<'k, T, A> {
    map: TensorMapPtr<'k, T, A>,
    /// The coordinates of the view's first element, innermost first; columns are dimension 0.
    first: ArrayVec<Val<'k, u32>, MAX_AXES>,
    /// The index of the dimension that counts rows.
    rows: usize,
    /// The name of the element type of the map.
    element: &'static str,
}

/// The ends of a matrix's rows. Tensor copies cannot store these ends because they write whole units of 16 bytes.
pub(crate) struct RowEnds<'k> {
    /// The column of the view's first element.
    pub(crate) first: Val<'k, u32>,
    /// The column at which the ends start: a multiple of `unit`.
    pub(crate) start: Val<'k, u32>,
    /// The column at which the ends stop: the number of columns.
    pub(crate) end: Val<'k, u32>,
    /// The number of elements per unit.
    pub(crate) unit: u32,
}

/// The maximum coordinate of a tensor copy.
const MOST: u64 = i32::MAX as u64;

/// The unit of tensor copies in bytes. Copies start at multiples of this size in a row, and stores write past the end of a row, up to the
/// next multiple (observed on an H200).
const UNIT: u32 = 16;

impl<'k, T: TensorElement, A> Tensor<'k, Global, T, A> {
    /// Returns the boxes of `rows`×`cols` elements of this matrix. Elements past the edges are read as zero. If `written` is true, elements
    /// past the edges and the [ends of rows](Self::row_ends) are not written.
    ///
    /// The builder rejects a view that is not part of a buffer parameter, elements whose size differs from that of the parameter's
    /// elements, extents that cannot be computed at launch, and rows of nonadjacent elements. It also rejects a view whose first column is
    /// known not to start at a multiple of 16 bytes in its row or, if `written` is true, is not known to start at one. In each of these
    /// cases, the result is `None`.
    #[track_caller]
    pub(crate) fn boxes(
        &self,
        rows: u32,
        cols: u32,
        swizzle: SwizzleMode,
        written: bool,
    ) -> Option<Boxes<'k, T, A>> {
        self.check_open();
        match self.boxes_or_reason([rows, cols], swizzle, written) {
            Ok(boxes) => Some(boxes),
            Err(why) => {
                self.kernel().refuse(format!("tensor copy: {why}"));
                None
            }
        }
    }

    /// Returns the ends of rows that must be stored separately. Returns `None` if the length of a row is known to be a multiple of 16
    /// bytes, or if the columns are not an axis of the tensor.
    #[track_caller]
    pub(crate) fn row_ends(&self) -> Option<RowEnds<'k>> {
        let (axis, unit) = (self.axis_of(1)?, UNIT / T::SIZE);
        let end = self.axes[axis].extent.filter(|extent| !extent.is_multiple_of(unit))?;
        Some(RowEnds { first: self.first_along(axis), start: end & !(unit - 1), end, unit })
    }

    fn boxes_or_reason(
        &self,
        size: [u32; 2],
        swizzle: SwizzleMode,
        written: bool,
    ) -> Result<Boxes<'k, T, A>, String> {
        let parameter =
            self.pointer.parameter().ok_or("expected a view of a buffer parameter, found another pointer")?;
        // The launch creates the map with the parameter's element type.
        let (element, bytes) = {
            let param = &self.kernel().body().entry.params[parameter];
            (param.element, param.element_bytes)
        };
        if bytes != T::SIZE {
            return Err(format!(
                "expected elements of {bytes} bytes, those of the buffer parameter ({element}), found {} of {} bytes",
                T::NAME,
                T::SIZE
            ));
        }
        let [row, col] = [0, 1].map(|mode| self.axis_of(mode));
        let (row, col) =
            row.zip(col).ok_or("expected a matrix whose rows and columns are axes of the tensor")?;
        if self.axes[col].stride.as_constant() != Some(1) {
            return Err(
                "expected rows of adjacent elements: load the transposed matrix, and transpose the product"
                    .into(),
            );
        }
        // Dimensions, innermost first: the columns, then the other axes from last to first.
        let order = || [col].into_iter().chain((0..self.axes.len()).rev().filter(|&axis| axis != col));
        let unit = UNIT / T::SIZE;
        let first = self.first_along(col).as_constant();
        if (written || first.is_some()) && !self.starts_at_unit() {
            let found = first.map_or("one that is not".into(), |first| format!("column {first}"));
            return Err(format!(
                "expected a first column that is known to be a multiple of {unit}, {UNIT} bytes, found {found}"
            ));
        }
        let extent = |axis: usize| {
            let extent = self.axes[axis].extent?;
            let cut = written && axis == col && !extent.is_multiple_of(unit);
            let dim = extent.into_dim();
            Some(if cut { dim.round_down(unit) } else { dim }).filter(|dim| dim.is_known())
        };
        let dims = order().map(extent).collect::<Option<Vec<_>>>();
        let dims = dims.ok_or(
            "expected extents that a launch can compute: constants, parameters, or sums or products of these",
        )?;
        let strides: Vec<_> = order().skip(1).map(|axis| self.axes[axis].stride.into_dim()).collect();
        if !strides.iter().all(|stride| stride.is_known()) {
            return Err("expected strides that a launch can compute".into());
        }
        let box_dim = |axis| {
            if axis == col {
                size[1]
            } else if axis == row {
                size[0]
            } else {
                1
            }
        };
        let map = BufferMap { parameter, dims, strides, box_dims: order().map(box_dim).collect(), swizzle };
        let first = order().map(|axis| self.first_along(axis));
        let rows = order().position(|axis| axis == row).unwrap_or(1);
        Ok(Boxes { first: first.collect(), rows, map: self.kernel().buffer_map(map), element })
    }

    /// Returns whether the view is known to start at a multiple of 16 bytes in its row, as tensor copies require.
    pub(crate) fn starts_at_unit(&self) -> bool {
        let Some(col) = self.axis_of(1) else { return false };
        let (at, start) =
            (self.axes[col].at.known().divisor(), self.offset.component(1 + col).unsigned_abs());
        gcd(at, start).is_multiple_of((UNIT / T::SIZE).into())
    }

    /// Returns the coordinate of the view's first element along an axis.
    #[track_caller]
    fn first_along(&self, axis: usize) -> Val<'k, u32> {
        let start = u32::try_from(self.offset.component(1 + axis)).unwrap_or(u32::MAX);
        saturating_sum(self.axes[axis].at, start.into())
    }

    /// Returns the axis along which a mode extends in steps of one coordinate.
    fn axis_of(&self, mode: usize) -> Option<usize> {
        let step = self.layout.stride().modes().get(mode).and_then(Tuple::as_leaf).copied()?;
        let mut axes = self.axes_of(mode);
        let axis = axes.next().filter(|&axis| step.component(1 + axis) == 1)?;
        axes.next().is_none().then_some(axis)
    }
}

impl<'k, T: TensorElement, A> Boxes<'k, T, A> {
    /// Returns the coordinates of the box that starts `row` rows and `col` columns after the view's first element.
    #[track_caller]
    fn at(&self, row: Val<'k, u32>, col: u32) -> ArrayVec<Val<'k, i32>, MAX_AXES> {
        let coordinate = |(dimension, &first): (usize, &Val<'k, u32>)| {
            let moved = match dimension {
                0 => saturating_sum(first, col.into()),
                _ if dimension == self.rows => saturating_sum(first, row),
                _ => first,
            };
            // Copies take signed coordinates, so larger ones are clamped to 2³¹ − 1. This is past the edge, because launches accept at most
            // 2³¹ − 1 coordinates.
            let moved = if moved.known().most() > MOST { moved.min(MOST as u32) } else { moved };
            match moved.reg() {
                Some((reg, k)) => Val::from_reg(reg, k),
                None => Val::from(moved.as_constant().unwrap_or(0).cast_signed()),
            }
        };
        self.first.iter().enumerate().map(coordinate).collect()
    }
}

/// Evaluates `$call` with `$array`, an array of 2 to 5 coordinates.
macro_rules! with_rank {
    ($coordinates:expr, |$array:ident| $call:expr) => {
        match $coordinates.as_slice() {
            &[a, b] => {
                let $array = [a, b];
                $call
            }
            &[a, b, c] => {
                let $array = [a, b, c];
                $call
            }
            &[a, b, c, d] => {
                let $array = [a, b, c, d];
                $call
            }
            &[a, b, c, d, e] => {
                let $array = [a, b, c, d, e];
                $call
            }
            _ => {}
        }
    };
}

impl<'k, T: TensorElement, A: Readable> Boxes<'k, T, A> {
    /// Starts copying the box that starts `row` rows and `col` columns after the view's first element to shared memory.
    #[track_caller]
    pub(crate) fn load<S: SharedSpace, W: Writable>(
        &self,
        to: Ptr<'k, T, S, W>,
        (row, col): (Val<'k, u32>, u32),
        barrier: Mbarrier<'k, S>,
        hints: Hints<'k>,
    ) {
        with_rank!(self.at(row, col), |at| self.map.load(to, at, barrier, hints));
    }
}

impl<'k, T: TensorElement, A: Writable> Boxes<'k, T, A> {
    /// Starts copying a box from shared memory, as part of this thread's next bulk group.
    #[track_caller]
    pub(crate) fn store<R: Readable>(
        &self,
        from: Ptr<'k, T, Shared, R>,
        (row, col): (Val<'k, u32>, u32),
        hints: Hints<'k>,
    ) {
        with_rank!(self.at(row, col), |at| self.map.store(from, at, hints));
    }

    /// Starts reducing shared memory into a box, like [`store`](Self::store).
    #[track_caller]
    pub(crate) fn reduce<R: Readable>(
        &self,
        op: ReduceOp,
        from: Ptr<'k, T, Shared, R>,
        (row, col): (Val<'k, u32>, u32),
        hints: Hints<'k>,
    ) {
        // The type of the map determines the arithmetic.
        if self.element != T::NAME {
            let (expected, found) = (self.element, T::NAME);
            self.map.kernel().refuse(format!(
                "tensor copy: expected a reduction of elements of the buffer parameter's type, {expected}, found {found}"
            ));
        }
        with_rank!(self.at(row, col), |at| self.map.reduce(op, from, at, hints));
    }
}
