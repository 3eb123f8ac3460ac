//! The operations that streams and graphs execute.

use std::sync::Arc;

use crate::code::{Code, Fallible};
use crate::driver::copy::{Copy, Fill, Staged};
use crate::driver::event::Event;
use crate::driver::graph::Executable;
use crate::driver::graph_memory;
use crate::driver::launch::Kernel;
use crate::driver::memory;
use crate::driver::order::Position;
use crate::driver::origin::Origin;
use crate::driver::races;
use crate::driver::stream;
use crate::driver::stream_value::Values;
use crate::host::HostPtr;

/// An operation. A graph may execute it any number of times.
#[derive(Clone)]
pub(crate) enum Operation {
    Kernel(Arc<Kernel>),
    Copy(Copy),
    /// A copy whose bytes were read from the program's memory when it was queued.
    Staged(Staged),
    Fill(Fill),
    /// A call to a function of the program.
    Host(HostCall),
    Graph(Arc<Executable>),
    /// The allocation of memory with this address and size. Graph memory is allocated when the operation is executed.
    Alloc(u64, u64),
    /// The release of the memory at this address.
    Free(u64),
    /// In a graph: the recording of an event, which completes with the graph.
    Record(Arc<Event>),
    /// In a graph: a wait for an event. At launch, the whole graph waits for the work after which the event was last recorded.
    Wait(Arc<Event>),
    /// Waits for values in memory, or writes of values.
    Values(Values),
    Empty,
}

/// A call to a function of the program.
#[derive(Clone)]
pub(crate) struct HostCall {
    pub(crate) call: Arc<dyn Fn(Code) + Send + Sync>,
    /// Whether the function is also called after a fault, with the context's error, as for `cuStreamAddCallback`.
    pub(crate) reports_faults: bool,
    /// The address of the function; `data` is its argument.
    pub(crate) function: HostPtr,
    pub(crate) data: HostPtr,
}

/// An execution of an operation.
#[derive(Clone, Debug)]
pub(crate) struct Execution {
    pub(crate) position: Arc<Position>,
    /// The branch of the graph step, if the operation is executed as part of a graph.
    pub(crate) branch: Option<Arc<Branch>>,
    pub(crate) origin: Origin,
}

/// The position of a step in the partial order of its graph.
#[derive(Debug)]
pub(crate) struct Branch {
    pub(crate) step: usize,
    /// For each step of the graph, whether it precedes this one.
    pub(crate) follows: Vec<bool>,
}

impl Execution {
    /// Returns whether this execution begins only after another is complete.
    pub(crate) fn follows(&self, other: &Self) -> bool {
        match (&self.branch, &other.branch) {
            _ if !self.position.is_same(&other.position) => self.position.follows(&other.position),
            (Some(own), Some(other)) => own.step == other.step || own.follows[other.step],
            _ => true,
        }
    }

    /// Returns whether this execution may be concurrent with another.
    pub(crate) fn is_concurrent(&self) -> bool {
        self.position.is_concurrent || self.branch.is_some()
    }
}

impl Operation {
    pub(crate) fn execute(&self, execution: &Execution) -> Fallible {
        match self {
            Self::Kernel(kernel) => kernel.execute(execution),
            Self::Copy(copy) => copy.execute(execution),
            Self::Staged(copy) => copy.execute(execution),
            Self::Fill(fill) => fill.execute(execution),
            Self::Host(host) => {
                // The function may inform the program that earlier operations are complete.
                execution.position.reach_host();
                stream::in_host_call(|| (host.call)(Code::SUCCESS));
                Ok(())
            }
            Self::Graph(graph) => graph.execute(execution),
            Self::Values(values) => values.execute(execution),
            Self::Alloc(address, bytes) => {
                graph_memory::allocate(*address)?;
                races::record_write(execution, "an allocation", *address, *bytes);
                Ok(())
            }
            Self::Free(address) => {
                let bytes = memory::find_device(*address).map_or(0, |allocation| allocation.size);
                races::record_write(execution, "a free", *address, bytes);
                memory::free_now(*address)
            }
            // The launch of the graph has waited for the events, and records the others.
            Self::Record(_) | Self::Wait(_) | Self::Empty => Ok(()),
        }
    }

    /// Handles the operation after a fault in its context, without executing it: a stream callback receives the fault, and a host function
    /// is not called.
    pub(crate) fn abandon(&self, fault: Code) {
        if let Self::Host(host) = self
            && host.reports_faults
        {
            stream::in_host_call(|| (host.call)(fault));
        }
    }

    /// Returns the type of the operation's node (`CUgraphNodeType`).
    pub(crate) fn node_type(&self) -> u32 {
        match self {
            Self::Kernel(_) => 0,
            Self::Copy(_) | Self::Staged(_) => 1,
            Self::Fill(_) => 2,
            Self::Host(_) => 3,
            Self::Graph(_) => 4,
            Self::Empty => 5,
            Self::Wait(_) => 6,
            Self::Record(_) => 7,
            Self::Alloc(..) => 10,
            Self::Free(_) => 11,
            Self::Values(_) => 12,
        }
    }
}

impl std::fmt::Debug for Operation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Kernel(kernel) => f.debug_tuple("Kernel").field(kernel).finish(),
            Self::Copy(copy) => f.debug_tuple("Copy").field(copy).finish(),
            Self::Staged(copy) => f.debug_tuple("Staged").field(copy).finish(),
            Self::Fill(fill) => f.debug_tuple("Fill").field(fill).finish(),
            Self::Host(host) => f.debug_tuple("Host").field(&host.function).finish(),
            Self::Graph(graph) => f.debug_tuple("Graph").field(&graph.handle).finish(),
            Self::Alloc(address, bytes) => f.debug_tuple("Alloc").field(address).field(bytes).finish(),
            Self::Free(address) => f.debug_tuple("Free").field(address).finish(),
            Self::Record(event) => f.debug_tuple("Record").field(&event.handle).finish(),
            Self::Wait(event) => f.debug_tuple("Wait").field(&event.handle).finish(),
            Self::Values(values) => f.debug_tuple("Values").field(values).finish(),
            Self::Empty => f.write_str("Empty"),
        }
    }
}
