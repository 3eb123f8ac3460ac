//! Textures and surfaces: texels in global memory, their selection by coordinates, and their interpolation (CUDA C++ Programming Guide,
//! "Texture Fetching").

mod filter;

use crate::machine::memory::Memory;

pub(crate) use crate::machine::texture::filter::{CORNERS, weights};

/// The type of the channels of a texel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TexelType {
    /// Unsigned 8-bit integers.
    U8,
    /// Signed 8-bit integers.
    S8,
    /// Unsigned 16-bit integers.
    U16,
    /// Signed 16-bit integers.
    S16,
    /// Unsigned 32-bit integers.
    U32,
    /// Signed 32-bit integers.
    S32,
    /// 16-bit floating-point numbers (f16).
    F16,
    /// 32-bit floating-point numbers (f32).
    F32,
}

/// An array of texels in global memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Image {
    /// The address of the first texel.
    pub start: u64,
    /// The type of the channels.
    pub ty: TexelType,
    /// The number of channels per texel: 1, 2 or 4.
    pub channels: u8,
    /// The width, the height, and the depth in texels. For layered images and cube maps, the last entry is the number of layers or faces.
    pub extent: [u64; 3],
    /// The distances in bytes between consecutive rows, and between consecutive slices, layers or faces.
    pub pitch: [u64; 2],
}

/// How coordinates outside the image select texels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressMode {
    /// The image is repeated.
    Wrap,
    /// The nearest texel of the image is used.
    Clamp,
    /// The image is repeated, mirrored at each edge.
    Mirror,
    /// The border color is used.
    Border,
}

/// The settings for fetching texels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampler {
    /// The address mode of each dimension. [`Wrap`](AddressMode::Wrap) and [`Mirror`](AddressMode::Mirror) behave like
    /// [`Clamp`](AddressMode::Clamp) unless coordinates are normalized.
    pub modes: [AddressMode; 3],
    /// Whether neighboring texels are interpolated linearly.
    pub linear: bool,
    /// Whether coordinates are normalized, so that they range from 0 to 1 across the image instead of from 0 to its extent.
    pub normalized: bool,
    /// Whether 8-bit and 16-bit integers are fetched as floating-point numbers: unsigned integers in [0, 1], signed integers in [−1, 1].
    pub unit_range: bool,
    /// The border color.
    pub border: [f32; 4],
}

/// A texture: an image with the settings for fetching its texels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Texture {
    /// The texels.
    pub image: Image,
    /// The settings for fetching texels.
    pub sampler: Sampler,
}

/// The object to which a handle refers.
#[derive(Clone, Copy, Debug)]
pub(super) enum Object {
    Texture(Texture),
    Surface(Image),
}

impl Memory {
    /// Creates a texture and returns its handle, which kernels receive as an argument.
    #[doc(alias = "cudaCreateTextureObject")]
    pub fn create_texture(&mut self, texture: Texture) -> u64 {
        self.add_object(Object::Texture(texture))
    }

    /// Creates a surface and returns its handle, which kernels receive as an argument.
    #[doc(alias = "cudaCreateSurfaceObject")]
    pub fn create_surface(&mut self, image: Image) -> u64 {
        self.add_object(Object::Surface(image))
    }

    /// Destroys a texture or a surface. Its handle is not reused.
    #[doc(alias = "cudaDestroyTextureObject")]
    pub fn destroy_object(&mut self, handle: u64) {
        self.objects.remove(&handle);
    }

    fn add_object(&mut self, object: Object) -> u64 {
        self.created_objects += 1;
        self.objects.insert(self.created_objects, object);
        self.created_objects
    }

    /// Returns the texture to which a handle refers.
    pub(crate) fn texture(&self, handle: u64) -> Option<&Texture> {
        match self.objects.get(&handle) {
            Some(Object::Texture(texture)) => Some(texture),
            _ => None,
        }
    }

    /// Returns the image of the surface to which a handle refers.
    pub(crate) fn surface(&self, handle: u64) -> Option<&Image> {
        match self.objects.get(&handle) {
            Some(Object::Surface(image)) => Some(image),
            _ => None,
        }
    }
}

impl TexelType {
    /// Returns the size of a channel in bytes.
    pub fn bytes(self) -> u64 {
        match self {
            Self::U8 | Self::S8 => 1,
            Self::U16 | Self::S16 | Self::F16 => 2,
            Self::U32 | Self::S32 | Self::F32 => 4,
        }
    }

