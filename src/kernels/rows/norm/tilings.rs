//! The fastest tilings for norms on an H200 or, for long rows, an H100.
//!
//! With 16-bit elements and some odd row lengths from 13,000 to 15,000, kernels spill up to 20 bytes per thread.

use crate::{
    kernels::rows::{
        NormFunction, RowTiling,
        tiling::{MOST_BLOCKS, aligned_elements},
    },
    ptx::{Features, Target},
};

/// Returns the tiling for norms of rows of the given `sizes`; see [`RowTiling::for_rows`] for the parameters.
pub(super) fn of_rows(function: NormFunction, target: Target, bytes: u32, sizes: &[u32]) -> RowTiling {
    let tiling = RowTiling::for_copied_rows(target, bytes, sizes);
    if bytes > 4 || !target.features().contains(Features::AMPERE) {
        return tiling;
    }
    let chosen = match (tiling.unaligned, bytes) {
        (false, _) => aligned(function, target, bytes, tiling, sizes),
        (true, 4) => unaligned_words(function, target, tiling, sizes),
        (true, 2) => long_halves(function, target, tiling, sizes)
            .unwrap_or_else(|| unaligned_halves(function, tiling, sizes)),
        (true, _) => unaligned_halves(function, tiling, sizes),
    };
    let vectors = if function == NormFunction::Layer { 2 } else { 1 };
    let chosen = if chosen.fits_with(target, bytes, 1, vectors) { chosen } else { tiling };
    chosen.with_room(target, bytes, vectors)
}

fn aligned(
    function: NormFunction,
    target: Target,
    bytes: u32,
    tiling: RowTiling,
    sizes: &[u32],
) -> RowTiling {
    let (groups, clusters) = (tiling.groups(sizes), target.features().contains(Features::HOPPER));
    // Rows of f32 in the registers of a cluster.
    let in_cluster = tiling.in_cluster(4, groups, 6).filter(|_| clusters && bytes == 4);
    match (function, groups) {
        // The weights and the bias have more bytes than a row, so several rows share them.
        (NormFunction::Layer, 6145..=8192) if bytes < 4 && clusters => {
            RowTiling { cluster: 8, resident: 4, ..tiling.copied(groups.div_ceil(8), 8, 1, 4) }
        }
        (NormFunction::Layer, 4097..=6144) if bytes < 4 && clusters => {
            RowTiling { cluster: 4, resident: 3, ..tiling.copied(groups.div_ceil(4), 8, 1, 4) }
        }
        (NormFunction::Layer, 2817..=3072) if bytes < 4 => {
            RowTiling { resident: 1, ..tiling.copied(groups, 4, 2, 4) }
        }
        (NormFunction::Layer, 2049..=8192) if bytes < 4 => tiling.copied(groups, 8, 1, 4),
        (NormFunction::Layer, 1025..=2048) => tiling.copied(groups, 8, 1, 1),
        (NormFunction::Layer, 897..=1024) if bytes < 4 => {
            RowTiling { resident: 4, ..tiling.copied(groups, 4, 1, 1) }
        }
        (NormFunction::Layer, 897..=1024) => RowTiling { resident: 1, ..tiling.copied(groups, 2, 2, 2) },
        (NormFunction::Layer, 385..=512) if bytes < 4 => {
            RowTiling { resident: 2, ..tiling.copied(groups, 2, 2, 2) }
        }
        (NormFunction::Layer, 193..=256) if bytes < 4 => tiling.without_minimum(),
        (_, 10_241..=12_288) if in_cluster.is_some() => {
            RowTiling { resident: 2, ..in_cluster.unwrap_or(tiling) }
        }
        // Without a minimum of resident blocks, ptxas may use so few registers that one is spilled.
        (NormFunction::Rms, ..=128) if bytes < 4 => RowTiling { resident: 16, ..tiling },
        // Two rows share the weights.
        (NormFunction::Rms, 257..=512) if bytes < 4 => tiling.copied(groups, 2, 1, 2),
        (NormFunction::Rms, 513..=1024) if bytes < 4 => {
            RowTiling { resident: 1, ..tiling.copied(groups, 2, 2, 2) }
        }
        (NormFunction::Rms, 1793..=2048) if bytes == 2 => tiling.in_registers(groups, 8, 512),
        (NormFunction::Rms, 1025..=2048) if bytes == 4 => tiling.in_registers(groups, 3, 1536),
        (NormFunction::Rms, 4097..=8192) if bytes < 4 => tiling.copied(groups, 8, 1, 1),
        _ => tiling,
    }
}

