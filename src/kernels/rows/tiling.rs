//! The division of the rows of matrices among threads.

mod narrow;
mod parts;
mod row;

use std::{fmt, rc::Rc};

use super::{ahead::keeps_weights_in_shared_memory, team::Team};
use crate::ptx::{BuildError, Builder, Dim, Features, IntoDim, Kernel, Params, Target, Val};

pub(super) use narrow::aligned_elements;
use row::Segment;
pub(super) use row::{Line, Row, same_or};

/// The division of the rows of a matrix among threads.
///
/// A row is divided into groups of [`adjacent`](Self::adjacent) consecutive elements, and the groups are distributed among threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RowTiling {
    /// The number of threads per block that process the same row: a power of two up to 32, or a multiple of 32 up to 1024.
    pub threads: u32,
    /// The number of rows that a block processes at a time. It must be 1 if `threads` is greater than 32; otherwise, `threads` · `rows`
    /// must be a multiple of 32, at most 1024.
    pub rows: u32,
    /// The number of blocks that process a row together, as a cluster: 1, 2, 4 or 8. If it is greater than 1, `threads` must be a multiple
    /// of 32 and `rows` must be 1, and the kernel requires sm_90 or later and PTX 8.6 (a driver for CUDA 12.7 or later).
    pub cluster: u32,
    /// The number of elements in a group: a power of two up to 16. Groups of more than 16 bytes are accessed 16 bytes at a time.
    pub adjacent: u32,
    /// Whether rows may be unaligned, that is, begin at any element. If false, `adjacent` must divide the row length and the row pitches.
    /// If true, the elements of a group must fill whole words; each group is loaded from the two aligned groups that contain its elements.
    pub unaligned: bool,
    /// The number of groups that a thread processes in each row or, if the row is read in parts, in each part. `adjacent` · `stripes` must be
    /// from 1 to 1024.
    pub stripes: u32,
    /// Whether rows may be longer than the [capacity](Self::capacity). Longer rows are read in parts, possibly several times.
    pub streamed: bool,
    /// The number of blocks that must be resident on a multiprocessor simultaneously, which limits the registers per thread: up to 32.
    /// If it is 0, there is no such limit.
    pub resident: u32,
    /// The number of rows that are kept in shared memory for each set of threads that process a row together, up to 8, or 0 if rows are
    /// loaded directly into registers. If it is greater than 1, the next rows are copied while a row is processed. If it is not 0,
    /// [`streamed`](Self::streamed) must be false, and the kernel requires sm_80 or later.
    ///
    /// If rows are unaligned, `ahead` is not 0, and `cluster` is greater than 1, each block of a cluster processes a segment of the row.
    /// Only norms without quantization, the gradients of norms, and the gradient of softmax support segments.
    pub ahead: u32,
    /// If `ahead` is not 0, the number of rows that the same threads process one after the other. The kernel uses a smaller number if some
    /// multiprocessors would otherwise have no block. With small values, all blocks finish at about the same time, and the rows in progress
    /// are close to each other in memory.
    pub turns: u32,
}

/// The number of 16-byte groups per thread, if there are enough threads.
const GROUPS: u32 = 2;
/// The number of groups per thread if a warp processes a row.
const GROUPS_IN_WARP: u32 = 4;
/// The maximum number of blocks per cluster that every device with clusters supports.
pub(super) const MOST_BLOCKS: u32 = 8;
/// The maximum number of groups per thread in blocks of 1024 threads, which have 64 registers each.
const MOST_GROUPS: u32 = 8;
/// The number of threads per block if at most a warp processes each row.
const SHORT: u32 = 64;
/// The maximum number of groups in an unaligned row that at most a warp processes, in kernels that process matrices without gaps as one
/// row.
const LONG: u32 = 64;
/// The maximum number of elements that a thread keeps in registers if they are also in shared memory.
const MOST_HELD: u32 = 32;

