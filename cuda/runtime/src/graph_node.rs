//! Functions of the section "Graph Management": generic nodes and their parameters, graph events, and kernel attributes.

use warpwright_cuda_calls::address_of;

use crate::copy::{Copy3D, linear, params, params_of};
use crate::driver::ready;
use crate::error::Fallible;
use crate::graph::{Kernel, driver_kernel};
use crate::memory_at::{get, set};
use crate::registry::{symbol_address, symbol_of};
use crate::{Address, entries};

/// `cudaGraphNodeParams` and `CUgraphNodeParams`: the node type and its parameters.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Params {
    ty: u32,
    reserved: [u32; 3],
    union: [u64; 29],
    reserved_end: u64,
}

/// The node types with parameters that differ from the driver's: `cudaGraphNodeTypeKernel`, `_Memcpy`.
const KERNEL: u32 = 0;
const COPY: u32 = 1;

/// The offset of the type-specific parameters, and the offset of the copy parameters in `cudaMemcpyNodeParams` and
/// `CUDA_MEMCPY_NODE_PARAMS`.
const UNION: Address = std::mem::offset_of!(Params, union);
const COPY_AT: Address = UNION + 16;

/// The offset at which the driver stores the address of the allocated memory.
const ALLOCATED: Address = UNION + 112;
const ALLOC: u32 = 10;

/// Converts parameters to the driver's structure.
fn driver_params(address: Address) -> Fallible<Params> {
    let mut result: Params = get(address)?;
    let base = address_of(&mut result);
    match result.ty {
        KERNEL => set(base + UNION, driver_kernel(address + UNION)?)?,
        COPY => {
            result.union = [0; 29];
            set(base + COPY_AT, params(address + COPY_AT)?)?;
        }
        _ => {}
    }
    Ok(result)
}

fn add(
    node: Address,
    graph: Address,
    after: Address,
    data: Address,
    count: usize,
    address: Address,
) -> Fallible {
    let mut params = driver_params(address)?;
    ready()?.cuGraphAddNode_v2(node, graph, after, data, count, address_of(&mut params))?;
    match params.ty {
        ALLOC => set(address + ALLOCATED, get::<u64>(address_of(&mut params) + ALLOCATED)?),
        _ => Ok(()),
    }
}

/// Converts `CUDA_KERNEL_NODE_PARAMS` to the runtime's `cudaKernelNodeParams`.
fn kernel_params(node: Address) -> Fallible<Kernel> {
    let mut found = [0usize; 9];
    ready()?.cuGraphKernelNodeGetParams_v2(node, address_of(&mut found))?;
    let mut kernel: Kernel = get(address_of(&mut found))?;
    kernel.function = symbol_of(kernel.function)?;
    Ok(kernel)
}

fn copy_params(node: Address) -> Fallible<Copy3D> {
    let mut copy = Copy3D::default();
    ready()?.cuGraphMemcpyNodeGetParams(node, address_of(&mut copy))?;
    Ok(copy)
}

