//! Functions of the section "Tensor Map Object Management".

use super::pointers::{In, Out};
use crate::c::entries;
use crate::code::{Code, Fallible};
use crate::driver::tensor_map::Tensor;

/// Reads the parameters that are common to both modes.
fn tensor(
    ty: u32,
    rank: u32,
    address: u64,
    dims: In<u64>,
    strides: In<u64>,
    element_strides: In<u32>,
    modes: [u32; 3],
) -> Fallible<Tensor> {
    let rank = rank as usize;
    if !(1..=5).contains(&rank) {
        return Err(Code::INVALID_VALUE);
    }
    let [interleave, swizzle, fill] = modes;
    Ok(Tensor {
        ty,
        address,
        dims: dims.list(rank)?,
        strides: strides.list(rank - 1)?,
        element_strides: element_strides.list(rank)?,
        interleave,
        swizzle,
        nan_fill: fill != 0,
    })
}

entries! {
    fn cuTensorMapEncodeTiled(
        out: Out<[u8; 128]>, ty: u32, rank: u32, address: u64, dims: In<u64>, strides: In<u64>, tile: In<u32>,
        element_strides: In<u32>, interleave: u32, swizzle: u32, _promotion: u32, fill: u32,
    ) {
        let tensor = tensor(ty, rank, address, dims, strides, element_strides, [interleave, swizzle, fill])?;
        out.set(tensor.tiled(tile.list(rank as usize)?)?)
    }

    fn cuTensorMapEncodeIm2col(
        out: Out<[u8; 128]>, ty: u32, rank: u32, address: u64, dims: In<u64>, strides: In<u64>, lower: In<i32>,
        upper: In<i32>, channels: u32, pixels: u32, element_strides: In<u32>, interleave: u32, swizzle: u32,
        _promotion: u32, fill: u32,
    ) {
        let tensor = tensor(ty, rank, address, dims, strides, element_strides, [interleave, swizzle, fill])?;
        let spatial = (rank as usize).saturating_sub(2);
        out.set(tensor.im2col(lower.list(spatial)?, upper.list(spatial)?, channels, pixels)?)
    }

    fn cuTensorMapReplaceAddress(map: Out<[u8; 128]>, address: u64) {
        if !address.is_multiple_of(16) {
            return Err(Code::INVALID_VALUE);
        }
        map.set(warpwright_sim::TensorMap::with_address(map.get()?, address).ok_or(Code::INVALID_VALUE)?)
    }
}
