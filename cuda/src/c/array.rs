//! Functions of the sections "Memory Management" (arrays), "Texture Object Management" and "Surface Object Management".

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::pointers::{In, Out};
use super::transfer::{Side, copy_box};
use crate::c::entries;
use crate::code::{Code, Fallible};
use crate::driver::array::{self, Array, Resource, Shape};
use crate::driver::copy::Place;
use crate::driver::registry::Handle;
use crate::driver::stream::Stream;
use crate::host::HostPtr;
use warpwright_sim::{AddressMode, Sampler, TexelType};

/// `CUDA_ARRAY_DESCRIPTOR`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Descriptor {
    width: usize,
    height: usize,
    format: u32,
    channels: u32,
}

/// `CUDA_ARRAY3D_DESCRIPTOR`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Descriptor3D {
    width: usize,
    height: usize,
    depth: usize,
    format: u32,
    channels: u32,
    flags: u32,
}

/// `CUarray_format`.
const FORMATS: [(u32, TexelType); 8] = [
    (0x01, TexelType::U8),
    (0x02, TexelType::U16),
    (0x03, TexelType::U32),
    (0x08, TexelType::S8),
    (0x09, TexelType::S16),
    (0x0a, TexelType::S32),
    (0x10, TexelType::F16),
    (0x20, TexelType::F32),
];

fn texel_type(format: u32) -> Fallible<TexelType> {
    let found = FORMATS.iter().find(|(known, _)| *known == format);
    found.map(|(_, ty)| *ty).ok_or(Code::NOT_SUPPORTED)
}

fn channels(count: u32) -> Fallible<u8> {
    u8::try_from(count).map_err(|_| Code::INVALID_VALUE)
}

impl Descriptor3D {
    fn shape(self) -> Fallible<Shape> {
        let Self { width, height, depth, format, flags, .. } = self;
        let extent = [width, height, depth].map(|extent| extent as u64);
        Ok(Shape { extent, ty: texel_type(format)?, channels: channels(self.channels)?, flags })
    }

    fn of(shape: &Shape) -> Self {
        let [width, height, depth] = shape.extent.map(|extent| extent as usize);
        let format = FORMATS.iter().find(|(_, ty)| *ty == shape.ty).map_or(0, |(format, _)| *format);
        Self { width, height, depth, format, channels: shape.channels.into(), flags: shape.flags }
    }
}

fn create(out: Out<Handle>, descriptor: Descriptor3D) -> Fallible {
    if out.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    out.set(Array::create(descriptor.shape()?)?.handle)
}

/// `CUDA_RESOURCE_DESC`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct ResourceDesc {
    ty: u32,
    /// The fields, which depend on the type. For arrays: the array. For memory: the address, the format, the number of channels, and either
    /// the size or the width, height and pitch.
    fields: [u64; 16],
    flags: u32,
}

impl ResourceDesc {
    fn resource(self) -> Fallible<Resource> {
        let [start, format, size, height, pitch, ..] = self.fields;
        let (ty, count) = (|| texel_type(format as u32), || channels((format >> 32) as u32));
        match self.ty {
            _ if self.flags != 0 => Err(Code::INVALID_VALUE),
            0 => Ok(Resource::Array(Handle(start as usize))),
            // CU_RESOURCE_TYPE_MIPMAPPED_ARRAY
            1 => Err(Code::NOT_SUPPORTED),
            2 => Ok(Resource::Linear { start, ty: ty()?, channels: count()?, bytes: size }),
            3 => {
                Ok(Resource::Pitched { start, ty: ty()?, channels: count()?, extent: [size, height], pitch })
            }
            _ => Err(Code::INVALID_VALUE),
        }
    }
}

/// `CUDA_TEXTURE_DESC`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct TextureDesc {
    modes: [u32; 3],
    filter: u32,
    flags: u32,
    anisotropy: u32,
    /// The filtering of mipmap levels; images have only one level.
    mipmap: [u32; 4],
    border: [f32; 4],
    reserved: [u32; 12],
}

/// `CU_TRSF_READ_AS_INTEGER`, `CU_TRSF_NORMALIZED_COORDINATES` and `CU_TRSF_SRGB`.
const AS_INTEGERS: u32 = 1;
const NORMALIZED: u32 = 2;
const SRGB: u32 = 0x10;

impl TextureDesc {
    fn sampler(self) -> Fallible<Sampler> {
        let mode = |mode: u32| match mode {
            0 => Ok(AddressMode::Wrap),
            1 => Ok(AddressMode::Clamp),
            2 => Ok(AddressMode::Mirror),
            3 => Ok(AddressMode::Border),
            _ => Err(Code::INVALID_VALUE),
        };
        let [x, y, z] = self.modes;
        if self.flags & SRGB != 0 {
            return Err(Code::NOT_SUPPORTED);
        }
        Ok(Sampler {
            modes: [mode(x)?, mode(y)?, mode(z)?],
            linear: self.filter == 1,
            normalized: self.flags & NORMALIZED != 0,
            unit_range: self.flags & AS_INTEGERS == 0,
            border: self.border,
        })
    }
}

/// The descriptors of the process's textures and surfaces, by object. Surfaces have no texture descriptor.
static OBJECTS: Mutex<BTreeMap<u64, (ResourceDesc, Option<TextureDesc>)>> = Mutex::new(BTreeMap::new());

fn objects() -> MutexGuard<'static, BTreeMap<u64, (ResourceDesc, Option<TextureDesc>)>> {
    OBJECTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the descriptors of an object.
fn descriptors(object: u64) -> Fallible<(ResourceDesc, Option<TextureDesc>)> {
    objects().get(&object).copied().ok_or(Code::INVALID_VALUE)
}

