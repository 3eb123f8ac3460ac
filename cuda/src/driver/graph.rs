//! Graphs: operations with dependencies, and their executable form.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::code::{Code, Fallible};
use crate::driver::event::Event;
use crate::driver::graph_memory;
use crate::driver::launch::Kernel;
use crate::driver::operation::{Branch, Execution, Operation};
use crate::driver::origin::Origin;
use crate::driver::registry::{Handle, Registry};
use crate::driver::stream::{Stream, Ticket};

/// A graph.
#[derive(Debug)]
pub(crate) struct Graph {
    pub(crate) handle: Handle,
    /// The nodes, in the order in which they were added.
    nodes: Mutex<Vec<Arc<Node>>>,
}

/// A node of a graph.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) handle: Handle,
    graph: Handle,
    origin: Origin,
    operation: Mutex<Operation>,
    /// The nodes on which the node depends.
    after: Mutex<Vec<Handle>>,
    /// The node of the original graph from which the node was cloned.
    original: Option<Handle>,
}

/// A graph that can be launched.
#[derive(Debug)]
pub(crate) struct Executable {
    pub(crate) handle: Handle,
    /// The operations by node, in an order that satisfies the dependencies.
    steps: Mutex<Vec<Step>>,
    pub(crate) flags: u64,
    /// The last launch, for which the next one waits (CUDA Driver API, `cuGraphLaunch`).
    last: Mutex<Option<Arc<Ticket>>>,
}

#[derive(Clone, Debug)]
struct Step {
    node: Handle,
    /// The indices of the steps on which the step depends.
    after: Vec<usize>,
    operation: Operation,
    origin: Origin,
    enabled: bool,
}

static GRAPHS: Registry<Graph> = Registry::new(9);
static NODES: Registry<Node> = Registry::new(10);
static EXECUTABLES: Registry<Executable> = Registry::new(11);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Graph {
    pub(crate) fn create() -> Arc<Self> {
        GRAPHS.add(|handle| Self { handle, nodes: Mutex::default() })
    }

    pub(crate) fn of(handle: Handle) -> Fallible<Arc<Self>> {
        GRAPHS.get(handle).map_err(|_| Code::INVALID_VALUE)
    }

    pub(crate) fn destroy(handle: Handle) -> Fallible {
        let graph = GRAPHS.remove(handle).map_err(|_| Code::INVALID_VALUE)?;
        lock(&graph.nodes).drain(..).for_each(|node| {
            // Succeeds, because the node was added with the graph.
            let _ = NODES.remove(node.handle);
        });
        Ok(())
    }

    /// Adds an operation that depends on nodes of the graph.
    pub(crate) fn add(&self, operation: Operation, after: &[Handle]) -> Fallible<Arc<Node>> {
        after.iter().try_for_each(|node| self.check(*node))?;
        Ok(self.add_node(operation, Origin::here(), after.to_vec(), None))
    }

    fn add_node(
        &self,
        operation: Operation,
        origin: Origin,
        after: Vec<Handle>,
        original: Option<Handle>,
    ) -> Arc<Node> {
        let (operation, after) = (Mutex::new(operation), Mutex::new(after));
        let node =
            NODES.add(|handle| Node { handle, graph: self.handle, origin, operation, after, original });
        lock(&self.nodes).push(Arc::clone(&node));
        node
    }

    /// Returns an error unless a node belongs to the graph.
    pub(crate) fn check(&self, node: Handle) -> Fallible {
        if Node::of(node)?.graph == self.handle { Ok(()) } else { Err(Code::INVALID_VALUE) }
    }

    pub(crate) fn nodes(&self) -> Vec<Arc<Node>> {
        lock(&self.nodes).clone()
    }

    pub(crate) fn remove(&self, node: Handle) -> Fallible {
        self.check(node)?;
        lock(&self.nodes).retain(|known| known.handle != node);
        self.nodes().iter().for_each(|other| lock(&other.after).retain(|handle| *handle != node));
        NODES.remove(node).map(drop)
    }

    /// Adds a dependency of `to` on `from` if `connected` is set; otherwise removes it.
    pub(crate) fn connect(&self, from: Handle, to: Handle, connected: bool) -> Fallible {
        self.check(from)?;
        self.check(to)?;
        let to = Node::of(to)?;
        let mut after = lock(&to.after);
        match (after.iter().position(|handle| *handle == from), connected) {
            (None, true) if from != to.handle => after.push(from),
            (Some(at), false) => {
                after.remove(at);
            }
            _ => return Err(Code::INVALID_VALUE),
        }
        Ok(())
    }

    pub(crate) fn clone_graph(&self) -> Arc<Self> {
        let clone = Self::create();
        let mut clones = BTreeMap::new();
        for node in self.nodes() {
            let new = clone.add_node(node.operation(), node.origin.clone(), vec![], Some(node.handle));
            clones.insert(node.handle, new);
        }
        for node in self.nodes() {
            *lock(&clones[&node.handle].after) =
                node.after().iter().map(|handle| clones[handle].handle).collect();
        }
        clone
    }

    /// Returns the node that was cloned from another.
    pub(crate) fn find_clone(&self, original: Handle) -> Fallible<Handle> {
        let nodes = self.nodes();
        let found = nodes.iter().find(|node| node.original == Some(original));
        found.map(|node| node.handle).ok_or(Code::INVALID_VALUE)
    }

    /// Returns `nodes` and the nodes on which they depend, directly or indirectly.
    pub(crate) fn ancestors(&self, nodes: &[Handle]) -> Vec<Handle> {
        let (mut found, mut rest) = (vec![], nodes.to_vec());
        while let Some(handle) = rest.pop() {
            if !found.contains(&handle) {
                found.push(handle);
                rest.extend(Node::of(handle).map_or(vec![], |node| node.after()));
            }
        }
        found
    }

    /// Returns the steps in an order that satisfies the dependencies, or an error if the dependencies have a cycle.
    fn steps(&self) -> Fallible<Vec<Step>> {
        let mut rest = self.nodes();
        let mut steps: Vec<Step> = vec![];
        while !rest.is_empty() {
            let position = |steps: &[Step], node: Handle| steps.iter().position(|step| step.node == node);
            let ready =
                rest.iter().position(|node| node.after().iter().all(|n| position(&steps, *n).is_some()));
            let node = rest.remove(ready.ok_or(Code::INVALID_VALUE)?);
            let after = node.after().iter().filter_map(|n| position(&steps, *n)).collect();
            let origin = node.origin.clone();
            steps.push(Step { node: node.handle, after, operation: node.operation(), origin, enabled: true });
        }
        Ok(steps)
    }

    pub(crate) fn instantiate(&self, flags: u64) -> Fallible<Arc<Executable>> {
        let steps = Mutex::new(self.steps()?);
        Ok(EXECUTABLES.add(|handle| Executable { handle, steps, flags, last: Mutex::default() }))
    }
}

