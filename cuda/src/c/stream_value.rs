//! Functions of the section "Stream Memory Operations".

use super::pointers::In;
use crate::c::entries;
use crate::code::{Code, Fallible};
use crate::driver::registry::Handle;
use crate::driver::stream::Stream;
use crate::driver::stream_value::{Condition, ValueOperation, Values};

/// `CU_STREAM_WAIT_VALUE_FLUSH`, which has no effect, because writes by other devices are always visible.
const FLUSH: u32 = 1 << 30;

/// `CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER`, which has no effect, because operations are executed one after the other.
const NO_BARRIER: u32 = 1;

/// `CUstreamBatchMemOpParams`. Its members `waitValue` and `writeValue` have the same layout.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Params {
    operation: u32,
    address: u64,
    value: u64,
    flags: u32,
    rest: [u64; 2],
}

const _: () = assert!(size_of::<Params>() == 48);

fn wait(address: u64, value: u64, bytes: u64, flags: u32) -> Fallible<ValueOperation> {
    let condition = match flags & !FLUSH {
        0 => Condition::AtLeast,
        1 => Condition::Equal,
        2 => Condition::And,
        3 => Condition::Nor,
        _ => return Err(Code::INVALID_VALUE),
    };
    Ok(ValueOperation { address, value, bytes, condition: Some(condition) })
}

fn write(address: u64, value: u64, bytes: u64, flags: u32) -> Fallible<ValueOperation> {
    if flags & !NO_BARRIER != 0 {
        return Err(Code::INVALID_VALUE);
    }
    Ok(ValueOperation { address, value, bytes, condition: None })
}

impl Params {
    /// Returns the operation, or `None` for barriers (`CUstreamBatchMemOpType`).
    fn read(self) -> Fallible<Option<ValueOperation>> {
        let Self { operation, address, value, flags, .. } = self;
        let short = value & 0xffff_ffff;
        Ok(Some(match operation {
            1 => wait(address, short, 4, flags)?,
            2 => write(address, short, 4, flags)?,
            4 => wait(address, value, 8, flags)?,
            5 => write(address, value, 8, flags)?,
            3 | 6 => return Ok(None),
            8 => return Err(Code::NOT_SUPPORTED),
            _ => return Err(Code::INVALID_VALUE),
        }))
    }
}

fn submit(operation: Fallible<ValueOperation>, stream: Handle, own: bool) -> Fallible {
    Values::submit(vec![operation?], &*Stream::of(stream, own)?)
}

/// The maximum number of operations in a batch.
const MOST: u32 = 256;

// The variants before CUDA 11.7 have the same parameters.
entries! {
    fn cuStreamWaitValue32 | cuStreamWaitValue32_ptsz own
    fn cuStreamWaitValue32_v2 | cuStreamWaitValue32_v2_ptsz own (stream: Handle, address: u64, value: u32, flags: u32) {
        submit(wait(address, value.into(), 4, flags), stream, own)
    }

    fn cuStreamWaitValue64 | cuStreamWaitValue64_ptsz own
    fn cuStreamWaitValue64_v2 | cuStreamWaitValue64_v2_ptsz own (stream: Handle, address: u64, value: u64, flags: u32) {
        submit(wait(address, value, 8, flags), stream, own)
    }

    fn cuStreamWriteValue32 | cuStreamWriteValue32_ptsz own
    fn cuStreamWriteValue32_v2 | cuStreamWriteValue32_v2_ptsz own (stream: Handle, address: u64, value: u32, flags: u32) {
        submit(write(address, value.into(), 4, flags), stream, own)
    }

    fn cuStreamWriteValue64 | cuStreamWriteValue64_ptsz own
    fn cuStreamWriteValue64_v2 | cuStreamWriteValue64_v2_ptsz own (stream: Handle, address: u64, value: u64, flags: u32) {
        submit(write(address, value, 8, flags), stream, own)
    }

    fn cuStreamBatchMemOp | cuStreamBatchMemOp_ptsz own
    fn cuStreamBatchMemOp_v2 | cuStreamBatchMemOp_v2_ptsz own (stream: Handle, count: u32, list: In<Params>, flags: u32) {
        if flags != 0 || count > MOST {
            return Err(Code::INVALID_VALUE);
        }
        let list = list.list(count as usize)?;
        let operations = list.into_iter().filter_map(|params| params.read().transpose()).collect::<Fallible<_>>()?;
        Values::submit(operations, &*Stream::of(stream, own)?)
    }
}
