//! Functions of the sections "Memory Management" (arrays), "Texture Object Management" and "Surface Object Management".

use warpwright_cuda_calls::address_of;

use crate::copy::{Copy3D, Side, copy_box};
use crate::driver::ready;
use crate::error::{Error, Fallible};
use crate::memory::Extent;
use crate::memory_at::{get, set};
use crate::properties::ChannelFormat;
use crate::{Address, entries};

/// `CUDA_ARRAY3D_DESCRIPTOR`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct Descriptor {
    extent: [usize; 3],
    format: u32,
    channels: u32,
    flags: u32,
}

/// The combinations of `cudaChannelFormatKind` (signed, unsigned, floating-point) and number of bits per channel, each with its
/// `CUarray_format`.
const FORMATS: [(u32, i32, u32); 8] = [
    (0, 8, 0x08),
    (0, 16, 0x09),
    (0, 32, 0x0a),
    (1, 8, 0x01),
    (1, 16, 0x02),
    (1, 32, 0x03),
    (2, 16, 0x10),
    (2, 32, 0x20),
];

/// `cudaChannelFormatKindFloat`.
const FLOAT: u32 = 2;

/// Returns the driver's format and the number of channels.
fn format_of(ChannelFormat { bits, kind }: ChannelFormat) -> Fallible<(u32, u32)> {
    let count = bits.iter().take_while(|&&n| n != 0).count();
    let found = FORMATS.iter().find(|(known, width, _)| *known == kind && *width == bits[0]);
    let is_even = bits[..count].iter().all(|&n| n == bits[0]) && bits[count..].iter().all(|&n| n == 0);
    match found {
        Some((_, _, format)) if is_even => Ok((*format, count as u32)),
        _ => Err(Error::INVALID_CHANNEL_DESCRIPTOR),
    }
}

fn channel_format(descriptor: &Descriptor) -> ChannelFormat {
    let found = FORMATS.iter().find(|(_, _, format)| *format == descriptor.format);
    let (kind, width, _) = found.copied().unwrap_or_default();
    let bits = std::array::from_fn(|i| if (i as u32) < descriptor.channels { width } else { 0 });
    ChannelFormat { bits, kind }
}

fn create(result: Address, format: Address, extent: [usize; 3], flags: u32) -> Fallible {
    let (format, channels) = format_of(get(format)?)?;
    let mut descriptor = Descriptor { extent, format, channels, flags };
    ready()?.cuArray3DCreate_v2(result, address_of(&mut descriptor))
}

fn descriptor(array: Address) -> Fallible<Descriptor> {
    let mut descriptor = Descriptor::default();
    ready()?.cuArray3DGetDescriptor_v2(address_of(&mut descriptor), array)?;
    Ok(descriptor)
}

/// Returns the size of an array's elements in bytes.
pub(crate) fn element_size(array: Address) -> Fallible<usize> {
    let bits: i32 = channel_format(&descriptor(array)?).bits.iter().sum();
    Ok(bits as usize / 8)
}

/// `cudaResourceDesc`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Resource {
    ty: u32,
    body: [usize; 16],
    flags: u32,
}

/// Texels at an address, in `cudaResourceDesc`: their size in bytes, or their width, height and pitch.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Texels {
    address: Address,
    format: ChannelFormat,
    size: [usize; 3],
}

/// `cudaResourceTypeArray`, `cudaResourceTypeLinear` and `cudaResourceTypePitch2D`.
const ARRAY: u32 = 0;
const LINEAR: u32 = 2;
const PITCHED: u32 = 3;

/// Converts a `cudaResourceDesc` to a `CUDA_RESOURCE_DESC`, which represents the texel format differently.
fn resource(address: Address) -> Fallible<Resource> {
    let mut resource: Resource = get(address)?;
    if matches!(resource.ty, LINEAR | PITCHED) {
        let Texels { address, format, size } = get(address_of(&mut resource.body))?;
        let (format, channels) = format_of(format)?;
        resource.body[..2].copy_from_slice(&[address, format as usize | (channels as usize) << 32]);
        resource.body[2..5].copy_from_slice(&size);
    }
    Ok(resource)
}

/// `cudaTextureDesc`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Texture {
    modes: [u32; 3],
    filter: u32,
    unit_range: u32,
    srgb: i32,
    border: [f32; 4],
    normalized: i32,
    anisotropy: u32,
    mipmap: [u32; 4],
    rest: [i32; 2],
}

