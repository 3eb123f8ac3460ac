//! Tensor maps that the driver has encoded for earlier launches.

use std::sync::{Mutex, PoisonError};

use rustc_hash::FxHashMap;

use super::{error::RunError, tensor_map::BufferBox};
use crate::gpu::TensorMap;

/// The maximum number of maps that are kept: those of a few hundred launches on different buffers.
const MOST_MAPS: usize = 1024;

/// The maps that were encoded for launches of one kernel. A map depends only on its tensor, not on the contents of the buffer, so it never
/// becomes invalid.
#[derive(Debug, Default)]
pub(super) struct EncodedMaps(Mutex<FxHashMap<BufferBox, TensorMap>>);

impl EncodedMaps {
    /// Returns the map of a tensor. Calls `encode` to create the map unless an earlier launch used the same tensor.
    pub(super) fn get(
        &self,
        tensor: &BufferBox,
        encode: impl FnOnce() -> Result<TensorMap, RunError>,
    ) -> Result<TensorMap, RunError> {
        let mut maps = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(map) = maps.get(tensor) {
            return Ok(*map);
        }
        let map = encode()?;
        if maps.len() == MOST_MAPS {
            maps.clear();
        }
        maps.insert(tensor.clone(), map);
        Ok(map)
    }
}
