//! Functions of the section "Memory Management": copies.

use super::pointers::In;
use crate::c::entries;
use crate::code::{Code, Fallible};
use crate::driver::array::Array;
use crate::driver::copy::{Copy, Place};
use crate::driver::registry::Handle;
use crate::driver::stream::Stream;
use crate::host::HostPtr;

/// Copies and waits.
fn copy(to: Place, from: Place, bytes: usize, own: bool) -> Fallible {
    Copy::linear(to, from, bytes as u64).run(&*Stream::of(Handle::NULL, own)?)
}

/// Queues a copy.
fn queue(to: Place, from: Place, bytes: usize, stream: Handle, own: bool) -> Fallible {
    Copy::linear(to, from, bytes as u64).submit(&*Stream::of(stream, own)?)
}

/// The source or destination in a `CUDA_MEMCPY2D`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Side2D {
    x: usize,
    y: usize,
    memory: u32,
    host: HostPtr,
    device: u64,
    array: Handle,
    pitch: usize,
}

/// `CUDA_MEMCPY2D`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Copy2D {
    from: Side2D,
    to: Side2D,
    width: usize,
    height: usize,
}

/// The source or destination in a `CUDA_MEMCPY3D`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Side3D {
    x: usize,
    y: usize,
    z: usize,
    level: usize,
    memory: u32,
    host: HostPtr,
    device: u64,
    array: Handle,
    /// Reserved or, in `CUDA_MEMCPY3D_PEER`, the context, which is ignored because the address determines it.
    context: Handle,
    pitch: usize,
    height: usize,
}

/// `CUDA_MEMCPY3D` and `CUDA_MEMCPY3D_PEER`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Copy3D {
    from: Side3D,
    to: Side3D,
    width: usize,
    height: usize,
    depth: usize,
}

impl Side2D {
    fn extended(self) -> Side3D {
        let Self { x, y, memory, host, device, array, pitch } = self;
        Side3D { x, y, z: 0, level: 0, memory, host, device, array, context: Handle::NULL, pitch, height: 0 }
    }
}

impl Copy2D {
    fn extended(self) -> Copy3D {
        Copy3D {
            from: self.from.extended(),
            to: self.to.extended(),
            width: self.width,
            height: self.height,
            depth: 1,
        }
    }
}

/// The source or destination of a copy. Positions are in bytes, rows and slices.
#[derive(Clone, Copy, Debug)]
pub(super) enum Side {
    /// Memory, with the pitch of rows in bytes and the number of rows per slice.
    Memory {
        place: Place,
        start: [usize; 3],
        pitch: [usize; 2],
    },
    Array {
        array: Handle,
        start: [usize; 3],
    },
}

impl Side {
    /// Returns the location of the first byte, and the pitches of rows and slices, for a copy of a box with the given extents in bytes,
    /// rows and slices.
    fn resolve(self, extent: [usize; 3]) -> Fallible<(Place, [u64; 2])> {
        let (base, start, [row, slice]) = match self {
            Self::Memory { place, start, pitch: [row, height] } => {
                // A pitch must cover the copied bytes or rows, including those before the start; 0 selects the minimum.
                let distance = |given: usize, axis: usize| {
                    let least = start[axis].saturating_add(extent[axis]);
                    match given {
                        0 => Ok(least as u64),
                        _ if given < least && extent[axis + 1] > 1 => Err(Code::INVALID_VALUE),
                        _ => Ok(given as u64),
                    }
                };
                let row = distance(row, 0)?;
                (place, start, [row, row.saturating_mul(distance(height, 1)?)])
            }
            Self::Array { array, start } => {
                let image = Array::of(array)?.image;
                let most = [image.extent[0] * image.texel(), image.extent[1], image.extent[2]];
                let ends = (0..3).all(|axis| (start[axis].saturating_add(extent[axis])) as u64 <= most[axis]);
                if !ends {
                    return Err(Code::INVALID_VALUE);
                }
                (Place::Device(image.start), start, image.pitch)
            }
        };
        let [x, y, z] = start.map(|at| at as u64);
        Ok((base.offset(z * slice + y * row + x), [row, slice]))
    }
}

/// Returns the copy of a box with the given extents in bytes, rows and slices.
pub(super) fn copy_box(to: Side, from: Side, extent: [usize; 3]) -> Fallible<Copy> {
    let ((to, to_pitch), (from, from_pitch)) = (to.resolve(extent)?, from.resolve(extent)?);
    Ok(Copy { to, from, extent: extent.map(|n| n as u64), to_pitch, from_pitch })
}

impl Side3D {
    fn side(&self) -> Fallible<Side> {
        let (start, pitch) = ([self.x, self.y, self.z], [self.pitch, self.height]);
        let place = match self.memory {
            1 => Place::Host(self.host),
            2 => Place::Device(self.device),
            // CU_MEMORYTYPE_ARRAY
            3 => return Ok(Side::Array { array: self.array, start }),
            4 => Place::of(self.device),
            _ => return Err(Code::INVALID_VALUE),
        };
        Ok(Side::Memory { place, start, pitch })
    }
}

