//! Tensor maps, which describe tensors in global memory for tensor copies.

use crate::machine::options::Arg;

use crate::program::code::TensorType;

/// The permutation of 16-byte units within a tile in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum TensorSwizzle {
    /// No permutation.
    #[default]
    None,
    /// The units within each 32 bytes are permuted by address bit 7.
    B32,
    /// The units within each 64 bytes are permuted by address bits 7 and 8.
    B64,
    /// The units within each 128 bytes are permuted by address bits 7 to 9.
    B128,
}

impl TensorSwizzle {
    /// Returns the swizzled address for an unswizzled address.
    pub(crate) fn apply(self, address: u64) -> u64 {
        let mask = match self {
            TensorSwizzle::None => 0,
            TensorSwizzle::B32 => 1,
            TensorSwizzle::B64 => 3,
            TensorSwizzle::B128 => 7,
        };
        address ^ (address >> 3 & mask << 4)
    }

    /// Returns the maximum size in bytes of the innermost extent of a box, or 0 for no limit.
    fn span(self) -> usize {
        match self {
            TensorSwizzle::None => 0,
            TensorSwizzle::B32 => 32,
            TensorSwizzle::B64 => 64,
            TensorSwizzle::B128 => 128,
        }
    }
}

/// A tensor map in tiled mode, with the parameters of `cuTensorMapEncodeTiled`. Dimension 0 is the innermost.
#[doc(alias = "cuTensorMapEncodeTiled")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorMap {
    /// The element type.
    pub ty: TensorType,
    /// The device address of the tensor, a multiple of 16.
    pub address: u64,
    /// The extents in elements, along 1 to 5 dimensions.
    pub dims: Vec<u64>,
    /// The distances in bytes between consecutive elements along each dimension except the innermost; multiples of 16.
    pub strides: Vec<u64>,
    /// The extents in elements of the box that one copy moves, at most 256 each.
    pub tile: Vec<u32>,
    /// The step in elements between copied elements along each dimension, from 1 to 8. The first value is ignored, as on the GPU.
    pub element_strides: Vec<u32>,
    /// The swizzle in shared memory.
    pub swizzle: TensorSwizzle,
    /// Whether floating-point elements outside the tensor are read as NaN instead of zero.
    pub nan_fill: bool,
}

/// An invalid tensor map.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid tensor map: {0}")]
pub struct TensorMapError(pub(crate) String);

/// The first bytes of an encoded map.
pub(crate) const MAGIC: u32 = 0x50_41_4d_57;

impl TensorMap {
    /// Encodes the map as the 128 bytes that a kernel receives.
    ///
    /// # Errors
    /// Returns an error if the map violates a rule of `cuTensorMapEncodeTiled` (CUDA Driver API, "Tensor Map Object Management").
    pub fn encode(&self) -> Result<[u8; 128], TensorMapError> {
        self.check().map_err(TensorMapError)?;
        let mut bytes = vec![];
        bytes.extend(MAGIC.to_le_bytes());
        let ty = TensorType::ALL.iter().position(|ty| *ty == self.ty).unwrap_or(0);
        bytes.extend([ty as u8, self.dims.len() as u8, self.swizzle as u8, u8::from(self.nan_fill)]);
        bytes.extend(self.address.to_le_bytes());
        for i in 0..5 {
            bytes.extend(self.dims.get(i).copied().unwrap_or(1).to_le_bytes());
        }
        for i in 0..4 {
            bytes.extend(self.strides.get(i).copied().unwrap_or(0).to_le_bytes());
        }
        for i in 0..5 {
            bytes.extend((self.tile.get(i).copied().unwrap_or(1) as u16).to_le_bytes());
        }
        for i in 0..5 {
            bytes.push(self.element_strides.get(i).copied().unwrap_or(1) as u8);
        }
        let mut out = [0; 128];
        out[..bytes.len()].copy_from_slice(&bytes);
        Ok(out)
    }

    /// Returns the encoded map `bytes` with the tensor's address replaced by `address`, or `None` if `bytes` is not an encoded map.
    #[doc(alias = "cuTensorMapReplaceAddress")]
    pub fn with_address(mut bytes: [u8; 128], address: u64) -> Option<[u8; 128]> {
        Self::decode(&bytes)?;
        bytes[8..16].copy_from_slice(&address.to_le_bytes());
        Some(bytes)
    }

