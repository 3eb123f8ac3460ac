//! Events: the completion of what was queued on a stream before them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::code::{Code, Fallible};
use crate::driver::context::{self, Context};
use crate::driver::registry::{Handle, Registry};
use crate::driver::stream::{Stream, Ticket};

/// An event.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) handle: Handle,
    context: Handle,
    timing: bool,
    /// The operation that the event was recorded after, as an operation of its own.
    recorded: Mutex<Option<Arc<Ticket>>>,
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

    fn lock(&self) -> MutexGuard<'_, Option<Arc<Ticket>>> {
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn recorded(&self) -> Option<Arc<Ticket>> {
        self.lock().clone()
    }

    pub(crate) fn record(&self, stream: &Stream) -> Fallible {
        if stream.context()?.handle != self.context {
            return Err(Code::INVALID_HANDLE);
        }
        let ticket = stream.submit(Arc::new(|| Ok(())))?;
        *self.lock() = Some(ticket);
        Ok(())
    }

    /// Makes later operations of a stream wait for what the event was recorded after.
    pub(crate) fn hold(&self, stream: &Stream) {
        if let Some(ticket) = self.recorded() {
            stream.wait_for(ticket);
        }
    }

    pub(crate) fn synchronize(&self) -> Fallible {
        if let Some(ticket) = self.recorded() {
            ticket.wait();
        }
        self.check()
    }

    /// Returns whether the event has completed; one that was never recorded has.
    pub(crate) fn is_complete(&self) -> Fallible<bool> {
        self.check()?;
        Ok(self.recorded().is_none_or(|ticket| ticket.time().is_some()))
    }

    fn check(&self) -> Fallible {
        Context::of(self.context).map_err(|_| Code::CONTEXT_IS_DESTROYED)?.check()
    }

    /// Returns the milliseconds from one event to the other.
    pub(crate) fn elapsed(start: &Self, end: &Self) -> Fallible<f32> {
        if !start.timing || !end.timing {
            return Err(Code::INVALID_HANDLE);
        }
        start.check()?;
        let recorded = |event: &Self| event.recorded().ok_or(Code::INVALID_HANDLE);
        let (start, end) = (recorded(start)?, recorded(end)?);
        let (Some(from), Some(to)) = (start.time(), end.time()) else { return Err(Code::NOT_READY) };
        let ms = to.saturating_duration_since(from).as_secs_f64()
            - from.saturating_duration_since(to).as_secs_f64();
        Ok((ms * 1e3) as f32)
    }
}
