//! Contexts, and the stack of current contexts of each thread.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use crate::code::{Code, Fallible};
use crate::driver::array::Array;
use crate::driver::device::Device;
use crate::driver::event::Event;
use crate::driver::memory;
use crate::driver::module::Module;
use crate::driver::order;
use crate::driver::registry::{Handle, Registry};
use crate::driver::stream::{self, Kind, Stream, Ticket};

/// A context.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) handle: Handle,
    pub(crate) id: u64,
    pub(crate) device: Device,
    pub(crate) flags: AtomicU32,
    /// The default stream.
    legacy: OnceLock<Arc<Stream>>,
    streams: Mutex<Vec<Weak<Stream>>>,
    /// The kind and the last operation of each destroyed stream.
    detached: Mutex<Vec<(Kind, Arc<Ticket>)>>,
    /// The error of a fault, which every later call returns.
    error: Mutex<Option<Code>>,
    /// The limits that the program has set, by `CUlimit`.
    limits: Mutex<BTreeMap<u32, usize>>,
    /// The contexts whose memory the kernels of this context may access.
    peers: Mutex<Vec<Handle>>,
}

static CONTEXTS: Registry<Context> = Registry::new(2);
static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// The primary context of a device.
#[derive(Debug, Default)]
struct Primary {
    retained: usize,
    flags: u32,
    context: Option<Arc<Context>>,
}

static PRIMARY: Mutex<BTreeMap<Device, Primary>> = Mutex::new(BTreeMap::new());

thread_local! {
    /// The contexts that the thread has pushed; the last one is current. The stack is not dropped when the thread ends, because destructors
    /// of C++ objects that run later may still call the driver.
    static STACK: ManuallyDrop<RefCell<Vec<Handle>>> = const { ManuallyDrop::new(RefCell::new(Vec::new())) };
}

impl Context {
    /// Creates a context that is not current on any thread.
    fn create(device: Device, flags: u32) -> Arc<Self> {
        CONTEXTS.add(|handle| Self {
            handle,
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            device,
            flags: AtomicU32::new(flags),
            legacy: OnceLock::new(),
            streams: Mutex::default(),
            detached: Mutex::default(),
            error: Mutex::default(),
            limits: Mutex::default(),
            peers: Mutex::default(),
        })
    }

    /// Creates a context and makes it current.
    pub(crate) fn new_current(device: Device, flags: u32) -> Arc<Self> {
        let context = Self::create(device, flags);
        STACK.with(|stack| stack.borrow_mut().push(context.handle));
        context
    }

    pub(crate) fn of(handle: Handle) -> Fallible<Arc<Self>> {
        CONTEXTS.get(handle).map_err(|_| Code::INVALID_CONTEXT)
    }

    /// Destroys a context and all objects created in it.
    pub(crate) fn destroy(handle: Handle) -> Fallible {
        let context = Self::of(handle)?;
        if lock(&PRIMARY).values().any(|primary| primary.context.as_ref().is_some_and(|c| c.handle == handle))
        {
            return Err(Code::INVALID_CONTEXT);
        }
        context.release();
        STACK.with(|stack| {
            let mut stack = stack.borrow_mut();
            stack.pop_if(|top| *top == handle)
        });
        Ok(())
    }

    fn release(self: &Arc<Self>) {
        // Pending operations are completed first; a fault no longer matters.
        let _ = self.synchronize();
        Stream::destroy_all(self);
        Event::destroy_all(self);
        Module::destroy_all(self);
        Array::destroy_all(self);
        memory::free_all(self.handle);
        let _ = CONTEXTS.remove(self.handle);
    }

    /// Returns the default stream.
    pub(crate) fn legacy(self: &Arc<Self>) -> Arc<Stream> {
        let new = || Arc::new(Stream::new(Handle(1), Arc::downgrade(self), Kind::Legacy, 0));
        Arc::clone(self.legacy.get_or_init(new))
    }

    pub(crate) fn add_stream(&self, stream: &Arc<Stream>) {
        let mut streams = lock(&self.streams);
        streams.retain(|stream| stream.strong_count() > 0);
        streams.push(Arc::downgrade(stream));
    }

    fn live_streams(&self) -> Vec<Arc<Stream>> {
        lock(&self.streams).iter().filter_map(Weak::upgrade).collect()
    }

    /// Returns the streams that are ordered with the default stream.
    pub(crate) fn blocking_streams(&self) -> Vec<Arc<Stream>> {
        let streams = self.live_streams().into_iter();
        streams.filter(|stream| stream.kind == Kind::Blocking).collect()
    }

    /// Returns the last operations of the streams that are ordered with the default stream.
    pub(crate) fn blocking_operations(&self) -> Vec<Arc<Ticket>> {
        // Not under the lock, because dropping the last reference to a stream calls `keep`.
        let live: Vec<_> = self.blocking_streams().iter().filter_map(|stream| stream.last()).collect();
        let mut detached = lock(&self.detached);
        detached.retain(|(_, ticket)| !ticket.is_known());
        let blocking = detached.iter().filter(|(kind, _)| *kind == Kind::Blocking);
        blocking.map(|(_, ticket)| Arc::clone(ticket)).chain(live).collect()
    }

    /// Records the last operation of a stream that is being destroyed.
    pub(crate) fn keep(&self, kind: Kind, last: Arc<Ticket>) {
        lock(&self.detached).push((kind, last));
    }

    /// Waits for the last operations of destroyed streams.
    fn wait_for_detached(&self) {
        // The list keeps these operations until they are known to be complete, because operations that another thread submits in the
        // meantime must wait for them.
        let detached = lock(&self.detached).clone();
        detached.iter().for_each(|(_, ticket)| ticket.wait());
        lock(&self.detached).retain(|(_, ticket)| !ticket.is_known());
    }

