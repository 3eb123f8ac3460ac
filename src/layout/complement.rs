//! Complements: the offsets that a layout leaves out.

use super::construct::{Layout, Mode, flat_modes};
use super::error::LayoutError;
use super::tuple::IntTuple;

impl Layout {
    /// The layout that repeats this one over `0..cotarget` (a size or a shape of that size): its values are the starting
    /// points of the copies, in rising order.
    ///
    /// Broadcast modes do not count, and strides count without their signs.
    ///
    /// Post-conditions, with `n = size(filter(self))`: the values rise; the sums of a value of `self` and one of the result
    /// are all distinct; `n · size(result) ≥ cotarget`. If each stride is a multiple of the span of the smaller ones, the sums
    /// are `0, 1, 2 …` without a hole.
    ///
    /// # Errors
    /// [`LayoutError::Complement`] if a stride is below the span of the smaller ones, so that copies would overlap, and
    /// [`LayoutError::Uncovered`] if it is no multiple and too few copies fit. [`LayoutError::Extent`] for a cotarget below 1.
    ///
    /// ```
    /// use warpwright::layout::Layout;
    /// assert_eq!(Layout::new(4, 2)?.complement(24)?.to_string(), "(2,3):(1,8)");
    /// let error = Layout::new((4, 2), (3, 32))?.complement(64).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "complement of (4,2):(3,32) in 64: 48 offsets would be covered, wanted 64",
    /// );
    /// # Ok::<(), warpwright::layout::LayoutError>(())
    /// ```
    pub fn complement(&self, cotarget: impl Into<IntTuple>) -> Result<Layout, LayoutError> {
        Ok(self.fill(&cotarget.into())?.layout)
    }

    pub(super) fn fill(&self, cotarget: &IntTuple) -> Result<Filling, LayoutError> {
        let wanted = cotarget.check_extents()?;
        let filtered = self.filter();
        let mut modes = flat_modes(&filtered.shape, &filtered.stride);
        modes.iter_mut().for_each(|mode| mode.stride = mode.stride.abs());
        modes.retain(|mode| mode.stride != 0);
        modes.sort_by_key(|mode| mode.stride);

        let overflow = || LayoutError::Overflow { what: format!("the complement of {filtered}") };
        let (mut hole, mut reached) = (None, 1);
        let mut gaps = Vec::with_capacity(modes.len() + 1);
        for &Mode { extent, stride } in &modes {
            let copies = stride / reached;
            if stride % reached != 0 {
                let layout = filtered.to_string();
                let fault = LayoutError::Complement { layout, extent, stride, reached };
                if copies == 0 {
                    return Err(fault);
                }
                hole = hole.or(Some((copies * reached, fault)));
            }
            gaps.push(Mode { extent: copies, stride: reached });
            reached = stride.checked_mul(extent).ok_or_else(overflow)?;
        }
        gaps.push(Mode { extent: fold_ceil_div(cotarget, reached).size(), stride: reached });
        let (shape, stride): (Vec<_>, Vec<_>) = gaps.into_iter().map(|gap| (gap.extent, gap.stride)).unzip();
        let (shape, stride): (IntTuple, IntTuple) =
            (shape.into_iter().collect(), stride.into_iter().collect());
        let layout = Layout::new(shape, stride)?.coalesce();
        let covered = layout.size().checked_mul(filtered.size()).ok_or_else(overflow)?;
        if covered < wanted {
            let (layout, cotarget) = (filtered.to_string(), cotarget.to_string());
            return Err(LayoutError::Uncovered { layout, cotarget, covered, wanted });
        }
        Ok(Filling { layout, hole })
    }
}

/// A complement, and the first offset that no copy covers although the copies pass it, with the reason.
pub(super) struct Filling {
    pub(super) layout: Layout,
    pub(super) hole: Option<(i64, LayoutError)>,
}

/// The shape divided by `by` from its first leaf on, rounding up: what is left of `by` passes to the next leaf.
fn fold_ceil_div(shape: &IntTuple, by: i64) -> IntTuple {
    let mut by = by;
    shape.map(|&extent| {
        let quotient = ceil_div(extent, by);
        by = ceil_div(by, extent);
        quotient
    })
}

/// `a / b` rounded up, for positive numbers.
pub(super) fn ceil_div(a: i64, b: i64) -> i64 {
    a / b + i64::from(a % b != 0)
}
