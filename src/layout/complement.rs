//! Complements: the offsets that a layout does not cover.

use super::construct::{Layout, Mode, flat_modes};
use super::error::LayoutError;
use super::tuple::IntTuple;

impl Layout {
    /// Returns a layout of start offsets: copies of this layout at these offsets cover `0..cotarget`.
    ///
    /// If `cotarget` is a shape, the range is `0..size(cotarget)`.
    ///
    /// Broadcast modes are ignored, and negative strides are treated as positive.
    ///
    /// Postconditions, with `n = size(filter(self))`: the values of the result increase; all sums of a value of `self` and a value of the
    /// result are distinct; `n · size(result) ≥ cotarget`. If each stride is a multiple of the span of the modes with smaller strides, the
    /// sums are `0, 1, 2 …` without gaps.
    ///
    /// # Errors
    /// Returns [`LayoutError::Complement`] if a stride is smaller than the span of the modes with smaller strides, so that copies would
    /// overlap; [`LayoutError::Uncovered`] if the copies do not cover the range, because a stride is not a multiple of that span or because
    /// the modes of a `cotarget` shape do not evenly divide the span of this layout; [`LayoutError::Extent`] if an extent of `cotarget` is
    /// below 1; [`LayoutError::Overflow`] on 64-bit overflow.
    ///
    /// ```
    /// use warpwright::layout::Layout;
    /// assert_eq!(Layout::new(4, 2)?.complement(24)?.to_string(), "(2,3):(1,8)");
    /// let error = Layout::new((4, 2), (3, 32))?.complement(64).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "complement of (4,2):(3,32) in 64: expected 64 offsets covered, found 48, below mode 1 (extent 2, stride 32)",
    /// );
    /// # Ok::<(), warpwright::layout::LayoutError>(())
    /// ```
    pub fn complement(&self, cotarget: impl Into<IntTuple>) -> Result<Layout, LayoutError> {
        Ok(self.fill(&cotarget.into())?.covering()?.layout)
    }

    /// Computes the complement, even if it does not cover the cotarget.
    pub(super) fn fill(&self, cotarget: &IntTuple) -> Result<Filling, LayoutError> {
        let expected = cotarget.check_extents()?;
        let filtered = self.filter();
        let modes = flat_modes(&filtered.shape, &filtered.stride).into_iter().zip(0..);
        let mut modes: Vec<(Mode, usize)> = modes.filter(|(mode, _)| mode.stride != 0).collect();
        modes.sort_by_key(|(mode, _)| mode.stride.unsigned_abs());

        let overflow = || LayoutError::Overflow { what: format!("the complement of {filtered}") };
        let (mut hole, mut reached) = (None, 1);
        let mut gaps = Vec::with_capacity(modes.len() + 1);
        let path = |leaf: usize| filtered.shape.leaf_paths().swap_remove(leaf);
        for blamed @ (Mode { extent, stride }, leaf) in &modes {
            let (extent, stride) = (*extent, stride.abs());
            let copies = stride / reached;
            if stride % reached != 0 {
                let (layout, mode) = (filtered.to_string(), path(*leaf));
                let fault = LayoutError::Complement { layout, mode, extent, stride, reached };
                if copies == 0 {
                    return Err(fault);
                }
                hole = hole.or(Some((copies * reached, fault, blamed)));
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
        // Without modes, nothing can remain uncovered.
        let blamed = hole.as_ref().map(|(_, _, blamed)| *blamed).or(modes.last());
        let uncovered = blamed.filter(|_| covered < expected).map(|(Mode { extent, stride }, leaf)| {
            let (layout, cotarget, mode) = (filtered.to_string(), cotarget.to_string(), path(*leaf));
            LayoutError::Uncovered {
                layout,
                cotarget,
                mode,
                extent: *extent,
                stride: *stride,
                covered,
                expected,
            }
        });
        let hole = hole.map(|(offset, fault, _)| (offset, fault));
        Ok(Filling { layout, reached, hole, uncovered })
    }
}

/// A complement and the offsets it leaves uncovered.
pub(super) struct Filling {
    pub(super) layout: Layout,
    /// The span of all modes of the completed layout.
    pub(super) reached: i64,
    /// The first uncovered offset below the end of the copies, with the reason.
    pub(super) hole: Option<(i64, LayoutError)>,
    /// The reason why the cotarget is not covered, if it is not.
    uncovered: Option<LayoutError>,
}

impl Filling {
    /// Returns this complement if it covers its cotarget.
    pub(super) fn covering(self) -> Result<Filling, LayoutError> {
        match self.uncovered {
            Some(fault) => Err(fault),
            None => Ok(self),
        }
    }
}

/// Divides the shape by `by` from its first leaf on, rounding up; the remaining factor of `by` passes to the next leaf.
fn fold_ceil_div(shape: &IntTuple, by: i64) -> IntTuple {
    let mut by = by;
    shape.map(|&extent| {
        let quotient = ceil_div(extent, by);
        by = ceil_div(by, extent);
        quotient
    })
}

/// Returns `⌈a / b⌉` for positive numbers.
pub(super) fn ceil_div(a: i64, b: i64) -> i64 {
    a / b + i64::from(a % b != 0)
}
