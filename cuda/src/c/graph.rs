//! Functions of the section "Graph Management".

use super::launch::arguments;
use super::memory::check_free;
use super::pointers::{Callback, In, Out};
use super::pool::Props as PoolProps;
use super::transfer::Copy3D;
use crate::c::entries;
use crate::code::{Code, Fallible};
use crate::driver::context::{self, Context};
use crate::driver::copy::Fill;
use crate::driver::device::Device;
use crate::driver::graph::{Executable, Graph, Node};
use crate::driver::graph_memory;
use crate::driver::launch::{Kernel, Shape};
use crate::driver::library::function_of;
use crate::driver::operation::Operation;
use crate::driver::registry::Handle;
use crate::driver::stream::Stream;
use crate::host::HostPtr;
use std::sync::Arc;

/// `CUDA_KERNEL_NODE_PARAMS`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct KernelParams {
    function: Handle,
    grid: [u32; 3],
    block: [u32; 3],
    dynamic_shared: u32,
    arguments: In<HostPtr>,
    extra: In<usize>,
    kernel: Handle,
    context: Handle,
}

impl KernelParams {
    /// Returns the parameters of a kernel node, with the addresses of the kernel's arguments.
    pub(super) fn of(kernel: &Kernel) -> Self {
        let Shape { grid, block, dynamic_shared, .. } = kernel.shape;
        Self {
            function: kernel.function.handle,
            grid,
            block,
            dynamic_shared,
            arguments: In::at_list(&kernel.addresses),
            extra: In::NULL,
            kernel: Handle::NULL,
            context: Handle::NULL,
        }
    }

    pub(super) fn operation(self) -> Fallible<Operation> {
        let handle = if self.function == Handle::NULL { self.kernel } else { self.function };
        let function = function_of(handle)?;
        let Self { grid, block, dynamic_shared, .. } = self;
        let shape = Shape { grid, block, cluster: None, dynamic_shared, cooperative: false };
        let args = arguments(&function, self.arguments, self.extra)?;
        Ok(Operation::Kernel(Kernel::new(&function, shape, args)?))
    }
}

/// `CUDA_MEMSET_NODE_PARAMS`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct MemsetParams {
    address: u64,
    pitch: usize,
    value: u32,
    unit: u32,
    width: usize,
    height: usize,
}

impl MemsetParams {
    pub(super) fn of(fill: &Fill) -> Self {
        let [width, height] = fill.extent.map(|n| n as usize);
        let (pitch, unit) = (fill.pitch as usize, fill.unit as u32);
        Self { address: fill.address, pitch, value: fill.value, unit, width, height }
    }

    pub(super) fn operation(self) -> Fallible<Operation> {
        let Self { address, pitch, value, unit, width, height } = self;
        if !matches!(unit, 1 | 2 | 4) {
            return Err(Code::INVALID_VALUE);
        }
        let fill = Fill {
            address,
            value,
            unit: unit.into(),
            extent: [width, height].map(|n| n as u64),
            pitch: pitch as u64,
        };
        fill.check()?;
        Ok(Operation::Fill(fill))
    }
}

/// `CUDA_MEM_ALLOC_NODE_PARAMS`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct AllocParams {
    pool: PoolProps,
    /// The access descriptors of other devices, which are ignored because all devices have access.
    access: In<u8>,
    access_count: usize,
    bytes: usize,
    address: u64,
}

impl AllocParams {
    pub(super) fn new(address: u64, bytes: u64) -> Fallible<Self> {
        let pool = PoolProps::of(context::current()?.device);
        Ok(Self { pool, access: In::NULL, access_count: 0, bytes: bytes as usize, address })
    }

    /// Plans an allocation, and stores its address in the parameters.
    pub(super) fn plan(params: Out<Self>) -> Fallible<Operation> {
        let wanted = params.get()?;
        let address = graph_memory::plan(&*wanted.context()?, wanted.bytes as u64)?;
        params.set(Self { address, ..wanted })?;
        Ok(Operation::Alloc(address, wanted.bytes as u64))
    }