/// Returns the descriptors of a texture.
fn of_texture(object: u64) -> Fallible<(ResourceDesc, TextureDesc)> {
    let (resource, texture) = descriptors(object)?;
    Ok((resource, texture.ok_or(Code::INVALID_VALUE)?))
}

fn destroy(object: u64) -> Fallible {
    objects().remove(&object);
    array::destroy_object(object)
}

/// Returns the source or destination of a copy: the bytes of an array, starting at `offset`.
fn part(array: Handle, offset: usize) -> Side {
    Side::Array { array, start: [offset, 0, 0] }
}

fn line(to: Side, from: Side, bytes: usize, stream: Option<Handle>, own: bool) -> Fallible {
    let copy = copy_box(to, from, [bytes, 1, 1])?;
    match stream {
        Some(stream) => copy.submit(&*Stream::of(stream, own)?),
        None => copy.run(&*Stream::of(Handle::NULL, own)?),
    }
}

fn flat(place: Place, bytes: usize) -> Side {
    Side::Memory { place, start: [0; 3], pitch: [bytes, 1] }
}

entries! {
    fn cuArrayCreate_v2(out: Out<Handle>, descriptor: In<Descriptor>) {
        let Descriptor { width, height, format, channels } = descriptor.get()?;
        create(out, Descriptor3D { width, height, depth: 0, format, channels, flags: 0 })
    }

    fn cuArray3DCreate_v2(out: Out<Handle>, descriptor: In<Descriptor3D>) {
        create(out, descriptor.get()?)
    }

    fn cuArrayGetDescriptor_v2(out: Out<Descriptor>, array: Handle) {
        let Descriptor3D { width, height, format, channels, .. } = Descriptor3D::of(&Array::of(array)?.shape);
        out.set(Descriptor { width, height, format, channels })
    }

    fn cuArray3DGetDescriptor_v2(out: Out<Descriptor3D>, array: Handle) {
        out.set(Descriptor3D::of(&Array::of(array)?.shape))
    }

    fn cuArrayDestroy(array: Handle) {
        Array::destroy(array)
    }

    fn cuTexObjectCreate(out: Out<u64>, resource: In<ResourceDesc>, texture: In<TextureDesc>, view: In<u8>) {
        if out.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        if !view.is_null() {
            return Err(Code::NOT_SUPPORTED);
        }
        let (resource, texture) = (resource.get()?, texture.get()?);
        let object = array::create_texture(resource.resource()?, texture.sampler()?)?;
        objects().insert(object, (resource, Some(texture)));
        out.set(object)
    }

    fn cuTexObjectDestroy(object: u64) {
        destroy(object)
    }

    fn cuTexObjectGetResourceDesc(out: Out<ResourceDesc>, object: u64) {
        out.set(of_texture(object)?.0)
    }

    fn cuTexObjectGetTextureDesc(out: Out<TextureDesc>, object: u64) {
        out.set(of_texture(object)?.1)
    }

    /// Textures have no resource view, so the query returns an error.
    fn cuTexObjectGetResourceViewDesc(_out: Out<u8>, object: u64) {
        of_texture(object)?;
        Err(Code::INVALID_VALUE)
    }

    fn cuSurfObjectCreate(out: Out<u64>, resource: In<ResourceDesc>) {
        if out.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        let resource = resource.get()?;
        let object = array::create_surface(resource.resource()?)?;
        objects().insert(object, (resource, None));
        out.set(object)
    }

    fn cuSurfObjectDestroy(object: u64) {
        destroy(object)
    }

    fn cuSurfObjectGetResourceDesc(out: Out<ResourceDesc>, object: u64) {
        match descriptors(object)? {
            (resource, None) => out.set(resource),
            _ => Err(Code::INVALID_VALUE),
        }
    }

    fn cuMemcpyHtoA_v2 | cuMemcpyHtoA_v2_ptds own (to: Handle, offset: usize, from: HostPtr, bytes: usize) {
        line(part(to, offset), flat(Place::Host(from), bytes), bytes, None, own)
    }

    fn cuMemcpyAtoH_v2 | cuMemcpyAtoH_v2_ptds own (to: HostPtr, from: Handle, offset: usize, bytes: usize) {
        line(flat(Place::Host(to), bytes), part(from, offset), bytes, None, own)
    }

    fn cuMemcpyHtoAAsync_v2 | cuMemcpyHtoAAsync_v2_ptsz own (
        to: Handle, offset: usize, from: HostPtr, bytes: usize, stream: Handle,
    ) {
        line(part(to, offset), flat(Place::Host(from), bytes), bytes, Some(stream), own)
    }

    fn cuMemcpyAtoHAsync_v2 | cuMemcpyAtoHAsync_v2_ptsz own (
        to: HostPtr, from: Handle, offset: usize, bytes: usize, stream: Handle,
    ) {
        line(flat(Place::Host(to), bytes), part(from, offset), bytes, Some(stream), own)
    }

    fn cuMemcpyDtoA_v2 | cuMemcpyDtoA_v2_ptds own (to: Handle, offset: usize, from: u64, bytes: usize) {
        line(part(to, offset), flat(Place::Device(from), bytes), bytes, None, own)
    }

    fn cuMemcpyAtoD_v2 | cuMemcpyAtoD_v2_ptds own (to: u64, from: Handle, offset: usize, bytes: usize) {
        line(flat(Place::Device(to), bytes), part(from, offset), bytes, None, own)
    }

    fn cuMemcpyAtoA_v2 | cuMemcpyAtoA_v2_ptds own (
        to: Handle, to_offset: usize, from: Handle, from_offset: usize, bytes: usize,
    ) {
        line(part(to, to_offset), part(from, from_offset), bytes, None, own)
    }
}