/// Returns the tiling for unaligned rows of 32-bit elements.
fn unaligned_words(function: NormFunction, target: Target, tiling: RowTiling, sizes: &[u32]) -> RowTiling {
    let (groups, is_odd) = (tiling.groups(sizes), aligned_elements(sizes) == 1);
    let segments = match (function, groups) {
        (_, 3585..=4608) if is_odd => in_segments(target, tiling, sizes, [4, 6, 576]),
        (NormFunction::Layer, 5121..=16_384) if is_odd => in_segments(target, tiling, sizes, [8, 6, 576]),
        (NormFunction::Rms, 4097..=7168) => in_segments(target, tiling, sizes, [8, 6, 576]),
        _ => None,
    };
    if let Some(segments) = segments {
        return segments;
    }
    match (function, groups) {
        (_, ..=32) => tiling,
        (NormFunction::Rms, ..=512) if is_odd => tiling.in_registers(groups, 2, 2048),
        (NormFunction::Rms, ..=4096) if !is_odd => tiling.narrow(sizes, 16, 1024),
        (NormFunction::Rms, 2561..=4352) if is_odd => tiling.narrow(sizes, 32, 1088),
        (NormFunction::Rms, 4097..=8192) => {
            RowTiling { streamed: true, ..tiling.in_registers(4096, 4, 1024) }
        }
        (NormFunction::Layer, ..=512) => tiling.narrow(sizes, 16, 640),
        (NormFunction::Layer, ..=2560) if !is_odd => tiling.narrow(sizes, 32, 768),
        (NormFunction::Layer, 2561..=8192) => tiling.narrow(sizes, 32, 1088),
        _ => tiling,
    }
}

/// Returns the tiling for rows in segments, or `None` for targets without clusters and for rows that would require more than 1024 threads
/// per block. The array contains the number of blocks per cluster, the maximum number of groups per thread, and the maximum number of
/// threads per multiprocessor. Many rows share the weights.
fn in_segments(
    target: Target,
    tiling: RowTiling,
    sizes: &[u32],
    [cluster, stripes, together]: [u32; 3],
) -> Option<RowTiling> {
    let has_clusters = target.features().contains(Features::HOPPER);
    let segments = tiling.in_segments(sizes, cluster, stripes, together).filter(|_| has_clusters)?;
    Some(RowTiling { turns: 16, ..segments })
}

/// Returns the tiling for unaligned rows of 16-bit elements that are too long for a block's shared memory.
fn long_halves(
    function: NormFunction,
    target: Target,
    tiling: RowTiling,
    sizes: &[u32],
) -> Option<RowTiling> {
    let way = match (function, tiling.groups(sizes)) {
        (_, 4097..=5120) => [8, 4, 640],
        (NormFunction::Rms, 5121..=6656) => [8, 8, 320],
        (NormFunction::Rms, 6657..=8193) => [8, 6, 480],
        (NormFunction::Layer, 5121..=6656) => [4, 6, 576],
        (NormFunction::Layer, 6657..=8193) => [8, 6, 576],
        _ => return None,
    };
    in_segments(target, tiling, sizes, way)
}