/// The maximum number of threads in a block with enough registers for unaligned rows and their weights.
const MOST_HOLDING: u32 = 512;
/// The maximum number of elements that a thread loads at a time from a row in shared memory if it does not keep them.
const MOST_AT_A_TIME: u32 = 16;

/// The maximum that replaces [`MOST_AT_A_TIME`] if few registers are left, or if registers contain sums.
const MOST_IN_FEW: u32 = 4;
/// The maximum number of registers per thread at which few are left for elements.
const FEW_REGISTERS: u32 = 80;

/// The number of registers per multiprocessor, which are divided equally among its schedulers.
const REGISTERS: u32 = 1 << 16;
/// The number of schedulers per multiprocessor.
const SCHEDULERS: u32 = 4;
/// The maximum number of registers per thread.
const MOST_REGISTERS: u32 = 248;
/// The number of registers per thread that contain no elements.
const OTHER_REGISTERS: u32 = 48;

/// The number of bytes of a block's shared memory that are reserved for reductions.
const FOR_REDUCTIONS: u32 = 7 << 10;

/// The size in bytes of the widest weights.
const MOST_BYTES_OF_WEIGHTS: u32 = 4;

/// The maximum number of resident blocks per multiprocessor (CUDA C++ Programming Guide, "Technical Specifications per Compute
/// Capability").
const MOST_RESIDENT: u32 = 32;

/// The maximum number of rows in shared memory for each set of threads. More than two were not faster.
const MOST_AHEAD: u32 = 8;

/// The maximum number of elements of a row per thread, several times as many as fit in registers.
const MOST_OF_THREAD: u64 = 1024;

/// The maximum length of an unaligned row.
pub(super) const MOST_UNALIGNED: u32 = 1 << 30;

impl RowTiling {
    /// Returns the tiling for rows of at most `sizes[0]` elements. Each of the other entries of `sizes` is a row pitch or a divisor of a
    /// row pitch. `bytes` is the size of the widest element that is read or written. Rows are unaligned unless every entry of `sizes`,
    /// multiplied by `bytes`, is a multiple of 16.
    ///
    /// The following tilings were the fastest on an H200:
    ///
    /// - for short rows, at most one warp per row;
    /// - for longer rows, a block with 32 bytes per thread (for elements narrower than 32 bits, at least two such blocks fit on a
    ///   multiprocessor);
    /// - for even longer rows of f32, a block with up to 32 elements per thread and, for the longest rows, a cluster of up to 8 blocks;
    /// - for long rows of 8-bit or 16-bit elements, and for all long rows on targets without clusters, a
    ///   block that reads the row in parts. Kernels that read such a row twice find it in the L2 cache the
    ///   second time.
    #[must_use]
    pub fn for_rows(target: Target, bytes: u32, sizes: &[u32]) -> Self {
        let adjacent = (16 / bytes.max(1)).max(1);
        let unaligned = sizes.iter().any(|size| !size.is_multiple_of(adjacent));
        let n = sizes.first().map_or(1, |&n| n.max(1));
        let slack = if unaligned { adjacent - 1 } else { 0 };
        let groups = n.saturating_add(slack).div_ceil(adjacent);
        let tiling = |threads: u32, rows: u32, cluster: u32, resident: u32| {
            let stripes = groups.div_ceil(threads * cluster);
            Self {
                threads,
                rows,
                cluster,
                adjacent,
                unaligned,
                stripes,
                streamed: false,
                resident,
                ahead: 0,
                turns: 1,
            }
        };
        let clusters = target.features().contains(Features::HOPPER);
        // For each unaligned group, two aligned groups are loaded.
        let held = 1024 * if unaligned { MOST_GROUPS / 2 } else { MOST_GROUPS };
        let in_cluster = || {
            let cluster = groups.div_ceil(held).next_power_of_two();
            (clusters && cluster <= MOST_BLOCKS).then(|| tiling(1024, 1, cluster, 0))
        };
        let in_parts = |stripes, resident| {
            // More elements per thread would leave too few registers for two blocks.
            let (stripes, resident) = match unaligned {
                true => (1, if adjacent > 8 { 1 } else { 2 }),
                false => (stripes, resident),
            };
            Self { stripes, streamed: true, ..tiling(1024, 1, 1, resident) }
        };
        let is_wide = adjacent <= 4;
        match groups {
            ..=128 => {
                let threads = groups.div_ceil(GROUPS_IN_WARP).next_power_of_two().min(32);
                tiling(threads, SHORT / threads, 1, 0)
            }
            _ if groups <= if is_wide { 2048 } else { 1152 } => {
                let threads = groups.div_ceil(GROUPS).next_multiple_of(32);
                tiling(threads, 1, 1, (1024 / threads).max(if is_wide { 1 } else { 2 }))
            }
            _ if is_wide && groups <= held => tiling(1024, 1, 1, 1),
            _ if is_wide => in_cluster().unwrap_or_else(|| in_parts(GROUPS, 2)),
            _ if groups <= 4096 => in_parts(GROUPS, 2),
            _ => in_parts(2 * GROUPS, 1),
        }
    }

