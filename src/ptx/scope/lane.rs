//! The scope of a single thread.

use super::{Scope, by_own_methods, sealed};
use crate::ptx::{kernel::Builder, uniform::Uniformity, val::Val};

/// This thread, as one lane of its warp.
#[derive(Clone, Copy, Debug)]
pub struct Lane<'k> {
    k: Builder<'k>,
}

impl<'k> Lane<'k> {
    pub(super) fn new(k: Builder<'k>) -> Self {
        Self { k }
    }

    /// Returns the minimum [`Uniformity`] that a value must have to be the same in all threads of the scope. This is [`Uniformity::NONE`],
    /// because a lane is a single thread.
    pub fn uniformity(self) -> Uniformity {
        Uniformity::NONE
    }

    /// Returns the number of threads in the scope, which is always 1.
    pub fn size(self) -> u32 {
        1
    }

    /// Returns the index of the lane in its warp, from 0 to 31.
    #[doc(alias = "%laneid")]
    #[track_caller]
    pub fn rank(self) -> Val<'k, u32> {
        self.k.laneid()
    }

    /// Returns the index of this thread in the scope, which is always 0.
    pub fn thread(self) -> Val<'k, u32> {
        0.into()
    }

    /// Does nothing, because the scope has only one thread.
    pub fn sync(self) {}
}

impl sealed::Sealed for Lane<'_> {}

impl<'k> Scope<'k> for Lane<'k> {
    by_own_methods!();
}

impl<'k> Builder<'k> {
    /// Returns this thread as a lane of its warp.
    pub fn lane(self) -> Lane<'k> {
        Lane::new(self)
    }
}