    /// Returns whether channels of this type are fetched as floating-point numbers, given the value of [`Sampler::unit_range`].
    pub fn is_float(self, unit_range: bool) -> bool {
        match self {
            Self::F16 | Self::F32 => true,
            Self::U8 | Self::S8 | Self::U16 | Self::S16 => unit_range,
            Self::U32 | Self::S32 => false,
        }
    }

    /// Returns the fetched value of a channel: an f32 or a 32-bit integer.
    fn fetched(self, bits: u64, unit_range: bool) -> u32 {
        let signed = |most: f32, value: i32| (value as f32 / most).max(-1.0).to_bits();
        match (self, unit_range) {
            (Self::U8, true) => (f32::from(bits as u8) / 255.0).to_bits(),
            (Self::U16, true) => (f32::from(bits as u16) / 65535.0).to_bits(),
            (Self::S8, true) => signed(127.0, (bits as i8).into()),
            (Self::S16, true) => signed(32767.0, (bits as i16).into()),
            (Self::U8, false) => u32::from(bits as u8),
            (Self::U16, false) => u32::from(bits as u16),
            (Self::S8, false) => bits as i8 as u32,
            (Self::S16, false) => bits as i16 as u32,
            (Self::F16, _) => half::f16::from_bits(bits as u16).to_f32().to_bits(),
            (Self::U32 | Self::S32 | Self::F32, _) => bits as u32,
        }
    }
}

impl Image {
    /// Returns the size of a texel in bytes.
    pub fn texel(&self) -> u64 {
        self.ty.bytes() * u64::from(self.channels)
    }

    /// Returns the address of a texel.
    pub(crate) fn address(&self, [x, y, z]: [u64; 3]) -> u64 {
        self.start + x * self.texel() + y * self.pitch[0] + z * self.pitch[1]
    }
}

/// The denominator of weights, which are multiples of 1/256 (9 bits, 8 of them for the fraction).
pub(crate) const FRACTIONS: u32 = 256;

/// The texels that a coordinate selects along one dimension: one texel or two neighbors, or `None` outside the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Selected {
    pub(crate) texels: [Option<u64>; 2],
    /// The weight of the second texel, in units of 1 / [`FRACTIONS`].
    pub(crate) weight: u32,
}

impl Selected {
    fn one(texel: Option<u64>) -> Self {
        Self { texels: [texel; 2], weight: 0 }
    }
}

impl AddressMode {
    /// Returns the texel to which an index refers in an image with `extent` texels, or `None` outside the image.
    fn texel(self, index: i64, extent: u64) -> Option<u64> {
        let most = extent as i64;
        if most == 0 {
            return None;
        }
        let inside = match self {
            Self::Clamp => index.clamp(0, most - 1),
            Self::Border => return (0..most).contains(&index).then_some(index as u64),
            Self::Wrap => index.rem_euclid(most),
            Self::Mirror => {
                let at = index.rem_euclid(2 * most);
                at.min(2 * most - 1 - at)
            }
        };
        Some(inside as u64)
    }
}

impl Texture {
    /// Selects texels by a floating-point coordinate. If `neighbors` is set, selects two texels even if the sampler does not interpolate.
    pub(crate) fn select(&self, axis: usize, coordinate: f32, neighbors: bool) -> Selected {
        let (extent, mode) = (self.image.extent[axis], self.mode(axis));
        // `Wrap` and `Mirror` reduce coordinates before the multiplication, which would lose the fraction of large ones.
        let scaled = match (self.sampler.normalized, mode) {
            (false, _) => coordinate,
            (true, AddressMode::Wrap) => (coordinate - coordinate.floor()) * extent as f32,
            (true, AddressMode::Mirror) => (coordinate - 2.0 * (coordinate / 2.0).floor()) * extent as f32,
            (true, AddressMode::Clamp | AddressMode::Border) => coordinate * extent as f32,
        };
        if !self.sampler.linear && !neighbors {
            return Selected::one(mode.texel(scaled.floor() as i64, extent));
        }
        let fixed = ((scaled - 0.5) * FRACTIONS as f32 + 0.5).floor() as i64;
        let first = fixed.div_euclid(FRACTIONS.into());
        Selected {
            texels: [first, first.saturating_add(1)].map(|index| mode.texel(index, extent)),
            weight: fixed.rem_euclid(FRACTIONS.into()) as u32,
        }
    }

    /// Selects a texel by its index.
    pub(crate) fn select_index(&self, axis: usize, index: i32) -> Selected {
        Selected::one(self.mode(axis).texel(index.into(), self.image.extent[axis]))
    }

