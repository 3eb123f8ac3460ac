//! Functions of the section "Stream Management": capture.

use super::pointers::{In, Out};
use crate::c::entries;
use crate::code::{Code, Fallible};
use crate::driver::capture::{self, Capture, Mode};
use crate::driver::context;
use crate::driver::graph::Graph;
use crate::driver::registry::Handle;
use crate::driver::stream::Stream;
use std::cell::RefCell;

/// The states of a capture (`CUstreamCaptureStatus`).
const NONE: u32 = 0;
const ACTIVE: u32 = 1;
const INVALIDATED: u32 = 2;

/// The functions that cannot be captured and that captures in the modes `GLOBAL` and `THREAD_LOCAL` therefore forbid, as observed with
/// driver version 580. Forbidden functions for streams and events are not listed, because they check their stream or event first.
#[rustfmt::skip]
const UNSAFE: &[&str] = &[
    "cuArray3DCreate_v2", "cuArrayCreate_v2", "cuArrayDestroy", "cuCtxSetCacheConfig", "cuCtxSetLimit", "cuGraphExecDestroy",
    "cuGraphInstantiateWithFlags", "cuGraphInstantiateWithParams", "cuGraphInstantiate_v2", "cuLibraryUnload", "cuMemAdvise",
    "cuMemAdvise_v2", "cuMemAllocHost_v2", "cuMemAllocManaged", "cuMemAllocPitch_v2", "cuMemAlloc_v2", "cuMemFreeHost",
    "cuMemFree_v2", "cuMemHostAlloc", "cuMemHostRegister_v2", "cuMemHostUnregister", "cuMemPoolCreate", "cuMemPoolDestroy",
    "cuMemPoolGetAttribute", "cuMemPoolSetAttribute", "cuMemPoolTrimTo", "cuModuleUnload", "cuPointerSetAttribute",
    "cuSurfObjectCreate", "cuSurfObjectDestroy", "cuTexObjectCreate", "cuTexObjectDestroy",
];

/// Returns an error if a capture does not allow the calling thread to call the function `name`.
pub(super) fn check_call(name: &str) -> Fallible {
    if capture::is_any_open() && UNSAFE.contains(&name) { capture::check_unsafe_call() } else { Ok(()) }
}

fn begin(stream: Handle, own: bool, mode: u32) -> Fallible {
    Capture::begin(&Stream::of(stream, own)?, Mode::of(mode)?, Graph::create(), vec![])
}

thread_local! {
    /// The nodes that the thread's last query returned.
    static NODES: RefCell<Vec<Handle>> = const { RefCell::new(Vec::new()) };
}

/// Stores the nodes on which the next operation of a stream depends. The list is valid until the thread's next query.
fn dependencies(stream: Handle, own: bool, nodes: Out<In<Handle>>, count: Out<usize>) -> Fallible {
    let Some(capturing) = Stream::of(stream, own)?.capturing() else { return Ok(()) };
    count.set_if(capturing.last.len());
    NODES.with_borrow_mut(|list| {
        *list = capturing.last;
        nodes.set_if(In::at_list(list));
    });
    Ok(())
}

/// The flags of an update of dependencies: whether nodes are added to the stream's dependencies or replace them.
const ADD: u32 = 0;
const SET: u32 = 1;

fn update_dependencies(stream: Handle, own: bool, nodes: In<Handle>, count: usize, flags: u32) -> Fallible {
    let stream = Stream::of(stream, own)?;
    let mut capturing = stream.capturing().ok_or(Code::ILLEGAL_STATE)?;
    let nodes = nodes.list(count)?;
    nodes.iter().try_for_each(|node| capturing.capture.graph.check(*node))?;
    match flags {
        ADD => capturing.last.extend(nodes),
        SET => capturing.last = nodes,
        _ => return Err(Code::INVALID_VALUE),
    }
    stream.set_capturing(Some(capturing));
    Ok(())
}

/// Stores the state of a capture. The other results are stored only while the capture is active.
fn info(stream: Handle, own: bool, status: Out<u32>, id: Out<u64>, graph: Out<Handle>) -> Fallible {
    let capturing = Stream::of(stream, own)?.capturing();
    status.set(match &capturing {
        None => NONE,
        Some(capturing) if capturing.capture.is_valid() => ACTIVE,
        Some(_) => INVALIDATED,
    })?;
    if let Some(capturing) = capturing {
        id.set_if(capturing.capture.id);
        graph.set_if(capturing.capture.graph.handle);
    }
    Ok(())
}

entries! {
    fn cuStreamBeginCapture_v2 | cuStreamBeginCapture_v2_ptsz own (stream: Handle, mode: u32) {
        begin(stream, own, mode)
    }

    fn cuStreamBeginCaptureToGraph | cuStreamBeginCaptureToGraph_ptsz own (
        stream: Handle, graph: Handle, after: In<Handle>, _data: In<u64>, count: usize, mode: u32,
    ) {
        Capture::begin(&Stream::of(stream, own)?, Mode::of(mode)?, Graph::of(graph)?, after.list(count)?)
    }

    fn cuStreamEndCapture | cuStreamEndCapture_ptsz own (stream: Handle, out: Out<Handle>) {
        match Capture::end(&*Stream::of(stream, own)?) {
            Ok(graph) => out.set(graph.handle),
            Err(code) => {
                out.set(Handle::NULL)?;
                Err(code)
            }
        }
    }

    fn cuStreamIsCapturing | cuStreamIsCapturing_ptsz own (stream: Handle, status: Out<u32>) {
        info(stream, own, status, Out::at_address(0), Out::at_address(0))
    }

    fn cuStreamGetCaptureInfo_v2 | cuStreamGetCaptureInfo_v2_ptsz own (
        stream: Handle, status: Out<u32>, id: Out<u64>, graph: Out<Handle>, nodes: Out<In<Handle>>, count: Out<usize>,
    ) {
        info(stream, own, status, id, graph)?;
        dependencies(stream, own, nodes, count)
    }

    fn cuStreamGetCaptureInfo_v3 | cuStreamGetCaptureInfo_v3_ptsz own (
        stream: Handle, status: Out<u32>, id: Out<u64>, graph: Out<Handle>, nodes: Out<In<Handle>>, data: Out<In<u64>>,
        count: Out<usize>,
    ) {
        info(stream, own, status, id, graph)?;
        // Edges have no data.
        data.set_if(In::NULL);
        dependencies(stream, own, nodes, count)
    }

    fn cuStreamUpdateCaptureDependencies | cuStreamUpdateCaptureDependencies_ptsz own (
        stream: Handle, nodes: In<Handle>, count: usize, flags: u32,
    ) {
        update_dependencies(stream, own, nodes, count, flags)
    }

    fn cuStreamUpdateCaptureDependencies_v2 | cuStreamUpdateCaptureDependencies_v2_ptsz own (
        stream: Handle, nodes: In<Handle>, _data: In<u64>, count: usize, flags: u32,
    ) {
        update_dependencies(stream, own, nodes, count, flags)
    }

    fn cuThreadExchangeStreamCaptureMode(mode: Out<u32>) {
        context::current()?;
        let before = Mode::of(mode.get()?)?.exchange();
        mode.set(before as u32)
    }
}
