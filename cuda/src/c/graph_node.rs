//! Functions of the section "Graph Management": generic nodes and their parameters, graph events, and kernel attributes.

use super::graph::{AllocParams, KernelParams, MemsetParams, add, child, copy, free};
use super::launch::{CLUSTER_DIMENSION, COOPERATIVE};
use super::pointers::{Callback, In, Out};
use super::transfer::Copy3D;
use crate::c::entries;
use crate::code::{Code, Fallible};
use crate::driver::event::Event;
use crate::driver::graph::{Executable, Node};
use crate::driver::launch::{Kernel, Shape};
use crate::driver::operation::Operation;
use crate::driver::registry::Handle;
use crate::host::HostPtr;
use std::sync::Arc;

/// `CUgraphNodeParams`: the node type and its parameters.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Params {
    ty: u32,
    reserved: [u32; 3],
    /// The type-specific parameters.
    union: [u64; 29],
    reserved_end: u64,
}

/// The offset of the type-specific parameters, and the offset of the copy parameters in `CUDA_MEMCPY_NODE_PARAMS`.
const UNION: usize = std::mem::offset_of!(Params, union);
const COPY: usize = UNION + 16;

/// The types of nodes that allocate and free memory, whose parameters cannot be changed.
const ALLOC: u32 = 10;
const FREE: u32 = 11;

/// Returns the operation of a node with these parameters.
fn operation(params: Out<Params>) -> Fallible<Operation> {
    match params.cast::<u32>().get()? {
        0 => params.member::<KernelParams>(UNION).get()?.operation(),
        1 => copy(params.member::<Copy3D>(COPY).get()?),
        2 => params.member::<MemsetParams>(UNION).get()?.operation(),
        3 => params.member::<Callback>(UNION).get()?.operation(),
        4 => child(params.member(UNION).get()?),
        5 => Ok(Operation::Empty),
        6 => Ok(Operation::Wait(Event::of(params.member(UNION).get()?)?)),
        7 => Ok(Operation::Record(Event::of(params.member(UNION).get()?)?)),
        ALLOC => AllocParams::plan(params.member(UNION)),
        FREE => free(params.member(UNION).get()?),
        // External semaphores, batches of memory operations, conditional nodes, batches of copies.
        8 | 9 | 12..=15 => Err(Code::NOT_SUPPORTED),
        _ => Err(Code::INVALID_VALUE),
    }
}

/// Returns the operation that replaces a node's operation.
fn new_operation(params: Out<Params>) -> Fallible<Operation> {
    match params.cast::<u32>().get()? {
        ALLOC | FREE => Err(Code::INVALID_VALUE),
        _ => operation(params),
    }
}

/// Stores the parameters of a node.
fn get(node: Handle, params: Out<Params>) -> Fallible {
    let operation = Node::of(node)?.operation();
    params.set(Params { ty: operation.node_type(), reserved: [0; 3], union: [0; 29], reserved_end: 0 })?;
    match operation {
        Operation::Kernel(kernel) => params.member(UNION).set(KernelParams::of(&kernel)),
        Operation::Copy(copy) => params.member(COPY).set(Copy3D::of(&copy)),
        Operation::Fill(fill) => params.member(UNION).set(MemsetParams::of(&fill)),
        Operation::Host(host) => params.member(UNION).set([host.function, host.data]),
        Operation::Wait(event) | Operation::Record(event) => params.member(UNION).set(event.handle),
        Operation::Alloc(address, bytes) => params.member(UNION).set(AllocParams::new(address, bytes)?),
        Operation::Free(address) => params.member(UNION).set(address),
        Operation::Empty => Ok(()),
        Operation::Staged(_) | Operation::Graph(_) | Operation::Values(_) => Err(Code::NOT_SUPPORTED),
    }
}

fn kernel(node: Handle) -> Fallible<Arc<Kernel>> {
    match Node::of(node)?.operation() {
        Operation::Kernel(kernel) => Ok(kernel),
        _ => Err(Code::INVALID_VALUE),
    }
}

/// Replaces the shape of a kernel node.
fn set_shape(node: Handle, shape: Shape) -> Fallible {
    let kernel = kernel(node)?;
    Node::of(node)?.set_kernel(Kernel::new(&kernel.function, shape, kernel.args.clone())?);
    Ok(())
}

fn record(event: Handle) -> Fallible<Operation> {
    Event::of(event).map(Operation::Record)
}

fn wait(event: Handle) -> Fallible<Operation> {
    Event::of(event).map(Operation::Wait)
}

