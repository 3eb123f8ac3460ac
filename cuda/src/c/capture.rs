//! Functions of the section "Stream Management": capture.

use super::pointers::{In, Out};
use crate::c::entries;
use crate::code::{Code, Fallible};
use crate::driver::capture::Capture;
use crate::driver::context;
use crate::driver::graph::Graph;
use crate::driver::registry::Handle;
use crate::driver::stream::Stream;

/// The states of a capture (`CUstreamCaptureStatus`).
const NONE: u32 = 0;
const ACTIVE: u32 = 1;
const INVALIDATED: u32 = 2;

fn begin(stream: Handle, own: bool, mode: u32) -> Fallible {
    if mode > 2 {
        return Err(Code::INVALID_VALUE);
    }
    Capture::begin(&Stream::of(stream, own)?, Graph::create(), vec![])
}

/// Stores the state of a capture; the other results are stored only while it is active.
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
        if mode > 2 {
            return Err(Code::INVALID_VALUE);
        }
        Capture::begin(&Stream::of(stream, own)?, Graph::of(graph)?, after.list(count)?)
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
        stream: Handle, status: Out<u32>, id: Out<u64>, graph: Out<Handle>, nodes: Out<usize>, count: Out<usize>,
    ) {
        if !nodes.is_null() || !count.is_null() {
            return Err(Code::NOT_SUPPORTED);
        }
        info(stream, own, status, id, graph)
    }

    fn cuStreamGetCaptureInfo_v3 | cuStreamGetCaptureInfo_v3_ptsz own (
        stream: Handle, status: Out<u32>, id: Out<u64>, graph: Out<Handle>, nodes: Out<usize>, _data: Out<usize>,
        count: Out<usize>,
    ) {
        if !nodes.is_null() || !count.is_null() {
            return Err(Code::NOT_SUPPORTED);
        }
        info(stream, own, status, id, graph)
    }

    fn cuThreadExchangeStreamCaptureMode(mode: Out<u32>) {
        context::current()?;
        // The modes differ in the calls that they forbid to other threads; here, no mode forbids any.
        mode.get().map(drop)
    }
}
