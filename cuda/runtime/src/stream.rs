//! Functions of the section "Stream Management".

use warpwright_cuda_calls::address_of;

use crate::driver::ready;
use crate::{Address, entries, stream_of};

entries! {
    fn cudaStreamCreate(result: Address) {
        ready()?.cuStreamCreateWithPriority(result, 0, 0)
    }

    fn cudaStreamCreateWithFlags(result: Address, flags: u32) {
        ready()?.cuStreamCreateWithPriority(result, flags, 0)
    }

    fn cudaStreamCreateWithPriority(result: Address, flags: u32, priority: i32) {
        ready()?.cuStreamCreateWithPriority(result, flags, priority)
    }

    fn cudaStreamDestroy(stream: Address) {
        ready()?.cuStreamDestroy_v2(stream)
    }

    fn cudaStreamSynchronize | cudaStreamSynchronize_ptsz own (stream: Address) {
        ready()?.cuStreamSynchronize(stream_of(stream, own))
    }

    fn cudaStreamQuery | cudaStreamQuery_ptsz own (stream: Address) {
        ready()?.cuStreamQuery(stream_of(stream, own))
    }

    fn cudaStreamWaitEvent | cudaStreamWaitEvent_ptsz own (stream: Address, event: Address, flags: u32) {
        ready()?.cuStreamWaitEvent(stream_of(stream, own), event, flags)
    }

    fn cudaStreamAddCallback | cudaStreamAddCallback_ptsz own (
        stream: Address, function: Address, data: Address, flags: u32,
    ) {
        ready()?.cuStreamAddCallback(stream_of(stream, own), function, data, flags)
    }

    fn cudaStreamGetPriority | cudaStreamGetPriority_ptsz own (stream: Address, result: Address) {
        ready()?.cuStreamGetPriority(stream_of(stream, own), result)
    }

    fn cudaStreamGetFlags | cudaStreamGetFlags_ptsz own (stream: Address, result: Address) {
        ready()?.cuStreamGetFlags(stream_of(stream, own), result)
    }

    fn cudaStreamGetId | cudaStreamGetId_ptsz own (stream: Address, result: Address) {
        ready()?.cuStreamGetId(stream_of(stream, own), result)
    }

    fn cudaStreamIsCapturing | cudaStreamIsCapturing_ptsz own (stream: Address, result: Address) {
        ready()?.cuStreamIsCapturing(stream_of(stream, own), result)
    }

    fn cudaStreamGetDevice | cudaStreamGetDevice_ptsz own (stream: Address, result: Address) {
        ready()?.cuStreamGetDevice(stream_of(stream, own), result)
    }

    fn cudaStreamAttachMemAsync | cudaStreamAttachMemAsync_ptsz own (
        stream: Address, address: Address, bytes: usize, flags: u32,
    ) {
        ready()?.cuStreamAttachMemAsync(stream_of(stream, own), address, bytes, flags)
    }

    fn cudaStreamGetAttribute | cudaStreamGetAttribute_ptsz own (stream: Address, attribute: u32, value: Address) {
        ready()?.cuStreamGetAttribute(stream_of(stream, own), attribute, value)
    }

    fn cudaStreamSetAttribute | cudaStreamSetAttribute_ptsz own (stream: Address, attribute: u32, value: Address) {
        ready()?.cuStreamSetAttribute(stream_of(stream, own), attribute, value)
    }

    fn cudaStreamCopyAttributes | cudaStreamCopyAttributes_ptsz own (to: Address, from: Address) {
        ready()?.cuStreamCopyAttributes(stream_of(to, own), stream_of(from, own))
    }

    fn cudaDeviceGetStreamPriorityRange(least: Address, greatest: Address) {
        let mut unused = [0i32; 2];
        let [a, b] = &mut unused;
        let place = |wanted: Address, other: &mut i32| if wanted == 0 { address_of(other) } else { wanted };
        ready()?.cuCtxGetStreamPriorityRange(place(least, a), place(greatest, b))
    }
}
