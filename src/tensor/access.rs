//! Addresses of a view's elements, and their bounds.

use super::{
    element::TensorElement,
    memory::{Axis, Tensor},
    moved::saturating_sum,
    offset::{MAX_AXES, Offset},
    predicate::both,
    space::TensorSpace,
    step::Step,
};
use crate::{
    layout::Swizzle,
    ptx::{CheckedPtr, Ptr, Val, divisor::gcd},
};

impl<'k, S: TensorSpace, T: TensorElement, A> Tensor<'k, S, T, A> {
    /// Returns the known alignment of the view's start, up to 16 bytes.
    pub(super) fn start_alignment(&self) -> u64 {
        let size = u64::from(T::SIZE);
        let align = self.axes.iter().fold(gcd(u64::from(self.pointer.align()), 16), |align, axis| {
            gcd(align, axis.at.divisor().saturating_mul(axis.stride.divisor()).saturating_mul(size))
        });
        if !self.is_swizzled() {
            return align;
        }
        // The swizzle moves chunks of 2^base bytes.
        gcd(align, gcd(self.inner.divisor(), 1 << self.swizzle.base()))
    }

    /// Returns whether the view's first element is known to be aligned to `bytes` bytes.
    pub(super) fn begins_aligned(&self, bytes: u32) -> bool {
        let constant = self.offset.component(0).unsigned_abs().saturating_mul(T::SIZE.into());
        gcd(self.start_alignment(), constant).is_multiple_of(bytes.into())
    }

    /// Returns whether all rows of a tile `(row, col)` start at multiples of `bytes` bytes and have adjacent columns; a vector counts as
    /// one row.
    pub(crate) fn has_aligned_rows(&self, bytes: u32) -> bool {
        let size = u64::from(T::SIZE);
        let steps: Vec<_> = self.layout.stride().leaves().collect();
        let (row, col) = match steps.as_slice() {
            [col] => (&&Step::default(), col),
            [row, col] => (row, col),
            _ => return false,
        };
        let dynamic = |step: &Step| {
            let strides = self.axes.iter().enumerate().filter(|(axis, _)| step.component(1 + axis) != 0);
            strides
                .filter(|(_, axis)| axis.has_dynamic_stride())
                .fold(0, |align, (_, axis)| gcd(align, axis.stride.divisor().saturating_mul(size)))
        };
        let adjacent = col.component(0) == 1 && dynamic(col) == 0;
        let rows = gcd(row.component(0).unsigned_abs().saturating_mul(size), dynamic(row));
        adjacent && rows.is_multiple_of(bytes.into()) && self.begins_aligned(bytes)
    }

    /// Returns the period along each axis: coordinates with the same quotient by the period are known to be either all in bounds or all out
    /// of bounds. The period is 0 if this applies to all coordinates of the view.
    pub(super) fn periods(&self) -> [i64; MAX_AXES] {
        let period = |axis: &Axis<'k>| match (axis.extent, axis.tile) {
            (Some(extent), None) => gcd(axis.at.divisor(), extent.divisor()) as i64,
            _ => 0,
        };
        std::array::from_fn(|axis| self.axes.get(axis).map_or(0, period))
    }

    /// Returns the element at a coordinate (one index per mode), together with the condition that it is in bounds.
    #[track_caller]
    pub(crate) fn at_coord(&self, coord: &[Val<'k, u32>]) -> CheckedPtr<'k, T, S, A> {
        let view = self.starting_at(coord);
        let offset = view.offset_of(0);
        // A vector extends along the mode with adjacent elements, if any.
        let adjacent = self.layout.stride().leaves().find(|step| step.component(0) == 1);
        let together = adjacent.map_or(1, |step| {
            let periods = view.periods().into_iter().zip(offset.coords).enumerate();
            let along = periods.filter(|(axis, (period, _))| *period != 0 && step.component(1 + axis) != 0);
            along.fold(16, |together, (_, (period, start))| {
                gcd(together, gcd(period.unsigned_abs(), start.unsigned_abs()))
            })
        });
        view.pointer_at(&offset).checked(view.contains(&offset)).in_groups_of(together)
    }

    /// Returns the swizzled address `bytes` bytes after the view's start: a register, computed once and kept in `start`, plus a constant.
    #[track_caller]
    pub(super) fn swizzled(&self, bytes: i64, start: &mut Option<Val<'k, u32>>) -> Ptr<'k, T, S, A> {
        let (swizzle, inner) = (self.swizzle, self.inner);
        if let Some(inner) = inner.as_constant() {
            return self.pointer.byte_offset(swizzle.apply(i64::from(inner) + bytes));
        }
        let bits = inner.known().possible() & (swizzle.period() as u64 - 1);
        if let Some(split) = swizzle.split_offset(bits as i64, bytes) {
            let start = *start.get_or_insert_with(|| permuted(inner, swizzle));
            return self.permuted(start ^ split.xor as u32, split.xor).byte_offset(split.add);
        }
        // The sum may carry, so only bits that the swizzle neither reads nor changes remain constant.
        let period = swizzle.period() - 1;
        let (repeats, within) = (bytes & !period, bytes & period);
        let chunk = 1 << swizzle.base();
        let below = if inner.divisor().is_multiple_of(chunk as u64) { within % chunk } else { 0 };
        let pointer = self.permuted(permuted(inner + (within - below) as u32, swizzle), within - below);
        pointer.byte_offset(repeats + below)
    }

    /// Computes the swizzled offset of the view's start for subsequent accesses.
    #[track_caller]
    pub(crate) fn prepare(&self) {
        if self.is_swizzled() && self.inner.as_constant().is_none() {
            let _ = permuted(self.inner, self.swizzle);
        }
    }

    /// Returns the pointer to a permuted offset, which includes `constant` bytes added to the view's start.
    #[track_caller]
    fn permuted(&self, offset: Val<'k, u32>, constant: i64) -> Ptr<'k, T, S, A> {
        let align = gcd(gcd(self.inner.divisor(), constant.unsigned_abs()), 1 << self.swizzle.base());
        S::at_byte(self.pointer, offset).assume_aligned(gcd(align, 16).max(1) as u32)
    }

    /// Returns whether the element at an offset is within the tensor.
    #[track_caller]
    pub(super) fn contains(&self, offset: &Offset) -> Val<'k, bool> {
        let axes = self.axes.iter().zip(&offset.coords);
        axes.fold(true.into(), |inside, (axis, &coord)| both(inside, axis.contains(coord)))
    }
}

impl<'k> Axis<'k> {
    /// Returns whether the coordinate at distance `coord` from the view's first coordinate is within the tensor.
    #[track_caller]
    pub(super) fn contains(&self, coord: i64) -> Val<'k, bool> {
        let Some(extent) = self.extent else { return true.into() };
        // Coordinates of more than 32 bits exceed every extent.
        let Ok(coord) = u32::try_from(coord) else { return false.into() };
        self.tile.unwrap_or_else(|| saturating_sum(self.at, coord.into())).lt(extent)
    }
}

/// Returns the swizzled form of a dynamic byte offset.
#[track_caller]
fn permuted(offset: Val<'_, u32>, swizzle: Swizzle) -> Val<'_, u32> {
    let mask = ((1_u32 << swizzle.bits()) - 1) << swizzle.base();
    let shift = swizzle.shift();
    let moved = if shift >= 0 {
        (offset >> shift.unsigned_abs()) & mask
    } else {
        (offset & mask) << shift.unsigned_abs()
    };
    offset ^ moved
}
