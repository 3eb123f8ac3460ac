//! The tensor maps that a launch creates for buffer parameters.

use arrayvec::ArrayVec;

use super::{TensorBox, refusal};
use crate::{
    ptx::{Dim, Entry, SwizzleMode},
    run::error::RunError,
};

/// The largest stride of a map, in bytes (CUDA Driver API, `cuTensorMapEncodeTiled`).
const MOST_STRIDE: u64 = (1 << 40) - 16;

/// The maximum number of dimensions of a tensor map.
const MOST_DIMS: usize = 5;

/// The tensor and the box of a map that the launch creates. They determine the map, so launches of kernels with the same text share encoded
/// maps.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::run) struct BufferBox {
    /// The index of the map in the kernel's list of maps.
    map: usize,
    /// The start address of the buffer.
    address: u64,
    /// The number of elements along each dimension.
    dims: ArrayVec<u64, MOST_DIMS>,
    /// The strides in elements along dimensions 1 and up.
    strides: ArrayVec<u64, MOST_DIMS>,
    /// The Rust name of the element type.
    element: &'static str,
    /// The number of elements of the box along each dimension.
    box_dims: ArrayVec<u32, MOST_DIMS>,
    /// The swizzle in shared memory.
    swizzle: SwizzleMode,
    /// Whether the tensor has no elements. Such a tensor cannot have a map; instead, the launch passes a map of a one-element tensor in
    /// stand-in memory: a zero if the kernel reads the tensor, or a scratch element if it writes the tensor.
    pub(in crate::run) is_empty: bool,
}

/// The size in bytes of the memory for tensors without elements: a zero in the first half, a scratch element in the second.
pub(in crate::run) const STAND_IN_BYTES: usize = 256;

impl BufferBox {
    /// Returns the index of the buffer's parameter.
    pub(in crate::run) fn parameter(&self, entry: &Entry) -> usize {
        entry.maps[self.map].parameter
    }

    /// Returns the address of the tensor, where `stand_in` is the address of the memory for tensors without elements.
    pub(in crate::run) fn address(&self, entry: &Entry, stand_in: u64) -> u64 {
        let written = entry.params.get(self.parameter(entry)).is_some_and(|param| param.kind.is_written());
        match (self.is_empty, written) {
            (false, _) => self.address,
            (true, false) => stand_in,
            (true, true) => stand_in + STAND_IN_BYTES as u64 / 2,
        }
    }

    /// Returns the tensor with the box of the kernel.
    pub(in crate::run) fn tensor(&self) -> TensorBox {
        TensorBox {
            strides: self.strides.to_vec(),
            swizzle: self.swizzle,
            ..TensorBox::new(self.dims.to_vec(), self.box_dims.to_vec())
        }
    }
}

/// The maximum number of coordinates along a dimension: the coordinates of tensor copies are signed 32-bit integers, and kernels clamp
/// larger coordinates to the largest, which must therefore be past the edge.
const MOST_COORDINATES: u64 = i32::MAX as u64;

/// Evaluates map `index` of the kernel for a buffer at `address`; `parameter(i)` is the value of integer parameter `i`.
pub(in crate::run) fn buffer_box(
    entry: &Entry,
    index: usize,
    address: u64,
    parameter: &impl Fn(usize) -> u64,
) -> Result<BufferBox, RunError> {
    let map = &entry.maps[index];
    let evaluate = |dims: &[Dim]| -> Option<ArrayVec<u64, MOST_DIMS>> {
        dims.iter().map(|dim| dim.evaluate(parameter)).collect()
    };
    let refuse = |why: String| refusal(entry, map.parameter, why);
    let (Some(mut dims), Some(mut strides)) = (evaluate(&map.dims), evaluate(&map.strides)) else {
        return Err(refuse("expected extents that fit in 64 bits".into()));
    };
    if let Some(found) = dims.iter().find(|&&dim| dim > MOST_COORDINATES) {
        return Err(refuse(format!(
            "expected at most {MOST_COORDINATES} coordinates along a dimension, found {found}"
        )));
    }
    let is_empty = dims.contains(&0);
    if is_empty {
        dims.fill(1);
    }
    let (element, size) =
        entry.params.get(map.parameter).map_or(("", 1), |param| (param.element, param.element_bytes.into()));
    for (stride, dim) in strides.iter_mut().zip(&dims[1..]) {
        if *dim == 1 {
            // There is no second coordinate, so any valid stride will do.
            *stride = stride.saturating_mul(size).min(MOST_STRIDE).next_multiple_of(16).max(16) / size;
        } else if !stride.wrapping_mul(size).is_multiple_of(16) {
            let bytes = u128::from(*stride) * u128::from(size);
            return Err(refuse(format!(
                "expected rows that are a multiple of 16 bytes apart, found {bytes} bytes"
            )));
        }
    }
    let (box_dims, swizzle) = (map.box_dims.iter().copied().collect(), map.swizzle);
    Ok(BufferBox { map: index, address, dims, strides, element, box_dims, swizzle, is_empty })
}
