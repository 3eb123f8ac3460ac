//! Events, which complete when the operations queued before them in a stream are complete.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::code::{Code, Fallible};
use crate::driver::capture::{self, Capturing};
use crate::driver::context::{self, Context};
use crate::driver::operation::Operation;
use crate::driver::registry::{Handle, Registry};
use crate::driver::stream::{Kind, Stream, Ticket};

/// An event.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) handle: Handle,
    context: Handle,
    timing: bool,
    recorded: Mutex<Recorded>,
}

/// The work after which an event was recorded.
#[derive(Clone, Debug, Default)]
enum Recorded {
    #[default]
    Nothing,
    /// A separate operation in a stream.
    Queued(Arc<Ticket>),
    /// The nodes of a stream that is being captured.
    Captured(Capturing),
}

static EVENTS: Registry<Event> = Registry::new(3);

const DISABLE_TIMING: u32 = 2;

impl Event {
    pub(crate) fn create(flags: u32) -> Fallible<Arc<Self>> {
        if flags & !7 != 0 {
            return Err(Code::INVALID_VALUE);
        }
        let context = context::current()?.handle;
        let timing = flags & DISABLE_TIMING == 0;
        Ok(EVENTS.add(|handle| Self { handle, context, timing, recorded: Mutex::default() }))
    }

    pub(crate) fn of(handle: Handle) -> Fallible<Arc<Self>> {
        EVENTS.get(handle)
    }

    pub(crate) fn destroy(handle: Handle) -> Fallible {
        EVENTS.remove(handle).map(drop)
    }

    pub(crate) fn destroy_all(context: &Context) {
        EVENTS.remove_all(|event| event.context == context.handle);
    }

    fn lock(&self) -> MutexGuard<'_, Recorded> {
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the event if its state can be queried. Returns an error if the event was recorded by a capture, which the query then
    /// invalidates, or if a capture forbids such calls. The errors match those of driver version 580.
    pub(crate) fn queried(self: Arc<Self>) -> Fallible<Arc<Self>> {
        if let Recorded::Captured(Capturing { capture, .. }) = &*self.lock() {
            capture.invalidate();
            return Err(if capture.has_ended() { Code::INVALID_VALUE } else { Code::CAPTURED_EVENT });
        }
        capture::check_unsafe_call()?;
        Ok(self)
    }

    /// Returns the operation after which the event was recorded.
    pub(crate) fn recorded(&self) -> Fallible<Option<Arc<Ticket>>> {
        match self.lock().clone() {
            Recorded::Nothing => Ok(None),
            Recorded::Queued(ticket) => Ok(Some(ticket)),
            Recorded::Captured(_) => Err(Code::CAPTURED_EVENT),
        }
    }

    /// Records the event after the operations of a stream. If the stream is being captured and `external` is set, the graph records the
    /// event when it is launched.
    pub(crate) fn record(self: &Arc<Self>, stream: &Stream, external: bool) -> Fallible {
        if stream.context()?.handle != self.context {
            return Err(Code::INVALID_HANDLE);
        }
        match stream.capturing() {
            Some(capturing) if external => return capturing.add(stream, Operation::Record(Arc::clone(self))),
            Some(capturing) => *self.lock() = Recorded::Captured(capturing),
            None => self.set_recorded(stream.queue(Operation::Empty)?),
        }
        Ok(())
    }

    /// Records the event after an operation.
    pub(crate) fn set_recorded(&self, ticket: Arc<Ticket>) {
        *self.lock() = Recorded::Queued(ticket);
    }

    /// Makes later operations of a stream wait for the work after which the event was recorded. If the stream is being captured and
    /// `external` is set, the graph instead waits, when it is launched, for the work after which the event was last recorded.
    pub(crate) fn hold(self: &Arc<Self>, stream: &Arc<Stream>, external: bool) -> Fallible {
        match (self.lock().clone(), stream.capturing()) {
            (_, Some(capturing)) if external => capturing.add(stream, Operation::Wait(Arc::clone(self))),
            (Recorded::Captured(Capturing { capture, last }), _) => capture.join(stream, last),
            (_, Some(capturing)) => {
                // Executed operations cannot depend on operations that are only captured.
                capturing.capture.invalidate();
                Err(Code::STREAM_CAPTURE_ISOLATION)
            }
            (Recorded::Queued(ticket), None) => {
                stream.wait_for(ticket);
                // The wait is an operation, so that it is ordered with the default stream and the blocking streams.
                if stream.kind != Kind::NonBlocking {
                    stream.queue(Operation::Empty)?;
                }
                Ok(())
            }
            (Recorded::Nothing, None) => Ok(()),
        }
    }

    pub(crate) fn synchronize(&self) -> Fallible {
        if let Some(ticket) = self.recorded()? {
            ticket.wait();
        }
        self.check()
    }

    /// Returns whether the event has completed. An event that was never recorded counts as completed.
    pub(crate) fn is_complete(&self) -> Fallible<bool> {
        self.check()?;
        Ok(self.recorded()?.is_none_or(|ticket| ticket.query()))
    }

    fn check(&self) -> Fallible {
        Context::of(self.context).map_err(|_| Code::CONTEXT_IS_DESTROYED)?.check()
    }

    /// Returns the time in milliseconds from `start` to `end`.
    pub(crate) fn elapsed(start: &Self, end: &Self) -> Fallible<f32> {
        if !start.timing || !end.timing {
            return Err(Code::INVALID_HANDLE);
        }
        start.check()?;
        let recorded = |event: &Self| event.recorded()?.ok_or(Code::INVALID_HANDLE);
        let (start, end) = (recorded(start)?, recorded(end)?);
        let (Some(from), Some(to)) = (start.time(), end.time()) else { return Err(Code::NOT_READY) };
        let ms = to.saturating_duration_since(from).as_secs_f64()
            - from.saturating_duration_since(to).as_secs_f64();
        Ok((ms * 1e3) as f32)
    }
}
