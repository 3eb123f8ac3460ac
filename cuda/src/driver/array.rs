//! Arrays, textures and surfaces. The texels of an array are stored as rows in device memory, at an address that programs cannot see.

use std::sync::Arc;

use warpwright_sim::{AddressMode, Image, Sampler, TexelType, Texture};

use crate::code::{Code, Fallible};
use crate::driver::context::{self, Context};
use crate::driver::memory;
use crate::driver::registry::{Handle, Registry};

/// The shape and the type of an array; unused dimensions are 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// The width, the height, and the depth or the number of layers.
    pub(crate) extent: [u64; 3],
    pub(crate) ty: TexelType,
    pub(crate) channels: u8,
    pub(crate) flags: u32,
}

/// An array.
#[derive(Debug)]
pub(crate) struct Array {
    pub(crate) handle: Handle,
    pub(crate) shape: Shape,
    pub(crate) image: Image,
    context: Handle,
}

static ARRAYS: Registry<Array> = Registry::new(13);

/// `CUDA_ARRAY3D_LAYERED`, `_SURFACE_LDST`, `_CUBEMAP` and `_TEXTURE_GATHER`.
const LAYERED: u32 = 1;
const SURFACE: u32 = 2;
const CUBE: u32 = 4;
const KNOWN: u32 = 15;

/// The alignment of rows of arrays in bytes, so that surface accesses of any size are aligned.
const ROW: u64 = 16;

/// The alignment of texture memory in bytes (`CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT`, `_PITCH_ALIGNMENT`).
const ALIGNMENT: u64 = 512;
const PITCH_ALIGNMENT: u64 = 32;

impl Shape {
    fn check(&self) -> Fallible {
        let [width, height, depth] = self.extent;
        if self.flags & !KNOWN != 0 {
            return Err(Code::NOT_SUPPORTED);
        }
        let is_layered = self.flags & (LAYERED | CUBE) != 0;
        let faces_fit = self.flags & CUBE == 0 || (width == height && depth.is_multiple_of(6));
        let is_whole = width > 0 && (height > 0 || depth == 0 || is_layered) && (depth > 0 || !is_layered);
        if is_whole && faces_fit && matches!(self.channels, 1 | 2 | 4) {
            Ok(())
        } else {
            Err(Code::INVALID_VALUE)
        }
    }

    /// Returns the image at an address, and its size in bytes.
    fn image(&self, start: u64) -> Option<(Image, u64)> {
        let extent = self.extent.map(|extent| extent.max(1));
        let image = Image { start, ty: self.ty, channels: self.channels, extent, pitch: [0; 2] };
        let row = extent[0].checked_mul(image.texel())?.checked_next_multiple_of(ROW)?;
        let slice = row.checked_mul(extent[1])?;
        Some((Image { pitch: [row, slice], ..image }, slice.checked_mul(extent[2])?))
    }
}

impl Array {
    /// Creates an array in the current context.
    pub(crate) fn create(shape: Shape) -> Fallible<Arc<Self>> {
        shape.check()?;
        let context = context::current()?;
        let (image, bytes) = shape.image(0).ok_or(Code::OUT_OF_MEMORY)?;
        let start = memory::alloc_in(&context, usize::try_from(bytes).map_err(|_| Code::OUT_OF_MEMORY)?)?;
        let (image, context) = (Image { start, ..image }, context.handle);
        Ok(ARRAYS.add(|handle| Self { handle, shape, image, context }))
    }

    pub(crate) fn of(handle: Handle) -> Fallible<Arc<Self>> {
        ARRAYS.get(handle)
    }

    /// Returns the array that contains a device address.
    pub(crate) fn at(address: u64) -> Option<Arc<Self>> {
        let start = memory::find_device(address)?.start;
        ARRAYS.select(|array| array.image.start == start).pop()
    }

    /// Destroys an array after all work is complete.
    pub(crate) fn destroy(handle: Handle) -> Fallible {
        memory::free(ARRAYS.remove(handle)?.image.start)
    }

    /// Removes the arrays of a context; their memory is freed with the context.
    pub(crate) fn destroy_all(context: &Context) {
        ARRAYS.remove_all(|array| array.context == context.handle);
    }
}

/// The texels of a texture or a surface.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Resource {
    Array(Handle),
    /// Contiguous texels.
    Linear {
        start: u64,
        ty: TexelType,
        channels: u8,
        bytes: u64,
    },
    /// Rows with a pitch in bytes.
    Pitched {
        start: u64,
        ty: TexelType,
        channels: u8,
        extent: [u64; 2],
        pitch: u64,
    },
}

impl Resource {
    fn image(self) -> Fallible<Image> {
        let (image, bytes) = match self {
            Self::Array(handle) => return Ok(Array::of(handle)?.image),
            Self::Linear { start, ty, channels, bytes } => {
                let image = Image { start, ty, channels, extent: [0, 1, 1], pitch: [bytes; 2] };
                (Image { extent: [bytes / image.texel().max(1), 1, 1], ..image }, bytes)
            }
            Self::Pitched { start, ty, channels, extent: [width, height], pitch } => {
                let slice = pitch.checked_mul(height).ok_or(Code::INVALID_VALUE)?;
                let image = Image { start, ty, channels, extent: [width, height, 1], pitch: [pitch, slice] };
                let row = width
                    .checked_mul(image.texel())
                    .filter(|&row| row <= pitch)
                    .ok_or(Code::INVALID_VALUE)?;
                if !pitch.is_multiple_of(PITCH_ALIGNMENT) {
                    return Err(Code::INVALID_VALUE);
                }
                (image, slice.saturating_sub(pitch - row))
            }
        };
        if !image.start.is_multiple_of(ALIGNMENT) {
            return Err(Code::INVALID_VALUE);
        }
        let is_there = memory::room(image.start).is_some_and(|room| bytes <= room);
        let is_whole = image.extent.iter().all(|&extent| extent > 0) && matches!(image.channels, 1 | 2 | 4);
        if is_there && is_whole { Ok(image) } else { Err(Code::INVALID_VALUE) }
    }
}

/// Creates a texture, and returns its handle for kernels.
pub(crate) fn create_texture(resource: Resource, sampler: Sampler) -> Fallible<u64> {
    let image = resource.image()?;
    let sampler = match resource {
        // Texels in linear memory are selected only by index; out-of-bounds texels are 0.
        Resource::Linear { .. } => Sampler {
            modes: [AddressMode::Border; 3],
            border: [0.0; 4],
            linear: false,
            normalized: false,
            ..sampler
        },
        _ if sampler.linear && !image.ty.is_float(sampler.unit_range) => return Err(Code::INVALID_VALUE),
        _ => sampler,
    };
    Ok(memory::lock().create_texture(Texture { image, sampler }))
}

/// Creates a surface of an array, and returns its handle for kernels.
pub(crate) fn create_surface(resource: Resource) -> Fallible<u64> {
    let Resource::Array(handle) = resource else { return Err(Code::INVALID_VALUE) };
    let array = Array::of(handle)?;
    if array.shape.flags & SURFACE == 0 {
        return Err(Code::INVALID_VALUE);
    }
    Ok(memory::lock().create_surface(array.image))
}

/// Destroys a texture or a surface after all work is complete.
pub(crate) fn destroy_object(object: u64) -> Fallible {
    let context = context::current()?;
    // The object is destroyed even if an operation fails.
    context.drain();
    memory::lock().destroy_object(object);
    context.check()
}