    /// Returns the tiling for kernels that read each row once or twice and can copy rows to shared memory first. See
    /// [`for_rows`](Self::for_rows) for the parameters. If copying is not faster or not supported, the tiling is the same as that of
    /// `for_rows`.
    ///
    /// On an H200, norms of rows of 8 to 64 KiB (32 to 64 KiB for f32) are fastest if each block copies a row to shared memory while other
    /// blocks compute: more bytes can then be in flight than fit in registers. Unaligned rows are reordered in shared memory.
    #[must_use]
    pub fn for_copied_rows(target: Target, bytes: u32, sizes: &[u32]) -> Self {
        let direct = Self::for_rows(target, bytes, sizes);
        let groups = direct.groups(sizes);
        if !target.features().contains(Features::AMPERE) || bytes > 4 {
            return direct;
        }
        let is_wide = direct.adjacent <= 4;
        let copied = match (direct.unaligned, groups) {
            (true, 33..=128) => Self { resident: 8, ahead: 2, turns: 4, ..direct },
            // Reordering elements that are whole words is equally fast in registers.
            (true, 129..=512) if is_wide => direct,
            (true, 129..=1152) => direct.copied(groups, 4, 2, 4),
            (true, 1153..=2560) => direct.copied(groups, 8, 2, 4),
            // A multiprocessor with only one block is idle while the block's first row is copied.
            (true, 2561..=4096) => direct.copied(groups, 8, 2, 8),
            (true, 4097..=8192) if is_wide => match direct.copied(groups, 8, 2, 8) {
                two if two.fits(target, bytes, 1) => two,
                two => Self { ahead: 1, ..two },
            },
            (false, 513..=1024) if !is_wide => direct.copied(groups, 4, 1, 1),
            (false, 1025..=2048) if !is_wide => direct.copied(groups, 8, 1, 1),
            (false, 2049..=4096) => direct.copied(groups, 8, 1, 1),
            _ => direct,
        };
        if copied.fits(target, bytes, 1) { copied } else { direct }
    }

    /// Returns whether the shared memory of a block can contain the rows of `inputs` inputs and two vectors of weights, all with
    /// `bytes`-byte elements.
    pub(super) fn fits(self, target: Target, bytes: u32, inputs: u32) -> bool {
        self.fits_with(target, bytes, inputs, 2)
    }

    /// Returns whether the shared memory of a block can contain the rows of `inputs` inputs and `vectors` vectors of weights.
    pub(super) fn fits_with(self, target: Target, bytes: u32, inputs: u32, vectors: u32) -> bool {
        self.ahead == 0 || self.shared_bytes(target, bytes, inputs, vectors) <= shared_for_rows(target)
    }

