//! Functions of the section "Memory Management": copies.

use warpwright_cuda_calls::address_of;

use crate::array::element_size;
use crate::driver::{Driver, primary, ready};
use crate::error::{Error, Fallible};
use crate::memory::{Extent, Pitched};
use crate::memory_at::get;
use crate::registry::symbol_address;
use crate::{Address, entries, stream_of};

/// The largest `cudaMemcpyKind`. The driver determines the direction from the addresses, so only the range is checked.
const MOST_KIND: u32 = 4;

/// Queues a copy in `stream`; without a stream, copies and waits.
fn copy(to: Address, from: Address, bytes: usize, kind: u32, stream: Option<Address>, own: bool) -> Fallible {
    if kind > MOST_KIND {
        return Err(Error::INVALID_MEMCPY_DIRECTION);
    }
    let driver = ready()?;
    if bytes == 0 {
        return Ok(());
    }
    let queue = |stream| driver.cuMemcpyAsync(to, from, bytes, stream);
    in_order(driver, stream, own, queue, || driver.cuMemcpy(to, from, bytes))
}

/// Queues a copy in `stream`; without a stream, copies in the default stream and waits.
fn in_order(
    driver: &Driver,
    stream: Option<Address>,
    own: bool,
    mut queue: impl FnMut(Address) -> Fallible,
    wait: impl FnOnce() -> Fallible,
) -> Fallible {
    match stream {
        Some(stream) => queue(stream_of(stream, own)),
        None if own => {
            queue(stream_of(0, own))?;
            driver.cuStreamSynchronize(stream_of(0, own))
        }
        None => wait(),
    }
}

/// The source or destination in a `CUDA_MEMCPY3D`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Side {
    x: usize,
    y: usize,
    z: usize,
    level: usize,
    memory: u32,
    host: Address,
    device: Address,
    array: Address,
    reserved: Address,
    pitch: usize,
    height: usize,
}

/// `CUDA_MEMCPY3D`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Copy3D {
    from: Side,
    to: Side,
    width: usize,
    height: usize,
    depth: usize,
}

/// `CU_MEMORYTYPE_ARRAY` and `CU_MEMORYTYPE_UNIFIED`.
const ARRAY: u32 = 3;
const UNIFIED: u32 = 4;

impl Side {
    pub(crate) fn new(device: Address, pitch: usize, height: usize) -> Self {
        Self { memory: UNIFIED, device, pitch, height, ..Self::default() }
    }

    /// Returns the source or destination of a copy that starts at a position in an array, in bytes, rows and slices.
    pub(crate) fn array(array: Address, [x, y, z]: [usize; 3]) -> Self {
        Self { memory: ARRAY, array, x, y, z, ..Self::default() }
    }
}

impl Copy3D {
    /// Returns the copy of a box with the given extents in bytes, rows and slices.
    pub(crate) fn new(to: Side, from: Side, [width, height, depth]: [usize; 3]) -> Self {
        Self { from, to, width, height, depth }
    }
}

/// Queues a copy in `stream`; without a stream, copies and waits.
pub(crate) fn copy_box(mut copy: Copy3D, stream: Option<Address>, own: bool) -> Fallible {
    let driver = ready()?;
    if [copy.width, copy.height, copy.depth].contains(&0) {
        return Ok(());
    }
    let copy = address_of(&mut copy);
    in_order(
        driver,
        stream,
        own,
        |stream| driver.cuMemcpy3DAsync_v2(copy, stream),
        || driver.cuMemcpy3D_v2(copy),
    )
}

fn rows(
    to: Address,
    to_pitch: usize,
    from: Address,
    from_pitch: usize,
    width: usize,
    height: usize,
) -> Fallible<Copy3D> {
    if width > to_pitch.min(from_pitch) {
        return Err(Error::INVALID_PITCH_VALUE);
    }
    let (to, from) = (Side::new(to, to_pitch, height), Side::new(from, from_pitch, height));
    Ok(Copy3D::new(to, from, [width, height, 1]))
}

