//! "Graph Management", and stream capture.

use crate::copy::linear;
use crate::driver::ready;
use crate::error::Fallible;
use crate::memory_at::{get, out};
use crate::registry::{Dim3, function};
use crate::{Address, entries, stream_of};

/// `cudaKernelNodeParams`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Kernel {
    function: Address,
    grid: Dim3,
    block: Dim3,
    shared: u32,
    arguments: Address,
    extra: Address,
}

/// `CUDA_KERNEL_NODE_PARAMS`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct DriverKernel {
    function: Address,
    grid: Dim3,
    block: Dim3,
    shared: u32,
    arguments: Address,
    extra: Address,
    kernel: Address,
    context: Address,
}

fn kernel(params: Address) -> Fallible<DriverKernel> {
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
        let mut params = kernel(params)?;
        ready()?.cuGraphAddKernelNode_v2(node, graph, after, count, out(&mut params))
    }

    fn cudaGraphAddMemcpyNode1D(
        node: Address, graph: Address, after: Address, count: usize, to: Address, from: Address, bytes: usize, kind: u32,
    ) {
        let mut copy = linear(to, from, bytes, kind)?;
        ready()?.cuGraphAddMemcpyNode(node, graph, after, count, out(&mut copy), 0)
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

    fn cudaGraphInstantiate(result: Address, graph: Address, flags: u64) {
        ready()?.cuGraphInstantiateWithFlags(result, graph, flags)
    }

    fn cudaGraphInstantiateWithFlags(result: Address, graph: Address, flags: u64) {
        ready()?.cuGraphInstantiateWithFlags(result, graph, flags)
    }

    fn cudaGraphExecKernelNodeSetParams(graph: Address, node: Address, params: Address) {
        let mut params = kernel(params)?;
        ready()?.cuGraphExecKernelNodeSetParams_v2(graph, node, out(&mut params))
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