    /// Returns the number of bytes of shared memory that a block requires for rows of `inputs` inputs and `vectors` vectors of weights,
    /// with `bytes`-byte elements.
    fn shared_bytes(self, target: Target, bytes: u32, inputs: u32, vectors: u32) -> u32 {
        // With narrower weights, weights are copied to shared memory for more elements per thread.
        let sizes = [1, 2, 4, 8].into_iter().filter(|&size| size <= bytes);
        let of_weights = sizes.filter(|&size| keeps_weights_in_shared_memory(self, size, target)).max();
        self.rows * self.own_slots() * (self.ahead * inputs * bytes + vectors * of_weights.unwrap_or(0))
    }

    /// Returns this tiling for unaligned rows and `vectors` vectors of weights. If shared memory is too small for two rows in each resident
    /// block, `ahead` is reduced to 1.
    pub(super) fn with_room(self, target: Target, bytes: u32, vectors: u32) -> Self {
        let of_blocks = self.resident * self.shared_bytes(target, bytes, 1, vectors);
        let is_full =
            self.unaligned && self.ahead > 1 && self.resident > 1 && of_blocks > shared_for_rows(target);
        if is_full { Self { ahead: 1, ..self } } else { self }
    }

    /// Returns the number of groups of adjacent elements in a row of the given `sizes`.
    pub(super) fn groups(self, sizes: &[u32]) -> u32 {
        sizes.first().map_or(1, |&n| n.max(1)).saturating_add(self.slack()).div_ceil(self.adjacent)
    }

    /// Returns the tiling for rows of `groups` groups that pass through shared memory, with at most `stripes` groups per thread.
    pub(super) fn copied(self, groups: u32, stripes: u32, ahead: u32, turns: u32) -> Self {
        let threads = groups.div_ceil(stripes).next_multiple_of(32);
        // Unaligned rows require more registers, for the words from which elements are extracted.
        let resident = match stripes {
            ..4 => (1536 / threads).clamp(1, 3),
            4..8 if self.unaligned => (640 / threads).max(1),
            4..8 => (512 / threads).max(1),
            _ if self.unaligned && threads > 256 => (640 / threads).max(1),
            _ if threads <= 256 => 3,
            _ if threads <= 512 => 2,
            _ => 1,
        };
        // Because threads fill whole warps, there may be fewer groups per thread. More than four groups are loaded in equal parts, so their
        // number must not become odd.
        let stripes = if stripes <= 4 { groups.div_ceil(threads) } else { stripes };
        Self { threads, rows: 1, cluster: 1, stripes, streamed: false, resident, ahead, turns, ..self }
    }

    /// Returns the tiling for kernels that keep several rows in registers; see [`for_rows`](Self::for_rows) for the parameters.
    ///
    /// Short rows are divided among at most a warp, as in `for_rows`. For longer rows, a thread keeps at most 16 elements of each row. Rows
    /// of more than 8192 elements are divided among the blocks of a cluster or, on targets without clusters, among up to 1024 threads of a
    /// block, with more elements per thread if necessary.
    #[must_use]
    pub fn for_held_rows(target: Target, bytes: u32, sizes: &[u32]) -> Self {
        match Self::for_rows(target, bytes, sizes) {
            short if short.threads <= 32 => short,
            long => {
                let groups = long.groups(sizes);
                let stripes = 16 / long.adjacent;
                let clusters = target.features().contains(Features::HOPPER);
                let cluster = if clusters { groups.div_ceil(512 * stripes).next_power_of_two() } else { 1 };
                let threads = groups.div_ceil(cluster * stripes).next_multiple_of(32).min(1024);
                let stripes = groups.div_ceil(cluster * threads);
                Self { threads, cluster, stripes, streamed: false, resident: 1, ..long }
            }
        }
    }