impl Side3D {
    /// Returns the source or destination of a copy.
    fn of(place: Place, [row, slice]: [u64; 2]) -> Self {
        let none = Self {
            x: 0,
            y: 0,
            z: 0,
            level: 0,
            memory: 0,
            host: HostPtr(0),
            device: 0,
            array: Handle::NULL,
            context: Handle::NULL,
            pitch: row as usize,
            height: slice.checked_div(row).unwrap_or(0) as usize,
        };
        match place {
            Place::Host(host) => Self { memory: 1, host, ..none },
            Place::Device(device) => match Array::at(device) {
                Some(array) => {
                    let at = device - array.image.start;
                    let [x, y, z] = [at % row, at % slice / row, at / slice].map(|n| n as usize);
                    Self { memory: 3, array: array.handle, x, y, z, ..none }
                }
                None => Self { memory: 2, device, ..none },
            },
        }
    }
}

impl Copy3D {
    pub(super) fn of(copy: &Copy) -> Self {
        let [width, height, depth] = copy.extent.map(|n| n as usize);
        let (from, to) = (Side3D::of(copy.from, copy.from_pitch), Side3D::of(copy.to, copy.to_pitch));
        Self { from, to, width, height, depth }
    }

    pub(super) fn copy(&self) -> Fallible<Copy> {
        copy_box(self.to.side()?, self.from.side()?, [self.width, self.height, self.depth])
    }
}

entries! {
    fn cuMemcpy | cuMemcpy_ptds own (to: u64, from: u64, bytes: usize) {
        copy(Place::of(to), Place::of(from), bytes, own)
    }

    fn cuMemcpyHtoD_v2 | cuMemcpyHtoD_v2_ptds own (to: u64, from: HostPtr, bytes: usize) {
        copy(Place::Device(to), Place::Host(from), bytes, own)
    }

    fn cuMemcpyDtoH_v2 | cuMemcpyDtoH_v2_ptds own (to: HostPtr, from: u64, bytes: usize) {
        copy(Place::Host(to), Place::Device(from), bytes, own)
    }

    fn cuMemcpyDtoD_v2 | cuMemcpyDtoD_v2_ptds own (to: u64, from: u64, bytes: usize) {
        // Asynchronous, as in NVIDIA's driver ("API synchronization behavior").
        queue(Place::Device(to), Place::Device(from), bytes, Handle::NULL, own)
    }

    fn cuMemcpyPeer | cuMemcpyPeer_ptds own (to: u64, _to_context: Handle, from: u64, _from_context: Handle, bytes: usize) {
        queue(Place::Device(to), Place::Device(from), bytes, Handle::NULL, own)
    }

    fn cuMemcpyAsync | cuMemcpyAsync_ptsz own (to: u64, from: u64, bytes: usize, stream: Handle) {
        queue(Place::of(to), Place::of(from), bytes, stream, own)
    }

    fn cuMemcpyHtoDAsync_v2 | cuMemcpyHtoDAsync_v2_ptsz own (to: u64, from: HostPtr, bytes: usize, stream: Handle) {
        queue(Place::Device(to), Place::Host(from), bytes, stream, own)
    }

    fn cuMemcpyDtoHAsync_v2 | cuMemcpyDtoHAsync_v2_ptsz own (to: HostPtr, from: u64, bytes: usize, stream: Handle) {
        queue(Place::Host(to), Place::Device(from), bytes, stream, own)
    }

    fn cuMemcpyDtoDAsync_v2 | cuMemcpyDtoDAsync_v2_ptsz own (to: u64, from: u64, bytes: usize, stream: Handle) {
        queue(Place::Device(to), Place::Device(from), bytes, stream, own)
    }

    fn cuMemcpyPeerAsync | cuMemcpyPeerAsync_ptsz own (
        to: u64, _to_context: Handle, from: u64, _from_context: Handle, bytes: usize, stream: Handle,
    ) {
        queue(Place::Device(to), Place::Device(from), bytes, stream, own)
    }

    fn cuMemcpy2D_v2 | cuMemcpy2D_v2_ptds own (params: In<Copy2D>) {
        params.get()?.extended().copy()?.run(&*Stream::of(Handle::NULL, own)?)
    }

    fn cuMemcpy2DUnaligned_v2 | cuMemcpy2DUnaligned_v2_ptds own (params: In<Copy2D>) {
        params.get()?.extended().copy()?.run(&*Stream::of(Handle::NULL, own)?)
    }

    fn cuMemcpy2DAsync_v2 | cuMemcpy2DAsync_v2_ptsz own (params: In<Copy2D>, stream: Handle) {
        params.get()?.extended().copy()?.submit(&*Stream::of(stream, own)?)
    }

    fn cuMemcpy3D_v2 | cuMemcpy3D_v2_ptds own (params: In<Copy3D>) {
        params.get()?.copy()?.run(&*Stream::of(Handle::NULL, own)?)
    }

    fn cuMemcpy3DAsync_v2 | cuMemcpy3DAsync_v2_ptsz own (params: In<Copy3D>, stream: Handle) {
        params.get()?.copy()?.submit(&*Stream::of(stream, own)?)
    }

    fn cuMemcpy3DPeer | cuMemcpy3DPeer_ptds own (params: In<Copy3D>) {
        params.get()?.copy()?.run(&*Stream::of(Handle::NULL, own)?)
    }

    fn cuMemcpy3DPeerAsync | cuMemcpy3DPeerAsync_ptsz own (params: In<Copy3D>, stream: Handle) {
        params.get()?.copy()?.submit(&*Stream::of(stream, own)?)
    }
}
