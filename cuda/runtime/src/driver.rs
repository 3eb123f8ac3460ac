//! The driver functions that the runtime calls.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use warpwright_cuda_calls::{address_of, functions, out};

use crate::Address;
use crate::error::{Error, Fallible};

functions! { Error:
    fn cuDriverGetVersion(version: Address);
    fn cuGetErrorName(error: u32, text: Address);
    fn cuGetErrorString(error: u32, text: Address);
    fn cuGetProcAddress_v2(name: Address, out: Address, version: i32, flags: u64, status: Address);
    fn cuDeviceGetCount(count: Address);
    fn cuDeviceGetName(name: Address, length: i32, device: i32);
    fn cuDeviceGetUuid_v2(uuid: Address, device: i32);
    fn cuDeviceTotalMem_v2(bytes: Address, device: i32);
    fn cuDeviceGetAttribute(value: Address, attribute: i32, device: i32);
    fn cuDeviceGetPCIBusId(text: Address, length: i32, device: i32);
    fn cuDeviceGetByPCIBusId(device: Address, text: Address);
    fn cuDeviceCanAccessPeer(out: Address, device: i32, peer: i32);
    fn cuDeviceGetP2PAttribute(out: Address, attribute: u32, from: i32, to: i32);
    fn cuDeviceGetDefaultMemPool(out: Address, device: i32);
    fn cuDeviceGetMemPool(out: Address, device: i32);
    fn cuDeviceSetMemPool(device: i32, pool: Address);
    fn cuDevicePrimaryCtxRetain(out: Address, device: i32);
    fn cuDevicePrimaryCtxReset_v2(device: i32);
    fn cuDevicePrimaryCtxSetFlags_v2(device: i32, flags: u32);
    fn cuDevicePrimaryCtxGetState(device: i32, flags: Address, active: Address);
    fn cuCtxSetCurrent(context: Address);
    fn cuCtxGetDevice(out: Address);
    fn cuCtxSynchronize();
    fn cuCtxSetLimit(limit: u32, value: usize);
    fn cuCtxGetLimit(out: Address, limit: u32);
    fn cuCtxGetStreamPriorityRange(least: Address, greatest: Address);
    fn cuCtxEnablePeerAccess(context: Address, flags: u32);
    fn cuCtxDisablePeerAccess(context: Address);
    fn cuLibraryLoadData(
        out: Address, image: Address, keys: Address, values: Address, count: u32,
        library_keys: Address, library_values: Address, library_count: u32,
    );
    fn cuLibraryLoadFromFile(
        out: Address, path: Address, keys: Address, values: Address, count: u32,
        library_keys: Address, library_values: Address, library_count: u32,
    );
    fn cuLibraryUnload(library: Address);
    fn cuLibraryGetManaged(address: Address, bytes: Address, library: Address, name: Address);
    fn cuLibraryGetKernelCount(count: Address, library: Address);
    fn cuLibraryEnumerateKernels(out: Address, count: u32, library: Address);
    fn cuKernelSetAttribute(attribute: i32, value: i32, kernel: Address, device: i32);
    fn cuFuncGetName(out: Address, function: Address);
    fn cuFuncGetParamInfo(function: Address, index: usize, offset: Address, size: Address);
    fn cuFuncGetParamCount(function: Address, out: Address);
    fn cuMemPoolCreate(out: Address, props: Address);
    fn cuMemPoolDestroy(pool: Address);
    fn cuMemPoolSetAccess(pool: Address, access: Address, count: usize);
    fn cuMemPoolGetAccess(out: Address, pool: Address, location: Address);
    fn cuMemGetDefaultMemPool(out: Address, location: Address, ty: u32);
    fn cuMemGetMemPool(out: Address, location: Address, ty: u32);
    fn cuMemSetMemPool(location: Address, ty: u32, pool: Address);
    fn cuMemcpyWithAttributesAsync(to: Address, from: Address, bytes: usize, attributes: Address, stream: Address);
    fn cuMemcpy3DWithAttributesAsync(op: Address, flags: u64, stream: Address);
    fn cuMemcpyBatchAsync_v2(
        to: Address, from: Address, sizes: Address, count: usize, attributes: Address, starts: Address, entries: usize,
        stream: Address,
    );
    fn cuMemcpy3DBatchAsync_v2(count: usize, ops: Address, flags: u64, stream: Address);
    fn cuMemPrefetchBatchAsync(
        addresses: Address, sizes: Address, count: usize, locations: Address, starts: Address, entries: usize, flags: u64,
        stream: Address,
    );
    fn cuStreamGetDevice(stream: Address, out: Address);
    fn cuStreamAttachMemAsync(stream: Address, address: Address, bytes: usize, flags: u32);
    fn cuStreamGetAttribute(stream: Address, attribute: u32, value: Address);
    fn cuStreamSetAttribute(stream: Address, attribute: u32, value: Address);
    fn cuStreamCopyAttributes(to: Address, from: Address);
    fn cuStreamUpdateCaptureDependencies_v2(
        stream: Address, nodes: Address, data: Address, count: usize, flags: u32,
    );
    fn cuStreamBeginCaptureToGraph(
        stream: Address, graph: Address, after: Address, data: Address, count: usize, mode: u32,
    );
    fn cuEventRecordWithFlags(event: Address, stream: Address, flags: u32);
    fn cuGraphAddNode_v2(
        node: Address, graph: Address, after: Address, data: Address, count: usize, params: Address,
    );
    fn cuGraphNodeSetParams(node: Address, params: Address);
    fn cuGraphExecNodeSetParams(graph: Address, node: Address, params: Address);
    fn cuGraphNodeGetParams(node: Address, params: Address);
    fn cuGraphKernelNodeGetParams_v2(node: Address, params: Address);
    fn cuGraphMemcpyNodeGetParams(node: Address, params: Address);
    fn cuGraphMemsetNodeGetParams(node: Address, params: Address);
    fn cuGraphHostNodeGetParams(node: Address, params: Address);
    fn cuGraphAddEventRecordNode(node: Address, graph: Address, after: Address, count: usize, event: Address);
    fn cuGraphEventRecordNodeGetEvent(node: Address, event: Address);
    fn cuGraphEventRecordNodeSetEvent(node: Address, event: Address);
    fn cuGraphExecEventRecordNodeSetEvent(graph: Address, node: Address, event: Address);
    fn cuGraphAddEventWaitNode(node: Address, graph: Address, after: Address, count: usize, event: Address);
    fn cuGraphEventWaitNodeGetEvent(node: Address, event: Address);
    fn cuGraphEventWaitNodeSetEvent(node: Address, event: Address);
    fn cuGraphExecEventWaitNodeSetEvent(graph: Address, node: Address, event: Address);
    fn cuGraphKernelNodeGetAttribute(node: Address, attribute: u32, value: Address);
    fn cuGraphKernelNodeSetAttribute(node: Address, attribute: u32, value: Address);
    fn cuGraphKernelNodeCopyAttributes(to: Address, from: Address);
    fn cuGraphNodeGetContainingGraph(node: Address, graph: Address);
    fn cuGraphNodeGetLocalId(node: Address, id: Address);
    fn cuGraphNodeGetToolsId(node: Address, id: Address);
    fn cuGraphGetId(graph: Address, id: Address);
    fn cuGraphExecGetId(graph: Address, id: Address);
    fn cuLibraryGetKernel(out: Address, library: Address, name: Address);
    fn cuLibraryGetGlobal(address: Address, bytes: Address, library: Address, name: Address);
    fn cuKernelGetFunction(out: Address, kernel: Address);
    fn cuFuncGetAttribute(out: Address, attribute: i32, function: Address);
    fn cuFuncSetAttribute(function: Address, attribute: i32, value: i32);
    fn cuFuncSetCacheConfig(function: Address, config: u32);
    fn cuLaunchKernel(
        function: Address, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32,
        shared: u32, stream: Address, arguments: Address, extra: Address,
    );
    fn cuLaunchCooperativeKernel(
        function: Address, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32,
        shared: u32, stream: Address, arguments: Address,
    );
    fn cuLaunchKernelEx(config: Address, function: Address, arguments: Address, extra: Address);
    fn cuLaunchHostFunc(stream: Address, function: Address, data: Address);
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(out: Address, function: Address, block: i32, shared: usize);
    fn cuOccupancyAvailableDynamicSMemPerBlock(out: Address, function: Address, blocks: i32, block: i32);
    fn cuOccupancyMaxPotentialClusterSize(out: Address, function: Address, config: Address);
    fn cuOccupancyMaxActiveClusters(out: Address, function: Address, config: Address);
    fn cuMemGetInfo_v2(free: Address, total: Address);
    fn cuMemAlloc_v2(out: Address, bytes: usize);
    fn cuMemAllocPitch_v2(out: Address, pitch: Address, width: usize, height: usize, element: u32);
    fn cuMemFree_v2(address: Address);
    fn cuMemHostAlloc(out: Address, bytes: usize, flags: u32);
    fn cuMemFreeHost(address: Address);
    fn cuMemHostGetDevicePointer_v2(out: Address, address: Address, flags: u32);
    fn cuMemHostGetFlags(out: Address, address: Address);
    fn cuMemHostRegister_v2(address: Address, bytes: usize, flags: u32);
    fn cuMemHostUnregister(address: Address);
    fn cuMemAllocManaged(out: Address, bytes: usize, flags: u32);
    fn cuMemAllocAsync(out: Address, bytes: usize, stream: Address);
    fn cuMemAllocFromPoolAsync(out: Address, bytes: usize, pool: Address, stream: Address);
    fn cuMemFreeAsync(address: Address, stream: Address);
    fn cuMemPoolTrimTo(pool: Address, bytes: usize);
    fn cuMemPoolGetAttribute(pool: Address, attribute: u32, value: Address);
    fn cuMemPoolSetAttribute(pool: Address, attribute: u32, value: Address);
    fn cuMemcpy(to: Address, from: Address, bytes: usize);
    fn cuMemcpyAsync(to: Address, from: Address, bytes: usize, stream: Address);
    fn cuMemcpyPeerAsync(
        to: Address, to_context: Address, from: Address, from_context: Address, bytes: usize, stream: Address,
    );
    fn cuMemcpy3D_v2(copy: Address);
    fn cuMemcpy3DAsync_v2(copy: Address, stream: Address);
    fn cuMemsetD8Async(address: Address, value: u8, bytes: usize, stream: Address);
    fn cuMemsetD2D8Async(address: Address, pitch: usize, value: u8, width: usize, height: usize, stream: Address);
    fn cuArray3DCreate_v2(out: Address, descriptor: Address);
    fn cuArray3DGetDescriptor_v2(out: Address, array: Address);
    fn cuArrayDestroy(array: Address);
    fn cuTexObjectCreate(out: Address, resource: Address, texture: Address, view: Address);
    fn cuTexObjectDestroy(object: u64);
    fn cuSurfObjectCreate(out: Address, resource: Address);
    fn cuSurfObjectDestroy(object: u64);
    fn cuPointerGetAttribute(out: Address, attribute: u32, address: Address);
    fn cuMemAdvise_v2(address: Address, bytes: usize, advice: u32, location: u64);
    fn cuMemPrefetchAsync_v2(address: Address, bytes: usize, location: u64, flags: u32, stream: Address);
    fn cuMemRangeGetAttribute(out: Address, size: usize, attribute: u32, address: Address, bytes: usize);
    fn cuMemRangeGetAttributes(
        outs: Address, sizes: Address, attributes: Address, count: usize, address: Address, bytes: usize,
    );
    fn cuStreamCreateWithPriority(out: Address, flags: u32, priority: i32);
    fn cuStreamDestroy_v2(stream: Address);
    fn cuStreamSynchronize(stream: Address);
    fn cuStreamQuery(stream: Address);
    fn cuStreamWaitEvent(stream: Address, event: Address, flags: u32);
    fn cuStreamAddCallback(stream: Address, function: Address, data: Address, flags: u32);
    fn cuStreamGetPriority(stream: Address, out: Address);
    fn cuStreamGetFlags(stream: Address, out: Address);
    fn cuStreamGetId(stream: Address, out: Address);
    fn cuStreamIsCapturing(stream: Address, out: Address);
    fn cuStreamBeginCapture_v2(stream: Address, mode: u32);
    fn cuStreamEndCapture(stream: Address, graph: Address);
    fn cuStreamGetCaptureInfo_v3(
        stream: Address, status: Address, id: Address, graph: Address, nodes: Address, data: Address, count: Address,
    );
    fn cuThreadExchangeStreamCaptureMode(mode: Address);
    fn cuGraphCreate(graph: Address, flags: u32);
    fn cuGraphDestroy(graph: Address);
    fn cuGraphClone(clone: Address, graph: Address);
    fn cuGraphAddKernelNode_v2(node: Address, graph: Address, after: Address, count: usize, params: Address);
    fn cuGraphAddMemcpyNode(
        node: Address, graph: Address, after: Address, count: usize, params: Address, context: Address,
    );
    fn cuGraphAddMemsetNode(
        node: Address, graph: Address, after: Address, count: usize, params: Address, context: Address,
    );
    fn cuGraphAddHostNode(node: Address, graph: Address, after: Address, count: usize, params: Address);
    fn cuGraphAddEmptyNode(node: Address, graph: Address, after: Address, count: usize);
    fn cuGraphAddChildGraphNode(node: Address, graph: Address, after: Address, count: usize, child: Address);
    fn cuGraphGetNodes(graph: Address, nodes: Address, count: Address);
    fn cuGraphNodeGetType(node: Address, result: Address);
    fn cuGraphAddMemAllocNode(node: Address, graph: Address, after: Address, count: usize, params: Address);
    fn cuGraphMemAllocNodeGetParams(node: Address, params: Address);
    fn cuGraphAddMemFreeNode(node: Address, graph: Address, after: Address, count: usize, address: Address);
    fn cuGraphMemFreeNodeGetParams(node: Address, result: Address);
    fn cuDeviceGetGraphMemAttribute(device: i32, attribute: u32, value: Address);
    fn cuDeviceSetGraphMemAttribute(device: i32, attribute: u32, value: Address);
    fn cuDeviceGraphMemTrim(device: i32);
    fn cuGraphGetRootNodes(graph: Address, nodes: Address, count: Address);
    fn cuGraphGetEdges_v2(graph: Address, from: Address, to: Address, data: Address, count: Address);
    fn cuGraphNodeGetDependencies_v2(node: Address, nodes: Address, data: Address, count: Address);
    fn cuGraphNodeGetDependentNodes_v2(node: Address, nodes: Address, data: Address, count: Address);
    fn cuGraphAddDependencies_v2(graph: Address, from: Address, to: Address, data: Address, count: usize);
    fn cuGraphRemoveDependencies_v2(graph: Address, from: Address, to: Address, data: Address, count: usize);
    fn cuGraphNodeFindInClone(result: Address, node: Address, clone: Address);
    fn cuGraphDestroyNode(node: Address);
    fn cuGraphKernelNodeSetParams_v2(node: Address, params: Address);
    fn cuGraphMemcpyNodeSetParams(node: Address, params: Address);
    fn cuGraphMemsetNodeSetParams(node: Address, params: Address);
    fn cuGraphHostNodeSetParams(node: Address, params: Address);
    fn cuGraphInstantiateWithParams(result: Address, graph: Address, params: Address);
    fn cuGraphExecGetFlags(graph: Address, flags: Address);
    fn cuGraphExecMemcpyNodeSetParams(graph: Address, node: Address, params: Address, context: Address);
    fn cuGraphExecMemsetNodeSetParams(graph: Address, node: Address, params: Address, context: Address);
    fn cuGraphExecHostNodeSetParams(graph: Address, node: Address, params: Address);
    fn cuGraphExecChildGraphNodeSetParams(graph: Address, node: Address, child: Address);
    fn cuGraphNodeSetEnabled(graph: Address, node: Address, enabled: u32);
    fn cuGraphNodeGetEnabled(graph: Address, node: Address, enabled: Address);
    fn cuGraphInstantiateWithFlags(result: Address, graph: Address, flags: u64);
    fn cuGraphExecKernelNodeSetParams_v2(graph: Address, node: Address, params: Address);
    fn cuGraphExecUpdate_v2(graph: Address, from: Address, result: Address);
    fn cuGraphUpload(graph: Address, stream: Address);
    fn cuGraphLaunch(graph: Address, stream: Address);
    fn cuGraphExecDestroy(graph: Address);
    fn cuEventCreate(out: Address, flags: u32);
    fn cuEventDestroy_v2(event: Address);
    fn cuEventRecord(event: Address, stream: Address);
    fn cuEventSynchronize(event: Address);
    fn cuEventQuery(event: Address);
    fn cuEventElapsedTime(out: Address, start: Address, end: Address);
}