/// Returns a copy of contiguous bytes.
pub(crate) fn linear(to: Address, from: Address, bytes: usize, kind: u32) -> Fallible<Copy3D> {
    if kind > MOST_KIND {
        return Err(Error::INVALID_MEMCPY_DIRECTION);
    }
    rows(to, bytes, from, bytes, bytes, 1)
}

/// `cudaMemcpy3DParms`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Params {
    from_array: Address,
    from_position: [usize; 3],
    from: Pitched,
    to_array: Address,
    to_position: [usize; 3],
    to: Pitched,
    extent: Extent,
    kind: u32,
}

/// Returns the copy that a `cudaMemcpy3DParms` describes.
pub(crate) fn params(address: Address) -> Fallible<Copy3D> {
    copy_of(&get(address)?)
}

fn copy_of(params: &Params) -> Fallible<Copy3D> {
    // If either side is an array, the width and the positions in the array are in elements.
    let arrays = [params.from_array, params.to_array];
    let element = match arrays.into_iter().find(|&array| array != 0) {
        Some(array) => element_size(array)?,
        None => 1,
    };
    let side = |array: Address, memory: Pitched, [x, y, z]: [usize; 3]| match array {
        0 => Side { x, y, z, ..Side::new(memory.address, memory.pitch, memory.height) },
        array => Side::array(array, [x * element, y, z]),
    };
    let Extent { width, height, depth } = params.extent;
    let from = side(params.from_array, params.from, params.from_position);
    let to = side(params.to_array, params.to, params.to_position);
    Ok(Copy3D::new(to, from, [width * element, height, depth]))
}

/// Returns a `cudaMemcpy3DParms` that describes a copy.
pub(crate) fn params_of(copy: &Copy3D) -> Fallible<Params> {
    let Copy3D { from, to, width, height, depth } = *copy;
    let element = match [from.array, to.array].into_iter().find(|&array| array != 0) {
        Some(array) => element_size(array)?,
        None => 1,
    };
    let position = |side: &Side| [if side.array == 0 { side.x } else { side.x / element }, side.y, side.z];
    let pitched = |side: &Side| Pitched {
        address: if side.host == 0 { side.device } else { side.host },
        pitch: side.pitch,
        width: side.pitch,
        height: side.height,
    };
    let memory = |side: &Side| {
        if side.array == 0 { pitched(side) } else { Pitched { address: 0, pitch: 0, width: 0, height: 0 } }
    };
    Ok(Params {
        from_array: from.array,
        from_position: position(&from),
        from: memory(&from),
        to_array: to.array,
        to_position: position(&to),
        to: memory(&to),
        extent: Extent { width: width / element, height, depth },
        kind: MOST_KIND,
    })
}

/// `cudaMemcpy3DPeerParms`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct PeerParams {
    from_array: Address,
    from_position: [usize; 3],
    from: Pitched,
    from_device: i32,
    to_array: Address,
    to_position: [usize; 3],
    to: Pitched,
    to_device: i32,
    extent: Extent,
}

/// Returns the copy that a `cudaMemcpy3DPeerParms` describes. The addresses determine the devices.
fn peer_params(address: Address) -> Fallible<Copy3D> {
    let PeerParams { from_array, from_position, from, to_array, to_position, to, extent, .. } = get(address)?;
    let kind = MOST_KIND;
    copy_of(&Params { from_array, from_position, from, to_array, to_position, to, extent, kind })
}

