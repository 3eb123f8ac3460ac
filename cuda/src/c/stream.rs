//! Functions of the section "Stream Management".

use super::pointers::{In, Out};
use crate::c::entries;
use crate::code::{Code, Fallible};
use crate::driver::event::Event;
use crate::driver::operation::{HostCall, Operation};
use crate::driver::registry::Handle;
use crate::driver::stream::{AttributeValue, Kind, Stream};
use crate::host::HostPtr;
use std::sync::{Arc, PoisonError};

/// `CUstreamCallback`.
type StreamCallback = Option<unsafe extern "C" fn(Handle, Code, HostPtr)>;

/// `CU_EVENT_RECORD_EXTERNAL` and `CU_EVENT_WAIT_EXTERNAL`: in a capture, the call becomes a node of the graph.
pub(super) const EXTERNAL: u32 = 1;

fn create(out: Out<Handle>, flags: u32, priority: i32) -> Fallible {
    if out.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    out.set(Stream::create(flags, priority.clamp(-5, 0))?.handle)
}

/// `CU_STREAM_ATTRIBUTE_PRIORITY`, `_MEM_SYNC_DOMAIN_MAP`, and all attributes, which also include `_ACCESS_POLICY_WINDOW`,
/// `_SYNCHRONIZATION_POLICY` and `_MEM_SYNC_DOMAIN`. None of these attributes affects the results of a stream's operations.
const PRIORITY: u32 = 8;
const DOMAIN_MAP: u32 = 9;
const ATTRIBUTES: [u32; 5] = [1, 3, PRIORITY, DOMAIN_MAP, 10];

fn attribute(stream: &Stream, attribute: u32) -> Fallible<AttributeValue> {
    if !ATTRIBUTES.contains(&attribute) {
        return Err(Code::INVALID_VALUE);
    }
    let set = stream.attributes.lock().unwrap_or_else(PoisonError::into_inner).get(&attribute).copied();
    let mut default = AttributeValue::default();
    match attribute {
        PRIORITY => default[0] = stream.priority.cast_unsigned(),
        // The domain of remote accesses is 1.
        DOMAIN_MAP => default[0] = 0x100,
        _ => {}
    }
    Ok(set.unwrap_or(default))
}

entries! {
    fn cuStreamGetAttribute | cuStreamGetAttribute_ptsz own (stream: Handle, name: u32, out: Out<AttributeValue>) {
        out.set(attribute(&*Stream::of(stream, own)?, name)?)
    }

    fn cuStreamSetAttribute | cuStreamSetAttribute_ptsz own (stream: Handle, name: u32, value: In<AttributeValue>) {
        let stream = Stream::of(stream, own)?;
        attribute(&stream, name)?;
        stream.attributes.lock().unwrap_or_else(PoisonError::into_inner).insert(name, value.get()?);
        Ok(())
    }

    fn cuStreamCopyAttributes | cuStreamCopyAttributes_ptsz own (to: Handle, from: Handle) {
        let (to, from) = (Stream::of(to, own)?, Stream::of(from, own)?);
        let copied = from.attributes.lock().unwrap_or_else(PoisonError::into_inner).clone();
        *to.attributes.lock().unwrap_or_else(PoisonError::into_inner) = copied;
        Ok(())
    }

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
        let stream = Stream::of(stream, own)?;
        stream.check_wait()?;
        stream.synchronize()
    }

    fn cuStreamQuery | cuStreamQuery_ptsz own (stream: Handle) {
        if Stream::of(stream, own)?.is_idle()? { Ok(()) } else { Err(Code::NOT_READY) }
    }

    fn cuStreamWaitEvent | cuStreamWaitEvent_ptsz own (stream: Handle, event: Handle, flags: u32) {
        Event::of(event)?.hold(&Stream::of(stream, own)?, flags & EXTERNAL != 0)
    }

    fn cuStreamAddCallback | cuStreamAddCallback_ptsz own (
        stream: Handle, function: StreamCallback, data: HostPtr, flags: u32,
    ) {
        let function = function.filter(|_| flags == 0).ok_or(Code::INVALID_VALUE)?;
        // SAFETY: the program passes a function of this type.
        let call = Arc::new(move |status| unsafe { function(stream, status, data) });
        let function = HostPtr(function as usize);
        Stream::of(stream, own)?.submit(Operation::Host(HostCall { call, reports_faults: true, function, data }))
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

    fn cuStreamGetCtx_v2 | cuStreamGetCtx_v2_ptsz own (stream: Handle, context: Out<Handle>, green: Out<Handle>) {
        let stream = Stream::of(stream, own)?;
        context.set_if(stream.context()?.handle);
        // Streams do not belong to green contexts.
        green.set_if(Handle::NULL);
        Ok(())
    }

    fn cuStreamGetDevice | cuStreamGetDevice_ptsz own (stream: Handle, out: Out<i32>) {
        out.set(Stream::of(stream, own)?.context()?.device.ordinal())
    }

    fn cuStreamAttachMemAsync | cuStreamAttachMemAsync_ptsz own (stream: Handle, _address: u64, _bytes: usize, _flags: u32) {
        Stream::of(stream, own)?.check_unrecorded()
    }
}
