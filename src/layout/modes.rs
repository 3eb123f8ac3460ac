//! Layouts as tuples of modes: selecting, grouping, padding, reordering.

use super::codomain::Codomain;
use super::construct::Layout;
use super::error::LayoutError;
use super::tuple::Tuple;

impl<D: Codomain> Layout<D> {
    /// Returns mode `index` as a layout.
    ///
    /// # Errors
    /// Returns [`LayoutError::ModeRange`] if the mode does not exist.
    #[doc(alias = "get")]
    pub fn mode(&self, index: usize) -> Result<Layout<D>, LayoutError> {
        match (self.shape.mode(index), self.stride.mode(index)) {
            (Some(shape), Some(stride)) => Ok(Layout { shape: shape.clone(), stride: stride.clone() }),
            _ => {
                Err(LayoutError::ModeRange { begin: index, end: index.saturating_add(1), rank: self.rank() })
            }
        }
    }

    /// Returns the top-level modes as layouts.
    pub fn modes(&self) -> impl Iterator<Item = Layout<D>> + '_ {
        let modes = self.shape.modes().iter().zip(self.stride.modes());
        modes.map(|(shape, stride)| Layout { shape: shape.clone(), stride: stride.clone() })
    }

    /// Returns modes `begin..end` as a layout of rank `end - begin`.
    ///
    /// # Errors
    /// Returns [`LayoutError::ModeRange`] if the range is empty or exceeds the rank.
    pub fn take(&self, begin: usize, end: usize) -> Result<Layout<D>, LayoutError> {
        if begin >= end || end > self.rank() {
            return Err(LayoutError::ModeRange { begin, end, rank: self.rank() });
        }
        Ok(Layout::concat(self.modes().skip(begin).take(end - begin)))
    }

    /// Returns the modes whose indices are listed in `order`, in that order; modes may be omitted or repeated.
    ///
    /// Postconditions: the rank is the length of `order`; mode `i` of the result is mode `order[i]` of `self`.
    ///
    /// # Errors
    /// Returns [`LayoutError::ModeRange`] if a mode does not exist.
    pub fn select(&self, order: &[usize]) -> Result<Layout<D>, LayoutError> {
        let modes: Result<Vec<_>, _> = order.iter().map(|&index| self.mode(index)).collect();
        Ok(Layout::concat(modes?))
    }

    /// Returns the layout with its modes in reverse order, which transposes a matrix.
    ///
    /// Postcondition: `result((…, b, a)) = self((a, b, …))`.
    #[must_use]
    pub fn transpose(&self) -> Layout<D> {
        let mut modes: Vec<_> = self.modes().collect();
        modes.reverse();
        Layout::concat(modes)
    }

    /// Returns the layout with modes `begin..end` grouped into one.
    ///
    /// Postconditions: mode `begin` of the result consists of modes `begin..end` of `self`, and the others are unchanged;
    /// `result(i) = self(i)` for all `i`.
    ///
    /// # Errors
    /// Returns [`LayoutError::ModeRange`] if the range is empty or exceeds the rank.
    pub fn group(&self, begin: usize, end: usize) -> Result<Layout<D>, LayoutError> {
        Ok(Layout { shape: self.shape.group(begin, end)?, stride: self.stride.group(begin, end)? })
    }

    /// Appends modes `1:0` until the layout has at least `rank` modes.
    ///
    /// Postconditions: the rank is at least `rank`; the first modes are those of `self`; `result(i) = self(i)` for all `i < size`.
    #[must_use]
    pub fn append(&self, rank: usize) -> Layout<D> {
        if self.rank() >= rank {
            return self.clone();
        }
        let padding = std::iter::repeat_n(Layout::unit(), rank - self.rank());
        Layout::concat(self.modes().chain(padding))
    }

    /// Prepends modes `1:0` until the layout has at least `rank` modes.
    ///
    /// Postconditions: the rank is at least `rank`; the last modes are those of `self`; `result(i) = self(i)` for all `i`.
    #[must_use]
    pub fn prepend(&self, rank: usize) -> Layout<D> {
        if self.rank() >= rank {
            return self.clone();
        }
        let padding = std::iter::repeat_n(Layout::unit(), rank - self.rank());
        Layout::concat(padding.chain(self.modes()))
    }

    /// Returns the layout without nesting: each leaf becomes a top-level mode.
    ///
    /// Postcondition: `result(i) = self(i)` for all `i`.
    #[must_use]
    pub fn flatten(&self) -> Layout<D> {
        Layout { shape: self.shape.flatten(), stride: self.stride.flatten() }
    }

    /// Returns the layout with its leaves nested like `profile`.
    ///
    /// # Errors
    /// Returns [`LayoutError::Rank`] if `profile` has a different number of leaves.
    pub fn unflatten<U>(&self, profile: &Tuple<U>) -> Result<Layout<D>, LayoutError> {
        Ok(Layout { shape: self.shape.unflatten(profile)?, stride: self.stride.unflatten(profile)? })
    }

    /// Zips two layouts mode by mode: `((a0,b0),(a1,b1))` from `(a0,a1)` and `(b0,b1)`; `((a,b))` if `self` is not a tuple.
    pub(super) fn zip(&self, other: &Layout<D>) -> Layout<D> {
        match self.shape {
            Tuple::Leaf(_) => Layout::concat([Layout::concat([self.clone(), other.clone()])]),
            Tuple::Node(_) => {
                Layout::concat(self.modes().zip(other.modes()).map(|(a, b)| Layout::concat([a, b])))
            }
        }
    }

    /// Returns the modes of a nested mode, or the mode itself.
    pub(super) fn unpacked(&self) -> Vec<Layout<D>> {
        if self.rank() == 1 { vec![self.clone()] } else { self.modes().collect() }
    }
}
