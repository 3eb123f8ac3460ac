//! Checks that every element of a tile has at least one owner, or exactly one.

use super::{TvError, TvLayout};

impl TvLayout {
    /// Checks that every element has at least one owner.
    ///
    /// # Errors
    /// Returns [`TvError::Unowned`] if an element has no owner. The error names the first such element.
    pub fn check_covering(&self) -> Result<(), TvError> {
        let unowned = (0..self.shape.size()).find(|&index| self.first_owner(index).is_none());
        unowned.map_or(Ok(()), |index| Err(self.unowned(index)))
    }

    /// Checks that every element has exactly one owner.
    ///
    /// # Errors
    /// Returns [`TvError::Shared`] if an element has several owners; otherwise, [`TvError::Unowned`] if an element has no owner. The error
    /// names the element.
    pub fn check_bijective(&self) -> Result<(), TvError> {
        for (thread, value) in self.positions() {
            let index = self.index(thread, value);
            let second = self.at(thread, value);
            if let Some(first) = self.first_owner(index)
                && first != second
            {
                let (name, coord) = (self.name.clone(), self.coord(index).to_string());
                return Err(TvError::Shared { name, coord, first, second });
            }
        }
        self.check_covering()
    }

    /// Asserts that every element has at least one owner; for use in tests.
    ///
    /// # Panics
    /// Panics if [`check_covering`](Self::check_covering) fails; the message names the element.
    #[track_caller]
    pub fn assert_covering(&self) {
        if let Err(error) = self.check_covering() {
            panic!("not covering: {error}");
        }
    }

    /// Asserts that every element has exactly one owner; for use in tests.
    ///
    /// # Panics
    /// Panics if [`check_bijective`](Self::check_bijective) fails; the message names the element.
    #[track_caller]
    pub fn assert_bijective(&self) {
        if let Err(error) = self.check_bijective() {
            panic!("not a bijection: {error}");
        }
    }
}
