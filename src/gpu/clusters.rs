//! The number of clusters that a device runs at the same time.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use super::{device::Gpu, error::GpuError, launch::LaunchConfig, module::Module};

/// The resident cluster counts that have been determined so far, by cluster size in blocks.
pub(super) type ResidentClusters = Mutex<HashMap<u32, u32>>;

/// An empty kernel that can be launched with any cluster size.
const EMPTY: &str = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry empty() { ret; }\n";

impl Gpu {
    /// Returns the number of clusters of `size` blocks that can run simultaneously with at most one block per multiprocessor.
    ///
    /// The result is the number of multiprocessors if `size` is 0 or 1, and 0 if the device does not support clusters. Persistent kernels
    /// are launched with this number of clusters, because any additional cluster would have to wait until another one has finished.
    ///
    /// All blocks of a cluster run on one group of multiprocessors (GPC), and the size of these groups varies within and between GPUs: an
    /// H100 with 132 multiprocessors was observed to run only 15 clusters of 8 blocks instead of 16.
    ///
    /// # Errors
    /// Returns the driver's error, for example if `size` exceeds the device's maximum cluster size.
    #[doc(alias = "cuOccupancyMaxActiveClusters")]
    pub fn resident_clusters(&self, size: u32) -> Result<u32, GpuError> {
        let properties = self.properties();
        match size {
            0 | 1 => return Ok(properties.multiprocessors),
            _ if properties.capability < (9, 0) => return Ok(0),
            _ => {}
        }
        let known = || self.clusters.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&clusters) = known().get(&size) {
            return Ok(clusters);
        }
        let function = Module::load(self, EMPTY)?.function("empty")?;
        // The block uses all shared memory of a multiprocessor, so that no second block fits.
        let config = LaunchConfig::new([size, 1, 1], [32, 1, 1])
            .cluster([size, 1, 1])
            .dynamic_shared(properties.shared_bytes_per_block_opt_in);
        let clusters = function.active_clusters(&config)?;
        known().insert(size, clusters);
        Ok(clusters)
    }
}