entries! {
    fn cudaGraphAddNode(node: Address, graph: Address, after: Address, data: Address, count: usize, params: Address) {
        add(node, graph, after, data, count, params)
    }

    /// The CUDA 12 variant of `cudaGraphAddNode`.
    fn cudaGraphAddNode_v2(node: Address, graph: Address, after: Address, data: Address, count: usize, params: Address) {
        add(node, graph, after, data, count, params)
    }

    fn cudaGraphNodeSetParams(node: Address, params: Address) {
        ready()?.cuGraphNodeSetParams(node, address_of(&mut driver_params(params)?))
    }

    fn cudaGraphExecNodeSetParams(graph: Address, node: Address, params: Address) {
        ready()?.cuGraphExecNodeSetParams(graph, node, address_of(&mut driver_params(params)?))
    }

    fn cudaGraphNodeGetParams(node: Address, params: Address) {
        ready()?.cuGraphNodeGetParams(node, params)?;
        match get::<u32>(params)? {
            KERNEL => set(params + UNION, kernel_params(node)?),
            COPY => set(params + COPY_AT, params_of(&copy_params(node)?)?),
            _ => Ok(()),
        }
    }

    fn cudaGraphKernelNodeGetParams(node: Address, params: Address) {
        set(params, kernel_params(node)?)
    }

    fn cudaGraphMemcpyNodeGetParams(node: Address, params: Address) {
        set(params, params_of(&copy_params(node)?)?)
    }

    fn cudaGraphMemsetNodeGetParams(node: Address, params: Address) {
        ready()?.cuGraphMemsetNodeGetParams(node, params)
    }

    fn cudaGraphHostNodeGetParams(node: Address, params: Address) {
        ready()?.cuGraphHostNodeGetParams(node, params)
    }

    fn cudaGraphAddMemcpyNodeToSymbol(
        node: Address, graph: Address, after: Address, count: usize, symbol: Address, from: Address, bytes: usize,
        offset: usize, kind: u32,
    ) {
        let mut copy = linear(symbol_address(symbol, offset)?, from, bytes, kind)?;
        ready()?.cuGraphAddMemcpyNode(node, graph, after, count, address_of(&mut copy), 0)
    }

    fn cudaGraphAddMemcpyNodeFromSymbol(
        node: Address, graph: Address, after: Address, count: usize, to: Address, symbol: Address, bytes: usize,
        offset: usize, kind: u32,
    ) {
        let mut copy = linear(to, symbol_address(symbol, offset)?, bytes, kind)?;
        ready()?.cuGraphAddMemcpyNode(node, graph, after, count, address_of(&mut copy), 0)
    }

    fn cudaGraphMemcpyNodeSetParamsToSymbol(
        node: Address, symbol: Address, from: Address, bytes: usize, offset: usize, kind: u32,
    ) {
        let mut copy = linear(symbol_address(symbol, offset)?, from, bytes, kind)?;
        ready()?.cuGraphMemcpyNodeSetParams(node, address_of(&mut copy))
    }

    fn cudaGraphMemcpyNodeSetParamsFromSymbol(
        node: Address, to: Address, symbol: Address, bytes: usize, offset: usize, kind: u32,
    ) {
        let mut copy = linear(to, symbol_address(symbol, offset)?, bytes, kind)?;
        ready()?.cuGraphMemcpyNodeSetParams(node, address_of(&mut copy))
    }

    fn cudaGraphExecMemcpyNodeSetParamsToSymbol(
        graph: Address, node: Address, symbol: Address, from: Address, bytes: usize, offset: usize, kind: u32,
    ) {
        let mut copy = linear(symbol_address(symbol, offset)?, from, bytes, kind)?;
        ready()?.cuGraphExecMemcpyNodeSetParams(graph, node, address_of(&mut copy), 0)
    }

    fn cudaGraphExecMemcpyNodeSetParamsFromSymbol(
        graph: Address, node: Address, to: Address, symbol: Address, bytes: usize, offset: usize, kind: u32,
    ) {
        let mut copy = linear(to, symbol_address(symbol, offset)?, bytes, kind)?;
        ready()?.cuGraphExecMemcpyNodeSetParams(graph, node, address_of(&mut copy), 0)
    }

    fn cudaGraphAddEventRecordNode(node: Address, graph: Address, after: Address, count: usize, event: Address) {
        ready()?.cuGraphAddEventRecordNode(node, graph, after, count, event)
    }

    fn cudaGraphEventRecordNodeGetEvent(node: Address, event: Address) {
        ready()?.cuGraphEventRecordNodeGetEvent(node, event)
    }

    fn cudaGraphEventRecordNodeSetEvent(node: Address, event: Address) {
        ready()?.cuGraphEventRecordNodeSetEvent(node, event)
    }

    fn cudaGraphExecEventRecordNodeSetEvent(graph: Address, node: Address, event: Address) {
        ready()?.cuGraphExecEventRecordNodeSetEvent(graph, node, event)
    }

    fn cudaGraphAddEventWaitNode(node: Address, graph: Address, after: Address, count: usize, event: Address) {
        ready()?.cuGraphAddEventWaitNode(node, graph, after, count, event)
    }

    fn cudaGraphEventWaitNodeGetEvent(node: Address, event: Address) {
        ready()?.cuGraphEventWaitNodeGetEvent(node, event)
    }

    fn cudaGraphEventWaitNodeSetEvent(node: Address, event: Address) {
        ready()?.cuGraphEventWaitNodeSetEvent(node, event)
    }

    fn cudaGraphExecEventWaitNodeSetEvent(graph: Address, node: Address, event: Address) {
        ready()?.cuGraphExecEventWaitNodeSetEvent(graph, node, event)
    }

    fn cudaGraphKernelNodeGetAttribute(node: Address, attribute: u32, value: Address) {
        ready()?.cuGraphKernelNodeGetAttribute(node, attribute, value)
    }

    fn cudaGraphKernelNodeSetAttribute(node: Address, attribute: u32, value: Address) {
        ready()?.cuGraphKernelNodeSetAttribute(node, attribute, value)
    }

    fn cudaGraphKernelNodeCopyAttributes(to: Address, from: Address) {
        ready()?.cuGraphKernelNodeCopyAttributes(to, from)
    }

    fn cudaGraphNodeGetContainingGraph(node: Address, graph: Address) {
        ready()?.cuGraphNodeGetContainingGraph(node, graph)
    }

    fn cudaGraphNodeGetLocalId(node: Address, id: Address) {
        ready()?.cuGraphNodeGetLocalId(node, id)
    }

    fn cudaGraphNodeGetToolsId(node: Address, id: Address) {
        ready()?.cuGraphNodeGetToolsId(node, id)
    }

    fn cudaGraphGetId(graph: Address, id: Address) {
        ready()?.cuGraphGetId(graph, id)
    }

    fn cudaGraphExecGetId(graph: Address, id: Address) {
        ready()?.cuGraphExecGetId(graph, id)
    }
}
