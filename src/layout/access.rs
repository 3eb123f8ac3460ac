//! What an access pattern costs: bank conflicts in shared memory, sectors in global memory.

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;

use super::{composed::ComposedLayout, tuple::Shape};

/// Lanes of a warp.
const WARP: usize = 32;
/// Banks of shared memory, each a 4-byte word wide (CUDA C++ Programming Guide, "Shared Memory").
const BANKS: u64 = 32;
/// Bytes of a bank's word.
const WORD: u64 = 4;
/// Bytes that one pass over shared memory can deliver.
const PASS: u64 = BANKS * WORD;
/// Bytes of a sector, the unit in which global memory is fetched (CUDA C++ Best Practices Guide, "Coalesced Access").
const SECTOR: u64 = 32;

/// An access that no instruction can make.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AccessError {
    /// A width that loads and stores do not have.
    #[error("wanted an access of 1, 2, 4, 8 or 16 bytes per lane, found {width}")]
    Width {
        /// Bytes per lane.
        width: u64,
    },
    /// An address that is no multiple of the width.
    #[error("lane {lane}: address {address} must be a multiple of the access's {width} bytes")]
    Misaligned {
        /// The lane.
        lane: usize,
        /// Its address in bytes.
        address: u64,
        /// Bytes per lane.
        width: u64,
    },
    /// More lanes than a warp has.
    #[error("wanted at most 32 lanes, found {lanes}")]
    Lanes {
        /// Lanes found.
        lanes: usize,
    },
    /// A layout that cannot be read as (thread, value).
    #[error("wanted a layout of rank 2, (thread, value), found {layout}")]
    Rank {
        /// The layout.
        layout: String,
    },
    /// Values that do not make up whole vectors.
    #[error("{values} values per thread are no multiple of a vector of {vector}")]
    Vector {
        /// Values per thread.
        values: i64,
        /// Elements of a vector.
        vector: i64,
    },
    /// Values of one vector that are not side by side in memory.
    #[error("thread {thread}, value {value}: wanted byte {wanted}, next to the value before, found {found}")]
    Scattered {
        /// The thread.
        thread: i64,
        /// The value.
        value: i64,
        /// The byte that would be contiguous.
        wanted: i64,
        /// The byte it is at.
        found: i64,
    },
    /// A byte offset below 0.
    #[error("thread {thread}, value {value}: byte {found} lies before the start")]
    Negative {
        /// The thread.
        thread: i64,
        /// The value.
        value: i64,
        /// The byte it is at.
        found: i64,
    },
}

/// What a warp's access to shared memory costs.
///
/// An access is served in phases of at most 128 bytes: 32 lanes of up to 4 bytes, 16 of 8, 8 of 16. In a phase a bank serves
/// one word at a time, to all lanes that want it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BankConflicts {
    /// Passes that each phase takes: the most words that any bank must serve in it.
    pub passes: Vec<u32>,
}

impl BankConflicts {
    /// The conflict degree: passes of the worst phase; 1 is free of conflicts.
    #[must_use]
    pub fn degree(&self) -> u32 {
        self.passes.iter().copied().max().unwrap_or(0)
    }

    /// Passes of all phases together, what a profiler counts as wavefronts.
    #[must_use]
    pub fn wavefronts(&self) -> u32 {
        self.passes.iter().sum()
    }
}

/// What a warp's access to global memory costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Coalescing {
    /// 32-byte sectors touched.
    pub sectors: u32,
    /// 128-byte lines touched.
    pub lines: u32,
    /// Distinct bytes asked for.
    pub bytes: u32,
}

impl Coalescing {
    /// Share of the bytes moved that was asked for: 1 is fully coalesced.
    #[must_use]
    pub fn efficiency(&self) -> f64 {
        f64::from(self.bytes) / (f64::from(self.sectors.max(1)) * SECTOR as f64)
    }
}

/// The cost in shared memory of one access of `width` bytes per lane; lanes that are `None` do not take part.
///
/// # Errors
/// [`AccessError::Width`], [`AccessError::Misaligned`] or [`AccessError::Lanes`].
///
/// ```
/// use warpwright::layout::bank_conflicts;
/// let column_of_32_floats = (0..32).map(|lane| lane * 128_u64);
/// assert_eq!(bank_conflicts(column_of_32_floats, 4)?.degree(), 32);
/// let padded = (0..32).map(|lane| lane * 132_u64);
/// assert_eq!(bank_conflicts(padded, 4)?.degree(), 1);
/// # Ok::<(), warpwright::layout::AccessError>(())
/// ```
pub fn bank_conflicts<A: Into<Option<u64>>>(
    addresses: impl IntoIterator<Item = A>,
    width: u64,
) -> Result<BankConflicts, AccessError> {
    let lanes = checked(addresses, width)?;
    let lanes_per_phase = (PASS / width).min(WARP as u64) as usize;
    let passes = lanes.chunks(lanes_per_phase).map(|phase| phase_passes(phase, width)).collect();
    Ok(BankConflicts { passes })
}