    /// Returns the context for memory on the device that the parameters specify.
    fn context(&self) -> Fallible<Arc<Context>> {
        let (device, current) = (self.pool.device()?, context::current()?);
        if current.device == device { Ok(current) } else { Ok(context::retain_primary(device)) }
    }
}

/// The memory attributes of graphs (`CUgraphMem_attribute`).
const USED: u32 = 0;
const MOST_USED: u32 = 1;
const RESERVED: u32 = 2;
const MOST_RESERVED: u32 = 3;

pub(super) fn copy(params: Copy3D) -> Fallible<Operation> {
    let copy = params.copy()?;
    copy.check()?;
    Ok(Operation::Copy(copy))
}

/// Returns the operation that executes a graph as part of another.
pub(super) fn child(graph: Handle) -> Fallible<Operation> {
    Ok(Operation::Graph(Graph::of(graph)?.instantiate(0)?))
}

pub(super) fn free(address: u64) -> Fallible<Operation> {
    check_free(address)?;
    Ok(Operation::Free(address))
}

/// Adds a node and stores its handle.
pub(super) fn add(
    out: Out<Handle>,
    graph: Handle,
    after: In<Handle>,
    count: usize,
    operation: Operation,
) -> Fallible {
    if out.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    out.set(Graph::of(graph)?.add(operation, &after.list(count)?)?.handle)
}

/// Stores a list in an array of `count` elements, or only its length if the array is null.
fn list(out: Out<Handle>, count: Out<usize>, found: Vec<Handle>) -> Fallible {
    if out.is_null() {
        return count.set(found.len());
    }
    let room = count.get()?;
    // The remaining elements of the array are null.
    let filled = found.iter().copied().chain(std::iter::repeat(Handle::NULL)).take(room);
    out.set_all(filled)?;
    count.set(room.min(found.len()))
}

fn dependencies(node: Handle, out: Out<Handle>, count: Out<usize>) -> Fallible {
    list(out, count, Node::of(node)?.after())
}

fn dependents(node: Handle, out: Out<Handle>, count: Out<usize>) -> Fallible {
    let nodes = Node::of(node)?.graph()?.nodes();
    list(out, count, nodes.iter().filter(|n| n.after().contains(&node)).map(|n| n.handle).collect())
}

fn edges(graph: Handle, from: Out<Handle>, to: Out<Handle>, count: Out<usize>) -> Fallible {
    let nodes = Graph::of(graph)?.nodes();
    let edges = nodes.iter().flat_map(|node| node.after().into_iter().map(|before| (before, node.handle)));
    let (before, after): (Vec<_>, Vec<_>) = edges.unzip();
    let room = if from.is_null() { 0 } else { count.get()? };
    list(from, count, before)?;
    if !to.is_null() && !from.is_null() {
        to.set_all(after.into_iter().chain(std::iter::repeat(Handle::NULL)).take(room))?;
    }
    Ok(())
}

fn connect(graph: Handle, from: In<Handle>, to: In<Handle>, count: usize, connected: bool) -> Fallible {
    let graph = Graph::of(graph)?;
    let pairs = from.list(count)?.into_iter().zip(to.list(count)?);
    pairs.into_iter().try_for_each(|(from, to)| graph.connect(from, to, connected))
}

fn instantiate(out: Out<Handle>, graph: Handle, flags: u64) -> Fallible {
    check_flags(flags)?;
    if out.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    out.set(Graph::of(graph)?.instantiate(flags)?.handle)
}

/// The flag that makes a launch free any memory of the graph that is still allocated.
const FREE_ON_LAUNCH: u64 = 1;

/// Checks the flags of an executable graph. A graph that kernels can launch cannot free its memory on launch.
fn check_flags(flags: u64) -> Fallible {
    const DEVICE_LAUNCH: u64 = 4;
    const BOTH: u64 = FREE_ON_LAUNCH | DEVICE_LAUNCH;
    if flags & !15 != 0 || flags & BOTH == BOTH { Err(Code::INVALID_VALUE) } else { Ok(()) }
}

