//! Data on their way to shared memory.

use std::marker::PhantomData;

use crate::ptx::{Builder, Features};

/// Data that were stored or copied to shared memory: nothing of them can be read before they are waited for.
///
/// A copy from global to shared memory is [`Pending`] whichever way it goes; waiting issues what that way needs.
#[must_use = "data are on their way to shared memory: wait for them"]
#[derive(Debug)]
pub struct Pending<'k> {
    k: Builder<'k>,
    asynchronous: bool,
}

/// A proof that what was on its way has arrived. It holds until the memory is written again.
#[derive(Debug)]
pub struct Arrived<'k>(PhantomData<Builder<'k>>);

impl<'k> Pending<'k> {
    pub(super) fn new(k: Builder<'k>, asynchronous: bool) -> Self {
        Self { k, asynchronous }
    }

    /// Both at once.
    pub fn and(self, other: Pending<'k>) -> Pending<'k> {
        Pending { asynchronous: self.asynchronous || other.asynchronous, ..self }
    }

    /// Waits until the data are there for every thread of the block: for this thread's own copies, and at the block's barrier.
    #[track_caller]
    pub fn wait(self) -> Arrived<'k> {
        let k = self.k;
        let arrived = self.wait_own();
        k.sync_threads();
        arrived
    }

    /// Waits for this thread's own copies alone. What other threads copied can be read only after a barrier.
    #[track_caller]
    pub fn wait_own(self) -> Arrived<'k> {
        if self.asynchronous {
            self.k.cp_async_wait_all();
        }
        Arrived(PhantomData)
    }

    /// Makes this thread's copies since the last commit a group, to be waited for by [`Builder::wait_groups`].
    #[doc(alias = "cp.async.commit_group")]
    #[track_caller]
    pub fn commit(self) {
        self.k.commit_group();
    }
}

impl<'k> Builder<'k> {
    /// A group of copies, empty if nothing was copied, so that groups can count stages.
    #[track_caller]
    pub fn commit_group(self) {
        if self.target().features().contains(Features::AMPERE) {
            self.cp_async_commit_group();
        }
    }

    /// Waits until at most the `newest` groups of this thread's copies are still under way, and at the block's barrier.
    #[doc(alias = "cp.async.wait_group")]
    #[track_caller]
    pub fn wait_groups(self, newest: u32) -> Arrived<'k> {
        if self.target().features().contains(Features::AMPERE) {
            self.cp_async_wait_group(newest);
        }
        self.sync_threads();
        Arrived(PhantomData)
    }
}
