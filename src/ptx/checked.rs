//! Pointers with the condition under which they are inside their view: what every access is emitted through.

use std::fmt;

use super::{
    error::BuildErrorKind,
    kernel::Builder,
    ptr::{Ptr, ReadWrite, Space},
    types::Element,
    val::Val,
};

/// A pointer to an element of a view, with the condition under which the view has the element.
///
/// Where the condition does not hold, a load gives 0 and nothing is read or written, without a branch: the instruction is
/// predicated. Where it is known to hold, there is no predicate. So accesses through it are safe.
///
/// [`Slice::at`](super::Slice::at) makes one, as does [`Ptr::when`].
pub struct CheckedPtr<'k, T, S: Space, A = ReadWrite> {
    pub(super) pointer: Ptr<'k, T, S, A>,
    pub(super) inside: Val<'k, bool>,
    /// The elements from here on are inside or outside together in groups of each divisor of this number: 0 for any number.
    pub(super) together: u64,
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
    /// The pointer as one whose accesses are allowed where `inside` holds.
    ///
    /// This is where the crate vouches for an access, so its callers must have shown: where `inside` holds, every byte
    /// of every access through the result is in shared or local memory, in a buffer whose extents a launch checks, or in
    /// memory that `unsafe` code of the kernel's author vouched for.
    pub(crate) fn checked(self, inside: impl Into<Val<'k, bool>>) -> CheckedPtr<'k, T, S, A> {
        CheckedPtr { pointer: self, inside: inside.into(), together: 0 }
    }
}

impl<'k, T: Element, S: Space, A> CheckedPtr<'k, T, S, A> {
    /// The kernel that the pointer belongs to.
    pub fn kernel(self) -> Builder<'k> {
        self.pointer.kernel()
    }

    /// The address alone, without the condition.
    pub fn pointer(self) -> Ptr<'k, T, S, A> {
        self.pointer
    }

    /// The condition under which accesses happen.
    pub fn inside(self) -> Val<'k, bool> {
        self.inside
    }

    /// The pointer with a further condition: accesses happen where both hold.
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

    /// Refuses a vector of `count` elements that may be cut by the end of the view.
    #[track_caller]
    pub(super) fn check_vector(self, count: usize) {
        self.pointer.check_aligned(count as u32 * T::SIZE);
        if !self.together.is_multiple_of(count as u64) && self.inside.as_constant() != Some(false) {
            self.kernel().fail(BuildErrorKind::CutVector { elements: count, known: self.together });
        }
    }
}
