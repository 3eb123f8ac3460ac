//! Tensor maps in im2col mode: a copy moves a column of pixels, each with some channels (PTX ISA, "Im2col mode").

use crate::machine::options::Arg;
use crate::machine::tensor_map::{TensorMap, TensorMapError, TensorSwizzle};
use crate::program::code::TensorType;
use crate::report::FindingKind;

/// A tensor map in im2col mode, with the parameters of `cuTensorMapEncodeIm2col`. The dimensions, innermost first, are the channels, one to
/// three spatial dimensions, and the images.
#[doc(alias = "cuTensorMapEncodeIm2col")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Im2colMap {
    /// The element type.
    pub ty: TensorType,
    /// The device address of the tensor, a multiple of 16.
    pub address: u64,
    /// The extents in elements, along 3 to 5 dimensions.
    pub dims: Vec<u64>,
    /// The distances in bytes between consecutive elements along each dimension except the innermost; multiples of 16.
    pub strides: Vec<u64>,
    /// For each spatial dimension, the offset of the bounding box's first pixel from the image's first pixel: the negated padding.
    pub lower_corner: Vec<i32>,
    /// For each spatial dimension, the offset of the bounding box's last pixel from the image's last pixel.
    pub upper_corner: Vec<i32>,
    /// The number of channels per pixel that one copy moves, at most 256.
    pub channels: u32,
    /// The number of pixels that one copy moves, at most 1024.
    pub pixels: u32,
    /// The step in elements between copied elements along each dimension, from 1 to 8.
    pub element_strides: Vec<u32>,
    /// The swizzle in shared memory.
    pub swizzle: TensorSwizzle,
    /// Whether floating-point elements outside the tensor are read as NaN instead of zero.
    pub nan_fill: bool,
}

/// The offset in an encoded map of the first field that is specific to im2col mode.
const PIXELS: usize = 104;
const CORNERS: usize = 106;

impl Im2colMap {
    /// Creates an im2col map of the tensor that `tiled` describes. The first extent of `tiled.tile` becomes the number of channels per
    /// pixel; the others must be 1.
    ///
    /// # Errors
    /// Returns an error if an extent of the tile other than the first is not 1.
    pub fn of(
        tiled: TensorMap,
        lower_corner: Vec<i32>,
        upper_corner: Vec<i32>,
        pixels: u32,
    ) -> Result<Self, TensorMapError> {
        let TensorMap { ty, address, dims, strides, tile, element_strides, swizzle, nan_fill } = tiled;
        let channels = match tile[..] {
            [channels, ref ones @ ..] if ones.iter().all(|&extent| extent == 1) => channels,
            _ => {
                return Err(TensorMapError(format!(
                    "expected a tile of one pixel in im2col mode, found {tile:?}"
                )));
            }
        };
        Ok(Self {
            ty,
            address,
            dims,
            strides,
            lower_corner,
            upper_corner,
            channels,
            pixels,
            element_strides,
            swizzle,
            nan_fill,
        })
    }

    /// Encodes the map as the 128 bytes that a kernel receives.
    ///
    /// # Errors
    /// Returns an error if the map violates a rule of `cuTensorMapEncodeIm2col` (CUDA Driver API, "Tensor Map Object Management").
    pub fn encode(&self) -> Result<[u8; 128], TensorMapError> {
        let spatial = self.dims.len().saturating_sub(2);
        if !(1..=3).contains(&spatial) {
            return Err(TensorMapError(format!("{} dimensions; im2col mode has 3 to 5", self.dims.len())));
        }
        if self.lower_corner.len() != spatial || self.upper_corner.len() != spatial {
            return Err(TensorMapError(format!("expected {spatial} offsets for each corner of the box")));
        }
        let limit = [1 << 15, 1 << 7, 1 << 4][spatial - 1];
        let corners = self.lower_corner.iter().chain(&self.upper_corner);
        if let Some(corner) = corners.clone().find(|corner| !(-limit..limit).contains(*corner)) {
            return Err(TensorMapError(format!(
                "a corner at {corner}; the limits are {} and {}",
                -limit,
                limit - 1
            )));
        }
        if !(1..=1024).contains(&self.pixels) {
            return Err(TensorMapError(format!("{} pixels; the limits are 1 and 1024", self.pixels)));
        }
        let mut tile = vec![1; self.dims.len()];
        tile[0] = self.channels;
        let tiled = TensorMap {
            ty: self.ty,
            address: self.address,
            dims: self.dims.clone(),
            strides: self.strides.clone(),
            tile,
            element_strides: self.element_strides.clone(),
            swizzle: self.swizzle,
            nan_fill: self.nan_fill,
        };
        let mut bytes = tiled.encode()?;
        bytes[PIXELS..PIXELS + 2].copy_from_slice(&(self.pixels as u16).to_le_bytes());
        for (i, corner) in corners.enumerate() {
            bytes[CORNERS + 2 * i..CORNERS + 2 * i + 2].copy_from_slice(&(*corner as i16).to_le_bytes());
        }
        Ok(bytes)
    }
}

impl TryFrom<&Im2colMap> for Arg {
    type Error = TensorMapError;

    fn try_from(map: &Im2colMap) -> Result<Self, TensorMapError> {
        map.encode().map(Arg::bytes)
    }
}

/// The pixels that a copy through an im2col map moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Columns {
    pixels: usize,
    /// The first and the last pixel of the bounding box, for each spatial dimension.
    bounds: Vec<(i64, i64)>,
}

