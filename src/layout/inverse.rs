//! Inverses, and what layouts share: contiguous runs, kernels.

use super::construct::{Layout, Mode, flat_modes};
use super::error::LayoutError;
use super::simplify::merged_with_tail;
use super::tuple::IntTuple;

impl Layout {
    /// The longest layout `r` with `self(r(i)) = i` for all `i < size(r)`: where the offsets 0, 1, 2 … are.
    ///
    /// Broadcast modes are skipped; the run ends at the first offset that no mode continues. At least `1:0`.
    #[must_use]
    pub fn right_inverse(&self) -> Layout {
        let mut run = Vec::new();
        let mut next = 1_i64;
        for Mode { extent, stride: (stride, weight) } in by_stride(self) {
            if stride == next {
                run.push(Mode { extent, stride: weight });
                // Overflows only past the last offset, where no stride follows.
                next = stride.wrapping_mul(extent);
            }
        }
        Layout::from_flat(run).coalesce()
    }

    /// A layout `l` with `self(l(self(i))) = self(i)` for all `i < size`; if `self` is injective, `l(self(i)) = i`.
    ///
    /// Offsets that `self` never takes are sent to some index.
    ///
    /// # Errors
    /// [`LayoutError::LeftInverse`] if strides are negative or do not divide one another, or if modes overlap so that no
    /// layout undoes them.
    ///
    /// ```
    /// use warpwright::layout::Layout;
    /// assert_eq!(Layout::new((4, 2), (1, 8))?.left_inverse()?.to_string(), "(8,2):(1,4)");
    /// # Ok::<(), warpwright::layout::LayoutError>(())
    /// ```
    pub fn left_inverse(&self) -> Result<Layout, LayoutError> {
        let refuse = |mode: &Weighted, fault| {
            let (extent, stride) = (mode.extent, mode.stride.0);
            LayoutError::LeftInverse { layout: self.coalesce().to_string(), extent, stride, fault }
        };
        let sorted = by_stride(self);
        let last_extent = sorted.last().map_or(1, |mode| mode.extent);
        // The mode of this weight runs on past the end.
        let tail_weight: i64 = merged_with_tail(self).iter().rev().skip(1).map(|mode| mode.extent).product();
        let modes: Vec<_> = sorted.iter().filter(|mode| mode.stride.0 != 0).collect();

        let mut digits = Vec::with_capacity(modes.len() + 1);
        let (mut span, mut weight_below, mut reach) = (1, 0, 0_i64);
        for (index, mode) in modes.iter().enumerate() {
            let (stride, weight) = mode.stride;
            if stride < 0 {
                return Err(refuse(mode, "is negative"));
            }
            if stride % span != 0 {
                return Err(refuse(mode, "must be a multiple of the next smaller stride"));
            }
            digits.push(Mode { extent: stride / span, stride: weight_below });
            (span, weight_below) = (stride, weight);

            // The largest digit this mode is read back as; it may exceed the extent only where the index runs on.
            reach += stride * (mode.extent - 1);
            let above = modes.get(index + 1).map_or(i64::MAX, |next| next.stride.0);
            let digit = if reach < above { reach / stride } else { above / stride - 1 };
            if digit >= mode.extent && weight != tail_weight {
                return Err(refuse(mode, "overlaps a smaller one"));
            }
        }
        digits.push(Mode { extent: last_extent, stride: weight_below });
        Ok(Layout::from_flat(digits).coalesce())
    }

    /// The longest layout `r` with `self(r(i)) = i` and `other(r(i)) = i`: elements contiguous in both, in order.
    ///
    /// ```
    /// use warpwright::layout::Layout;
    /// let common = Layout::column_major((4, 8))?.max_common_layout(&Layout::new((4, 8), (1, 5))?);
    /// assert_eq!(common.to_string(), "4:1");
    /// # Ok::<(), warpwright::layout::LayoutError>(())
    /// ```
    #[must_use]
    pub fn max_common_layout(&self, other: &Layout) -> Layout {
        let inverse = other.right_inverse();
        let length = Layout::from_flat(vec![Mode { extent: self.common_run(&inverse), stride: 1 }]);
        // A run of 1 is the element at offset 0; longer ones compose, as common_run found them by composing.
        inverse.compose_layout(&length).map_or_else(|_| Layout::unit(), |common| common.normal_unit())
    }