    /// Returns the tiling for kernels whose blocks keep sums over many rows in registers and can copy the next row to shared memory while
    /// they process a row. See [`for_rows`](Self::for_rows) for the parameters. For rows that are too short or too long for such copies,
    /// for elements of more than 4 bytes, and on targets older than sm_80, the tiling is the same as that of
    /// [`for_held_rows`](Self::for_held_rows).
    #[must_use]
    pub fn for_summed_rows(target: Target, bytes: u32, sizes: &[u32]) -> Self {
        let held = Self::for_held_rows(target, bytes, sizes);
        let groups = held.groups(sizes);
        if !target.features().contains(Features::AMPERE) || bytes > 4 || groups < 64 {
            return held;
        }
        let copied = |elements: u32, resident: u32, most: u32| {
            let stripes = (elements / held.adjacent).max(1);
            let threads = groups.div_ceil(stripes).next_multiple_of(32);
            let resident = (resident / threads).clamp(1, 8);
            let one_block = Self { threads, rows: 1, cluster: 1, stripes, streamed: false, resident, ..held };
            (threads <= most).then_some(Self { ahead: 2, ..one_block })
        };
        // If there would be few warps or many empty groups, each thread has more elements, and more registers for them.
        let least = if bytes < 4 { 160 } else { 320 };
        let is_full = |tiling: &Self| copied(16, 1, 640).is_none_or(|other| tiling.slots() <= other.slots());
        let few = || {
            copied(24, 384, 384).filter(|tiling| {
                held.unaligned && (tiling.threads > least || bytes < 4 && groups > 128 && is_full(tiling))
            })
        };
        let most = || copied(32, 512, 512).filter(|_| bytes < 4 && !held.unaligned);
        // Several blocks are resident per multiprocessor, because the blocks of a cluster wait for each other.
        let in_cluster = || {
            // The number of elements per thread, and the number of threads per multiprocessor.
            let ways: &[_] = if bytes < 4 { &[(24, 640), (32, 512)] } else { &[(16, 640)] };
            let ways = ways.iter().filter_map(|&(elements, together)| {
                let stripes = elements / held.adjacent;
                let threads = groups.div_ceil(MOST_BLOCKS * stripes).next_multiple_of(32);
                let stripes = groups.div_ceil(MOST_BLOCKS * threads);
                let resident = (together / threads).clamp(1, 5);
                let in_cluster = Self { threads, cluster: MOST_BLOCKS, stripes, resident, ahead: 2, ..held };
                (held.cluster > 1 && !held.unaligned && threads <= 512).then_some(in_cluster)
            });
            ways.min_by_key(|tiling| tiling.slots())
        };
        let together = if held.unaligned && (bytes > 2 || groups > 256) { 384 } else { 512 };
        let chosen = few().or_else(|| copied(16, together, 640)).or_else(most).or_else(in_cluster);
        chosen.filter(|tiling| tiling.fits_sums(target, bytes)).unwrap_or(held)
    }

    /// Returns whether the shared memory of a block of a kernel that keeps sums can contain two rows of each of its two inputs. If
    /// required, it must also contain a row of weights and a row of results. Elements are `bytes` bytes wide.
    pub(super) fn fits_sums(self, target: Target, bytes: u32) -> bool {
        let is_reloaded = Self { turns: u32::MAX, ..self }.is_reloaded();
        let of_weights = if is_reloaded { MOST_BYTES_OF_WEIGHTS } else { 0 };
        let of_element = (2 * 2 + u32::from(self.unaligned)) * bytes + of_weights;
        self.ahead == 0 || self.own_slots() * of_element <= shared_for_rows(target)
    }

    /// Returns the tiling for kernels that read each row once; see [`for_rows`](Self::for_rows) for the parameters. The tiling is the same
    /// as that of `for_rows`, except that rows that do not fit in a block are read in parts.
    #[must_use]
    pub fn for_reductions(target: Target, bytes: u32, sizes: &[u32]) -> Self {
        match Self::for_rows(target, bytes, sizes) {
            held if held.cluster == 1 && !held.streamed => held,
            long => long.read_in_parts(1024, GROUPS, 2),
        }
    }