impl Columns {
    /// Decodes the fields of an encoded map that `map` does not contain. Returns `None` if the map is in tiled mode.
    pub(crate) fn decode(bytes: &[u8; 128], map: &TensorMap) -> Option<Self> {
        let half = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let spatial = map.dims.len().checked_sub(2)?;
        let corner = |i: usize| i64::from(half(CORNERS + 2 * i) as i16);
        let bound = |i: usize| (corner(i), map.dims[i + 1] as i64 - 1 + corner(spatial + i));
        let pixels = usize::from(half(PIXELS));
        (pixels != 0).then(|| Self { pixels, bounds: (0..spatial).map(bound).collect() })
    }

    /// Returns the reason why a copy that starts at `start` is an illegal instruction (as observed on an H100), or `None` if it is legal. A
    /// copy must start in the bounding box, but a load may start in any image. The bounding box of a store must not extend past the images.
    pub(crate) fn violation(
        &self,
        map: &TensorMap,
        start: &[i32],
        stores: bool,
    ) -> Option<(FindingKind, String)> {
        for (&(first, last), &dim) in self.bounds.iter().zip(&map.dims[1..]) {
            if stores && (first < 0 || last >= dim as i64) {
                let why = format!(
                    "invalid descriptor: expected a bounding box inside the images for a store, found one from {first} to {last} in {dim} pixels"
                );
                return Some((FindingKind::InvalidDescriptor, why));
            }
        }
        let refuse = |i: usize, expected: String| {
            let why = format!("expected a coordinate {i} {expected}, found {}", start[i]);
            Some((FindingKind::InvalidOperand, why))
        };
        for (i, &(first, last)) in (1..).zip(&self.bounds) {
            if !(first..=last).contains(&start[i].into()) {
                return refuse(i, format!("from {first} to {last}, in the bounding box"));
            }
        }
        let image = self.bounds.len() + 1;
        if stores && start[image] < 0 {
            refuse(image, "that is not negative for a store".into())
        } else {
            None
        }
    }

    /// Returns the position of the first channel of each pixel, starting at `start`, row by row within the bounding box, and then image by
    /// image.
    pub(crate) fn positions(&self, map: &TensorMap, start: &[i32], offsets: &[u32]) -> Vec<[i64; 5]> {
        let mut at: [i64; 5] = std::array::from_fn(|i| start.get(i).copied().unwrap_or(0).into());
        let mut positions = Vec::with_capacity(self.pixels);
        for _ in 0..self.pixels {
            let mut position = at;
            for (i, &offset) in offsets.iter().enumerate() {
                position[i + 1] += i64::from(offset);
            }
            positions.push(position);
            self.step(map, &mut at);
        }
        positions
    }

    fn step(&self, map: &TensorMap, at: &mut [i64; 5]) {
        for (i, &(first, last)) in self.bounds.iter().enumerate() {
            at[i + 1] += i64::from(map.element_strides[i + 1]);
            if at[i + 1] <= last {
                return;
            }
            at[i + 1] = first;
        }
        at[self.bounds.len() + 1] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map() -> Im2colMap {
        Im2colMap {
            ty: TensorType::F16,
            address: 1 << 36,
            dims: vec![16, 5, 4, 2],
            strides: vec![32, 160, 640],
            lower_corner: vec![-1, -1],
            upper_corner: vec![-1, -1],
            channels: 8,
            pixels: 7,
            element_strides: vec![1, 1, 1, 1],
            swizzle: TensorSwizzle::None,
            nan_fill: false,
        }
    }

    #[test]
    fn positions_of_pixels_stay_in_the_bounding_box() {
        let bytes = map().encode().expect("a valid map");
        let tiled = TensorMap::decode(&bytes).expect("a map");
        let columns = Columns::decode(&bytes, &tiled).expect("in im2col mode");
        // The bounding box has columns -1 to 3 and rows -1 to 2.
        let positions = columns.positions(&tiled, &[8, 2, 2, 0], &[1, 2]);
        let found: Vec<_> = positions.iter().map(|p| (p[1], p[2], p[3])).collect();
        assert_eq!(found, [(3, 4, 0), (4, 4, 0), (0, 1, 1), (1, 1, 1), (2, 1, 1), (3, 1, 1), (4, 1, 1)]);
        assert!(positions.iter().all(|position| position[0] == 8));
    }

    #[test]
    fn rules_of_the_mode() {
        assert!(Im2colMap { pixels: 0, ..map() }.encode().is_err());
        let Im2colMap { ty, address, dims, strides, element_strides, swizzle, nan_fill, .. } = map();
        let of = |tile: &[u32]| {
            let (dims, strides, element_strides) = (dims.clone(), strides.clone(), element_strides.clone());
            let tile = tile.to_vec();
            let tiled = TensorMap { ty, address, dims, strides, tile, element_strides, swizzle, nan_fill };
            Im2colMap::of(tiled, map().lower_corner, map().upper_corner, map().pixels)
        };
        assert_eq!(of(&[map().channels, 1, 1, 1]), Ok(map()));
        assert!(of(&[map().channels, 2, 1, 1]).is_err() && of(&[]).is_err());
        assert!(Im2colMap { lower_corner: vec![-1], ..map() }.encode().is_err());
        let error = Im2colMap { lower_corner: vec![-1, -200], ..map() }.encode().expect_err("too far");
        assert_eq!(error.to_string(), "invalid tensor map: a corner at -200; the limits are -128 and 127");
        assert!(Im2colMap { dims: vec![16, 5], strides: vec![32], ..map() }.encode().is_err());
    }
}