fn phase_passes(phase: &[Option<u64>], width: u64) -> u32 {
    let mut words: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    for address in phase.iter().flatten() {
        for word in address / WORD..=(address + width - 1) / WORD {
            words.entry(word % BANKS).or_default().insert(word);
        }
    }
    words.values().map(|bank| bank.len() as u32).max().unwrap_or(0)
}

/// The cost in global memory of one access of `width` bytes per lane; lanes that are `None` do not take part.
///
/// # Errors
/// As [`bank_conflicts`].
///
/// ```
/// use warpwright::layout::coalescing;
/// let cost = coalescing((0..32).map(|lane| lane * 8_u64), 4)?;
/// assert_eq!((cost.sectors, cost.lines, cost.efficiency()), (8, 2, 0.5));
/// # Ok::<(), warpwright::layout::AccessError>(())
/// ```
pub fn coalescing<A: Into<Option<u64>>>(
    addresses: impl IntoIterator<Item = A>,
    width: u64,
) -> Result<Coalescing, AccessError> {
    let lanes = checked(addresses, width)?;
    let starts: BTreeSet<u64> = lanes.into_iter().flatten().collect();
    // Aligned accesses of one width never straddle a sector, and distinct ones never overlap.
    let units = |bytes: u64| starts.iter().map(|start| start / bytes).collect::<BTreeSet<_>>().len() as u32;
    Ok(Coalescing { sectors: units(SECTOR), lines: units(PASS), bytes: starts.len() as u32 * width as u32 })
}

fn checked<A: Into<Option<u64>>>(
    addresses: impl IntoIterator<Item = A>,
    width: u64,
) -> Result<Vec<Option<u64>>, AccessError> {
    if ![1, 2, 4, 8, 16].contains(&width) {
        return Err(AccessError::Width { width });
    }
    let lanes: Vec<Option<u64>> = addresses.into_iter().map(Into::into).collect();
    if lanes.len() > WARP {
        return Err(AccessError::Lanes { lanes: lanes.len() });
    }
    for (lane, address) in lanes.iter().enumerate() {
        if let Some(address) = *address
            && address % width != 0
        {
            return Err(AccessError::Misaligned { lane, address, width });
        }
    }
    Ok(lanes)
}

/// The accesses that a (thread, value) layout makes, `vector` elements of `element_bytes` at a time: for each warp and each
/// vector in order, the byte addresses of its lanes.
///
/// # Errors
/// [`AccessError::Rank`], [`AccessError::Vector`], [`AccessError::Negative`], or [`AccessError::Scattered`] if a vector's
/// elements do not lie side by side.
///
/// ```
/// use warpwright::layout::{ComposedLayout, Layout, bank_conflicts, warp_accesses};
/// // 32 lanes read a row each of a 32×8 tile of floats, four at a time.
/// let rows = ComposedLayout::from(Layout::new((32, 8), (32, 4))?);
/// let accesses = warp_accesses(&rows, 4, 4)?;
/// assert_eq!(accesses.len(), 2);
/// assert_eq!(bank_conflicts(accesses[0].iter().copied(), 16)?.passes, [2, 2, 2, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn warp_accesses(
    layout: &ComposedLayout,
    element_bytes: i64,
    vector: i64,
) -> Result<Vec<Vec<u64>>, AccessError> {
    if layout.shape().rank() != 2 {
        return Err(AccessError::Rank { layout: layout.to_string() });
    }
    warp_accesses_of(layout.shape(), |index| layout.index(index), element_bytes, vector)
}

/// [`warp_accesses`] of any function of the (thread, value) index to bytes.
pub(super) fn warp_accesses_of(
    shape: &Shape,
    byte_of: impl Fn(i64) -> i64,
    element_bytes: i64,
    vector: i64,
) -> Result<Vec<Vec<u64>>, AccessError> {
    let [threads, values] = shape.modes() else {
        return Err(AccessError::Rank { layout: shape.to_string() });
    };
    let (threads, values) = (threads.size(), values.size());
    if vector < 1 || values % vector != 0 {
        return Err(AccessError::Vector { values, vector });
    }
    let byte = |thread: i64, value: i64| byte_of(thread + value * threads);
    let mut accesses = Vec::new();
    for warp in (0..threads).step_by(WARP) {
        for first in (0..values).step_by(vector as usize) {
            let mut addresses = Vec::with_capacity(WARP);
            for thread in warp..threads.min(warp + WARP as i64) {
                let start = byte(thread, first);
                for value in first + 1..first + vector {
                    let step = (value - first).wrapping_mul(element_bytes);
                    let (wanted, found) = (start.wrapping_add(step), byte(thread, value));
                    if wanted != found {
                        return Err(AccessError::Scattered { thread, value, wanted, found });
                    }
                }
                let address = u64::try_from(start).map_err(|_| AccessError::Negative {
                    thread,
                    value: first,
                    found: start,
                })?;
                addresses.push(address);
            }
            accesses.push(addresses);
        }
    }
    Ok(accesses)
}
