//! Pointers that carry the condition under which they are in bounds. Every access is emitted through such a pointer.

use std::fmt;

use super::{
    error::BuildErrorKind,
    kernel::Builder,
    ptr::{Ptr, ReadWrite, Space},
    types::Element,
    val::Val,
};

/// A pointer to an element of a view, with the condition under which the element is in bounds.
///
/// Accesses through the pointer are safe: if the condition does not hold, nothing is read or written, and loads return 0 or the value given
/// to [`load_or`](Self::load_or). Accesses are predicated and emit no branch; the predicate is omitted if the condition is known to hold.
///
/// [`Slice::at`](super::Slice::at) and [`Ptr::when`], among others, return such pointers.
pub struct CheckedPtr<'k, T, S: Space, A = ReadWrite> {
    pub(super) pointer: Ptr<'k, T, S, A>,
    pub(super) inside: Val<'k, bool>,
    /// The granularity of the bounds: for each of its divisors `n`, the `n` elements that start at this one are either all in bounds or all
    /// out of bounds. It is 0 if this holds for every `n`.
    pub(super) together: u64,
    /// The innermost block that was open when the pointer was created. Facts about the element may hold only in that block.
    pub(super) made_in: u32,
}

impl<T, S: Space, A> Clone for CheckedPtr<'_, T, S, A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, S: Space, A> Copy for CheckedPtr<'_, T, S, A> {}

impl<T: Element, S: Space, A> fmt::Debug for CheckedPtr<'_, T, S, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} where {:?}", self.pointer, self.inside)
    }
}

impl<'k, T: Element, S: Space, A> Ptr<'k, T, S, A> {
    /// Returns a pointer through which memory is accessed only if `inside` holds.
    ///
    /// This method asserts that accesses are in bounds. Callers must ensure that, if `inside` holds, every byte of every access through the
    /// result is in shared or local memory, in a buffer whose extents a launch checks, or in memory covered by an obligation of `unsafe`
    /// code in the kernel.
    pub(crate) fn checked(self, inside: impl Into<Val<'k, bool>>) -> CheckedPtr<'k, T, S, A> {
        CheckedPtr {
            pointer: self,
            inside: inside.into(),
            together: 0,
            made_in: self.kernel().innermost_block(),
        }
    }
}

impl<'k, T: Element, S: Space, A> CheckedPtr<'k, T, S, A> {
    /// Returns the builder of the pointer's kernel.
    pub fn kernel(self) -> Builder<'k> {
        self.pointer.kernel()
    }

    /// Returns the unchecked pointer, discarding the condition.
    pub fn pointer(self) -> Ptr<'k, T, S, A> {
        self.pointer
    }

    /// Returns the condition under which accesses are performed.
    pub fn inside(self) -> Val<'k, bool> {
        self.inside
    }

    /// Returns the pointer with granularity `together`: that many elements, starting at this one, are either all in bounds or all out of
    /// bounds.
    pub(crate) fn in_groups_of(self, together: u64) -> Self {
        Self { together, ..self }
    }

    /// Returns the condition for an access at the current position. Rejects a pointer that was created in a branch or loop that has ended.
    #[track_caller]
    pub(super) fn condition(self) -> Val<'k, bool> {
        self.kernel().check_open(self.made_in);
        self.inside
    }

    /// Returns the pointer with an additional condition: accesses are performed only if both this condition and the existing one hold.
    #[must_use]
    #[track_caller]
    pub fn when(self, condition: impl Into<Val<'k, bool>>) -> Self {
        let condition = condition.into();
        let inside = match (self.inside.as_constant(), condition.as_constant()) {
            (Some(true), _) | (_, Some(false)) => condition,
            (Some(false), _) | (_, Some(true)) => self.inside,
            (None, None) => self.inside & condition,
        };
        Self { inside, ..self }
    }

    /// Rejects a vector of `count` elements that may extend past the end of the view.
    #[track_caller]
    pub(super) fn check_vector(self, count: usize) {
        self.pointer.check_aligned(count as u32 * T::SIZE);
        if !self.together.is_multiple_of(count as u64) && self.inside.as_constant() != Some(false) {
            self.kernel().fail(BuildErrorKind::CutVector { elements: count, known: self.together });
        }
    }
}
