//! Layouts as tuples of modes: pick, group, pad, reorder.

use super::codomain::Codomain;
use super::construct::Layout;
use super::error::LayoutError;
use super::tuple::Tuple;

impl<D: Codomain> Layout<D> {
    /// Mode `index` as a layout.
    ///
    /// # Errors
    /// [`LayoutError::ModeRange`] if there is no such mode.
    #[doc(alias = "get")]
    pub fn mode(&self, index: usize) -> Result<Layout<D>, LayoutError> {
        match (self.shape.mode(index), self.stride.mode(index)) {
            (Some(shape), Some(stride)) => Ok(Layout { shape: shape.clone(), stride: stride.clone() }),
            _ => {
                Err(LayoutError::ModeRange { begin: index, end: index.saturating_add(1), rank: self.rank() })
            }
        }
    }

    /// The modes at the top, each as a layout.
    pub fn modes(&self) -> impl Iterator<Item = Layout<D>> + '_ {
        let modes = self.shape.modes().iter().zip(self.stride.modes());
        modes.map(|(shape, stride)| Layout { shape: shape.clone(), stride: stride.clone() })
    }

    /// Modes `begin..end` as a layout of that rank.
    ///
    /// # Errors
    /// [`LayoutError::ModeRange`] if the range is empty or passes the last mode.
    pub fn take(&self, begin: usize, end: usize) -> Result<Layout<D>, LayoutError> {
        if begin >= end || end > self.rank() {
            return Err(LayoutError::ModeRange { begin, end, rank: self.rank() });
        }
        Ok(Layout::concat(self.modes().skip(begin).take(end - begin)))
    }

    /// The modes numbered in `order`, in that order; modes may be left out or repeated.
    ///
    /// Post-conditions: the rank is that of `order`; mode `i` is mode `order[i]` of `self`.
    ///
    /// # Errors
    /// [`LayoutError::ModeRange`] if there is no such mode.
    pub fn select(&self, order: &[usize]) -> Result<Layout<D>, LayoutError> {
        let modes: Result<Vec<_>, _> = order.iter().map(|&index| self.mode(index)).collect();
        Ok(Layout::concat(modes?))
    }

    /// The modes in reverse: for a matrix, its transpose.
    ///
    /// Post-condition: `result((…, b, a)) = self((a, b, …))`.
    #[must_use]
    pub fn transpose(&self) -> Layout<D> {
        let mut modes: Vec<_> = self.modes().collect();
        modes.reverse();
        Layout::concat(modes)
    }

    /// Modes `begin..end` gathered into one.
    ///
    /// Post-conditions: mode `begin` has the modes `begin..end` of `self`, the others are as they were; `result(i) = self(i)`
    /// for all `i`.
    ///
    /// # Errors
    /// [`LayoutError::ModeRange`] if the range is empty or passes the last mode.
    pub fn group(&self, begin: usize, end: usize) -> Result<Layout<D>, LayoutError> {
        Ok(Layout { shape: self.shape.group(begin, end)?, stride: self.stride.group(begin, end)? })
    }

    /// Padded at the end with modes `1:0` up to `rank`.
    ///
    /// Post-conditions: the rank is at least `rank`; the first modes are `self`'s; `result(i) = self(i)` for all `i < size`.
    #[must_use]
    pub fn append(&self, rank: usize) -> Layout<D> {
        if self.rank() >= rank {
            return self.clone();
        }
        let padding = std::iter::repeat_n(Layout::unit(), rank - self.rank());
        Layout::concat(self.modes().chain(padding))
    }

    /// Padded at the front with modes `1:0` up to `rank`.
    ///
    /// Post-conditions: the rank is at least `rank`; the last modes are `self`'s; `result(i) = self(i)` for all `i`.
    #[must_use]
    pub fn prepend(&self, rank: usize) -> Layout<D> {
        if self.rank() >= rank {
            return self.clone();
        }
        let padding = std::iter::repeat_n(Layout::unit(), rank - self.rank());
        Layout::concat(padding.chain(self.modes()))
    }

    /// All leaves side by side, nesting removed.
    ///
    /// Post-condition: `result(i) = self(i)` for all `i`.
    #[must_use]
    pub fn flatten(&self) -> Layout<D> {
        Layout { shape: self.shape.flatten(), stride: self.stride.flatten() }
    }

    /// The leaves folded into the nesting of `profile`.
    ///
    /// # Errors
    /// [`LayoutError::Rank`] if the number of leaves differs.
    pub fn unflatten<U>(&self, profile: &Tuple<U>) -> Result<Layout<D>, LayoutError> {
        Ok(Layout { shape: self.shape.unflatten(profile)?, stride: self.stride.unflatten(profile)? })
    }

    /// Mode by mode: `((a0,b0),(a1,b1))` from `(a0,a1)` and `(b0,b1)`; `((a,b))` if the first is no tuple.
    pub(super) fn zip(&self, other: &Layout<D>) -> Layout<D> {
        match self.shape {
            Tuple::Leaf(_) => Layout::concat([Layout::concat([self.clone(), other.clone()])]),
            Tuple::Node(_) => {
                Layout::concat(self.modes().zip(other.modes()).map(|(a, b)| Layout::concat([a, b])))
            }
        }
    }

    /// The modes of a mode that has several, or the mode itself.
    pub(super) fn unpacked(&self) -> Vec<Layout<D>> {
        if self.rank() == 1 { vec![self.clone()] } else { self.modes().collect() }
    }
}
