//! Data in flight to shared memory, and the views that become readable when the data arrives.

use super::{element::TensorElement, memory::Tensor};
use crate::ptx::{AnyScope, Builder, Shared, State, Visitor};

/// Data in flight to shared memory, written by copies or stores.
///
/// The view `V` of the data can be read only after [`wait`](Self::wait), which emits the required synchronization.
///
/// Pending data can be loop state ([`State`]), so one iteration can start a copy that the next iteration waits for.
#[must_use = "data is in flight to shared memory: wait for it"]
#[derive(Debug)]
pub struct Pending<'k, V> {
    /// The threads that write the data.
    by: AnyScope<'k>,
    view: V,
    asynchronous: bool,
}

/// The views of data in flight. A view may be used only where the data has been waited for.
#[doc(hidden)]
pub trait Leased {
    /// Replaces the lease of the view, whose data has arrived.
    #[track_caller]
    fn renew(&mut self);
}

impl<T: TensorElement, A> Leased for Tensor<'_, Shared, T, A> {
    #[track_caller]
    fn renew(&mut self) {
        self.renew_lease();
    }
}

impl<V: Leased, W: Leased> Leased for (V, W) {
    #[track_caller]
    fn renew(&mut self) {
        self.0.renew();
        self.1.renew();
    }
}

/// The trait bound of reads, which data in flight does not satisfy.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "the data is still in flight to shared memory",
    label = "expected a view whose data has arrived",
    note = "`wait()` returns the view to load from"
)]
pub trait Arrived {}

impl<'k, V> Pending<'k, V> {
    pub(crate) fn new(k: Builder<'k>, view: V, asynchronous: bool) -> Self {
        Self::by(AnyScope::block(k), view, asynchronous)
    }

    /// Returns pending data that the threads of scope `by` write.
    pub(crate) fn by(by: AnyScope<'k>, view: V, asynchronous: bool) -> Self {
        Self { by, view, asynchronous }
    }

    /// Combines two pending views, so that [`wait`](Self::wait) returns both.
    ///
    /// If different scopes write the views, `wait` uses the barrier of the larger scope, or the block's barrier if
    /// the larger scope's size is not a multiple of the smaller scope's size.
    #[track_caller]
    pub fn and<W>(self, other: Pending<'k, W>) -> Pending<'k, (V, W)> {
        let asynchronous = self.asynchronous || other.asynchronous;
        let contains = |a: &AnyScope<'k>, b: &AnyScope<'k>| {
            a.is_block() || !b.is_block() && a.size().is_multiple_of(b.size())
        };
        let by = match (contains(&self.by, &other.by), contains(&other.by, &self.by)) {
            (true, _) => self.by,
            (_, true) => other.by,
            _ => AnyScope::block(self.by.kernel()),
        };
        Pending { by, view: (self.view, other.view), asynchronous }
    }

    /// Waits for the data and returns the readable view.
    ///
    /// The emitted code waits for this thread's asynchronous copies, and then at the barrier of the block, or of a smaller scope if only
    /// that scope uses the memory. The data is then visible to all threads of the block or scope.
    ///
    /// All threads of the block or scope must execute the emitted code. The view may be used only in the branch or loop that contains the
    /// call. The builder rejects the call in a loop that began after the copies or stores and does not carry them.
    #[doc(alias = "load_async_wait")]
    #[track_caller]
    pub fn wait(self) -> V
    where
        V: Leased,
    {
        let by = self.by;
        let view = self.wait_own();
        by.sync();
        view
    }

    /// Waits only for this thread's asynchronous copies and returns the view.
    ///
    /// Data that other threads copied can be read only after a barrier.
    #[track_caller]
    pub fn wait_own(mut self) -> V
    where
        V: Leased,
    {
        if self.asynchronous {
            self.by.kernel().cp_async_wait_all();
        }
        self.view.renew();
        self.view
    }

    /// Calls to this method do not compile, because the data is still in flight; the error message says to call `wait` first.
    #[doc(hidden)]
    pub fn load<Layout>(&self)
    where
        Self: Arrived,
    {
    }

    /// Returns the view of the data, which has not arrived.
    pub(crate) fn view(&self) -> &V {
        &self.view
    }

    /// Converts the view of the data.
    pub(crate) fn map<W>(self, view: impl FnOnce(V) -> W) -> Pending<'k, W> {
        Pending { by: self.by, view: view(self.view), asynchronous: self.asynchronous }
    }
}

impl<'k, V: State<'k>> State<'k> for Pending<'k, V> {
    #[track_caller]
    fn visit(&mut self, visitor: &mut Visitor<'_, 'k>) {
        // `wait` emits what these copies require.
        let copies = if self.asynchronous { "asynchronous copies" } else { "stores" };
        visitor.form(&format_args!("{copies} by {}", self.by.uniformity()));
        self.view.visit(visitor);
    }
}