    /// Number of elements contiguous in both layouts, in order: a vector of any divisor of this length moves whole.
    #[must_use]
    pub fn max_common_vector(&self, other: &Layout) -> i64 {
        self.common_run(&other.right_inverse())
    }

    /// The longest aligned vector: the largest `n` such that modes that run from offset 0 on fill whole multiples of `n`, and
    /// all other strides are multiples of it.
    ///
    /// Post-condition: with an offset, the layout takes all of the `n` offsets `n · q .. n · (q + 1)` around it. So memory
    /// whose start is aligned to `n` elements can be moved `n` elements at a time.
    ///
    /// ```
    /// use warpwright::layout::Layout;
    /// assert_eq!(Layout::new((4, 8), (1, 6))?.max_alignment(), 2);
    /// # Ok::<(), warpwright::layout::LayoutError>(())
    /// ```
    #[must_use]
    pub fn max_alignment(&self) -> i64 {
        let (mut run, mut others) = (1, 0);
        for Mode { extent, stride: (stride, _) } in by_stride(self) {
            if stride == run {
                run *= extent;
            } else {
                others = gcd(others, stride.abs());
            }
        }
        gcd(run, others)
    }

    /// Length of the longest prefix of `inverse` that `self` maps to 0, 1, 2 …
    fn common_run(&self, inverse: &Layout) -> i64 {
        let mut prefix = flat_modes(&inverse.shape, &inverse.stride);
        loop {
            let Ok(common) = self.compose_layout(&Layout::from_flat(prefix.clone())) else {
                prefix.pop();
                continue;
            };
            let common = common.coalesce();
            let first = flat_modes(&common.shape, &common.stride).into_iter().next();
            return first.filter(|mode| mode.stride == 1).map_or(1, |mode| mode.extent);
        }
    }

    fn normal_unit(self) -> Layout {
        if self.size() == 1 { Layout::unit() } else { self }
    }

    /// The coordinates that `self` maps to 0 because their strides are 0.
    ///
    /// Post-conditions: `self(result(i)) = 0` for all `i`; `size(result) = size(self) / size(filter(self))` up to extents
    /// of 1.
    #[doc(alias = "kernel")]
    #[must_use]
    pub fn nullspace(&self) -> Layout {
        let mut weight = 1;
        let mut modes = Vec::new();
        for Mode { extent, stride } in flat_modes(&self.shape, &self.stride) {
            if stride == 0 {
                modes.push(Mode { extent, stride: if extent == 1 { 0 } else { weight } });
            }
            weight *= extent;
        }
        Layout::from_flat(modes)
    }
}

/// Spreads `count` elements over a shape, as many as divide each mode from the first on.
///
/// Post-conditions: the result's size divides `count` and its values rise; it composes with every layout of that shape.
///
/// # Errors
/// [`LayoutError::Extent`] if an extent or `count` is below 1.
///
/// ```
/// use warpwright::layout::{IntTuple, domain_distribute};
/// assert_eq!(domain_distribute(&IntTuple::from((15, 14)), 6)?.to_string(), "(3,2):(1,15)");
/// # Ok::<(), warpwright::layout::LayoutError>(())
/// ```
pub fn domain_distribute(shape: &IntTuple, count: i64) -> Result<Layout, LayoutError> {
    shape.check_extents()?;
    IntTuple::Leaf(count).check_extents()?;
    let (mut rest, mut weight) = (count, 1);
    let mut modes = Vec::new();
    for &extent in shape.leaves() {
        let shared = gcd(extent, rest);
        modes.push(Mode { extent: shared, stride: weight });
        rest /= shared;
        weight *= extent;
    }
    Ok(Layout::from_flat(modes).coalesce())
}

pub(super) fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// A mode with its stride and its weight in the layout's index.
type Weighted = Mode<(i64, i64)>;

/// The coalesced modes in rising order of stride.
fn by_stride(layout: &Layout) -> Vec<Weighted> {
    let coalesced = layout.coalesce();
    let mut weight = 1;
    let mut modes: Vec<Weighted> = flat_modes(&coalesced.shape, &coalesced.stride)
        .into_iter()
        .map(|Mode { extent, stride }| {
            let mode = Mode { extent, stride: (stride, weight) };
            weight *= extent;
            mode
        })
        .collect();
    modes.sort_by_key(|mode| mode.stride.0);
    modes
}