impl Node {
    pub(crate) fn of(handle: Handle) -> Fallible<Arc<Self>> {
        NODES.get(handle).map_err(|_| Code::INVALID_VALUE)
    }

    pub(crate) fn graph(&self) -> Fallible<Arc<Graph>> {
        Graph::of(self.graph)
    }

    pub(crate) fn after(&self) -> Vec<Handle> {
        lock(&self.after).clone()
    }

    pub(crate) fn operation(&self) -> Operation {
        lock(&self.operation).clone()
    }

    /// Replaces the operation with one of the same type.
    pub(crate) fn set_operation(&self, operation: Operation) -> Fallible {
        replace(&mut lock(&self.operation), operation)
    }

    /// Replaces the kernel, with its attributes.
    pub(crate) fn set_kernel(&self, kernel: Arc<Kernel>) {
        *lock(&self.operation) = Operation::Kernel(kernel);
    }
}

fn replace(old: &mut Operation, new: Operation) -> Fallible {
    if old.node_type() != new.node_type() {
        return Err(Code::INVALID_VALUE);
    }
    *old = match (&*old, new) {
        (Operation::Kernel(old), Operation::Kernel(new)) => Operation::Kernel(new.with_attributes_of(old)?),
        (_, new) => new,
    };
    Ok(())
}

/// Returns, for each step, the steps that it follows directly or indirectly.
fn branches(steps: &[Step]) -> Vec<Arc<Branch>> {
    let mut branches: Vec<Arc<Branch>> = vec![];
    for (index, step) in steps.iter().enumerate() {
        let mut follows = vec![false; steps.len()];
        for &before in &step.after {
            follows[before] = true;
            follows.iter_mut().zip(&branches[before].follows).for_each(|(own, inherited)| *own |= inherited);
        }
        branches.push(Arc::new(Branch { step: index, follows }));
    }
    branches
}

/// The reasons why a graph cannot update an executable graph (`CUgraphExecUpdateResult`).
pub(crate) const TOPOLOGY_CHANGED: u32 = 2;
pub(crate) const TYPE_CHANGED: u32 = 3;

impl Executable {
    pub(crate) fn of(handle: Handle) -> Fallible<Arc<Self>> {
        EXECUTABLES.get(handle).map_err(|_| Code::INVALID_VALUE)
    }

    pub(crate) fn destroy(handle: Handle) -> Fallible {
        EXECUTABLES.remove(handle).map(drop).map_err(|_| Code::INVALID_VALUE)
    }