/// Returns the tiling for unaligned rows of elements of at most 16 bits.
fn unaligned_halves(function: NormFunction, tiling: RowTiling, sizes: &[u32]) -> RowTiling {
    let (groups, is_even) = (tiling.groups(sizes), tiling.has_even_halves(sizes));
    match (function, groups) {
        (_, ..=32) => tiling,
        (NormFunction::Rms, ..=256) if is_even => tiling.narrow(sizes, 16, 1024),
        (NormFunction::Rms, ..=1536) if is_even => tiling.narrow(sizes, 32, 1024),
        (NormFunction::Layer, ..=768) if is_even => tiling.narrow(sizes, 16, 864).copied_ahead(4),
        // More blocks would have too few registers.
        (NormFunction::Layer, ..=1536) if is_even => tiling.narrow(sizes, 32, 800),
        (NormFunction::Layer, ..=2048) if is_even => tiling.narrow(sizes, 32, 1088),
        (NormFunction::Layer, 481..=576) => RowTiling { resident: 3, ..tiling.copied(groups, 3, 2, 4) },
        // More elements per thread are faster than more rows per block.
        (NormFunction::Layer, 961..=1120) => tiling.copied(groups, 5, 1, 16),
        // A block arranges the weights and the bias once for more rows.
        (NormFunction::Layer, 97..=256) => RowTiling { turns: 8, ..tiling },
        (NormFunction::Layer, 257..=1152) => RowTiling { turns: 16, ..tiling },
        (NormFunction::Layer, 1153..=1664) => RowTiling { resident: 2, ..tiling.copied(groups, 4, 2, 4) },
        (NormFunction::Layer, 1665..=2304) => RowTiling { resident: 2, ..tiling.copied(groups, 5, 1, 8) },
        (NormFunction::Layer, 2305..=4096) => tiling.copied(groups, 4, 2, 16),
        (NormFunction::Rms, 3073..=4096) => tiling.copied(groups, 4, 2, 8),
        _ => tiling,
    }
}

/// Returns the tiling for norms of residual sums.
pub(super) fn of_residual_rows(
    function: NormFunction,
    target: Target,
    bytes: u32,
    sizes: &[u32],
) -> RowTiling {
    let direct = RowTiling::for_rows(target, bytes, sizes);
    if bytes > 4 || !target.features().contains(Features::AMPERE) {
        return direct;
    }
    let copied = RowTiling::for_copied_rows(target, bytes, sizes);
    let chosen = match copied.unaligned {
        true => unaligned_residual(function, target, bytes, copied, sizes),
        false => aligned_residual(function, target, bytes, direct, sizes),
    };
    let ways = [chosen, RowTiling { ahead: chosen.ahead.min(1), ..chosen }];
    ways.into_iter().find(|way| way.fits(target, bytes, 2)).unwrap_or(direct)
}

/// Returns the tiling for residual sums of aligned rows.
fn aligned_residual(
    function: NormFunction,
    target: Target,
    bytes: u32,
    tiling: RowTiling,
    sizes: &[u32],
) -> RowTiling {
    let (groups, is_layer) = (tiling.groups(sizes), function == NormFunction::Layer);
    let clusters = target.features().contains(Features::HOPPER);
    let in_cluster = |cluster, stripes, resident| {
        let in_cluster = tiling.in_cluster(cluster, groups, stripes).filter(|_| clusters);
        in_cluster.map_or(tiling, |in_cluster| RowTiling { resident, ..in_cluster })
    };
    if bytes == 4 {
        return match groups {
            1793..=2048 if is_layer => tiling.in_registers(groups, 4, 0).without_minimum(),
            5633..=6144 if is_layer => in_cluster(8, 6, 0),
            7169..=8192 => in_cluster(4, 4, 2),
            10_241..=12_288 => in_cluster(8, 6, 4),
            14_337..=16_384 => in_cluster(8, 4, 2),
            _ => tiling,
        };
    }
    match groups {
        1153..=1536 if is_layer => tiling.in_registers(groups, 2, 1536),
        1793..=2048 => RowTiling { resident: 1, ..tiling.copied(groups, 4, 2, 2) },
        1153..=2048 => tiling.copied(groups, 4, 1, 1),
        2561..=3072 => tiling.in_registers(groups, 4, 0),
        3585..=4096 if is_layer && clusters => {
            RowTiling { cluster: 2, resident: 3, ..tiling.copied(groups.div_ceil(2), 8, 1, 4) }
        }
        2049..=4096 => {
            let turns = if is_layer { 4 } else { 1 };
            RowTiling { resident: 1, ..tiling.copied(groups, 8, 1, turns) }
        }
        5121..=6144 => in_cluster(4, 3, 2),
        // With shorter rows, the blocks of a cluster would have too few threads.
        6401..=8192 if clusters && is_layer => {
            RowTiling { cluster: 4, resident: 3, ..tiling.copied(groups.div_ceil(4), 8, 1, 4) }
        }
        6401..=8192 => in_cluster(4, 4, 2),
        _ => tiling,
    }
}

