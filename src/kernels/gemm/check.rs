//! The combinations of fields that a kernel supports.

use super::{Gemm, GemmTile, MatrixOrder};
use crate::ptx::Features;

/// The maximum number of blocks per cluster that every device supports (CUDA C++ Programming Guide, "Thread Block Clusters").
pub(super) const MOST_BLOCKS: u32 = 8;

impl Gemm {
    /// Returns the number of blocks per cluster.
    pub(super) const fn blocks_of_cluster(&self) -> u32 {
        let [rows, cols] = self.cluster;
        rows.saturating_mul(cols).saturating_mul(self.parts)
    }

    /// Returns whether the target has `wgmma`.
    pub(super) const fn has_wgmma(&self) -> bool {
        self.target.features().contains(Features::WGMMA)
    }

    /// Checks that kernels support this combination of target, orders, tile, cluster and parts for operands with `bytes`-byte elements.
    pub(super) fn check(&self, bytes: u32) -> Result<(), String> {
        let Self { target, a, b, tile, .. } = *self;
        if !target.features().contains(Features::AMPERE) {
            return Err(format!("expected sm_80 or later, found {target}"));
        }
        // `wgmma` and `ldmatrix` transpose only 16-bit elements.
        if bytes != 2 && (a, b) != (MatrixOrder::Row, MatrixOrder::Col) {
            return Err(format!(
                "expected row-major A and column-major B for types other than those of 16 bits, found {} A and {} B",
                a.major(),
                b.major()
            ));
        }
        let tiles = GemmTile::for_target(target);
        if !tiles.contains(&tile) {
            let tiles: Vec<_> = tiles.iter().map(GemmTile::to_string).collect();
            return Err(format!("expected tiles of {} for {target}, found {tile}", tiles.join(", ")));
        }
        if self.has_wgmma() { self.check_clusters() } else { self.check_blocks() }
    }

    /// Checks that `what` is built for a target with `wgmma`.
    pub(super) fn check_wgmma(&self, what: &str) -> Result<(), String> {
        let target = self.target;
        if self.has_wgmma() { Ok(()) } else { Err(format!("expected sm_90a for {what}, found {target}")) }
    }

    fn check_clusters(&self) -> Result<(), String> {
        let Self { a, tile, cluster: [_, cols], parts, .. } = *self;
        let [height, _] = tile.size();
        if height < 64 && a == MatrixOrder::Col {
            return Err(format!("expected row-major A for tiles of {height} rows, found column-major A"));
        }
        if height < 64 && cols > 1 {
            return Err(format!(
                "expected clusters of one column of tiles for tiles of {height} rows, found {cols} columns"
            ));
        }
        if !tile.parts().contains(&parts) {
            return Err(format!(
                "expected one of {:?} parts for tiles of {tile}, found {parts}",
                tile.parts()
            ));
        }
        let blocks = self.blocks_of_cluster();
        if !(1..=MOST_BLOCKS).contains(&blocks) {
            return Err(format!("expected clusters of 1 to {MOST_BLOCKS} blocks, found {blocks}"));
        }
        if self.any_size {
            return Err(
                "expected strides that are multiples of 16 bytes for tensor copies, found `any_size`".into(),
            );
        }
        Ok(())
    }

    fn check_blocks(&self) -> Result<(), String> {
        let Self { target, tile, cluster: [rows, cols], parts, .. } = *self;
        if [rows, cols, parts] != [1; 3] {
            return Err(format!(
                "expected blocks without clusters for {target}, found {rows}x{cols} tiles in {parts} parts"
            ));
        }
        // Elements that are copied one at a time pass through registers, but this tile's sums occupy the registers.
        if self.any_size && tile == GemmTile::T128x256 {
            return Err(format!("expected tiles of 64x64 or 128x128 for any sizes, found {tile}"));
        }
        Ok(())
    }
}
