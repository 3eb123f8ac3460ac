//! Data in flight to shared memory, and the views that become readable when they arrive.

use crate::ptx::{Builder, State, Visitor};

/// Data that were stored or copied to shared memory. The view `V` of them cannot be read before they are waited for.
///
/// Waiting returns that view, and only that; it issues what the way in which the data came requires. Pending data are loop state
/// ([`State`]), so that what one iteration begins to copy the next can wait for.
#[must_use = "data are in flight to shared memory: wait for them"]
#[derive(Debug)]
pub struct Pending<'k, V> {
    k: Builder<'k>,
    view: V,
    asynchronous: bool,
}

impl<'k, V> Pending<'k, V> {
    pub(crate) fn new(k: Builder<'k>, view: V, asynchronous: bool) -> Self {
        Self { k, view, asynchronous }
    }

    /// Both, to be waited for together: waiting returns both views.
    pub fn and<W>(self, other: Pending<'k, W>) -> Pending<'k, (V, W)> {
        let asynchronous = self.asynchronous || other.asynchronous;
        Pending { k: self.k, view: (self.view, other.view), asynchronous }
    }

    /// Waits until every thread of the block sees the data: for this thread's own copies, and at the block's barrier. Returns the view
    /// for reading.
    ///
    /// All threads of the block must call it.
    #[track_caller]
    pub fn wait(self) -> V {
        let k = self.k;
        let view = self.wait_own();
        k.this_block().sync();
        view
    }

    /// Waits for this thread's own copies alone. What other threads copied can be read only after a barrier.
    #[track_caller]
    pub fn wait_own(self) -> V {
        if self.asynchronous {
            self.k.cp_async_wait_all();
        }
        self.view
    }

    /// The same data as another view.
    pub(crate) fn map<W>(self, view: impl FnOnce(V) -> W) -> Pending<'k, W> {
        Pending { k: self.k, view: view(self.view), asynchronous: self.asynchronous }
    }
}

impl<'k, V: State<'k>> State<'k> for Pending<'k, V> {
    #[track_caller]
    fn visit(&mut self, visitor: &mut Visitor<'_, 'k>) {
        self.view.visit(visitor);
    }
}