    /// Returns the graph in its current state.
    fn snapshot(&self) -> Arc<Self> {
        let steps = Mutex::new(lock(&self.steps).clone());
        Arc::new(Self { handle: self.handle, steps, flags: self.flags, last: Mutex::default() })
    }

    /// Checks the memory that the nodes allocate and free during a launch.
    fn submit_memory(&self, frees_before: bool) -> Fallible {
        lock(&self.steps).iter().try_for_each(|step| match &step.operation {
            Operation::Graph(child) => child.submit_memory(frees_before),
            operation => graph_memory::submit(operation, frees_before),
        })
    }

    /// Launches the graph in its current state. Later changes affect only later launches.
    pub(crate) fn launch(&self, stream: &Stream, frees_before: bool) -> Fallible {
        let snapshot = self.snapshot();
        if stream.capturing().is_some() {
            return stream.submit(Operation::Graph(snapshot));
        }
        self.submit_memory(frees_before)?;
        let (mut waits, mut records) = (vec![], vec![]);
        snapshot.events(&mut waits, &mut records);
        for event in waits {
            event.recorded()?.into_iter().for_each(|ticket| stream.wait_for(ticket));
        }
        let mut last = lock(&self.last);
        last.take().into_iter().for_each(|ticket| stream.wait_for(ticket));
        let ticket = stream.queue(Operation::Graph(snapshot))?;
        *last = Some(Arc::clone(&ticket));
        records.iter().for_each(|event| event.set_recorded(Arc::clone(&ticket)));
        Ok(())
    }

    /// Adds the events for which the graph waits to `waits`, and the events that it records to `records`.
    fn events(&self, waits: &mut Vec<Arc<Event>>, records: &mut Vec<Arc<Event>>) {
        for step in &*lock(&self.steps) {
            match &step.operation {
                Operation::Graph(child) => child.events(waits, records),
                Operation::Wait(event) => waits.push(Arc::clone(event)),
                Operation::Record(event) => records.push(Arc::clone(event)),
                _ => {}
            }
        }
    }

    pub(crate) fn execute(&self, whole: &Execution) -> Fallible {
        let steps = lock(&self.steps).clone();
        // The steps of a chain are executed in order, so they need no branches. The steps of a child graph belong to the branch of the
        // child.
        let is_chain =
            steps.iter().enumerate().skip(1).all(|(index, step)| step.after.contains(&(index - 1)));
        let branches = if is_chain || whole.branch.is_some() { vec![] } else { branches(&steps) };
        let enabled = steps.iter().enumerate().filter(|(_, step)| step.enabled);
        enabled.into_iter().try_for_each(|(index, step)| {
            let branch = branches.get(index).or(whole.branch.as_ref()).cloned();
            let position = Arc::clone(&whole.position);
            step.operation.execute(&Execution { position, branch, origin: step.origin.clone() })
        })
    }

    fn step<R>(&self, node: Handle, f: impl FnOnce(&mut Step) -> R) -> Fallible<R> {
        let mut steps = lock(&self.steps);
        steps.iter_mut().find(|step| step.node == node).map(f).ok_or(Code::INVALID_VALUE)
    }

    pub(crate) fn set_operation(&self, node: Handle, operation: Operation) -> Fallible {
        self.step(node, |step| replace(&mut step.operation, operation))?
    }

    pub(crate) fn set_enabled(&self, node: Handle, enabled: bool) -> Fallible {
        self.step(node, |step| match step.operation {
            Operation::Kernel(_) | Operation::Copy(_) | Operation::Staged(_) | Operation::Fill(_) => {
                step.enabled = enabled;
                Ok(())
            }
            _ => Err(Code::INVALID_VALUE),
        })?
    }

    pub(crate) fn is_enabled(&self, node: Handle) -> Fallible<bool> {
        self.step(node, |step| step.enabled)
    }

    /// Replaces the operations with those of a graph that has the same nodes and dependencies.
    ///
    /// # Errors
    /// Returns the reason and the node if the graphs differ.
    pub(crate) fn update(&self, graph: &Graph) -> Result<(), (u32, Handle)> {
        let new = graph.steps().map_err(|_| (TOPOLOGY_CHANGED, Handle::NULL))?;
        let mut steps = lock(&self.steps);
        if new.len() != steps.len() {
            return Err((TOPOLOGY_CHANGED, Handle::NULL));
        }
        for (old, new) in steps.iter().zip(&new) {
            if old.operation.node_type() != new.operation.node_type() {
                return Err((TYPE_CHANGED, new.node));
            }
            if old.after != new.after {
                return Err((TOPOLOGY_CHANGED, new.node));
            }
        }
        steps.iter_mut().zip(new).for_each(|(old, new)| old.operation = new.operation);
        Ok(())
    }
}
