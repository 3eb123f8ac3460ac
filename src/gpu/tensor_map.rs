//! Checked tensor maps for `cp.async.bulk.tensor` (TMA, compute capability 9.0 and later).
//!
//! The driver reports every violation as `CUDA_ERROR_INVALID_VALUE`; this module returns a specific error for each rule. The rules are
//! listed in the CUDA Driver API, *Tensor Map Object Management*, `cuTensorMapEncodeTiled`.

use super::device::Gpu;
use super::error::CallFailed;
use cudarc::driver::DeviceRepr;
use std::ffi::c_void;

/// The type of the elements of a tensor (`CUtensorMapDataType`).
#[doc(alias = "CUtensorMapDataType")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
#[allow(missing_docs, reason = "the names are self-explanatory")]
pub enum ElementType {
    U8 = 0,
    U16 = 1,
    U32 = 2,
    I32 = 3,
    U64 = 4,
    I64 = 5,
    F16 = 6,
    F32 = 7,
    F64 = 8,
    Bf16 = 9,
    /// `f32`, with subnormals flushed to zero during the copy.
    F32Ftz = 10,
    /// `f32`, rounded to TF32 during the copy.
    Tf32 = 11,
    /// `f32`, rounded to TF32, with subnormals flushed to zero.
    Tf32Ftz = 12,
}

impl ElementType {
    /// Returns the size in bytes.
    pub const fn size(self) -> u32 {
        match self {
            Self::U8 => 1,
            Self::U16 | Self::F16 | Self::Bf16 => 2,
            Self::U32 | Self::I32 | Self::F32 | Self::F32Ftz | Self::Tf32 | Self::Tf32Ftz => 4,
            Self::U64 | Self::I64 | Self::F64 => 8,
        }
    }

    const fn is_float(self) -> bool {
        !matches!(self, Self::U8 | Self::U16 | Self::U32 | Self::I32 | Self::U64 | Self::I64)
    }
}

/// The permutation of 16-byte chunks in shared memory.
#[doc(alias = "CUtensorMapSwizzle")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Swizzle {
    /// No permutation.
    #[default]
    None = 0,
    /// Permutes chunks within 32-byte rows.
    B32 = 1,
    /// Permutes chunks within 64-byte rows.
    B64 = 2,
    /// Permutes chunks within 128-byte rows.
    B128 = 3,
}

impl Swizzle {
    /// Returns the maximum length in bytes of a box row for this pattern.
    const fn span(self) -> Option<u32> {
        match self {
            Self::None => None,
            Self::B32 => Some(32),
            Self::B64 => Some(64),
            Self::B128 => Some(128),
        }
    }
}

/// The minimum size of a fetch into the L2 cache.
#[doc(alias = "CUtensorMapL2promotion")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum L2Promotion {
    /// The size that the copy requests.
    #[default]
    None = 0,
    /// 64 bytes.
    B64 = 1,
    /// 128 bytes.
    B128 = 2,
    /// 256 bytes.
    B256 = 3,
}

/// The value of elements outside the tensor.
#[doc(alias = "CUtensorMapFloatOOBfill")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum OutOfBounds {
    /// Zero.
    #[default]
    Zero = 0,
    /// The out-of-bounds NaN (OOB-NaN), for which `fma.oob` returns zero; only for floating-point elements.
    Nan = 1,
}

/// A tensor in global memory and the box that one copy moves. Dimension 0 is the innermost dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TiledTensor {
    /// The device address of the first element, a multiple of 16.
    pub address: u64,
    /// The type of the elements.
    pub element: ElementType,
    /// The number of elements along each dimension, from 1 to 2³². There are 1 to 5 dimensions.
    pub dims: Vec<u64>,
    /// The strides in bytes along dimensions 1 and up; each must be a multiple of 16 and less than 2⁴⁰. Dimension 0 is contiguous.
    pub strides: Vec<u64>,
    /// The number of elements of the box along each dimension, from 1 to 256. The size of a box row must be a multiple of 16 bytes.
    pub box_dims: Vec<u32>,
    /// The distance between copied elements along each dimension, from 1 to 8. A distance of 1 selects all elements. The GPU ignores the
    /// first distance, because it always copies adjacent elements along dimension 0.
    pub element_strides: Vec<u32>,
    /// The permutation in shared memory.
    pub swizzle: Swizzle,
    /// The minimum size of fetches into the L2 cache.
    pub l2_promotion: L2Promotion,
    /// The value of elements past the tensor's edges.
    pub out_of_bounds: OutOfBounds,
}

