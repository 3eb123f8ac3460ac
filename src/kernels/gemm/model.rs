//! A model of the execution time of sm_90a kernels.

use super::{Gemm, GemmTile, MatrixOrder};

/// The time of a block, in microseconds on an H100.
struct Cost {
    tile: GemmTile,
    /// The time of a step of 128 bytes along k if the operands are already in shared memory.
    step: f64,
    /// The time between tiles; if two warpgroups take turns, stores overlap with MMAs.
    between: f64,
}

// The costs and the constants below were fitted to measured times of random products; see "Products of any size" in docs/performance.md.
#[rustfmt::skip]
const COSTS: [Cost; 12] = [
    Cost { tile: GemmTile::T16x64,   step: 0.100, between: 0.1 },
    Cost { tile: GemmTile::T16x128,  step: 0.133, between: 0.1 },
    Cost { tile: GemmTile::T64x64,   step: 0.116, between: 0.1 },
    Cost { tile: GemmTile::T64x128,  step: 0.159, between: 0.1 },
    Cost { tile: GemmTile::T128x128, step: 0.307, between: 0.1 },
    Cost { tile: GemmTile::T128x160, step: 0.380, between: 0.1 },
    Cost { tile: GemmTile::T128x192, step: 0.435, between: 0.1 },
    Cost { tile: GemmTile::T128x256, step: 0.525, between: 1.1 },
    Cost { tile: GemmTile::T256x128, step: 0.567, between: 1.1 },
    Cost { tile: GemmTile::T192x192, step: 0.597, between: 1.4 },
    Cost { tile: GemmTile::T256x160, step: 0.707, between: 1.4 },
    Cost { tile: GemmTile::T256x192, step: 0.875, between: 1.4 },
];
/// The time, in microseconds, that a multiprocessor takes to read a cache line from the L2 cache while all multiprocessors read.
const LINE: f64 = 0.001;
/// The additional time before the blocks of clusters start, in microseconds.
const CLUSTER: f64 = 0.85;
/// The time that the blocks of a cluster take to exchange the sums of a tile, in microseconds.
const EXCHANGE: f64 = 0.9;
/// The additional time of an exchange for each element of the tile, in microseconds.
const EXCHANGE_OF_ELEMENT: f64 = 1.5e-4;
/// The slowdown if clusters compute several rounds of tiles, because the blocks of a cluster wait for each
/// other.
const IN_STEP: f64 = 1.05;
/// The same slowdown for clusters of more than two blocks whose warpgroups compute a tile together and
/// therefore do not multiply while they store.
const TOGETHER_IN_STEP: f64 = 1.12;
/// The bandwidth of the GPU's memory in bytes per microsecond.
const BANDWIDTH: f64 = 3.0e6;

/// The products that a launch computes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    /// m, n and k of each product.
    size: [u32; 3],
    /// The number of products.
    batches: u32,
    /// The number of parts into which the sum over k of each product is divided. The sums of the parts are stored separately.
    split: u32,
}

impl Work {
    /// Returns the work of `batches` products.
    pub(super) const fn products(size: [u32; 3], batches: u32) -> Self {
        Self { size, batches, split: 1 }
    }

    /// Returns the work of a product whose sum over k is divided into `parts` parts.
    pub(super) const fn split_k(size: [u32; 3], parts: u32) -> Self {
        Self { size, batches: 1, split: parts }
    }
}

