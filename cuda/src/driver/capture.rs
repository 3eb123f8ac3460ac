//! Stream capture, in which operations become nodes of a graph instead of being executed.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, ThreadId};

use crate::code::{Code, Fallible};
use crate::driver::graph::Graph;
use crate::driver::operation::Operation;
use crate::driver::registry::Handle;
use crate::driver::stream::Stream;

/// `CUstreamCaptureMode`: the threads that must not make potentially unsafe calls, such as allocations, which a capture does not record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// All threads with the mode `Global`.
    Global,
    /// The thread that began the capture.
    ThreadLocal,
    /// No threads.
    Relaxed,
}

/// A graph that is being captured from one or more streams.
#[derive(Debug)]
pub(crate) struct Capture {
    pub(crate) id: u64,
    pub(crate) graph: Arc<Graph>,
    mode: Mode,
    /// The thread that began the capture.
    thread: ThreadId,
    /// The number of the stream in which the capture began.
    origin: u64,
    /// Whether the program has made a call that the capture does not allow.
    invalid: AtomicBool,
    ended: AtomicBool,
    streams: Mutex<Vec<Arc<Stream>>>,
}

/// The state of a stream that takes part in a capture.
#[derive(Clone, Debug)]
pub(crate) struct Capturing {
    pub(crate) capture: Arc<Capture>,
    /// The nodes on which the next operation depends.
    pub(crate) last: Vec<Handle>,
}

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// The captures in progress.
static OPEN: Mutex<Vec<Weak<Capture>>> = Mutex::new(vec![]);

thread_local! {
    /// The mode of the calling thread.
    static THREAD_MODE: Cell<Mode> = const { Cell::new(Mode::Global) };
}

fn open() -> MutexGuard<'static, Vec<Weak<Capture>>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Mode {
    /// Returns the mode for a value of `CUstreamCaptureMode`.
    pub(crate) fn of(number: u32) -> Fallible<Self> {
        [Self::Global, Self::ThreadLocal, Self::Relaxed]
            .get(number as usize)
            .copied()
            .ok_or(Code::INVALID_VALUE)
    }

    /// Replaces the mode of the calling thread, and returns the previous mode.
    pub(crate) fn exchange(self) -> Self {
        THREAD_MODE.replace(self)
    }
}

/// Returns whether any capture is in progress.
pub(crate) fn is_any_open() -> bool {
    !open().is_empty()
}

/// Returns an error if captures in progress do not allow the calling thread to make an unsafe call, and invalidates these captures (CUDA
/// Driver API, `cuThreadExchangeStreamCaptureMode`).
pub(crate) fn check_unsafe_call() -> Fallible {
    let open: Vec<_> = open().iter().filter_map(Weak::upgrade).collect();
    let violated: Vec<_> = open.iter().filter(|capture| capture.forbids_unsafe_calls()).collect();
    violated.iter().for_each(|capture| capture.invalidate());
    if violated.is_empty() { Ok(()) } else { Err(Code::STREAM_CAPTURE_UNSUPPORTED) }
}

impl Capture {
    /// Begins a capture that adds nodes to `graph`, after its nodes `last`.
    pub(crate) fn begin(stream: &Arc<Stream>, mode: Mode, graph: Arc<Graph>, last: Vec<Handle>) -> Fallible {
        if !stream.can_capture() {
            return Err(Code::STREAM_CAPTURE_UNSUPPORTED);
        }
        if stream.capturing().is_some() {
            return Err(Code::ILLEGAL_STATE);
        }
        let capture = Arc::new(Self {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            graph,
            mode,
            thread: thread::current().id(),
            origin: stream.id,
            invalid: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            streams: Mutex::default(),
        });
        open().push(Arc::downgrade(&capture));
        capture.join(stream, last)
    }

    /// Returns whether the capture forbids unsafe calls by the calling thread.
    fn forbids_unsafe_calls(&self) -> bool {
        let is_own = self.thread == thread::current().id();
        match (THREAD_MODE.get(), self.mode) {
            (Mode::Relaxed, _) | (_, Mode::Relaxed) => false,
            (Mode::Global, Mode::Global) => true,
            (Mode::Global | Mode::ThreadLocal, _) => is_own,
        }
    }

    /// Adds a stream whose next operation depends on `last`.
    pub(crate) fn join(self: &Arc<Self>, stream: &Arc<Stream>, last: Vec<Handle>) -> Fallible {
        if self.has_ended() {
            return Err(Code::CAPTURED_EVENT);
        }
        let mut joined = stream.capturing().unwrap_or_else(|| {
            let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
            streams.push(Arc::clone(stream));
            Capturing { capture: Arc::clone(self), last: vec![] }
        });
        if joined.capture.id != self.id {
            self.invalidate();
            joined.capture.invalidate();
            return Err(Code::STREAM_CAPTURE_MERGE);
        }
        joined.last.extend(last.into_iter().filter(|node| !joined.last.contains(node)).collect::<Vec<_>>());
        stream.set_capturing(Some(joined));
        Ok(())
    }

    pub(crate) fn invalidate(&self) {
        self.invalid.store(true, Ordering::Relaxed);
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    pub(crate) fn is_valid(&self) -> bool {
        !self.invalid.load(Ordering::Relaxed)
    }

    /// Ends the capture that began on a stream, and returns the graph.
    pub(crate) fn end(stream: &Stream) -> Fallible<Arc<Graph>> {
        let Capturing { capture, last } = stream.capturing().ok_or(Code::ILLEGAL_STATE)?;
        if capture.origin != stream.id {
            return Err(Code::STREAM_CAPTURE_UNMATCHED);
        }
        capture.ended.store(true, Ordering::Relaxed);
        open().retain(|other| other.upgrade().is_some_and(|other| other.id != capture.id));
        let streams = std::mem::take(&mut *capture.streams.lock().unwrap_or_else(PoisonError::into_inner));
        let joined = capture.graph.ancestors(&last);
        let mut unjoined = false;
        for other in streams {
            let open = other.capturing().map_or(vec![], |capturing| capturing.last);
            unjoined |= open.iter().any(|node| !joined.contains(node));
            other.set_capturing(None);
        }
        if capture.mode != Mode::Relaxed && capture.thread != thread::current().id() {
            return Err(Code::STREAM_CAPTURE_WRONG_THREAD);
        }
        match (capture.is_valid(), unjoined) {
            (false, _) => Err(Code::STREAM_CAPTURE_INVALIDATED),
            (true, true) => Err(Code::STREAM_CAPTURE_UNJOINED),
            (true, false) => Ok(Arc::clone(&capture.graph)),
        }
    }
}

impl Capturing {
    /// Adds an operation after those that the stream has captured.
    pub(crate) fn add(mut self, stream: &Stream, operation: Operation) -> Fallible {
        if !self.capture.is_valid() {
            return Err(Code::STREAM_CAPTURE_INVALIDATED);
        }
        let node = self.capture.graph.add(operation, &self.last)?;
        self.last = vec![node.handle];
        stream.set_capturing(Some(self));
        Ok(())
    }
}