/// A tensor of images in global memory, and the pixels that one copy in im2col mode moves (PTX ISA, "Im2col mode").
///
/// The innermost dimension is the channel, followed by one to three spatial dimensions and the image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Im2colTensor {
    /// The tensor. The first entry of its `box_dims` is the number of channels that one copy moves per pixel; the other entries are 1.
    pub tensor: TiledTensor,
    /// For each spatial dimension, the first pixel of the bounding box, as an offset from the first pixel of the image.
    pub lower_corner: Vec<i32>,
    /// For each spatial dimension, the last pixel of the bounding box, as an offset from the last pixel of the image.
    pub upper_corner: Vec<i32>,
    /// The number of pixels that one copy moves, from 1 to 1024.
    pub pixels: u32,
}

/// The maximum number of pixels of a copy in im2col mode.
const MOST_PIXELS: u32 = 1024;

/// An error that occurs when a tensor map is checked or encoded. All variants except `Call` are detected before the driver is called.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TensorMapError {
    /// The tensor does not have 1 to 5 dimensions, or 3 to 5 in im2col mode.
    #[error("expected {min} to 5 dimensions, found {found}")]
    Rank {
        /// The minimum number of dimensions.
        min: usize,
        /// The number of dimensions.
        found: usize,
    },
    /// The length of a list does not match the number of dimensions.
    #[error("{what}: expected {expected} values for {rank} dimensions, found {found}")]
    Length {
        /// The name of the list.
        what: &'static str,
        /// The number of dimensions.
        rank: usize,
        /// The required number of values.
        expected: usize,
        /// The number of values.
        found: usize,
    },
    /// A value is out of range.
    #[error("{what} of dimension {dim}: expected {min} to {max}, found {found}")]
    Range {
        /// The name of the value.
        what: &'static str,
        /// The index of the dimension.
        dim: usize,
        /// The value found.
        found: u64,
        /// The minimum valid value.
        min: u64,
        /// The maximum valid value.
        max: u64,
    },
    /// A corner of the bounding box of pixels is out of range.
    #[error("corner of the box, dimension {dim}: expected {} to {}, found {found}", -limit, limit - 1)]
    Corner {
        /// The index of the dimension.
        dim: usize,
        /// The offset of the corner along this dimension.
        found: i32,
        /// The limit L: offsets from −L to L − 1 are valid.
        limit: i32,
    },
    /// The number of pixels is out of range.
    #[error("pixels of a copy: expected 1 to {MOST_PIXELS}, found {found}")]
    Pixels {
        /// The number of pixels.
        found: u32,
    },
    /// The address is not a multiple of 16.
    #[error("address of the tensor: expected a multiple of 16, found {address:#x}")]
    Address {
        /// The address.
        address: u64,
    },
    /// A stride is not a multiple of 16 bytes.
    #[error("stride of dimension {dim}: expected a multiple of 16 bytes, found {found}")]
    Stride {
        /// The index of the dimension.
        dim: usize,
        /// The stride in bytes.
        found: u64,
    },
    /// The size of a box row is not a multiple of 16 bytes.
    #[error("row of the box: expected a multiple of 16 bytes, found {found}")]
    BoxRow {
        /// The bytes per row.
        found: u32,
    },
    /// A box row is longer than the swizzle allows.
    #[error("row of the box: expected at most {limit} bytes for this swizzle, found {found}")]
    SwizzleRow {
        /// The bytes per row.
        found: u32,
        /// The maximum number of bytes per row.
        limit: u32,
    },
    /// A NaN fill is requested, but the element type is not a floating-point type.
    #[error("NaN fill: expected floating-point elements, found {element:?}")]
    NanFill {
        /// The element type.
        element: ElementType,
    },
    /// The device has no TMA.
    #[error("expected a device of compute capability 9.0 or later for tensor maps, found {}.{}", .capability.0, .capability.1)]
    NoTma {
        /// The device's compute capability.
        capability: (u32, u32),
    },
    /// A driver call failed.
    #[error(transparent)]
    Call(#[from] CallFailed),
}