    /// Returns this tiling for kernels whose blocks process parts of a row independently: blocks of 128 threads process parts of 512 groups
    /// of aligned rows of more than 256 groups.
    pub(super) fn in_parts_of_blocks(self, sizes: &[u32]) -> Self {
        match self.groups(sizes) > 256 && !self.unaligned {
            true => self.read_in_parts(128, 4, 8),
            false => self,
        }
    }

    /// Returns the tiling for elementwise functions; see [`for_rows`](Self::for_rows) for the parameters. The tiling is the same as that of
    /// `for_rows`, except that rows that are too long for a warp, and unaligned rows of more than 64 groups, are divided among blocks of 64
    /// threads. Each of these threads processes two groups.
    #[must_use]
    pub fn for_elements(target: Target, bytes: u32, sizes: &[u32]) -> Self {
        match Self::for_rows(target, bytes, sizes) {
            short if short.threads <= 32 && !(short.unaligned && short.groups(sizes) > LONG) => short,
            long => long.read_in_parts(64, GROUPS, 0),
        }
    }

    /// Returns the tiling for kernels that copy or map each row separately: that of [`for_elements`](Self::for_elements), except that warps
    /// process long unaligned rows in parts, with five groups per thread.
    pub(in crate::kernels) fn for_separate_rows(target: Target, bytes: u32, sizes: &[u32]) -> Self {
        match Self::for_elements(target, bytes, sizes) {
            tiling if tiling.unaligned && tiling.streamed => tiling.read_in_parts(32, 5, 0),
            tiling => tiling,
        }
    }

    /// Returns whether threads load rows from shared memory again for each use, because they have too few registers.
    pub(super) const fn is_reloaded(self) -> bool {
        let elements = self.stripes * self.adjacent;
        let are_too_few = match self.turns {
            // For each element, two sums, two inputs and a product occupy registers.
            u32::MAX => 5 * elements + OTHER_REGISTERS > self.registers(),
            _ => elements > MOST_HELD || self.unaligned && self.threads > MOST_HOLDING,
        };
        self.ahead > 0 && !self.streamed && are_too_few
    }

    /// Returns the number of registers per thread.
    pub(super) const fn registers(self) -> u32 {
        let blocks = if self.resident > 0 { self.resident } else { 1 };
        let warps = (self.threads * self.rows / 32 * blocks).div_ceil(SCHEDULERS);
        let all = REGISTERS / SCHEDULERS / 32 / if warps > 0 { warps } else { 1 } / 8 * 8;
        if all < MOST_REGISTERS { all } else { MOST_REGISTERS }
    }

    /// Returns the number of stripes of a row in shared memory that a thread loads at a time.
    pub(super) const fn at_a_time(self) -> u32 {
        if !self.is_reloaded() || !self.unaligned && self.turns <= 1 {
            return self.stripes;
        }
        let is_full = self.registers() <= FEW_REGISTERS || self.threads >= MOST_HOLDING;
        let are_few = self.turns == u32::MAX || is_full;
        let most = if are_few { MOST_IN_FEW } else { MOST_AT_A_TIME };
        let mut stripes = if most > self.adjacent { most / self.adjacent } else { 1 };
        while !self.stripes.is_multiple_of(stripes) {
            stripes -= 1;
        }
        stripes
    }

    /// Returns the number of parts in which a thread loads a row that fits in a block.
    pub(super) const fn parts_at_a_time(self) -> u32 {
        self.stripes / self.at_a_time()
    }

    /// Returns the maximum number of elements of a row that the row's threads can process at a time, regardless of the row's alignment.
    #[must_use]
    pub const fn capacity(self) -> u32 {
        match self.is_segmented() {
            true => self.cluster.saturating_mul(self.segment()),
            false => self.slots().saturating_sub(self.slack()),
        }
    }