/// The primary contexts that the runtime has retained, by device.
static CONTEXTS: Mutex<BTreeMap<i32, Address>> = Mutex::new(BTreeMap::new());

thread_local! {
    /// The device that the thread has selected.
    static DEVICE: Cell<i32> = const { Cell::new(0) };
}

/// Returns the primary context of a device.
pub(crate) fn primary(device: i32) -> Fallible<Address> {
    let mut contexts = CONTEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(context) = contexts.get(&device) {
        return Ok(*context);
    }
    let mut context = 0;
    driver()?.cuDevicePrimaryCtxRetain(out(&mut context), device)?;
    contexts.insert(device, context);
    Ok(context)
}

/// Returns the device of this thread's current context, or `None` if the thread has no context, or if another thread has reset the device.
fn current_device(driver: &Driver) -> Option<i32> {
    let mut device = 0i32;
    driver.cuCtxGetDevice(address_of(&mut device)).ok().map(|()| device)
}

/// Returns the driver, after making a context current on this thread: the primary context of the thread's device, unless the program has
/// set a different context.
pub(crate) fn ready() -> Fallible<&'static Driver> {
    let driver = driver()?;
    if current_device(driver).is_none() {
        driver.cuCtxSetCurrent(primary(DEVICE.get())?)?;
    }
    Ok(driver)
}

/// Returns the current device.
pub(crate) fn device() -> Fallible<i32> {
    Ok(current_device(driver()?).unwrap_or(DEVICE.get()))
}

/// Makes a device current on this thread.
pub(crate) fn set_device(device: i32) -> Fallible {
    driver()?.cuCtxSetCurrent(primary(device)?)?;
    DEVICE.set(device);
    Ok(())
}

/// Destroys all objects of the current device.
pub(crate) fn reset() -> Fallible {
    let device = device()?;
    let driver = driver()?;
    CONTEXTS.lock().unwrap_or_else(PoisonError::into_inner).remove(&device);
    crate::registry::forget();
    driver.cuCtxSetCurrent(0)?;
    driver.cuDevicePrimaryCtxReset_v2(device)
}
