//! Tensor maps, in the simulator's encoding.

use warpwright_sim::{Im2colMap, TensorMap, TensorSwizzle, TensorType};

use crate::code::{Code, Fallible};
use crate::report;

/// The parameters that are common to both modes, as in `cuTensorMapEncodeTiled`.
#[derive(Debug)]
pub(crate) struct Tensor {
    pub(crate) ty: u32,
    pub(crate) address: u64,
    pub(crate) dims: Vec<u64>,
    pub(crate) strides: Vec<u64>,
    pub(crate) element_strides: Vec<u32>,
    pub(crate) interleave: u32,
    pub(crate) swizzle: u32,
    pub(crate) nan_fill: bool,
}

impl Tensor {
    fn ty(&self) -> Fallible<TensorType> {
        TensorType::ALL.get(self.ty as usize).copied().ok_or_else(|| unsupported("this element type"))
    }

    fn swizzle(&self) -> Fallible<TensorSwizzle> {
        if self.interleave != 0 {
            return Err(unsupported("interleaved layouts"));
        }
        match self.swizzle {
            0 => Ok(TensorSwizzle::None),
            1 => Ok(TensorSwizzle::B32),
            2 => Ok(TensorSwizzle::B64),
            3 => Ok(TensorSwizzle::B128),
            _ => Err(unsupported("this swizzle")),
        }
    }

    /// Returns the map in tiled mode for boxes with the extents `tile`.
    fn map(self, tile: Vec<u32>) -> Fallible<TensorMap> {
        let (ty, swizzle) = (self.ty()?, self.swizzle()?);
        let Self { address, dims, strides, element_strides, nan_fill, .. } = self;
        Ok(TensorMap { ty, address, dims, strides, tile, element_strides, swizzle, nan_fill })
    }

    /// Encodes a map in tiled mode for boxes with the extents `tile`.
    pub(crate) fn tiled(self, tile: Vec<u32>) -> Fallible<[u8; 128]> {
        self.map(tile)?.encode().map_err(|error| invalid(&error))
    }

    /// Encodes a map in im2col mode.
    pub(crate) fn im2col(
        self,
        lower_corner: Vec<i32>,
        upper_corner: Vec<i32>,
        channels: u32,
        pixels: u32,
    ) -> Fallible<[u8; 128]> {
        let ones = self.dims.len().saturating_sub(1);
        let tile = std::iter::once(channels).chain(std::iter::repeat_n(1, ones)).collect();
        Im2colMap::of(self.map(tile)?, lower_corner, upper_corner, pixels)
            .and_then(|map| map.encode())
            .map_err(|error| invalid(&error))
    }
}

fn invalid(error: &dyn std::fmt::Display) -> Code {
    report::say(&error.to_string());
    Code::INVALID_VALUE
}

fn unsupported(what: &str) -> Code {
    report::update(|run| run.unsupported(&format!("cuTensorMapEncode with {what}")));
    Code::NOT_SUPPORTED
}