impl Gemm {
    /// Returns the estimated time of a launch in microseconds, without the constant overhead of launches, where `bytes` is the size of an
    /// operand element. Returns `None` if the model does not predict the time or the device cannot run a cluster.
    pub(super) fn estimated_micros(&self, work: Work, bytes: u32, multiprocessors: u32) -> Option<f64> {
        let cost = COSTS.iter().find(|cost| cost.tile == self.tile).filter(|_| self.is_predictable())?;
        let Work { size, batches, split } = work;
        let [m, n, k] = size;
        let ([of_rows, of_cols], [rows, cols]) = (self.cluster, self.tile.size());
        let (in_cluster, multiprocessors) = (self.blocks_of_cluster(), multiprocessors.max(1));
        let resident = f64::from(resident(in_cluster, multiprocessors)?);
        let clusters =
            u64::from(m.div_ceil(rows).div_ceil(of_rows)) * u64::from(n.div_ceil(cols).div_ceil(of_cols));
        let blocks = clusters as f64 * f64::from(batches) * f64::from(split) * f64::from(in_cluster);
        let rounds = (blocks / resident).ceil();
        // Blocks of a cluster read the rows of a shared tile once.
        let [lines_of_a, lines_of_b] = self.lines(size, bytes);
        let lines = f64::from(rows.min(m)) * lines_of_a / f64::from(of_cols)
            + f64::from(cols) * lines_of_b / f64::from(of_rows);
        let active = blocks.min(resident) / f64::from(multiprocessors);
        let [m, n, k] = [m, n, k].map(f64::from);
        let steps = (k * f64::from(bytes) / 128.0 / (f64::from(self.parts) * f64::from(split))).ceil();
        let exchange =
            if self.parts > 1 { EXCHANGE + EXCHANGE_OF_ELEMENT * f64::from(rows * cols) } else { 0.0 };
        let tile = steps * overlapped(cost.step, lines * LINE * active) + cost.between + exchange;
        // Results are assumed to be 16-bit.
        let all_bytes = f64::from(batches) * (f64::from(bytes) * (m * k + k * n) + 2.0 * m * n);
        let start = if in_cluster > 1 { CLUSTER } else { 0.0 };
        let in_step = match in_cluster {
            _ if in_cluster == 1 || rounds <= 1.0 => 1.0,
            3.. if self.tile.is_computed_together() => TOGETHER_IN_STEP,
            _ => IN_STEP,
        };
        Some(start + in_step * overlapped(rounds * tile, all_bytes / BANDWIDTH))
    }

    /// Returns whether the estimate for this tile and this order of B is reliable. If B is row-major, tiles with 160 columns allow only a
    /// 64-byte swizzle of B; they reached 0.73 to 1.00 of the predicted speed.
    fn is_predictable(&self) -> bool {
        self.b == MatrixOrder::Col || self.tile.size()[1].is_multiple_of(64)
    }

    /// Returns, for A and for B, the average number of cache lines that contain 128 bytes of a row (or of a column, if column-major): one
    /// if each row starts at a cache line, and up to two otherwise.
    fn lines(&self, [m, n, k]: [u32; 3], bytes: u32) -> [f64; 2] {
        [self.a.leading_dimension(m, k), self.b.leading_dimension(k, n)].map(|length| {
            let past_line = u64::from(length) * u64::from(bytes) % 128;
            // Each row starts a multiple of `unit` bytes after the start of a line.
            let unit = 1_u64 << past_line.trailing_zeros().min(7);
            2.0 - unit as f64 / 128.0
        })
    }
}

/// Returns the time of two operations that overlap partially. Unlike `f64::hypot`, this is cheap, which matters because all candidates are
/// estimated for each product.
fn overlapped(a: f64, b: f64) -> f64 {
    (a * a + b * b).sqrt()
}

/// Returns the number of blocks that run at the same time in clusters of `in_cluster` blocks, or `None` if it is 0. A cluster runs within
/// one GPC. If the cluster size does not divide the number of multiprocessors of a GPC, some multiprocessors are idle: clusters of 4 or 8
/// blocks occupy 120 of the 132 multiprocessors of an H100.
fn resident(in_cluster: u32, multiprocessors: u32) -> Option<u32> {
    let usable = if in_cluster > 2 { multiprocessors - multiprocessors / 11 } else { multiprocessors };
    Some(usable / in_cluster * in_cluster).filter(|&blocks| blocks > 0)
}