entries! {
    fn cuGraphAddNode(out: Out<Handle>, graph: Handle, after: In<Handle>, count: usize, params: Out<Params>) {
        add(out, graph, after, count, operation(params)?)
    }

    fn cuGraphAddNode_v2(
        out: Out<Handle>, graph: Handle, after: In<Handle>, _data: In<u64>, count: usize, params: Out<Params>,
    ) {
        add(out, graph, after, count, operation(params)?)
    }

    fn cuGraphAddNode_v3(
        out: Out<Handle>, graph: Handle, after: In<Handle>, _data: In<u64>, count: usize, params: Out<Params>,
    ) {
        add(out, graph, after, count, operation(params)?)
    }

    fn cuGraphNodeGetParams(node: Handle, params: Out<Params>) {
        get(node, params)
    }

    fn cuGraphNodeSetParams(node: Handle, params: Out<Params>) {
        Node::of(node)?.set_operation(new_operation(params)?)
    }

    fn cuGraphNodeSetParams_v2(node: Handle, params: Out<Params>) {
        Node::of(node)?.set_operation(new_operation(params)?)
    }

    fn cuGraphExecNodeSetParams(graph: Handle, node: Handle, params: Out<Params>) {
        Executable::of(graph)?.set_operation(node, new_operation(params)?)
    }

    fn cuGraphKernelNodeGetParams_v2(node: Handle, params: Out<KernelParams>) {
        params.set(KernelParams::of(&*kernel(node)?))
    }

    fn cuGraphMemcpyNodeGetParams(node: Handle, params: Out<Copy3D>) {
        match Node::of(node)?.operation() {
            Operation::Copy(copy) => params.set(Copy3D::of(&copy)),
            _ => Err(Code::INVALID_VALUE),
        }
    }

    fn cuGraphMemsetNodeGetParams(node: Handle, params: Out<MemsetParams>) {
        match Node::of(node)?.operation() {
            Operation::Fill(fill) => params.set(MemsetParams::of(&fill)),
            _ => Err(Code::INVALID_VALUE),
        }
    }

    fn cuGraphHostNodeGetParams(node: Handle, params: Out<[HostPtr; 2]>) {
        match Node::of(node)?.operation() {
            Operation::Host(host) => params.set([host.function, host.data]),
            _ => Err(Code::INVALID_VALUE),
        }
    }

    fn cuGraphAddEventRecordNode(out: Out<Handle>, graph: Handle, after: In<Handle>, count: usize, event: Handle) {
        add(out, graph, after, count, record(event)?)
    }

    fn cuGraphEventRecordNodeGetEvent(node: Handle, out: Out<Handle>) {
        match Node::of(node)?.operation() {
            Operation::Record(event) => out.set(event.handle),
            _ => Err(Code::INVALID_VALUE),
        }
    }

    fn cuGraphEventRecordNodeSetEvent(node: Handle, event: Handle) {
        Node::of(node)?.set_operation(record(event)?)
    }

    fn cuGraphExecEventRecordNodeSetEvent(graph: Handle, node: Handle, event: Handle) {
        Executable::of(graph)?.set_operation(node, record(event)?)
    }

    fn cuGraphAddEventWaitNode(out: Out<Handle>, graph: Handle, after: In<Handle>, count: usize, event: Handle) {
        add(out, graph, after, count, wait(event)?)
    }

    fn cuGraphEventWaitNodeGetEvent(node: Handle, out: Out<Handle>) {
        match Node::of(node)?.operation() {
            Operation::Wait(event) => out.set(event.handle),
            _ => Err(Code::INVALID_VALUE),
        }
    }

    fn cuGraphEventWaitNodeSetEvent(node: Handle, event: Handle) {
        Node::of(node)?.set_operation(wait(event)?)
    }

    fn cuGraphExecEventWaitNodeSetEvent(graph: Handle, node: Handle, event: Handle) {
        Executable::of(graph)?.set_operation(node, wait(event)?)
    }

    fn cuGraphKernelNodeGetAttribute(node: Handle, attribute: u32, out: Out<[u32; 16]>) {
        let shape = kernel(node)?.shape;
        let mut value = [0; 16];
        match attribute {
            COOPERATIVE => value[0] = shape.cooperative.into(),
            CLUSTER_DIMENSION => value[..3].copy_from_slice(&shape.cluster.unwrap_or([0; 3])),
            _ => return Err(Code::NOT_SUPPORTED),
        }
        out.set(value)
    }

    fn cuGraphKernelNodeSetAttribute(node: Handle, attribute: u32, value: In<[u32; 16]>) {
        let (shape, value) = (kernel(node)?.shape, value.get()?);
        match attribute {
            COOPERATIVE => set_shape(node, Shape { cooperative: value[0] != 0, ..shape }),
            CLUSTER_DIMENSION => set_shape(node, Shape { cluster: Some([value[0], value[1], value[2]]), ..shape }),
            _ => Err(Code::NOT_SUPPORTED),
        }
    }

    fn cuGraphKernelNodeCopyAttributes(to: Handle, from: Handle) {
        let (shape, Shape { cluster, cooperative, .. }) = (kernel(to)?.shape, kernel(from)?.shape);
        set_shape(to, Shape { cluster, cooperative, ..shape })
    }
}
