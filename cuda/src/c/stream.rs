//! Functions of the section "Stream Management".

use super::pointers::Out;
use crate::c::entries;
use crate::code::{Code, Fallible};
use crate::driver::event::Event;
use crate::driver::operation::Operation;
use crate::driver::registry::Handle;
use crate::driver::stream::{Kind, Stream};
use crate::host::HostPtr;
use std::sync::Arc;

/// `CUstreamCallback`.
type StreamCallback = Option<unsafe extern "C" fn(Handle, Code, HostPtr)>;

fn create(out: Out<Handle>, flags: u32, priority: i32) -> Fallible {
    if out.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    out.set(Stream::create(flags, priority.clamp(-5, 0))?.handle)
}

entries! {
    fn cuStreamCreate(out: Out<Handle>, flags: u32) {
        create(out, flags, 0)
    }

    fn cuStreamCreateWithPriority(out: Out<Handle>, flags: u32, priority: i32) {
        create(out, flags, priority)
    }

    fn cuStreamDestroy_v2(stream: Handle) {
        Stream::destroy(stream)
    }

    fn cuStreamSynchronize | cuStreamSynchronize_ptsz own (stream: Handle) {
        Stream::of(stream, own)?.synchronize()
    }

    fn cuStreamQuery | cuStreamQuery_ptsz own (stream: Handle) {
        if Stream::of(stream, own)?.is_idle()? { Ok(()) } else { Err(Code::NOT_READY) }
    }

    fn cuStreamWaitEvent | cuStreamWaitEvent_ptsz own (stream: Handle, event: Handle, _flags: u32) {
        Event::of(event)?.hold(&Stream::of(stream, own)?)
    }

    fn cuStreamAddCallback | cuStreamAddCallback_ptsz own (
        stream: Handle, function: StreamCallback, data: HostPtr, flags: u32,
    ) {
        let function = function.filter(|_| flags == 0).ok_or(Code::INVALID_VALUE)?;
        // SAFETY: the program passes a function of this type.
        let work = move || unsafe { function(stream, Code::SUCCESS, data) };
        Stream::of(stream, own)?.submit(Operation::Host(Arc::new(work)))
    }

    fn cuStreamGetPriority | cuStreamGetPriority_ptsz own (stream: Handle, out: Out<i32>) {
        out.set(Stream::of(stream, own)?.priority)
    }

    fn cuStreamGetFlags | cuStreamGetFlags_ptsz own (stream: Handle, out: Out<u32>) {
        out.set(u32::from(Stream::of(stream, own)?.kind == Kind::NonBlocking))
    }

    fn cuStreamGetId | cuStreamGetId_ptsz own (stream: Handle, out: Out<u64>) {
        out.set(Stream::of(stream, own)?.id)
    }

    fn cuStreamGetCtx | cuStreamGetCtx_ptsz own (stream: Handle, out: Out<Handle>) {
        out.set(Stream::of(stream, own)?.context()?.handle)
    }

    fn cuStreamGetDevice | cuStreamGetDevice_ptsz own (stream: Handle, out: Out<i32>) {
        out.set(Stream::of(stream, own)?.context()?.device.ordinal())
    }

    fn cuStreamAttachMemAsync | cuStreamAttachMemAsync_ptsz own (stream: Handle, _address: u64, _bytes: usize, _flags: u32) {
        Stream::of(stream, own).map(drop)
    }
}