    /// Returns whether each block of a cluster processes a segment of the row as if it were a row of its own.
    pub(super) const fn is_segmented(self) -> bool {
        self.unaligned && self.ahead > 0 && self.cluster > 1
    }

    /// Returns the number of elements in a segment. Segments consist of whole groups, so that all segments of a row begin at the same
    /// distance from an aligned element. They have one group fewer than a block can process, because unaligned groups span one more aligned
    /// group.
    const fn segment(self) -> u32 {
        self.own_slots().saturating_sub(self.adjacent)
    }

    /// Returns the number of threads that share the groups of a row or segment.
    pub(super) const fn threads_together(self) -> u32 {
        if self.is_segmented() { self.threads } else { self.threads.saturating_mul(self.cluster) }
    }

    /// Returns the number of elements that the threads of a row can process at a time.
    const fn slots(self) -> u32 {
        self.own_slots().saturating_mul(self.cluster)
    }

    /// Returns the number of elements of a row that a block can process at a time.
    pub(super) const fn own_slots(self) -> u32 {
        self.threads.saturating_mul(self.adjacent).saturating_mul(self.stripes)
    }

    /// Returns the maximum number of elements that precede a row in its first group.
    const fn slack(self) -> u32 {
        if self.unaligned { self.adjacent.saturating_sub(1) } else { 0 }
    }

    /// Builds a kernel whose rows have this tiling. If the tiling is invalid, the result is an error, and `write` is not called.
    #[track_caller]
    pub(in crate::kernels) fn build<A: Params>(
        self,
        signature: &str,
        target: Target,
        write: impl for<'k> FnOnce(Builder<'k>, A::Handles<'k>),
    ) -> Result<Kernel<A>, BuildError> {
        Kernel::<A>::build(signature, target, |k, parameters| match self.invalid() {
            None => write(k, parameters),
            Some(why) => k.refuse(why),
        })
    }

    /// Returns the reason why the tiling is invalid, if it is.
    pub(in crate::kernels) fn invalid(self) -> Option<String> {
        let Self { threads, rows, cluster, adjacent, stripes, .. } = self;
        let in_warp = threads <= 32
            && threads.is_power_of_two()
            && rows <= 1024 / threads
            && (threads * rows).is_multiple_of(32);
        let in_block = threads.is_multiple_of(32) && (32..=1024).contains(&threads) && rows == 1;
        if rows == 0 || !(in_warp && cluster == 1 || in_block) {
            return Some(format!(
                "expected whole warps: a power of two up to 32 threads for each of several rows, or up to 32 warps for one, found {threads} threads for each \
                 of {rows} rows in clusters of {cluster}"
            ));
        }
        if !cluster.is_power_of_two() || cluster > MOST_BLOCKS {
            return Some(format!("expected clusters of 1, 2, 4 or 8 blocks, found {cluster}"));
        }
        if self.ahead > 0 && self.streamed {
            return Some(format!("expected `streamed: false` for rows in shared memory, found {self:?}"));
        }
        if self.resident > MOST_RESIDENT {
            return Some(format!("expected 1 to {MOST_RESIDENT} resident blocks, found {}", self.resident));
        }
        if self.ahead > MOST_AHEAD {
            return Some(format!(
                "expected at most {MOST_AHEAD} rows in shared memory, found {}",
                self.ahead
            ));
        }
        if !adjacent.is_power_of_two() || adjacent > 16 {
            return Some(format!("expected 1, 2, 4, 8 or 16 adjacent elements, found {adjacent}"));
        }
        let of_thread = u64::from(adjacent) * u64::from(stripes);
        if !(1..=MOST_OF_THREAD).contains(&of_thread) {
            return Some(format!("expected 1 to {MOST_OF_THREAD} elements per thread, found {of_thread}"));
        }
        None
    }

