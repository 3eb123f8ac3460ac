//! Functions of the section "Unified Addressing".

use super::pointers::{In, Out};
use crate::c::entries;
use crate::code::{Code, Fallible};
use crate::driver::memory::{self, Allocation, Kind};
use crate::host::HostPtr;

/// Stores an attribute of the memory at an address (`CUpointer_attribute`).
fn attribute(out: Out<u8>, attribute: u32, address: u64, found: &Allocation) -> Fallible {
    let on_host = matches!(found.kind, Kind::Pinned(_) | Kind::Registered(_));
    let managed = found.kind == Kind::Managed;
    let offset = match found.kind {
        Kind::Registered(start) if address < found.start => address - start.0 as u64,
        _ => address - found.start,
    };
    match attribute {
        1 => out.cast().set(found.context),                  // CONTEXT
        2 => out.cast().set(if on_host { 1u32 } else { 2 }), // MEMORY_TYPE
        3 => out.cast().set(found.start + offset),           // DEVICE_POINTER
        4 => {
            // HOST_POINTER
            let host = found.host().ok_or(Code::INVALID_VALUE)?;
            out.cast().set(host.offset(offset))
        }
        6 => out.cast().set(0u32),                   // SYNC_MEMOPS
        7 => out.cast().set(found.id),               // BUFFER_ID
        8 => out.cast().set(u32::from(managed)),     // IS_MANAGED
        9 => out.cast().set(found.device.ordinal()), // DEVICE_ORDINAL
        10 => out.cast().set(0u32),                  // IS_LEGACY_CUDA_IPC_CAPABLE
        11 => out.cast().set(found.start),           // RANGE_START_ADDR
        12 => out.cast().set(found.size as usize),   // RANGE_SIZE
        13 => out.cast().set(1u32),                  // MAPPED
        14 => out.cast().set(0u64),                  // ALLOWED_HANDLE_TYPES
        15 => out.cast().set(0u32),                  // IS_GPU_DIRECT_RDMA_CAPABLE
        16 => out.cast().set(3u32),                  // ACCESS_FLAGS
        17 => out.cast().set(found.pool),            // MEMPOOL_HANDLE
        18 => out.cast().set(found.size as usize),   // MAPPING_SIZE
        19 => out.cast().set(found.start),           // MAPPING_BASE_ADDR
        20 => out.cast().set(found.id),              // MEMORY_BLOCK_ID
        _ => Err(Code::INVALID_VALUE),
    }
}

entries! {
    fn cuPointerGetAttribute(out: Out<u8>, name: u32, address: u64) {
        let found = memory::find(address).ok_or(Code::INVALID_VALUE)?;
        attribute(out, name, address, &found)
    }

    fn cuPointerGetAttributes(count: u32, names: In<u32>, outs: In<Out<u8>>, address: u64) {
        let found = memory::find(address);
        for (name, out) in names.list(count as usize)?.into_iter().zip(outs.list(count as usize)?) {
            match &found {
                // An attribute that does not apply to the memory is null, not an error.
                Some(found) => attribute(out, name, address, found).or_else(|_| out.cast().set(0usize))?,
                None if matches!(name, 1 | 3 | 4 | 11 | 12 | 17) => out.cast().set(0usize)?,
                None if name == 9 => out.cast().set(-2i32)?,
                None => out.cast().set(0u32)?,
            }
        }
        Ok(())
    }

    fn cuPointerSetAttribute(_value: HostPtr, name: u32, address: u64) {
        memory::find(address).ok_or(Code::INVALID_VALUE)?;
        // SYNC_MEMOPS
        if name == 6 { Ok(()) } else { Err(Code::INVALID_VALUE) }
    }
}