    /// Selects a layer, or the nearest one if the layer does not exist.
    pub(crate) fn select_layer(&self, layer: u64) -> Selected {
        Selected::one(self.image.extent[2].checked_sub(1).map(|last| layer.min(last)))
    }

    fn mode(&self, axis: usize) -> AddressMode {
        match (self.sampler.modes[axis], self.sampler.normalized) {
            (AddressMode::Wrap | AddressMode::Mirror, false) => AddressMode::Clamp,
            (mode, _) => mode,
        }
    }

    /// Returns a fetched channel of a texel. Missing channels are 0, except that a missing fourth channel is 1.
    pub(crate) fn channel(&self, channel: usize, bits: u64) -> u32 {
        let unit_range = self.sampler.unit_range;
        if channel < usize::from(self.image.channels) {
            return self.image.ty.fetched(bits, unit_range);
        }
        match (channel, self.image.ty.is_float(unit_range)) {
            (3, true) => 1f32.to_bits(),
            (3, false) => 1,
            _ => 0,
        }
    }

    /// Returns a channel of the border.
    pub(crate) fn border(&self, channel: usize) -> u32 {
        let color = self.sampler.border[channel];
        if self.image.ty.is_float(self.sampler.unit_range) { color.to_bits() } else { color as i32 as u32 }
    }
}

/// Returns the face of a cube that a direction points to, and the coordinates on it.
pub(crate) fn face([x, y, z]: [f32; 3]) -> (u64, [f32; 2]) {
    let [ax, ay, az] = [x.abs(), y.abs(), z.abs()];
    let (face, length, s, t) = if ax >= ay && ax >= az {
        if x >= 0.0 { (0, x, -z, -y) } else { (1, -x, z, -y) }
    } else if ay >= az {
        if y >= 0.0 { (2, y, x, z) } else { (3, -y, x, -z) }
    } else if z >= 0.0 {
        (4, z, x, -y)
    } else {
        (5, -z, -x, -y)
    };
    (face, [s, t].map(|along| (along / length + 1.0) / 2.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texture(extent: u64, sampler: Sampler) -> Texture {
        let image =
            Image { start: 0, ty: TexelType::F32, channels: 1, extent: [extent, 1, 1], pitch: [0; 2] };
        Texture { image, sampler }
    }

    fn sampler(mode: AddressMode) -> Sampler {
        Sampler { modes: [mode; 3], linear: false, normalized: true, unit_range: false, border: [0.0; 4] }
    }

    #[test]
    fn coordinates_outside_of_the_image() {
        let texels = |mode| {
            let texture = texture(4, sampler(mode));
            [-0.3, -0.1, 0.1, 0.9, 1.1, 1.3].map(|at| texture.select(0, at, false).texels[0])
        };
        assert_eq!(texels(AddressMode::Clamp), [0, 0, 0, 3, 3, 3].map(Some));
        assert_eq!(texels(AddressMode::Wrap), [2, 3, 0, 3, 0, 1].map(Some));
        assert_eq!(texels(AddressMode::Mirror), [1, 0, 0, 3, 3, 2].map(Some));
        assert_eq!(texels(AddressMode::Border), [None, None, Some(0), Some(3), None, None]);
    }

    #[test]
    fn neighbors_and_their_weights() {
        let linear = Sampler { linear: true, normalized: false, ..sampler(AddressMode::Clamp) };
        let texture = texture(4, linear);
        let select = |at| {
            let Selected { texels, weight } = texture.select(0, at, false);
            (texels.map(Option::unwrap), weight)
        };
        assert_eq!(select(1.5), ([1, 2], 0));
        assert_eq!(select(1.75), ([1, 2], 64));
        assert_eq!(select(0.25), ([0, 0], 192));
        // The weight has 8 bits; if it is rounded up to 1, the next texel is selected.
        assert_eq!(select(1.5 + 1.0 / 1024.0), ([1, 2], 0));
        assert_eq!(select(2.5 - 1.0 / 1024.0), ([2, 3], 0));
        assert_eq!(select(f32::NAN), ([0, 1], 0));
        assert_eq!(select(f32::INFINITY), ([3, 3], 255));
    }

    #[test]
    fn faces_of_a_cube() {
        assert_eq!(face([1.0, 0.0, 0.5]), (0, [0.25, 0.5]));
        assert_eq!(face([0.0, -2.0, 1.0]), (3, [0.5, 0.25]));
        assert_eq!(face([0.5, 0.0, -1.0]), (5, [0.25, 0.5]));
    }
}
