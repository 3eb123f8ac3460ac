//! Simplification: equivalent layouts with fewer modes.

use super::codomain::Codomain;
use super::construct::{Layout, Mode, flat_modes};
use super::error::LayoutError;
use super::tuple::Tuple;

impl<D: Codomain> Layout<D> {
    /// Returns the shortest flat layout that represents the same function on the same domain: adjacent contiguous modes are merged, and
    /// extents of 1 are dropped.
    ///
    /// Postconditions: the size is unchanged; the depth is at most 1; `result(i) = self(i)` for all `i < size`.
    #[must_use]
    pub fn coalesce(&self) -> Layout<D> {
        Layout::from_flat(merged(flat_modes(&self.shape, &self.stride)))
    }

    /// Returns the shortest flat layout that represents the same function for every index, including those past the end: the last mode is
    /// kept even if its extent is 1.
    pub(crate) fn coalesce_unbounded(&self) -> Layout<D> {
        Layout::from_flat(merged_with_tail(self))
    }

    /// Applies [`coalesce`](Self::coalesce) to the mode at each leaf of `profile`; the nesting above these modes is unchanged.
    ///
    /// Modes past the end of the profile are unchanged.
    ///
    /// Postconditions: `result(i) = self(i)` for all `i < size`; the sizes of the modes are unchanged.
    ///
    /// # Errors
    /// Returns [`LayoutError::Rank`] if the profile, at any level, has more modes than the layout.
    pub fn coalesce_by<U>(&self, profile: &Tuple<U>) -> Result<Layout<D>, LayoutError> {
        self.by_profile("coalesce", profile, &Layout::coalesce)
    }

    /// Removes broadcast modes (stride 0) and modes of extent 1, and coalesces the remaining modes.
    ///
    /// If the remaining modes are injective, each offset occurs once.
    ///
    /// Postconditions: the set of offsets is unchanged; no stride is 0, unless the result is `1:0`; the depth is at most 1.
    #[must_use]
    pub fn filter(&self) -> Layout<D> {
        let mut modes = flat_modes(&self.shape, &self.stride);
        modes.retain(|mode| mode.stride != D::zero());
        Layout::from_flat(merged(modes))
    }

    /// Applies [`filter`](Self::filter) to the mode at each leaf of `profile`; the nesting above these modes is unchanged.
    ///
    /// Modes past the end of the profile are unchanged.
    ///
    /// # Errors
    /// Returns [`LayoutError::Rank`] if the profile, at any level, has more modes than the layout.
    pub fn filter_by<U>(&self, profile: &Tuple<U>) -> Result<Layout<D>, LayoutError> {
        self.by_profile("filter", profile, &Layout::filter)
    }

    fn by_profile<U>(
        &self,
        operation: &'static str,
        profile: &Tuple<U>,
        simplify: &dyn Fn(&Layout<D>) -> Layout<D>,
    ) -> Result<Layout<D>, LayoutError> {
        let Tuple::Node(parts) = profile else {
            return Ok(simplify(self));
        };
        if parts.len() > self.rank() {
            let value = format!("a profile for {}", self.shape);
            return Err(LayoutError::Rank { operation, expected: self.rank(), found: parts.len(), value });
        }
        let modes: Result<Vec<_>, _> = self
            .modes()
            .enumerate()
            .map(|(index, mode)| match parts.get(index) {
                Some(part) => mode.by_profile(operation, part, simplify),
                None => Ok(mode),
            })
            .collect();
        Ok(Layout::concat(modes?))
    }
}

/// Returns the flat modes of a layout as the left side of a composition: merged, but with the last mode kept even if its
/// extent is 1, so that the function is unchanged past the end. Never empty.
pub(super) fn merged_with_tail<D: Codomain>(layout: &Layout<D>) -> Vec<Mode<D>> {
    let mut modes = flat_modes(&layout.shape, &layout.stride);
    let Some(tail) = modes.pop() else {
        return vec![Mode { extent: 1, stride: D::zero() }];
    };
    let mut kept = merged(modes);
    match kept.last_mut() {
        Some(last) if runs_on(last, &tail) => last.extent *= tail.extent,
        _ => kept.push(tail),
    }
    kept
}

fn merged<D: Codomain>(modes: Vec<Mode<D>>) -> Vec<Mode<D>> {
    let mut kept: Vec<Mode<D>> = Vec::with_capacity(modes.len());
    for mode in modes {
        match kept.last_mut() {
            _ if mode.extent == 1 => {}
            Some(last) if runs_on(last, &mode) => last.extent *= mode.extent,
            _ => kept.push(mode),
        }
    }
    kept
}

fn runs_on<D: Codomain>(mode: &Mode<D>, next: &Mode<D>) -> bool {
    mode.stride.scaled(mode.extent).is_some_and(|end| end == next.stride)
}
