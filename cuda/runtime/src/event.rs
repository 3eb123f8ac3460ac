//! Functions of the section "Event Management".

use crate::driver::ready;
use crate::{Address, entries, stream_of};

entries! {
    fn cudaEventCreate(result: Address) {
        ready()?.cuEventCreate(result, 0)
    }

    fn cudaEventCreateWithFlags(result: Address, flags: u32) {
        ready()?.cuEventCreate(result, flags)
    }

    fn cudaEventDestroy(event: Address) {
        ready()?.cuEventDestroy_v2(event)
    }

    fn cudaEventRecord | cudaEventRecord_ptsz own (event: Address, stream: Address) {
        ready()?.cuEventRecord(event, stream_of(stream, own))
    }

    fn cudaEventRecordWithFlags | cudaEventRecordWithFlags_ptsz own (event: Address, stream: Address, flags: u32) {
        ready()?.cuEventRecordWithFlags(event, stream_of(stream, own), flags)
    }

    fn cudaEventSynchronize(event: Address) {
        ready()?.cuEventSynchronize(event)
    }

    fn cudaEventQuery(event: Address) {
        ready()?.cuEventQuery(event)
    }

    fn cudaEventElapsedTime_v2(result: Address, start: Address, end: Address) {
        ready()?.cuEventElapsedTime(result, start, end)
    }

    fn cudaEventElapsedTime(result: Address, start: Address, end: Address) {
        ready()?.cuEventElapsedTime(result, start, end)
    }
}