impl TiledTensor {
    /// Checks every rule that does not depend on the device.
    ///
    /// # Errors
    /// Returns an error for the first rule that is violated.
    pub fn check(&self) -> Result<(), TensorMapError> {
        let rank = self.dims.len();
        if rank == 0 || rank > 5 {
            return Err(TensorMapError::Rank { min: 1, found: rank });
        }
        for (what, expected, found) in [
            ("strides", rank - 1, self.strides.len()),
            ("box extents", rank, self.box_dims.len()),
            ("element strides", rank, self.element_strides.len()),
        ] {
            if expected != found {
                return Err(TensorMapError::Length { what, rank, expected, found });
            }
        }
        if !self.address.is_multiple_of(16) {
            return Err(TensorMapError::Address { address: self.address });
        }
        check_range("size", self.dims.iter().copied(), 1 << 32)?;
        check_range("box extent", self.box_dims.iter().copied().map(u64::from), 256)?;
        check_range("element stride", self.element_strides.iter().copied().map(u64::from), 8)?;
        self.check_strides()?;
        let row = self.box_dims[0] * self.element.size();
        if !row.is_multiple_of(16) {
            return Err(TensorMapError::BoxRow { found: row });
        }
        if let Some(limit) = self.swizzle.span()
            && row > limit
        {
            return Err(TensorMapError::SwizzleRow { found: row, limit });
        }
        if self.out_of_bounds == OutOfBounds::Nan && !self.element.is_float() {
            return Err(TensorMapError::NanFill { element: self.element });
        }
        Ok(())
    }

    fn check_strides(&self) -> Result<(), TensorMapError> {
        for (i, &found) in self.strides.iter().enumerate() {
            let dim = i + 1;
            if !found.is_multiple_of(16) {
                return Err(TensorMapError::Stride { dim, found });
            }
            let max = (1 << 40) - 16;
            if found > max {
                return Err(TensorMapError::Range { what: "stride", dim, found, min: 0, max });
            }
        }
        Ok(())
    }
}

impl Im2colTensor {
    /// Checks every rule that does not depend on the device.
    ///
    /// # Errors
    /// Returns an error for the first rule that is violated.
    pub fn check(&self) -> Result<(), TensorMapError> {
        let rank = self.tensor.dims.len();
        if !(3..=5).contains(&rank) {
            return Err(TensorMapError::Rank { min: 3, found: rank });
        }
        self.tensor.check()?;
        let pixel = self.tensor.box_dims.iter().skip(1).position(|&extent| extent != 1);
        if let Some(dim) = pixel.map(|dim| dim + 1) {
            let found = self.tensor.box_dims[dim].into();
            return Err(TensorMapError::Range { what: "box extent", dim, found, min: 1, max: 1 });
        }
        // The offsets of both corners share 32 bits of the map.
        let (spatial, limit) = (rank - 2, [1 << 15, 1 << 7, 1 << 4][rank - 3]);
        for (what, corner) in [("lower corner", &self.lower_corner), ("upper corner", &self.upper_corner)] {
            if corner.len() != spatial {
                return Err(TensorMapError::Length { what, rank, expected: spatial, found: corner.len() });
            }
            if let Some(at) = corner.iter().position(|offset| !(-limit..limit).contains(offset)) {
                return Err(TensorMapError::Corner { dim: at + 1, found: corner[at], limit });
            }
        }
        if !(1..=MOST_PIXELS).contains(&self.pixels) {
            return Err(TensorMapError::Pixels { found: self.pixels });
        }
        Ok(())
    }
}

fn check_range(
    what: &'static str,
    values: impl Iterator<Item = u64>,
    max: u64,
) -> Result<(), TensorMapError> {
    for (dim, found) in values.enumerate() {
        if found == 0 || found > max {
            return Err(TensorMapError::Range { what, dim, found, min: 1, max });
        }
    }
    Ok(())
}

/// An encoded tensor map.
///
/// Pass it by value with [`Args::value`](super::Args::value) to a kernel parameter declared as `.param .align 128 .b8 map[128]`.
#[doc(alias = "CUtensorMap")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(128))]
pub struct TensorMap([u8; 128]);

// SAFETY: plain bytes without padding, which the hardware reads unchanged.
unsafe impl DeviceRepr for TensorMap {}