    /// Declares the block and the grid of a kernel on `m` rows of `n` elements, and returns this thread's row. Groups are aligned in
    /// matrices with row pitch `pitch`.
    #[track_caller]
    pub(super) fn row_of<'k>(self, k: Builder<'k>, [m, n, pitch]: [Val<'k, u32>; 3]) -> Row<'k> {
        self.refuse_ahead(k);
        k.grid([self.blocks(m)]);
        self.row(k, [m, n, pitch])
    }

    /// Rejects a tiling that reads rows ahead, for a kernel that does not read ahead.
    #[track_caller]
    fn refuse_ahead(self, k: Builder<'_>) {
        if self.ahead > 0 {
            k.refuse(format!(
                "expected a tiling without rows that are read ahead, found {} of them",
                self.ahead
            ));
        }
    }

    /// Returns the number of blocks for `m` rows.
    pub(super) fn blocks(self, m: impl IntoDim) -> Dim {
        m.into_dim().ceil_div(self.rows) * self.cluster
    }

    #[track_caller]
    pub(super) fn row<'k>(self, k: Builder<'k>, sizes: [Val<'k, u32>; 3]) -> Row<'k> {
        self.row_at(k, sizes, |in_block| k.ctaid_x() * self.rows + in_block)
    }

    /// Returns this thread's row. `at` returns the index of the row, given its index within the block. If a
    /// cluster processes a row, the index is the rank of the cluster, and `at` is not called.
    #[track_caller]
    fn row_at<'k>(
        self,
        k: Builder<'k>,
        [m, n, pitch]: [Val<'k, u32>; 3],
        at: impl Fn(Val<'k, u32>) -> Val<'k, u32>,
    ) -> Row<'k> {
        let Self { threads, rows, cluster, adjacent, unaligned, streamed, resident, .. } = self;
        let block = k.block([threads * rows]);
        if resident > 0 {
            k.min_blocks(resident);
        }
        let n = if unaligned { n } else { n.multiple_of(adjacent) };
        let n = match (streamed, unaligned) {
            (false, _) => n.at_most(self.capacity()),
            (true, true) => n.at_most(MOST_UNALIGNED),
            (true, false) => n,
        };
        let in_block = block.thread() / threads;
        let (at, thread, rank) = if cluster > 1 {
            let in_cluster = k.cluster([cluster]);
            let thread = if self.is_segmented() { block.thread() } else { in_cluster.thread() };
            (in_cluster.rank(), thread, block.rank())
        } else {
            (at(in_block), block.thread() % threads, 0.into())
        };
        let segment = self.is_segmented().then(|| Segment { first: rank * self.segment(), row_length: n });
        let n = segment.map_or(n, |Segment { first, row_length }| {
            (row_length - row_length.min(first)).min(self.segment())
        });
        let stripes = k.stripes(thread, self.threads_together(), adjacent, self.at_a_time());
        let (stage, team, in_columns, is_like_first, declared) =
            (0.into(), Team::new(k, self), false, false, None);
        let tiling = self;
        let row = Row {
            k,
            at,
            m,
            n,
            segment,
            pitch,
            in_columns,
            is_like_first,
            declared,
            thread,
            in_block,
            stage,
            tiling,
            stripes,
            aligned: None,
            is_aligned: Rc::default(),
            is_inside: Rc::default(),
            team,
        };
        row.in_turn(at, stage)
    }
}

/// Returns the number of bytes of a block's shared memory that rows may occupy.
pub(super) const fn shared_for_rows(target: Target) -> u32 {
    target.max_shared_bytes() - FOR_REDUCTIONS
}

/// Formats the tiling as in the names of kernels, for example as `8192_by8`. The first number is the [capacity](RowTiling::capacity); it is
/// replaced by `any` if longer rows are read in parts. The second number is [`adjacent`](RowTiling::adjacent), or 1 if rows are unaligned.
impl fmt::Display for RowTiling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.streamed {
            true => f.write_str("any")?,
            false => write!(f, "{}", self.capacity())?,
        }
        write!(f, "_by{}", if self.unaligned { 1 } else { self.adjacent })
    }
}