/// `CUDA_TEXTURE_DESC`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct DriverTexture {
    modes: [u32; 3],
    filter: u32,
    flags: u32,
    anisotropy: u32,
    mipmap: [u32; 4],
    border: [f32; 4],
    reserved: [u32; 12],
}

/// `CU_TRSF_READ_AS_INTEGER`.
const AS_INTEGERS: u32 = 1;

fn texture(address: Address) -> Fallible<DriverTexture> {
    let Texture { modes, filter, unit_range, srgb, border, normalized, anisotropy, mipmap, .. } =
        get(address)?;
    // CU_TRSF_NORMALIZED_COORDINATES, CU_TRSF_SRGB
    let flags = if unit_range == 0 { AS_INTEGERS } else { 0 }
        | u32::from(normalized != 0) << 1
        | u32::from(srgb != 0) << 4;
    Ok(DriverTexture { modes, filter, flags, anisotropy, mipmap, border, reserved: [0; 12] })
}

/// `cudaFilterModeLinear`.
const LINEAR_FILTER: u32 = 1;

/// Returns whether the texels of an array or of pitched memory are fetched as integers, which are not filtered.
fn returns_integers(resource: &Resource, texture: &DriverTexture) -> Fallible<bool> {
    let format = match resource.ty {
        ARRAY => descriptor(resource.body[0])?.format,
        PITCHED => resource.body[1] as u32,
        _ => return Ok(false),
    };
    let known = FORMATS.iter().find(|(_, _, known)| *known == format);
    Ok(known
        .is_some_and(|&(kind, width, _)| kind != FLOAT && (width == 32 || texture.flags & AS_INTEGERS != 0)))
}

/// Copies a rectangle. The extents are in bytes and rows.
fn rectangle(
    to: Side,
    from: Side,
    [width, height]: [usize; 2],
    stream: Option<Address>,
    own: bool,
) -> Fallible {
    copy_box(Copy3D::new(to, from, [width, height, 1]), stream, own)
}

