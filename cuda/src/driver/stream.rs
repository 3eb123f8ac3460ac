//! Streams: queues of operations. Each stream has its own thread, which executes the operations in order.
//!
//! Streams are ordered as the manual specifies ("Stream synchronization behavior"). An operation in the legacy default stream waits for the
//! earlier operations in all blocking streams of its context, and later operations in these streams wait for it.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::Instant;

use crate::code::{Code, Fallible};
use crate::driver::capture::{self, Capturing};
use crate::driver::context::{self, Context};
use crate::driver::operation::{Execution, Operation};
use crate::driver::order::{self, Position};
use crate::driver::origin::Origin;
use crate::driver::registry::{Handle, Registry};

/// The completion of an operation.
#[derive(Debug)]
pub(crate) struct Ticket {
    position: Arc<Position>,
    done: Mutex<Option<Instant>>,
    changed: Condvar,
}

impl Ticket {
    fn new(position: Position) -> Self {
        Self { position: Arc::new(position), done: Mutex::default(), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Instant>> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn complete(&self) {
        self.position.complete();
        *self.lock() = Some(Instant::now());
        self.changed.notify_all();
    }

    /// Returns whether the operation is complete. If it is, records that the program knows this.
    pub(crate) fn query(&self) -> bool {
        let is_complete = self.time().is_some();
        if is_complete {
            self.position.reach_host();
        }
        is_complete
    }

    /// Returns the time at which the operation was completed, or `None` if it is pending.
    pub(crate) fn time(&self) -> Option<Instant> {
        *self.lock()
    }

    /// Returns whether the program knows that the operation is complete.
    pub(crate) fn is_known(&self) -> bool {
        self.position.is_known_to_host()
    }

    /// Waits for the operation, and records that the program knows that it is complete.
    pub(crate) fn wait(&self) {
        self.wait_quietly();
        self.position.reach_host();
    }

    fn wait_quietly(&self) {
        let mut done = self.lock();
        while done.is_none() {
            done = self.changed.wait(done).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

#[derive(Debug)]
struct Task {
    after: Vec<Arc<Ticket>>,
    operation: Operation,
    origin: Origin,
    ticket: Arc<Ticket>,
    context: Arc<Context>,
    /// Receives the error of the operation itself, unless it is an error of the context.
    result: Option<Arc<Mutex<Fallible>>>,
}

impl Task {
    fn execute(&self) {
        let position = Arc::clone(&self.ticket.position);
        let execution = Execution { position, branch: None, origin: self.origin.clone() };
        let result = catch_unwind(AssertUnwindSafe(|| self.operation.execute(&execution)))
            .unwrap_or(Err(Code::UNKNOWN));
        match (&self.result, result) {
            (Some(own), result) => *own.lock().unwrap_or_else(PoisonError::into_inner) = result,
            (None, Err(code)) => self.context.fail(code),
            (None, Ok(())) => {}
        }
    }
}

/// How a stream is ordered relative to the default stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The default stream of a context.
    Legacy,
    Blocking,
    /// `CU_STREAM_NON_BLOCKING`.
    NonBlocking,
}

/// `CUstreamAttrValue`.
pub(crate) type AttributeValue = [u32; 16];

/// A stream.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) handle: Handle,
    pub(crate) id: u64,
    pub(crate) kind: Kind,
    pub(crate) priority: i32,
    /// The values of attributes that the program has set.
    pub(crate) attributes: Mutex<BTreeMap<u32, AttributeValue>>,
    context: Weak<Context>,
    queue: Mutex<Queue>,
    capturing: Mutex<Option<Capturing>>,
}

#[derive(Debug, Default)]
struct Queue {
    /// The queue of the stream's thread, which starts with the first operation.
    tasks: Option<Sender<Task>>,
    /// The last operation submitted.
    last: Option<Arc<Ticket>>,
    /// Other operations for which the next operation waits.
    after: Vec<Arc<Ticket>>,
}

/// The streams that programs have created.
static STREAMS: Registry<Stream> = Registry::new(1);

/// `CU_STREAM_LEGACY` and `CU_STREAM_PER_THREAD`.
const LEGACY: Handle = Handle(1);
const PER_THREAD: Handle = Handle(2);

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// A lock that is held while an operation is queued, so that the streams of a context agree on the submission order.
static ORDER: Mutex<()> = Mutex::new(());

/// Returns the number of the last operation that has been queued.
pub(crate) fn last_queued() -> u64 {
    let _order = ORDER.lock().unwrap_or_else(PoisonError::into_inner);
    order::last()
}

thread_local! {
    /// Whether the thread is executing one of the program's functions for a stream.
    static IN_HOST_CALL: Cell<bool> = const { Cell::new(false) };
    /// The thread's per-thread default stream in each context.
    static OWN: RefCell<HashMap<Handle, Arc<Stream>>> = RefCell::default();
}

/// Calls a function of the program. The function must not call the driver, because it could wait for its own stream.
pub(crate) fn in_host_call(call: impl FnOnce()) {
    IN_HOST_CALL.set(true);
    call();
    IN_HOST_CALL.set(false);
}

/// Returns whether the calling thread is executing one of the program's functions for a stream.
pub(crate) fn is_in_host_call() -> bool {
    IN_HOST_CALL.get()
}

impl Stream {
    pub(crate) fn new(handle: Handle, context: Weak<Context>, kind: Kind, priority: i32) -> Self {
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        let (attributes, queue, capturing) = Default::default();
        Self { handle, id, kind, priority, attributes, context, queue, capturing }
    }

    /// Creates a stream in the current context.
    pub(crate) fn create(flags: u32, priority: i32) -> Fallible<Arc<Self>> {
        let kind = match flags {
            0 => Kind::Blocking,
            1 => Kind::NonBlocking,
            _ => return Err(Code::INVALID_VALUE),
        };
        let context = context::current()?;
        order::add_stream();
        let stream = STREAMS.add(|handle| Self::new(handle, Arc::downgrade(&context), kind, priority));
        context.add_stream(&stream);
        Ok(stream)
    }

    /// Destroys a stream after its pending operations are complete.
    pub(crate) fn destroy(handle: Handle) -> Fallible {
        let stream = STREAMS.remove(handle)?;
        if let (Ok(context), Some(last)) = (stream.context(), stream.last()) {
            context.keep(stream.kind, last);
        }
        Ok(())
    }

    /// Removes the streams of a context.
    pub(crate) fn destroy_all(context: &Arc<Context>) {
        STREAMS.remove_all(|stream| stream.context.ptr_eq(&Arc::downgrade(context)));
    }

    /// Returns the stream with the given handle. Null denotes the default stream of the current context or, with `per_thread_default`, of
    /// the thread.
    pub(crate) fn of(handle: Handle, per_thread_default: bool) -> Fallible<Arc<Self>> {
        match handle {
            PER_THREAD => Self::own(),
            Handle::NULL if per_thread_default => Self::own(),
            Handle::NULL | LEGACY => Ok(context::current()?.legacy()),
            handle => STREAMS.get(handle),
        }
    }

    /// Returns the per-thread default stream of this thread.
    fn own() -> Fallible<Arc<Self>> {
        let context = context::current()?;
        OWN.with_borrow_mut(|own| {
            let stream = own.entry(context.handle).or_insert_with(|| {
                order::add_stream();
                let stream = Self::new(PER_THREAD, Arc::downgrade(&context), Kind::Blocking, 0);
                let stream = Arc::new(stream);
                context.add_stream(&stream);
                stream
            });
            Ok(Arc::clone(stream))
        })
    }

    pub(crate) fn context(&self) -> Fallible<Arc<Context>> {
        self.context.upgrade().ok_or(Code::CONTEXT_IS_DESTROYED)
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the last operation submitted.
    pub(crate) fn last(&self) -> Option<Arc<Ticket>> {
        self.lock().last.clone()
    }

    /// Makes later operations wait for `ticket`.
    pub(crate) fn wait_for(&self, ticket: Arc<Ticket>) {
        self.lock().after.push(ticket);
    }

    pub(crate) fn capturing(&self) -> Option<Capturing> {
        self.capturing.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set_capturing(&self, capturing: Option<Capturing>) {
        *self.capturing.lock().unwrap_or_else(PoisonError::into_inner) = capturing;
    }

    pub(crate) fn can_capture(&self) -> bool {
        self.kind != Kind::Legacy
    }

    /// Returns an error if the stream, or a stream with which it is ordered, is being captured, and invalidates the capture.
    fn check_capture(&self) -> Fallible {
        if let Some(capturing) = self.capturing() {
            capturing.capture.invalidate();
            return Err(Code::STREAM_CAPTURE_UNSUPPORTED);
        }
        let others = if self.kind == Kind::Legacy { self.context()?.blocking_streams() } else { vec![] };
        match others.iter().find_map(|stream| stream.capturing()) {
            Some(capturing) => {
                capturing.capture.invalidate();
                Err(Code::STREAM_CAPTURE_IMPLICIT)
            }
            None => Ok(()),
        }
    }

    /// Returns an error if a capture does not allow the program to wait for the stream.
    pub(crate) fn check_wait(&self) -> Fallible {
        self.check_capture()?;
        capture::check_unsafe_call()
    }

    /// Returns an error if a capture does not allow an unsafe call on a stream that it does not record.
    pub(crate) fn check_unrecorded(&self) -> Fallible {
        if self.capturing().is_some() { Ok(()) } else { capture::check_unsafe_call() }
    }

    /// Queues an operation, or adds it to the graph that is being captured.
    pub(crate) fn submit(&self, operation: Operation) -> Fallible {
        match self.capturing() {
            Some(capturing) => capturing.add(self, operation),
            None => self.queue(operation).map(drop),
        }
    }

    /// Queues an operation, and returns a ticket for its completion.
    pub(crate) fn queue(&self, operation: Operation) -> Fallible<Arc<Ticket>> {
        self.queue_with(operation, None)
    }

    fn queue_with(
        &self,
        operation: Operation,
        result: Option<Arc<Mutex<Fallible>>>,
    ) -> Fallible<Arc<Ticket>> {
        let context = self.context()?;
        context.check()?;
        self.check_capture()?;
        let _order = ORDER.lock().unwrap_or_else(PoisonError::into_inner);
        let mut after = match self.kind {
            Kind::Legacy => context.blocking_operations(),
            Kind::Blocking => context.legacy().last().into_iter().collect(),
            Kind::NonBlocking => vec![],
        };
        let mut queue = self.lock();
        after.append(&mut queue.after);
        let before = after.iter().chain(&queue.last).map(|ticket| &*ticket.position);
        let position = Position::next(self.id, self.kind == Kind::Legacy, before);
        let ticket = Arc::new(Ticket::new(position));
        after.retain(|ticket| ticket.time().is_none());
        queue.last = Some(Arc::clone(&ticket));
        let origin = Origin::here();
        let task = Task { after, operation, origin, ticket: Arc::clone(&ticket), context, result };
        let tasks = queue.tasks.get_or_insert_with(|| {
            let (sender, receiver) = channel();
            thread::spawn(move || execute(&receiver));
            sender
        });
        tasks.send(task).map_err(|_| Code::UNKNOWN)?;
        Ok(ticket)
    }

    /// Executes an operation in stream order and waits for it.
    pub(crate) fn run(&self, operation: Operation) -> Fallible {
        let result = Arc::new(Mutex::new(Ok(())));
        self.queue_with(operation, Some(Arc::clone(&result)))?.wait();
        self.context()?.check()?;
        *result.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for all operations, and returns the error of the context, if any.
    pub(crate) fn synchronize(&self) -> Fallible {
        self.check_capture()?;
        if self.kind == Kind::Legacy {
            self.queue(Operation::Empty)?.wait();
        } else {
            // The list keeps these operations until they are known to be complete, because operations that another thread submits in the
            // meantime must wait for them.
            let (after, last) = {
                let queue = self.lock();
                (queue.after.clone(), queue.last.clone())
            };
            after.iter().chain(&last).for_each(|ticket| ticket.wait());
            self.lock().after.retain(|ticket| !ticket.is_known());
        }
        self.context()?.check()
    }

    /// Waits for all queued operations, even if the stream is being captured or its context has failed.
    pub(crate) fn drain(&self) {
        let last = self.last();
        last.into_iter().for_each(|ticket| ticket.wait());
    }

    /// Returns whether all operations are complete.
    pub(crate) fn is_idle(&self) -> Fallible<bool> {
        let context = self.context()?;
        context.check()?;
        self.check_wait()?;
        let mut tickets = self.lock().after.clone();
        tickets.extend(self.last());
        if self.kind == Kind::Legacy {
            tickets.extend(context.blocking_operations());
        }
        Ok(tickets.iter().all(|ticket| ticket.query()))
    }
}

/// Keeps the last operation for the context, because a per-thread default stream is dropped when its thread ends.
impl Drop for Stream {
    fn drop(&mut self) {
        if let (PER_THREAD, Ok(context), Some(last)) = (self.handle, self.context(), self.last()) {
            context.keep(self.kind, last);
        }
    }
}

/// Executes the operations of a queue until the stream is destroyed.
fn execute(tasks: &Receiver<Task>) {
    for task in tasks {
        task.after.iter().for_each(|ticket| ticket.wait_quietly());
        match task.context.check() {
            Ok(()) => task.execute(),
            // After a fault, the context executes no more operations.
            Err(fault) => task.operation.abandon(fault),
        }
        task.ticket.complete();
    }
}
