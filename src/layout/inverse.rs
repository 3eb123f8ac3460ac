//! Inverses, common contiguous runs and null spaces.

use super::construct::{Layout, Mode, flat_modes};
use super::error::{LayoutError, ModePath, at_least_1};
use super::simplify::merged_with_tail;
use super::tuple::IntTuple;

impl Layout {
    /// Returns a right inverse: a layout `r` such that `self(r(i)) = i` for all `i < size(r)`.
    ///
    /// The result covers, in increasing order of stride, each mode whose stride equals the span of the modes covered before it. All other
    /// modes, such as broadcast modes, are skipped. If no mode has stride 1, the result is `1:0`.
    ///
    /// Postcondition: for an injective layout without negative strides, `r` is the longest right inverse. If modes of equal stride overlap,
    /// a longer right inverse may exist; the result is then the same as in CuTe.
    #[must_use]
    pub fn right_inverse(&self) -> Layout {
        let mut run = Vec::new();
        let mut next = 1_i64;
        for Weighted { extent, stride, weight, .. } in by_stride(&self.coalesce()) {
            if stride == next {
                run.push(Mode { extent, stride: weight });
                // Overflow can occur only past the last offset, where no stride follows.
                next = stride.wrapping_mul(extent);
            }
        }
        Layout::from_flat(run).coalesce()
    }

    /// Returns a left inverse: a layout `l` such that `self(l(self(i))) = self(i)` for all `i < size`.
    ///
    /// If `self` is injective, `l(self(i)) = i`.
    ///
    /// Offsets outside the image of `self` map to unspecified indices.
    ///
    /// # Errors
    /// Returns [`LayoutError::LeftInverse`] if a stride is negative or is not a multiple of the next smaller stride, or if modes overlap
    /// and no left inverse exists.
    ///
    /// ```
    /// use warpwright::layout::Layout;
    /// assert_eq!(Layout::new((4, 2), (1, 8))?.left_inverse()?.to_string(), "(8,2):(1,4)");
    /// # Ok::<(), warpwright::layout::LayoutError>(())
    /// ```
    pub fn left_inverse(&self) -> Result<Layout, LayoutError> {
        let coalesced = self.coalesce();
        let refuse = |mode: &Weighted, fault| LayoutError::LeftInverse {
            layout: coalesced.to_string(),
            mode: mode.path.clone(),
            extent: mode.extent,
            stride: mode.stride,
            fault,
        };
        let sorted = by_stride(&coalesced);
        let last_extent = sorted.last().map_or(1, |mode| mode.extent);
        // The mode with this weight is unbounded.
        let tail_weight: i64 = merged_with_tail(self).iter().rev().skip(1).map(|mode| mode.extent).product();
        let modes: Vec<_> = sorted.iter().filter(|mode| mode.stride != 0).collect();

        let mut digits = Vec::with_capacity(modes.len() + 1);
        let (mut span, mut weight_below, mut reach) = (1, 0, 0_i64);
        for (index, mode) in modes.iter().enumerate() {
            let (stride, weight) = (mode.stride, mode.weight);
            if stride < 0 {
                return Err(refuse(mode, "is negative"));
            }
            if stride % span != 0 {
                return Err(refuse(mode, "must be a multiple of the next smaller stride"));
            }
            digits.push(Mode { extent: stride / span, stride: weight_below });
            (span, weight_below) = (stride, weight);

            // The largest digit that this mode can decode to; it exceeds the extent only where the index is extrapolated.
            reach += stride * (mode.extent - 1);
            let above = modes.get(index + 1).map_or(i64::MAX, |next| next.stride);
            let digit = if reach < above { reach / stride } else { above / stride - 1 };
            if digit >= mode.extent && weight != tail_weight {
                return Err(refuse(mode, "overlaps a smaller stride"));
            }
        }
        digits.push(Mode { extent: last_extent, stride: weight_below });
        Ok(Layout::from_flat(digits).coalesce())
    }