entries! {
    fn cudaMemcpy3DPeer | cudaMemcpy3DPeer_ptds own (address: Address) {
        copy_box(peer_params(address)?, None, own)
    }

    fn cudaMemcpy3DPeerAsync | cudaMemcpy3DPeerAsync_ptsz own (address: Address, stream: Address) {
        copy_box(peer_params(address)?, Some(stream), own)
    }

    fn cudaMemcpyWithAttributesAsync | cudaMemcpyWithAttributesAsync_ptsz own (
        to: Address, from: Address, bytes: usize, attributes: Address, stream: Address,
    ) {
        ready()?.cuMemcpyWithAttributesAsync(to, from, bytes, attributes, stream_of(stream, own))
    }

    fn cudaMemcpy3DWithAttributesAsync | cudaMemcpy3DWithAttributesAsync_ptsz own (
        op: Address, flags: u64, stream: Address,
    ) {
        ready()?.cuMemcpy3DWithAttributesAsync(op, flags, stream_of(stream, own))
    }

    fn cudaMemcpyBatchAsync | cudaMemcpyBatchAsync_ptsz own (
        to: Address, from: Address, sizes: Address, count: usize, attributes: Address, starts: Address, entries: usize,
        stream: Address,
    ) {
        ready()?.cuMemcpyBatchAsync_v2(to, from, sizes, count, attributes, starts, entries, stream_of(stream, own))
    }

    fn cudaMemcpy3DBatchAsync | cudaMemcpy3DBatchAsync_ptsz own (
        count: usize, ops: Address, flags: u64, stream: Address,
    ) {
        ready()?.cuMemcpy3DBatchAsync_v2(count, ops, flags, stream_of(stream, own))
    }

    fn cudaMemcpy | cudaMemcpy_ptds own (to: Address, from: Address, bytes: usize, kind: u32) {
        copy(to, from, bytes, kind, None, own)
    }

    fn cudaMemcpyAsync | cudaMemcpyAsync_ptsz own (to: Address, from: Address, bytes: usize, kind: u32, stream: Address) {
        copy(to, from, bytes, kind, Some(stream), own)
    }

    fn cudaMemcpyToSymbol | cudaMemcpyToSymbol_ptds own (
        symbol: Address, from: Address, bytes: usize, offset: usize, kind: u32,
    ) {
        copy(symbol_address(symbol, offset)?, from, bytes, kind, None, own)
    }

    fn cudaMemcpyFromSymbol | cudaMemcpyFromSymbol_ptds own (
        to: Address, symbol: Address, bytes: usize, offset: usize, kind: u32,
    ) {
        copy(to, symbol_address(symbol, offset)?, bytes, kind, None, own)
    }

    fn cudaMemcpyToSymbolAsync | cudaMemcpyToSymbolAsync_ptsz own (
        symbol: Address, from: Address, bytes: usize, offset: usize, kind: u32, stream: Address,
    ) {
        copy(symbol_address(symbol, offset)?, from, bytes, kind, Some(stream), own)
    }

    fn cudaMemcpyFromSymbolAsync | cudaMemcpyFromSymbolAsync_ptsz own (
        to: Address, symbol: Address, bytes: usize, offset: usize, kind: u32, stream: Address,
    ) {
        copy(to, symbol_address(symbol, offset)?, bytes, kind, Some(stream), own)
    }

    fn cudaMemcpyPeer(to: Address, to_device: i32, from: Address, from_device: i32, bytes: usize) {
        ready()?.cuMemcpyPeerAsync(to, primary(to_device)?, from, primary(from_device)?, bytes, 0)
    }

    fn cudaMemcpyPeerAsync(
        to: Address, to_device: i32, from: Address, from_device: i32, bytes: usize, stream: Address,
    ) {
        ready()?.cuMemcpyPeerAsync(to, primary(to_device)?, from, primary(from_device)?, bytes, stream)
    }

    fn cudaMemcpy2D | cudaMemcpy2D_ptds own (
        to: Address, to_pitch: usize, from: Address, from_pitch: usize, width: usize, height: usize, _kind: u32,
    ) {
        copy_box(rows(to, to_pitch, from, from_pitch, width, height)?, None, own)
    }

    fn cudaMemcpy2DAsync | cudaMemcpy2DAsync_ptsz own (
        to: Address, to_pitch: usize, from: Address, from_pitch: usize, width: usize, height: usize, _kind: u32,
        stream: Address,
    ) {
        copy_box(rows(to, to_pitch, from, from_pitch, width, height)?, Some(stream), own)
    }

    fn cudaMemcpy3D | cudaMemcpy3D_ptds own (address: Address) {
        copy_box(params(address)?, None, own)
    }

    fn cudaMemcpy3DAsync | cudaMemcpy3DAsync_ptsz own (address: Address, stream: Address) {
        copy_box(params(address)?, Some(stream), own)
    }
}