/// Returns the tiling for residual sums of unaligned rows.
fn unaligned_residual(
    function: NormFunction,
    target: Target,
    bytes: u32,
    tiling: RowTiling,
    sizes: &[u32],
) -> RowTiling {
    let (groups, is_layer) = (tiling.groups(sizes), function == NormFunction::Layer);
    let is_even = tiling.has_even_halves(sizes);
    let clusters = target.features().contains(Features::HOPPER);
    // The weights and the bias also occupy registers.
    let stripes = if is_layer && bytes < 4 { 2 } else { 4 };
    let in_cluster = tiling.in_cluster(MOST_BLOCKS, groups, stripes).filter(|_| clusters);
    let segments = match groups {
        2049..=2400 => Some([2, 3, 704]),
        2401..=3584 => Some([8, 3, 640]),
        5633..=6656 => Some([8, 3, 576]),
        _ => None,
    };
    let segments = segments.filter(|_| is_layer && bytes == 2 && (!is_even || groups <= 2400));
    if let Some(segments) = segments.and_then(|way| in_segments(target, tiling, sizes, way)) {
        return segments;
    }
    if clusters && bytes == 2 && is_layer && !is_even && (3585..=4096).contains(&groups) {
        return tiling.copied(groups, 4, 1, 8);
    }
    // Shorter rows fit in fewer, larger blocks.
    let shortest = match (bytes, function) {
        (4, _) => 12_289,
        (_, NormFunction::Layer) => 2401,
        (_, NormFunction::Rms) => 3073,
    };
    if let Some(in_cluster) = in_cluster.filter(|_| bytes >= 2 && groups >= shortest) {
        return in_cluster;
    }
    match groups {
        // Shorter rows of LayerNorm are copied: two rows of both inputs and the weights fit.
        2049..=4608 if bytes == 4 && (!is_layer || groups > 2304) => tiling.in_registers(groups, 6, 768),
        _ if bytes == 4 => with_two_inputs(function, bytes, tiling),
        129..=256 if !is_layer => tiling.in_registers(groups, 2, 1024),
        129..=1025 if is_even && is_layer => tiling.narrow(sizes, 16, 1024),
        // More blocks would have too few registers.
        1026..=1536 if is_even && is_layer => tiling.narrow(sizes, 32, 512),
        1537..=4096 if is_even => tiling.narrow(sizes, 32, 1088),
        1153..=2304 if is_layer && bytes == 2 => RowTiling { resident: 1, ..tiling.copied(groups, 3, 2, 8) },
        1153..=1536 if bytes == 2 => tiling.in_registers(groups, 3, 1024),
        1537..=2304 if bytes == 2 => tiling.in_registers(groups, 3, 0).without_minimum(),
        // With more threads, there would be too few registers for the weights as well.
        2305..=3072 if bytes == 2 && (!is_layer || groups <= if clusters { 2400 } else { 2560 }) => {
            tiling.in_registers(groups, 5, 0).without_minimum()
        }
        3073.. if is_layer || groups > 6 * 1024 => tiling.read_in_parts(1024, 2, 1),
        // Two inputs occupy registers, as would the weights for 64 elements per thread.
        3073.. => tiling.copied(groups, 6, 2, 8),
        257..=1152 if is_layer && bytes == 2 => {
            let copied = tiling.copied(groups, 3, 2, 4);
            RowTiling { resident: (768 / copied.threads).clamp(2, 4), ..copied }
        }
        _ => with_two_inputs(function, bytes, tiling),
    }
}

/// Returns the tiling with fewer resident blocks, because there are two inputs.
fn with_two_inputs(function: NormFunction, bytes: u32, copied: RowTiling) -> RowTiling {
    if copied.ahead == 0 {
        return copied;
    }
    let threads = if function == NormFunction::Rms && bytes < 4 { 576 } else { 512 };
    let resident = (threads / copied.threads).clamp(1, copied.resident);
    // The weights and the bias are arranged for more rows if only one block is resident.
    let is_alone = function == NormFunction::Layer && bytes < 4 && resident == 1;
    let turns = if is_alone { 16 } else { copied.turns };
    RowTiling { resident, turns, ..copied }
}
