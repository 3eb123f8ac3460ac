//! Data in flight to shared memory, and the views that become readable when they arrive.

use crate::ptx::{Builder, State, Visitor};

/// Data in flight to shared memory by stores or copies. Its view `V` cannot be read before it is waited for.
///
/// Waiting returns that view, and emits the synchronization that the copies require. Pending data are loop state
/// ([`State`]), so one iteration can start a copy that the next one waits for.
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

    /// Combines two pending views; waiting returns both.
    pub fn and<W>(self, other: Pending<'k, W>) -> Pending<'k, (V, W)> {
        let asynchronous = self.asynchronous || other.asynchronous;
        Pending { k: self.k, view: (self.view, other.view), asynchronous }
    }

    /// Waits for this thread's own copies and at the block's barrier, after which the data are visible to all threads of the
    /// block. Returns the view for reading.
    ///
    /// All threads of the block must execute the call.
    #[track_caller]
    pub fn wait(self) -> V {
        let k = self.k;
        let view = self.wait_own();
        k.this_block().sync();
        view
    }

    /// Waits only for this thread's own copies. Data copied by other threads can be read only after a barrier.
    #[track_caller]
    pub fn wait_own(self) -> V {
        if self.asynchronous {
            self.k.cp_async_wait_all();
        }
        self.view
    }

    /// Converts the view of the data.
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