entries! {
    fn cudaMallocArray(result: Address, format: Address, width: usize, height: usize, flags: u32) {
        create(result, format, [width, height, 0], flags)
    }

    fn cudaMalloc3DArray(result: Address, format: Address, extent: Extent, flags: u32) {
        create(result, format, [extent.width, extent.height, extent.depth], flags)
    }

    fn cudaFreeArray(array: Address) {
        if array == 0 { Ok(()) } else { ready()?.cuArrayDestroy(array) }
    }

    fn cudaArrayGetInfo(format: Address, extent: Address, flags: Address, array: Address) {
        let descriptor = descriptor(array)?;
        let [width, height, depth] = descriptor.extent;
        if format != 0 {
            set(format, channel_format(&descriptor))?;
        }
        if extent != 0 {
            set(extent, Extent { width, height, depth })?;
        }
        if flags == 0 { Ok(()) } else { set(flags, descriptor.flags) }
    }

    fn cudaGetChannelDesc(format: Address, array: Address) {
        set(format, channel_format(&descriptor(array)?))
    }

    fn cudaCreateTextureObject(result: Address, image: Address, sampler: Address, view: Address) {
        let (mut resource, mut texture) = (resource(image)?, texture(sampler)?);
        if texture.filter == LINEAR_FILTER && returns_integers(&resource, &texture)? {
            return Err(Error::INVALID_FILTER_SETTING);
        }
        ready()?.cuTexObjectCreate(result, address_of(&mut resource), address_of(&mut texture), view)
    }

    fn cudaDestroyTextureObject(object: u64) {
        ready()?.cuTexObjectDestroy(object)
    }

    fn cudaCreateSurfaceObject(result: Address, image: Address) {
        let mut resource = resource(image)?;
        ready()?.cuSurfObjectCreate(result, address_of(&mut resource))
    }

    fn cudaDestroySurfaceObject(object: u64) {
        ready()?.cuSurfObjectDestroy(object)
    }

    fn cudaMemcpy2DToArray | cudaMemcpy2DToArray_ptds own (
        to: Address, x: usize, y: usize, from: Address, pitch: usize, width: usize, height: usize, _kind: u32,
    ) {
        rectangle(Side::array(to, [x, y, 0]), Side::new(from, pitch, height), [width, height], None, own)
    }

    fn cudaMemcpy2DToArrayAsync | cudaMemcpy2DToArrayAsync_ptsz own (
        to: Address, x: usize, y: usize, from: Address, pitch: usize, width: usize, height: usize, _kind: u32,
        stream: Address,
    ) {
        rectangle(Side::array(to, [x, y, 0]), Side::new(from, pitch, height), [width, height], Some(stream), own)
    }

    fn cudaMemcpy2DFromArray | cudaMemcpy2DFromArray_ptds own (
        to: Address, pitch: usize, from: Address, x: usize, y: usize, width: usize, height: usize, _kind: u32,
    ) {
        rectangle(Side::new(to, pitch, height), Side::array(from, [x, y, 0]), [width, height], None, own)
    }

    fn cudaMemcpy2DFromArrayAsync | cudaMemcpy2DFromArrayAsync_ptsz own (
        to: Address, pitch: usize, from: Address, x: usize, y: usize, width: usize, height: usize, _kind: u32,
        stream: Address,
    ) {
        rectangle(Side::new(to, pitch, height), Side::array(from, [x, y, 0]), [width, height], Some(stream), own)
    }

    fn cudaMemcpy2DArrayToArray | cudaMemcpy2DArrayToArray_ptds own (
        to: Address, to_x: usize, to_y: usize, from: Address, from_x: usize, from_y: usize, width: usize, height: usize,
        _kind: u32,
    ) {
        let (to, from) = (Side::array(to, [to_x, to_y, 0]), Side::array(from, [from_x, from_y, 0]));
        rectangle(to, from, [width, height], None, own)
    }

    fn cudaMemcpyToArray | cudaMemcpyToArray_ptds own (
        to: Address, x: usize, y: usize, from: Address, bytes: usize, _kind: u32,
    ) {
        to_array(to, [x, y], from, bytes, None, own)
    }

    fn cudaMemcpyToArrayAsync | cudaMemcpyToArrayAsync_ptsz own (
        to: Address, x: usize, y: usize, from: Address, bytes: usize, _kind: u32, stream: Address,
    ) {
        to_array(to, [x, y], from, bytes, Some(stream), own)
    }

    fn cudaMemcpyFromArray | cudaMemcpyFromArray_ptds own (
        to: Address, from: Address, x: usize, y: usize, bytes: usize, _kind: u32,
    ) {
        from_array(to, from, [x, y], bytes, None, own)
    }

    fn cudaMemcpyFromArrayAsync | cudaMemcpyFromArrayAsync_ptsz own (
        to: Address, from: Address, x: usize, y: usize, bytes: usize, _kind: u32, stream: Address,
    ) {
        from_array(to, from, [x, y], bytes, Some(stream), own)
    }
}

fn to_array(
    to: Address,
    at: [usize; 2],
    from: Address,
    bytes: usize,
    stream: Option<Address>,
    own: bool,
) -> Fallible {
    along_rows(to, at, bytes, |part, rows, done| {
        rectangle(part, Side::new(from + done, rows[0], rows[1]), rows, stream, own)
    })
}

fn from_array(
    to: Address,
    from: Address,
    at: [usize; 2],
    bytes: usize,
    stream: Option<Address>,
    own: bool,
) -> Fallible {
    along_rows(from, at, bytes, |part, rows, done| {
        rectangle(Side::new(to + done, rows[0], rows[1]), part, rows, stream, own)
    })
}

/// Splits `bytes` bytes of an array, starting at a position, into rectangles (the rest of a row, whole rows, and the start of a row), and
/// calls `copy` for each. The arguments of `copy` are the position of the rectangle, its width and height, and the number of bytes that
/// precede it.
fn along_rows(
    array: Address,
    [mut x, mut y]: [usize; 2],
    bytes: usize,
    mut copy: impl FnMut(Side, [usize; 2], usize) -> Fallible,
) -> Fallible {
    let row = descriptor(array)?.extent[0] * element_size(array)?;
    let mut done = 0;
    while done < bytes {
        let rest = bytes - done;
        let part = match x {
            0 if rest >= row => [row, rest / row],
            _ => [rest.min(row.saturating_sub(x).max(1)), 1],
        };
        copy(Side::array(array, [x, y, 0]), part, done)?;
        done += part[0] * part[1];
        (x, y) = (0, y + part[1]);
    }
    Ok(())
}
