//! Functions of the section "Graph Management", and stream capture.

use warpwright_cuda_calls::address_of;

use crate::copy::{linear, params};
use crate::driver::ready;
use crate::error::Fallible;
use crate::memory_at::get;
use crate::registry::{Dim3, function};
use crate::{Address, entries, stream_of};

/// `cudaKernelNodeParams`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Kernel {
    pub(crate) function: Address,
    grid: Dim3,
    block: Dim3,
    shared: u32,
    arguments: Address,
    extra: Address,
}

/// `CUDA_KERNEL_NODE_PARAMS`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct DriverKernel {
    function: Address,
    grid: Dim3,
    block: Dim3,
    shared: u32,
    arguments: Address,
    extra: Address,
    kernel: Address,
    context: Address,
}

/// Converts the parameters of a kernel node to the driver's structure.
pub(crate) fn driver_kernel(params: Address) -> Fallible<DriverKernel> {
    let Kernel { function: symbol, grid, block, shared, arguments, extra } = get(params)?;
    Ok(DriverKernel {
        function: function(symbol)?,
        grid,
        block,
        shared,
        arguments,
        extra,
        kernel: 0,
        context: 0,
    })
}

entries! {
    fn cudaStreamBeginCapture | cudaStreamBeginCapture_ptsz own (stream: Address, mode: u32) {
        ready()?.cuStreamBeginCapture_v2(stream_of(stream, own), mode)
    }

    fn cudaStreamEndCapture | cudaStreamEndCapture_ptsz own (stream: Address, graph: Address) {
        ready()?.cuStreamEndCapture(stream_of(stream, own), graph)
    }

    fn cudaStreamGetCaptureInfo | cudaStreamGetCaptureInfo_ptsz own (
        stream: Address, status: Address, id: Address, graph: Address, nodes: Address, data: Address, count: Address,
    ) {
        ready()?.cuStreamGetCaptureInfo_v3(stream_of(stream, own), status, id, graph, nodes, data, count)
    }

    fn cudaStreamGetCaptureInfo_v3 | cudaStreamGetCaptureInfo_v3_ptsz own (
        stream: Address, status: Address, id: Address, graph: Address, nodes: Address, data: Address, count: Address,
    ) {
        ready()?.cuStreamGetCaptureInfo_v3(stream_of(stream, own), status, id, graph, nodes, data, count)
    }

    fn cudaStreamGetCaptureInfo_v2 | cudaStreamGetCaptureInfo_v2_ptsz own (
        stream: Address, status: Address, id: Address, graph: Address, nodes: Address, count: Address,
    ) {
        ready()?.cuStreamGetCaptureInfo_v3(stream_of(stream, own), status, id, graph, nodes, 0, count)
    }

    fn cudaStreamUpdateCaptureDependencies | cudaStreamUpdateCaptureDependencies_ptsz own (
        stream: Address, nodes: Address, data: Address, count: usize, flags: u32,
    ) {
        ready()?.cuStreamUpdateCaptureDependencies_v2(stream_of(stream, own), nodes, data, count, flags)
    }

    fn cudaStreamUpdateCaptureDependencies_v2 | cudaStreamUpdateCaptureDependencies_v2_ptsz own (
        stream: Address, nodes: Address, data: Address, count: usize, flags: u32,
    ) {
        ready()?.cuStreamUpdateCaptureDependencies_v2(stream_of(stream, own), nodes, data, count, flags)
    }

    fn cudaStreamBeginCaptureToGraph | cudaStreamBeginCaptureToGraph_ptsz own (
        stream: Address, graph: Address, after: Address, data: Address, count: usize, mode: u32,
    ) {
        ready()?.cuStreamBeginCaptureToGraph(stream_of(stream, own), graph, after, data, count, mode)
    }

    fn cudaThreadExchangeStreamCaptureMode(mode: Address) {
        ready()?.cuThreadExchangeStreamCaptureMode(mode)
    }

    fn cudaGraphCreate(graph: Address, flags: u32) {
        ready()?.cuGraphCreate(graph, flags)
    }

    fn cudaGraphDestroy(graph: Address) {
        ready()?.cuGraphDestroy(graph)
    }

    fn cudaGraphClone(clone: Address, graph: Address) {
        ready()?.cuGraphClone(clone, graph)
    }

    fn cudaGraphAddKernelNode(node: Address, graph: Address, after: Address, count: usize, params: Address) {
        let mut params = driver_kernel(params)?;
        ready()?.cuGraphAddKernelNode_v2(node, graph, after, count, address_of(&mut params))
    }

    fn cudaGraphAddMemcpyNode1D(
        node: Address, graph: Address, after: Address, count: usize, to: Address, from: Address, bytes: usize, kind: u32,
    ) {
        let mut copy = linear(to, from, bytes, kind)?;
        ready()?.cuGraphAddMemcpyNode(node, graph, after, count, address_of(&mut copy), 0)
    }

    fn cudaGraphAddMemcpyNode(node: Address, graph: Address, after: Address, count: usize, copy: Address) {
        let mut copy = params(copy)?;
        ready()?.cuGraphAddMemcpyNode(node, graph, after, count, address_of(&mut copy), 0)
    }

    fn cudaGraphAddMemAllocNode(node: Address, graph: Address, after: Address, count: usize, params: Address) {
        ready()?.cuGraphAddMemAllocNode(node, graph, after, count, params)
    }

    fn cudaGraphMemAllocNodeGetParams(node: Address, params: Address) {
        ready()?.cuGraphMemAllocNodeGetParams(node, params)
    }

    fn cudaGraphAddMemFreeNode(node: Address, graph: Address, after: Address, count: usize, address: Address) {
        ready()?.cuGraphAddMemFreeNode(node, graph, after, count, address)
    }

    fn cudaGraphMemFreeNodeGetParams(node: Address, result: Address) {
        ready()?.cuGraphMemFreeNodeGetParams(node, result)
    }

    fn cudaDeviceGetGraphMemAttribute(device: i32, attribute: u32, value: Address) {
        ready()?.cuDeviceGetGraphMemAttribute(device, attribute, value)
    }

    fn cudaDeviceSetGraphMemAttribute(device: i32, attribute: u32, value: Address) {
        ready()?.cuDeviceSetGraphMemAttribute(device, attribute, value)
    }

    fn cudaDeviceGraphMemTrim(device: i32) {
        ready()?.cuDeviceGraphMemTrim(device)
    }

    fn cudaGraphAddMemsetNode(node: Address, graph: Address, after: Address, count: usize, params: Address) {
        ready()?.cuGraphAddMemsetNode(node, graph, after, count, params, 0)
    }

    fn cudaGraphAddHostNode(node: Address, graph: Address, after: Address, count: usize, params: Address) {
        ready()?.cuGraphAddHostNode(node, graph, after, count, params)
    }

    fn cudaGraphAddEmptyNode(node: Address, graph: Address, after: Address, count: usize) {
        ready()?.cuGraphAddEmptyNode(node, graph, after, count)
    }

    fn cudaGraphAddChildGraphNode(node: Address, graph: Address, after: Address, count: usize, child: Address) {
        ready()?.cuGraphAddChildGraphNode(node, graph, after, count, child)
    }

    fn cudaGraphGetNodes(graph: Address, nodes: Address, count: Address) {
        ready()?.cuGraphGetNodes(graph, nodes, count)
    }

    fn cudaGraphNodeGetType(node: Address, result: Address) {
        ready()?.cuGraphNodeGetType(node, result)
    }

    fn cudaGraphGetRootNodes(graph: Address, nodes: Address, count: Address) {
        ready()?.cuGraphGetRootNodes(graph, nodes, count)
    }

    fn cudaGraphGetEdges(graph: Address, from: Address, to: Address, data: Address, count: Address) {
        ready()?.cuGraphGetEdges_v2(graph, from, to, data, count)
    }

    fn cudaGraphGetEdges_v2(graph: Address, from: Address, to: Address, data: Address, count: Address) {
        ready()?.cuGraphGetEdges_v2(graph, from, to, data, count)
    }

    fn cudaGraphNodeGetDependencies(node: Address, nodes: Address, data: Address, count: Address) {
        ready()?.cuGraphNodeGetDependencies_v2(node, nodes, data, count)
    }

    fn cudaGraphNodeGetDependencies_v2(node: Address, nodes: Address, data: Address, count: Address) {
        ready()?.cuGraphNodeGetDependencies_v2(node, nodes, data, count)
    }

    fn cudaGraphNodeGetDependentNodes(node: Address, nodes: Address, data: Address, count: Address) {
        ready()?.cuGraphNodeGetDependentNodes_v2(node, nodes, data, count)
    }

    fn cudaGraphNodeGetDependentNodes_v2(node: Address, nodes: Address, data: Address, count: Address) {
        ready()?.cuGraphNodeGetDependentNodes_v2(node, nodes, data, count)
    }

    fn cudaGraphAddDependencies(graph: Address, from: Address, to: Address, data: Address, count: usize) {
        ready()?.cuGraphAddDependencies_v2(graph, from, to, data, count)
    }

    fn cudaGraphAddDependencies_v2(graph: Address, from: Address, to: Address, data: Address, count: usize) {
        ready()?.cuGraphAddDependencies_v2(graph, from, to, data, count)
    }

    fn cudaGraphRemoveDependencies(graph: Address, from: Address, to: Address, data: Address, count: usize) {
        ready()?.cuGraphRemoveDependencies_v2(graph, from, to, data, count)
    }

    fn cudaGraphRemoveDependencies_v2(graph: Address, from: Address, to: Address, data: Address, count: usize) {
        ready()?.cuGraphRemoveDependencies_v2(graph, from, to, data, count)
    }

    fn cudaGraphNodeFindInClone(result: Address, node: Address, clone: Address) {
        ready()?.cuGraphNodeFindInClone(result, node, clone)
    }

    fn cudaGraphDestroyNode(node: Address) {
        ready()?.cuGraphDestroyNode(node)
    }

    fn cudaGraphKernelNodeSetParams(node: Address, params: Address) {
        let mut params = driver_kernel(params)?;
        ready()?.cuGraphKernelNodeSetParams_v2(node, address_of(&mut params))
    }

    fn cudaGraphMemcpyNodeSetParams(node: Address, copy: Address) {
        let mut copy = params(copy)?;
        ready()?.cuGraphMemcpyNodeSetParams(node, address_of(&mut copy))
    }

    fn cudaGraphMemcpyNodeSetParams1D(node: Address, to: Address, from: Address, bytes: usize, kind: u32) {
        let mut copy = linear(to, from, bytes, kind)?;
        ready()?.cuGraphMemcpyNodeSetParams(node, address_of(&mut copy))
    }

    fn cudaGraphMemsetNodeSetParams(node: Address, params: Address) {
        ready()?.cuGraphMemsetNodeSetParams(node, params)
    }

    fn cudaGraphHostNodeSetParams(node: Address, params: Address) {
        ready()?.cuGraphHostNodeSetParams(node, params)
    }

    fn cudaGraphInstantiate(result: Address, graph: Address, flags: u64) {
        ready()?.cuGraphInstantiateWithFlags(result, graph, flags)
    }

    fn cudaGraphInstantiateWithFlags(result: Address, graph: Address, flags: u64) {
        ready()?.cuGraphInstantiateWithFlags(result, graph, flags)
    }

    fn cudaGraphExecKernelNodeSetParams(graph: Address, node: Address, params: Address) {
        let mut params = driver_kernel(params)?;
        ready()?.cuGraphExecKernelNodeSetParams_v2(graph, node, address_of(&mut params))
    }

    fn cudaGraphInstantiateWithParams | cudaGraphInstantiateWithParams_ptsz _own (
        result: Address, graph: Address, params: Address,
    ) {
        ready()?.cuGraphInstantiateWithParams(result, graph, params)
    }

    fn cudaGraphExecGetFlags(graph: Address, flags: Address) {
        ready()?.cuGraphExecGetFlags(graph, flags)
    }

    fn cudaGraphExecMemcpyNodeSetParams(graph: Address, node: Address, copy: Address) {
        let mut copy = params(copy)?;
        ready()?.cuGraphExecMemcpyNodeSetParams(graph, node, address_of(&mut copy), 0)
    }

    fn cudaGraphExecMemcpyNodeSetParams1D(
        graph: Address, node: Address, to: Address, from: Address, bytes: usize, kind: u32,
    ) {
        let mut copy = linear(to, from, bytes, kind)?;
        ready()?.cuGraphExecMemcpyNodeSetParams(graph, node, address_of(&mut copy), 0)
    }

    fn cudaGraphExecMemsetNodeSetParams(graph: Address, node: Address, params: Address) {
        ready()?.cuGraphExecMemsetNodeSetParams(graph, node, params, 0)
    }

    fn cudaGraphExecHostNodeSetParams(graph: Address, node: Address, params: Address) {
        ready()?.cuGraphExecHostNodeSetParams(graph, node, params)
    }

    fn cudaGraphExecChildGraphNodeSetParams(graph: Address, node: Address, child: Address) {
        ready()?.cuGraphExecChildGraphNodeSetParams(graph, node, child)
    }

    fn cudaGraphNodeSetEnabled(graph: Address, node: Address, enabled: u32) {
        ready()?.cuGraphNodeSetEnabled(graph, node, enabled)
    }

    fn cudaGraphNodeGetEnabled(graph: Address, node: Address, enabled: Address) {
        ready()?.cuGraphNodeGetEnabled(graph, node, enabled)
    }

    fn cudaGraphExecUpdate(graph: Address, from: Address, result: Address) {
        ready()?.cuGraphExecUpdate_v2(graph, from, result)
    }

    fn cudaGraphUpload | cudaGraphUpload_ptsz own (graph: Address, stream: Address) {
        ready()?.cuGraphUpload(graph, stream_of(stream, own))
    }

    fn cudaGraphLaunch | cudaGraphLaunch_ptsz own (graph: Address, stream: Address) {
        ready()?.cuGraphLaunch(graph, stream_of(stream, own))
    }

    fn cudaGraphExecDestroy(graph: Address) {
        ready()?.cuGraphExecDestroy(graph)
    }
}