    /// Decodes a map from 128 bytes.
    pub(crate) fn decode(bytes: &[u8; 128]) -> Option<Self> {
        let word =
            |at: usize, n: usize| bytes[at..at + n].iter().rev().fold(0, |w, b| w << 8 | u64::from(*b));
        if word(0, 4) != u64::from(MAGIC) {
            return None;
        }
        let rank = bytes[5] as usize;
        let map = Self {
            ty: *TensorType::ALL.get(bytes[4] as usize)?,
            address: word(8, 8),
            dims: (0..rank.min(5)).map(|i| word(16 + 8 * i, 8)).collect(),
            strides: (0..rank.clamp(1, 5) - 1).map(|i| word(56 + 8 * i, 8)).collect(),
            tile: (0..rank.min(5)).map(|i| word(88 + 2 * i, 2) as u32).collect(),
            element_strides: (0..rank.min(5)).map(|i| u32::from(bytes[98 + i])).collect(),
            swizzle: match bytes[6] {
                0 => TensorSwizzle::None,
                1 => TensorSwizzle::B32,
                2 => TensorSwizzle::B64,
                _ => TensorSwizzle::B128,
            },
            nan_fill: bytes[7] != 0,
        };
        map.check().ok().map(|()| map)
    }

    fn check(&self) -> Result<(), String> {
        let rank = self.dims.len();
        if !(1..=5).contains(&rank) {
            return Err(format!("{rank} dimensions; there are 1 to 5"));
        }
        if self.strides.len() != rank - 1 || self.tile.len() != rank || self.element_strides.len() != rank {
            return Err(format!(
                "{rank} dimensions with {} strides, {} box extents and {} element strides",
                self.strides.len(),
                self.tile.len(),
                self.element_strides.len()
            ));
        }
        if !self.address.is_multiple_of(16) {
            return Err(format!("the address {:#x} is not a multiple of 16", self.address));
        }
        if let Some(dim) = self.dims.iter().find(|&&dim| dim == 0 || dim > 1 << 32) {
            return Err(format!("an extent of {dim}; the limits are 1 and 2^32"));
        }
        if let Some(stride) = self.strides.iter().find(|&&s| s % 16 != 0 || s >= 1 << 40) {
            return Err(format!("a stride of {stride} bytes; strides are multiples of 16 below 2^40"));
        }
        if let Some(tile) = self.tile.iter().find(|&&tile| tile == 0 || tile > 256) {
            return Err(format!("a box extent of {tile}; the limits are 1 and 256"));
        }
        if self.nan_fill && self.ty.float().is_none() {
            return Err(format!("NaN as the value of {:?} elements outside the tensor", self.ty));
        }
        if let Some(step) = self.element_strides.iter().find(|&&step| step == 0 || step > 8) {
            return Err(format!("an element stride of {step}; the limits are 1 and 8"));
        }
        let inner = self.extent(0) * self.ty.bytes();
        if !inner.is_multiple_of(16) {
            return Err(format!("the box's innermost extent takes {inner} bytes, not a multiple of 16"));
        }
        let span = self.swizzle.span();
        if span != 0 && inner > span {
            return Err(format!("the box's innermost extent takes {inner} bytes, the swizzle spans {span}"));
        }
        Ok(())
    }

    /// Returns the distance between copied elements along a dimension. The innermost dimension is always dense.
    pub(crate) fn step(&self, dimension: usize) -> u32 {
        if dimension == 0 { 1 } else { self.element_strides[dimension] }
    }

    /// Returns the number of copied elements along a dimension.
    pub(crate) fn extent(&self, dimension: usize) -> usize {
        self.tile[dimension].div_ceil(self.step(dimension)) as usize
    }

    /// Returns the size of the box in bytes.
    pub(crate) fn bytes(&self) -> usize {
        (0..self.dims.len()).map(|i| self.extent(i)).product::<usize>() * self.ty.bytes()
    }
}

impl TryFrom<&TensorMap> for Arg {
    type Error = TensorMapError;

    fn try_from(map: &TensorMap) -> Result<Self, TensorMapError> {
        map.encode().map(Arg::bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodes_and_decodes() {
        let map = TensorMap {
            ty: TensorType::Bf16,
            address: 1 << 36,
            dims: vec![64, 48, 3],
            strides: vec![128, 6144],
            tile: vec![64, 16, 1],
            element_strides: vec![1, 2, 1],
            swizzle: TensorSwizzle::B128,
            nan_fill: true,
        };
        let bytes = map.encode().expect("a valid map");
        assert_eq!(TensorMap::decode(&bytes), Some(map.clone()));
        assert_eq!(map.bytes(), 64 * 8 * 2);
        assert_eq!(TensorMap::decode(&[0; 128]), None);
        let wide = TensorMap { tile: vec![128, 16, 1], ..map.clone() };
        assert_eq!(
            wide.encode().expect_err("too wide").to_string(),
            "invalid tensor map: the box's innermost extent takes 256 bytes, the swizzle spans 128"
        );
        let odd = TensorMap { strides: vec![100, 6144], ..map.clone() };
        assert!(odd.encode().is_err());
        let integers = TensorMap { ty: TensorType::U16, ..map.clone() };
        assert!(integers.encode().is_err());
        assert!(TensorMap { nan_fill: false, ..integers }.encode().is_ok());
        // The innermost dimension is copied without gaps.
        let sparse = TensorMap { element_strides: vec![2, 2, 1], ..map };
        assert_eq!((sparse.bytes(), sparse.extent(0)), (64 * 8 * 2, 64));
    }
}
