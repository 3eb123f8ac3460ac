//! What a stream or a graph executes.

use std::sync::Arc;

use crate::code::Fallible;
use crate::driver::copy::{Copy, Fill};
use crate::driver::graph::Executable;
use crate::driver::launch::Kernel;

/// An operation. A graph executes it any number of times.
#[derive(Clone)]
pub(crate) enum Operation {
    Kernel(Arc<Kernel>),
    Copy(Copy),
    Fill(Fill),
    /// A function of the program, or of the driver.
    Host(Arc<dyn Fn() -> Fallible + Send + Sync>),
    Graph(Arc<Executable>),
    Empty,
}

impl Operation {
    /// Returns an operation that calls `f`.
    pub(crate) fn host(f: impl Fn() -> Fallible + Send + Sync + 'static) -> Self {
        Self::Host(Arc::new(f))
    }

    pub(crate) fn execute(&self) -> Fallible {
        match self {
            Self::Kernel(kernel) => kernel.execute(),
            Self::Copy(copy) => copy.execute(),
            Self::Fill(fill) => fill.execute(),
            Self::Host(f) => f(),
            Self::Graph(graph) => graph.execute(),
            Self::Empty => Ok(()),
        }
    }

    /// Returns the type of its node (`CUgraphNodeType`).
    pub(crate) fn node_type(&self) -> u32 {
        match self {
            Self::Kernel(_) => 0,
            Self::Copy(_) => 1,
            Self::Fill(_) => 2,
            Self::Host(_) => 3,
            Self::Graph(_) => 4,
            Self::Empty => 5,
        }
    }
}

impl std::fmt::Debug for Operation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Kernel(kernel) => f.debug_tuple("Kernel").field(kernel).finish(),
            Self::Copy(copy) => f.debug_tuple("Copy").field(copy).finish(),
            Self::Fill(fill) => f.debug_tuple("Fill").field(fill).finish(),
            Self::Host(_) => f.write_str("Host"),
            Self::Graph(graph) => f.debug_tuple("Graph").field(&graph.handle).finish(),
            Self::Empty => f.write_str("Empty"),
        }
    }
}
