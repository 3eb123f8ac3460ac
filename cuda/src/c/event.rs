//! Functions of the section "Event Management".

use super::pointers::Out;
use super::stream::EXTERNAL;
use crate::c::entries;
use crate::code::Code;
use crate::driver::event::Event;
use crate::driver::registry::Handle;
use crate::driver::stream::Stream;

entries! {
    fn cuEventCreate(out: Out<Handle>, flags: u32) {
        out.set(Event::create(flags)?.handle)
    }

    fn cuEventRecord | cuEventRecord_ptsz own (event: Handle, stream: Handle) {
        Event::of(event)?.record(&*Stream::of(stream, own)?, false)
    }

    fn cuEventRecordWithFlags | cuEventRecordWithFlags_ptsz own (event: Handle, stream: Handle, flags: u32) {
        Event::of(event)?.record(&*Stream::of(stream, own)?, flags & EXTERNAL != 0)
    }

    fn cuEventQuery(event: Handle) {
        if Event::of(event)?.queried()?.is_complete()? { Ok(()) } else { Err(Code::NOT_READY) }
    }

    fn cuEventSynchronize(event: Handle) {
        Event::of(event)?.queried()?.synchronize()
    }

    fn cuEventDestroy_v2(event: Handle) {
        Event::destroy(event)
    }

    fn cuEventElapsedTime
    fn cuEventElapsedTime_v2(out: Out<f32>, start: Handle, end: Handle) {
        out.set(Event::elapsed(&*Event::of(start)?, &*Event::of(end)?)?)
    }
}