impl TensorMap {
    /// Checks a tensor and encodes its map.
    ///
    /// The tensor's memory must stay allocated while kernels use the map. cudarc does not track this use: encode the map with
    /// [`Args::read_map`](super::Args::read_map) or [`Args::write_map`](super::Args::write_map), which track the buffer, or order the
    /// streams manually.
    ///
    /// # Errors
    /// Returns [`TensorMapError`] if the tensor violates a rule, the device has no TMA, or a driver call fails.
    #[doc(alias = "cuTensorMapEncodeTiled")]
    pub fn encode(gpu: &Gpu, tensor: &TiledTensor) -> Result<Self, TensorMapError> {
        require_tma(gpu)?;
        tensor.check()?;
        gpu.bind()?;
        let mut map = Self([0; 128]);
        // SAFETY: the lists have the lengths that the rank requires, `map` has the size and at least the alignment of a `CUtensorMap`, and
        // the address is only encoded, not read.
        unsafe {
            gpu.driver().api.cuTensorMapEncodeTiled(
                (&raw mut map).cast(),
                tensor.element as u32,
                tensor.dims.len() as u32,
                std::ptr::without_provenance_mut::<c_void>(tensor.address as usize),
                tensor.dims.as_ptr(),
                tensor.strides.as_ptr(),
                tensor.box_dims.as_ptr(),
                tensor.element_strides.as_ptr(),
                0,
                tensor.swizzle as u32,
                tensor.l2_promotion as u32,
                tensor.out_of_bounds as u32,
            )
        }?;
        Ok(map)
    }

    /// Checks a tensor of images and encodes its map in im2col mode.
    ///
    /// As with [`encode`](Self::encode), the tensor's memory must stay allocated while kernels use the map.
    ///
    /// # Errors
    /// Returns [`TensorMapError`] if the tensor violates a rule, the device has no TMA, or a driver call fails.
    #[doc(alias = "cuTensorMapEncodeIm2col")]
    pub fn encode_im2col(gpu: &Gpu, images: &Im2colTensor) -> Result<Self, TensorMapError> {
        require_tma(gpu)?;
        images.check()?;
        gpu.bind()?;
        let Im2colTensor { tensor, lower_corner, upper_corner, pixels } = images;
        let mut map = Self([0; 128]);
        // SAFETY: as in `encode`; each corner has an offset for each spatial dimension.
        unsafe {
            gpu.driver().api.cuTensorMapEncodeIm2col(
                (&raw mut map).cast(),
                tensor.element as u32,
                tensor.dims.len() as u32,
                std::ptr::without_provenance_mut::<c_void>(tensor.address as usize),
                tensor.dims.as_ptr(),
                tensor.strides.as_ptr(),
                lower_corner.as_ptr(),
                upper_corner.as_ptr(),
                tensor.box_dims[0],
                *pixels,
                tensor.element_strides.as_ptr(),
                0,
                tensor.swizzle as u32,
                tensor.l2_promotion as u32,
                tensor.out_of_bounds as u32,
            )
        }?;
        Ok(map)
    }

    /// Creates a map from its 128 bytes, for example the bytes of a `CUtensorMap` that another library has encoded.
    pub const fn from_bytes(bytes: [u8; 128]) -> Self {
        Self(bytes)
    }

    /// Returns the map's 128 bytes.
    pub fn as_bytes(&self) -> &[u8; 128] {
        &self.0
    }

    /// Converts this map to an argument for a tensor map parameter of a typed launch.
    ///
    /// Unlike with a [`TensorBox`](crate::run::TensorBox::of), the launch does not check the tensor.
    ///
    /// # Safety
    ///
    /// In every launch with this argument, the map must be valid for the device. Its element type must match that of the parameter, and its
    /// number of dimensions and its mode (tiled or im2col) must match those that the kernel uses. Until the kernel has completed, the
    /// tensor's memory must stay allocated, and nothing else may write to it or, if the kernel writes the tensor, read from it.
    pub const unsafe fn assume_valid(self) -> UncheckedMap {
        UncheckedMap(self)
    }
}

/// A tensor map that a typed launch passes without checking its tensor. [`TensorMap::assume_valid`] returns this type.
#[derive(Clone, Copy, Debug)]
pub struct UncheckedMap(TensorMap);

impl UncheckedMap {
    pub(crate) fn as_bytes(&self) -> &[u8; 128] {
        self.0.as_bytes()
    }
}

/// Checks that the device has TMA.
fn require_tma(gpu: &Gpu) -> Result<(), TensorMapError> {
    let capability = gpu.properties().capability;
    if capability < (9, 0) { Err(TensorMapError::NoTma { capability }) } else { Ok(()) }
}