/// `CUgraphExecUpdateResultInfo`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct UpdateResult {
    result: u32,
    node: Handle,
    from: Handle,
}

/// `CUDA_GRAPH_INSTANTIATE_PARAMS`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct InstantiateParams {
    flags: u64,
    stream: Handle,
    node: Handle,
    result: u32,
}

entries! {
    fn cuGraphCreate(out: Out<Handle>, flags: u32) {
        if flags != 0 || out.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        out.set(Graph::create().handle)
    }

    fn cuGraphDestroy(graph: Handle) {
        Graph::destroy(graph)
    }

    fn cuGraphClone(out: Out<Handle>, graph: Handle) {
        out.set(Graph::of(graph)?.clone_graph().handle)
    }

    fn cuGraphNodeFindInClone(out: Out<Handle>, node: Handle, clone: Handle) {
        out.set(Graph::of(clone)?.find_clone(node)?)
    }

    fn cuGraphAddKernelNode_v2(out: Out<Handle>, graph: Handle, after: In<Handle>, count: usize, params: In<KernelParams>) {
        add(out, graph, after, count, params.get()?.operation()?)
    }

    fn cuGraphAddMemcpyNode(
        out: Out<Handle>, graph: Handle, after: In<Handle>, count: usize, params: In<Copy3D>, _context: Handle,
    ) {
        add(out, graph, after, count, copy(params.get()?)?)
    }

    fn cuGraphAddMemsetNode(
        out: Out<Handle>, graph: Handle, after: In<Handle>, count: usize, params: In<MemsetParams>, _context: Handle,
    ) {
        add(out, graph, after, count, params.get()?.operation()?)
    }

    fn cuGraphAddHostNode(out: Out<Handle>, graph: Handle, after: In<Handle>, count: usize, params: In<Callback>) {
        add(out, graph, after, count, params.get()?.operation()?)
    }

    fn cuGraphAddChildGraphNode(out: Out<Handle>, graph: Handle, after: In<Handle>, count: usize, inner: Handle) {
        add(out, graph, after, count, child(inner)?)
    }

    fn cuGraphAddMemAllocNode(
        out: Out<Handle>, graph: Handle, after: In<Handle>, count: usize, params: Out<AllocParams>,
    ) {
        let operation = AllocParams::plan(params)?;
        add(out, graph, after, count, operation)
    }

    fn cuGraphAddMemFreeNode(out: Out<Handle>, graph: Handle, after: In<Handle>, count: usize, address: u64) {
        add(out, graph, after, count, free(address)?)
    }

    fn cuGraphMemAllocNodeGetParams(node: Handle, params: Out<AllocParams>) {
        match Node::of(node)?.operation() {
            Operation::Alloc(address, bytes) => params.set(AllocParams::new(address, bytes)?),
            _ => Err(Code::INVALID_VALUE),
        }
    }

    fn cuGraphMemFreeNodeGetParams(node: Handle, address: Out<u64>) {
        match Node::of(node)?.operation() {
            Operation::Free(freed) => address.set(freed),
            _ => Err(Code::INVALID_VALUE),
        }
    }

    fn cuDeviceGetGraphMemAttribute(device: i32, attribute: u32, value: Out<u64>) {
        let device = Device::new(device)?;
        match attribute {
            // No memory is retained, so all reserved memory is in use.
            USED | RESERVED => value.set(graph_memory::used(device)),
            MOST_USED | MOST_RESERVED => value.set(graph_memory::most_used(device)),
            _ => Err(Code::INVALID_VALUE),
        }
    }

    fn cuDeviceSetGraphMemAttribute(device: i32, attribute: u32, value: In<u64>) {
        let device = Device::new(device)?;
        // The manual allows only a reset to 0.
        if !matches!(attribute, MOST_USED | MOST_RESERVED) || value.get()? != 0 {
            return Err(Code::INVALID_VALUE);
        }
        graph_memory::reset_most_used(device);
        Ok(())
    }

    fn cuDeviceGraphMemTrim(device: i32) {
        Device::new(device).map(drop)
    }

    fn cuGraphAddEmptyNode(out: Out<Handle>, graph: Handle, after: In<Handle>, count: usize) {
        add(out, graph, after, count, Operation::Empty)
    }

    fn cuGraphKernelNodeSetParams_v2(node: Handle, params: In<KernelParams>) {
        Node::of(node)?.set_operation(params.get()?.operation()?)
    }

    fn cuGraphMemcpyNodeSetParams(node: Handle, params: In<Copy3D>) {
        Node::of(node)?.set_operation(copy(params.get()?)?)
    }

    fn cuGraphMemsetNodeSetParams(node: Handle, params: In<MemsetParams>) {
        Node::of(node)?.set_operation(params.get()?.operation()?)
    }

    fn cuGraphHostNodeSetParams(node: Handle, params: In<Callback>) {
        Node::of(node)?.set_operation(params.get()?.operation()?)
    }

    fn cuGraphNodeGetType(node: Handle, out: Out<u32>) {
        out.set(Node::of(node)?.operation().node_type())
    }

    fn cuGraphGetNodes(graph: Handle, out: Out<Handle>, count: Out<usize>) {
        list(out, count, Graph::of(graph)?.nodes().iter().map(|node| node.handle).collect())
    }

    fn cuGraphGetRootNodes(graph: Handle, out: Out<Handle>, count: Out<usize>) {
        let nodes = Graph::of(graph)?.nodes();
        list(out, count, nodes.iter().filter(|node| node.after().is_empty()).map(|node| node.handle).collect())
    }

    fn cuGraphGetEdges(graph: Handle, from: Out<Handle>, to: Out<Handle>, count: Out<usize>) {
        edges(graph, from, to, count)
    }

    fn cuGraphGetEdges_v2(graph: Handle, from: Out<Handle>, to: Out<Handle>, _data: Out<u64>, count: Out<usize>) {
        edges(graph, from, to, count)
    }

    fn cuGraphNodeGetDependencies(node: Handle, out: Out<Handle>, count: Out<usize>) {
        dependencies(node, out, count)
    }

    fn cuGraphNodeGetDependencies_v2(node: Handle, out: Out<Handle>, _data: Out<u64>, count: Out<usize>) {
        dependencies(node, out, count)
    }

    fn cuGraphNodeGetDependentNodes(node: Handle, out: Out<Handle>, count: Out<usize>) {
        dependents(node, out, count)
    }

    fn cuGraphNodeGetDependentNodes_v2(node: Handle, out: Out<Handle>, _data: Out<u64>, count: Out<usize>) {
        dependents(node, out, count)
    }

    fn cuGraphNodeGetContainingGraph(node: Handle, out: Out<Handle>) {
        out.set(Node::of(node)?.graph()?.handle)
    }

    fn cuGraphNodeGetLocalId(node: Handle, out: Out<u32>) {
        out.set(Node::of(node)?.handle.number())
    }

    fn cuGraphNodeGetToolsId(node: Handle, out: Out<u64>) {
        out.set(Node::of(node)?.handle.0 as u64)
    }

    fn cuGraphGetId(graph: Handle, out: Out<u32>) {
        out.set(Graph::of(graph)?.handle.number())
    }

    fn cuGraphExecGetId(graph: Handle, out: Out<u32>) {
        out.set(Executable::of(graph)?.handle.number())
    }

    fn cuGraphAddDependencies(graph: Handle, from: In<Handle>, to: In<Handle>, count: usize) {
        connect(graph, from, to, count, true)
    }

    fn cuGraphAddDependencies_v2(graph: Handle, from: In<Handle>, to: In<Handle>, _data: In<u64>, count: usize) {
        connect(graph, from, to, count, true)
    }

    fn cuGraphRemoveDependencies(graph: Handle, from: In<Handle>, to: In<Handle>, count: usize) {
        connect(graph, from, to, count, false)
    }

    fn cuGraphRemoveDependencies_v2(graph: Handle, from: In<Handle>, to: In<Handle>, _data: In<u64>, count: usize) {
        connect(graph, from, to, count, false)
    }

    fn cuGraphDestroyNode(node: Handle) {
        Node::of(node)?.graph()?.remove(node)
    }

    fn cuGraphInstantiate_v2(out: Out<Handle>, graph: Handle, _node: Out<Handle>, _log: Out<u8>, _size: usize) {
        instantiate(out, graph, 0)
    }

    fn cuGraphInstantiateWithFlags(out: Out<Handle>, graph: Handle, flags: u64) {
        instantiate(out, graph, flags)
    }

    fn cuGraphInstantiateWithParams | cuGraphInstantiateWithParams_ptsz _own (
        out: Out<Handle>, graph: Handle, params: Out<InstantiateParams>,
    ) {
        instantiate(out, graph, params.get()?.flags)?;
        // CUDA_GRAPH_INSTANTIATE_SUCCESS
        params.set(InstantiateParams { result: 0, ..params.get()? })
    }

    fn cuGraphExecGetFlags(graph: Handle, out: Out<u64>) {
        out.set(Executable::of(graph)?.flags)
    }

    fn cuGraphExecKernelNodeSetParams_v2(graph: Handle, node: Handle, params: In<KernelParams>) {
        Executable::of(graph)?.set_operation(node, params.get()?.operation()?)
    }

    fn cuGraphExecMemcpyNodeSetParams(graph: Handle, node: Handle, params: In<Copy3D>, _context: Handle) {
        Executable::of(graph)?.set_operation(node, copy(params.get()?)?)
    }

    fn cuGraphExecMemsetNodeSetParams(graph: Handle, node: Handle, params: In<MemsetParams>, _context: Handle) {
        Executable::of(graph)?.set_operation(node, params.get()?.operation()?)
    }

    fn cuGraphExecHostNodeSetParams(graph: Handle, node: Handle, params: In<Callback>) {
        Executable::of(graph)?.set_operation(node, params.get()?.operation()?)
    }

    fn cuGraphExecChildGraphNodeSetParams(graph: Handle, node: Handle, inner: Handle) {
        Executable::of(graph)?.set_operation(node, child(inner)?)
    }

    fn cuGraphNodeSetEnabled(graph: Handle, node: Handle, enabled: u32) {
        Executable::of(graph)?.set_enabled(node, enabled != 0)
    }

    fn cuGraphNodeGetEnabled(graph: Handle, node: Handle, out: Out<u32>) {
        out.set(Executable::of(graph)?.is_enabled(node)?.into())
    }

    fn cuGraphExecUpdate_v2(graph: Handle, from: Handle, out: Out<UpdateResult>) {
        let result = Executable::of(graph)?.update(&*Graph::of(from)?);
        let (result, node) = result.err().unwrap_or((0, Handle::NULL));
        out.set_if(UpdateResult { result, node, from: Handle::NULL });
        if result == 0 { Ok(()) } else { Err(Code::GRAPH_EXEC_UPDATE_FAILURE) }
    }

    fn cuGraphUpload | cuGraphUpload_ptsz own (graph: Handle, stream: Handle) {
        Executable::of(graph)?;
        Stream::of(stream, own).map(drop)
    }

    fn cuGraphLaunch | cuGraphLaunch_ptsz own (graph: Handle, stream: Handle) {
        let graph = Executable::of(graph)?;
        graph.launch(&*Stream::of(stream, own)?, graph.flags & FREE_ON_LAUNCH != 0)
    }

    fn cuGraphExecDestroy(graph: Handle) {
        Executable::destroy(graph)
    }
}