    /// Waits for all queued operations before memory is freed. Stream captures remain valid. Even after a fault, memory is freed only when
    /// no stream uses it.
    pub(crate) fn drain(self: &Arc<Self>) {
        self.wait_for_detached();
        self.live_streams().iter().for_each(|stream| stream.drain());
        self.legacy().drain();
    }

    /// Waits for all operations of the context.
    pub(crate) fn synchronize(self: &Arc<Self>) -> Fallible {
        let last = stream::last_queued();
        self.wait_for_detached();
        self.live_streams().iter().try_for_each(|stream| stream.synchronize())?;
        self.legacy().synchronize()?;
        if CONTEXTS.select(|_| true).len() == 1 {
            order::all_reach_host(last);
        }
        Ok(())
    }

    /// Returns the error of an earlier fault.
    pub(crate) fn check(&self) -> Fallible {
        lock(&self.error).map_or(Ok(()), Err)
    }

    /// Records a fault. Every later call returns the first fault.
    pub(crate) fn fail(&self, code: Code) {
        lock(&self.error).get_or_insert(code);
    }

    pub(crate) fn set_limit(&self, limit: u32, value: usize) -> Fallible {
        default_limit(limit)?;
        lock(&self.limits).insert(limit, value);
        Ok(())
    }

    pub(crate) fn limit(&self, limit: u32) -> Fallible<usize> {
        let default = default_limit(limit)?;
        Ok(lock(&self.limits).get(&limit).copied().unwrap_or(default))
    }

    pub(crate) fn enable_peer(&self, peer: &Context) -> Fallible {
        if peer.device == self.device {
            return Err(Code::INVALID_CONTEXT);
        }
        let mut peers = lock(&self.peers);
        if peers.contains(&peer.handle) {
            return Err(Code::PEER_ACCESS_ALREADY_ENABLED);
        }
        peers.push(peer.handle);
        Ok(())
    }

    pub(crate) fn disable_peer(&self, peer: &Context) -> Fallible {
        let mut peers = lock(&self.peers);
        let found = peers.iter().position(|handle| *handle == peer.handle);
        peers.remove(found.ok_or(Code::PEER_ACCESS_NOT_ENABLED)?);
        Ok(())
    }
}

/// `CU_LIMIT_MALLOC_HEAP_SIZE`.
pub(crate) const LIMIT_HEAP: u32 = 2;

/// Returns the default value of a `CUlimit`.
fn default_limit(limit: u32) -> Fallible<usize> {
    match limit {
        0 => Ok(1024),    // STACK_SIZE
        1 => Ok(1 << 20), // PRINTF_FIFO_SIZE
        LIMIT_HEAP => Ok(8 << 20),
        3 => Ok(2),    // DEV_RUNTIME_SYNC_DEPTH
        4 => Ok(2048), // DEV_RUNTIME_PENDING_LAUNCH_COUNT
        5 => Ok(64),   // MAX_L2_FETCH_GRANULARITY
        6 => Ok(0),    // PERSISTING_L2_CACHE_SIZE
        _ => Err(Code::UNSUPPORTED_LIMIT),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the current context.
pub(crate) fn current() -> Fallible<Arc<Context>> {
    let top = current_handle().ok_or(Code::INVALID_CONTEXT)?;
    CONTEXTS.get(top).map_err(|_| Code::CONTEXT_IS_DESTROYED)
}

/// Returns the handle of the current context, which may have been destroyed.
pub(crate) fn current_handle() -> Option<Handle> {
    STACK.with(|stack| stack.borrow().last().copied())
}

/// Replaces the current context; null removes it.
pub(crate) fn set_current(handle: Handle) -> Fallible {
    let context = match handle {
        Handle::NULL => None,
        handle => Some(Context::of(handle)?.handle),
    };
    STACK.with(|stack| {
        let mut stack = stack.borrow_mut();
        stack.pop();
        stack.extend(context);
    });
    Ok(())
}

pub(crate) fn push(handle: Handle) -> Fallible {
    let context = Context::of(handle)?;
    STACK.with(|stack| stack.borrow_mut().push(context.handle));
    Ok(())
}

pub(crate) fn pop() -> Fallible<Handle> {
    let popped = STACK.with(|stack| stack.borrow_mut().pop());
    popped.ok_or(Code::INVALID_CONTEXT)
}

pub(crate) fn retain_primary(device: Device) -> Arc<Context> {
    let mut all = lock(&PRIMARY);
    let primary = all.entry(device).or_default();
    primary.retained += 1;
    let flags = primary.flags;
    Arc::clone(primary.context.get_or_insert_with(|| Context::create(device, flags)))
}

pub(crate) fn release_primary(device: Device) -> Fallible {
    let released = {
        let mut all = lock(&PRIMARY);
        let primary = all.entry(device).or_default();
        primary.retained = primary.retained.checked_sub(1).ok_or(Code::INVALID_CONTEXT)?;
        if primary.retained == 0 { primary.context.take() } else { None }
    };
    released.iter().for_each(Context::release);
    Ok(())
}

/// Destroys the primary context. The next use creates a new one.
pub(crate) fn reset_primary(device: Device) {
    let released = lock(&PRIMARY).entry(device).or_default().context.take();
    released.iter().for_each(Context::release);
}

/// Returns the flags of the primary context, and whether it is active.
pub(crate) fn primary_state(device: Device) -> (u32, bool) {
    lock(&PRIMARY).get(&device).map_or((0, false), |primary| (primary.flags, primary.context.is_some()))
}

pub(crate) fn set_primary_flags(device: Device, flags: u32) {
    lock(&PRIMARY).entry(device).or_default().flags = flags;
}
