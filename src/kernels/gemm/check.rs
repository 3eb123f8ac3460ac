//! The combinations of fields that a kernel supports.

use super::{Gemm, MatrixOrder};

/// The maximum number of blocks of a cluster that every device supports (CUDA C++ Programming Guide, "Thread Block Clusters").
const MOST_BLOCKS: u32 = 8;

impl Gemm {
    /// Checks that a kernel for factors of this number of bytes has this combination of orders, tile, cluster and parts.
    pub(super) fn check(&self, bytes: u32) -> Result<(), String> {
        let Self { a, b, tile, cluster: [rows, cols], parts, .. } = *self;
        // `wgmma` transposes tiles of 16 bits only.
        if bytes != 2 && (a, b) != (MatrixOrder::Row, MatrixOrder::Col) {
            return Err(format!(
                "expected A in rows and B in columns for types other than those of 16 bits, found A in {} and B in {}",
                a.plural(),
                b.plural()
            ));
        }
        let [height, _] = tile.size();
        if height < 64 && (a == MatrixOrder::Col || cols > 1) {
            return Err(format!(
                "expected A in rows and clusters of one column of tiles for tiles of {height} rows, found A in {} and {cols} columns",
                a.plural()
            ));
        }
        if !tile.parts().contains(&parts) {
            return Err(format!(
                "expected whole tiles, or tiles of 64 columns in 2 parts, found {tile} in {parts}"
            ));
        }
        let blocks = rows.saturating_mul(cols).saturating_mul(parts);
        if !(1..=MOST_BLOCKS).contains(&blocks) {
            return Err(format!("expected clusters of 1 to {MOST_BLOCKS} blocks, found {blocks}"));
        }
        Ok(())
    }
}