    /// Returns a layout `r` such that `self(r(i)) = other(r(i)) = i` for all `i < size(r)`.
    ///
    /// The result enumerates the elements that are contiguous and in the same order in both layouts, starting at offset 0. It is a common
    /// prefix of the two [right inverses](Self::right_inverse).
    ///
    /// Postconditions: the operation is commutative; if both layouts are injective and have no negative strides, `r` is the longest such
    /// layout.
    ///
    /// ```
    /// use warpwright::layout::Layout;
    /// let common = Layout::new((4, 6), (1, 5))?.max_common_layout(&Layout::new((6, 4), (1, 7))?);
    /// assert_eq!(common.to_string(), "4:1");
    /// # Ok::<(), warpwright::layout::LayoutError>(())
    /// ```
    #[must_use]
    pub fn max_common_layout(&self, other: &Layout) -> Layout {
        let (ours, theirs) = (self.right_inverse(), other.right_inverse());
        let mut shared = Vec::new();
        let modes = flat_modes(&ours.shape, &ours.stride).into_iter();
        for (ours, theirs) in modes.zip(flat_modes(&theirs.shape, &theirs.stride)) {
            if ours.stride != theirs.stride {
                break;
            }
            shared.push(Mode { extent: ours.extent.min(theirs.extent), stride: ours.stride });
            if ours.extent != theirs.extent {
                break;
            }
        }
        Layout::from_flat(shared)
    }

    /// Returns the number of elements, starting at offset 0, that are contiguous and in the same order in both layouts.
    ///
    /// These elements can be moved as one vector. To move all elements in vectors, also limit the vector length to the
    /// [`max_alignment`](Self::max_alignment) of each layout.
    ///
    /// Postcondition: the result is the size of [`max_common_layout`](Self::max_common_layout).
    #[must_use]
    pub fn max_common_vector(&self, other: &Layout) -> i64 {
        self.max_common_layout(other).size()
    }

    /// Returns the maximum vector length, in elements, for which the layout consists of aligned vectors.
    ///
    /// This is the largest `n` that divides the length of the contiguous run starting at offset 0 and the strides of all modes outside this
    /// run.
    ///
    /// Postcondition: the set of offsets is a union of ranges `n · q .. n · (q + 1)`. If the memory is aligned to `n` elements, the
    /// elements can therefore be moved `n` at a time.
    ///
    /// ```
    /// use warpwright::layout::Layout;
    /// assert_eq!(Layout::new((4, 8), (1, 6))?.max_alignment(), 2);
    /// # Ok::<(), warpwright::layout::LayoutError>(())
    /// ```
    #[must_use]
    pub fn max_alignment(&self) -> i64 {
        let (mut run, mut others) = (1, 0);
        for Weighted { extent, stride, .. } in by_stride(&self.coalesce()) {
            if stride == run {
                run *= extent;
            } else {
                others = gcd(others, stride.abs());
            }
        }
        gcd(run, others)
    }

    /// Returns a layout of the indices whose coordinates are nonzero only along modes of stride 0.
    ///
    /// Postconditions: `self(result(i)) = 0` for all `i < size(result)`; `size(result) = size(self) / size(filter(self))`.
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

/// Returns a layout that distributes `count` elements over the modes of `shape`.
///
/// Starting with the first mode, each mode receives the greatest common divisor of its extent and the remaining count.
///
/// Postconditions: the size of the result divides `count`; the values of the result increase; every layout of shape `shape` can be composed
/// with the result.
///
/// # Errors
/// Returns [`LayoutError::Extent`] if an extent is below 1, [`LayoutError::Overflow`] if the size of the shape exceeds 64 bits, or
/// [`LayoutError::TooSmall`] if `count` is below 1.
///
/// ```
/// use warpwright::layout::{IntTuple, domain_distribute};
/// assert_eq!(domain_distribute(&IntTuple::from((15, 14)), 6)?.to_string(), "(3,2):(1,15)");
/// # Ok::<(), warpwright::layout::LayoutError>(())
/// ```
pub fn domain_distribute(shape: &IntTuple, count: i64) -> Result<Layout, LayoutError> {
    shape.check_extents()?;
    at_least_1("domain_distribute count", count)?;
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

/// A mode and its weight in the layout's index.
struct Weighted {
    extent: i64,
    stride: i64,
    weight: i64,
    path: ModePath,
}

/// Returns the modes in increasing order of stride.
fn by_stride(layout: &Layout) -> Vec<Weighted> {
    let mut weight = 1;
    let mut modes = Vec::with_capacity(layout.rank());
    let flat = flat_modes(&layout.shape, &layout.stride).into_iter();
    for (Mode { extent, stride }, path) in flat.zip(layout.shape.leaf_paths()) {
        modes.push(Weighted { extent, stride, weight, path });
        weight *= extent;
    }
    // CuTe's sort. It is not stable, and its order determines which of several modes of equal stride an inverse uses.
    for low in 0..modes.len() {
        for high in low + 1..modes.len() {
            if modes[high].stride < modes[low].stride {
                modes.swap(low, high);
            }
        }
    }
    modes
}
