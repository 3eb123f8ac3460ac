//! The cost of an access pattern: bank conflicts in shared memory, sectors in global memory.

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;

use super::{composed::ComposedLayout, tuple::Shape};

/// The number of lanes per warp.
const WARP: usize = 32;
/// The number of banks of shared memory, each one 4-byte word wide (CUDA C++ Programming Guide, "Shared Memory").
const BANKS: u64 = 32;
/// The size of a bank's word in bytes.
const WORD: u64 = 4;
/// The number of bytes that one pass over shared memory can deliver.
const PASS: u64 = BANKS * WORD;
/// The size in bytes of a sector, the unit of global memory fetches (CUDA C++ Best Practices Guide, "Coalesced Access").
const SECTOR: u64 = 32;

/// A memory access that no load or store instruction can perform, or a layout that does not describe a memory access.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AccessError {
    /// A width that loads and stores do not support.
    #[error("expected an access of 1, 2, 4, 8 or 16 bytes per lane, found {width}")]
    Width {
        /// The number of bytes per lane.
        width: u64,
    },
    /// An address that is not a multiple of the width.
    #[error("lane {lane}: expected an address that is a multiple of {width} bytes, found {address}")]
    Misaligned {
        /// The index of the lane.
        lane: usize,
        /// The byte address that the lane accesses.
        address: u64,
        /// The number of bytes per lane.
        width: u64,
    },
    /// More lanes than a warp has.
    #[error("expected at most 32 lanes, found {lanes}")]
    Lanes {
        /// The number of lanes found.
        lanes: usize,
    },
    /// A layout that is not a (thread, value) layout.
    #[error("expected a (thread, value) layout of rank 2, found {layout}")]
    Rank {
        /// The layout found.
        layout: String,
    },
    /// A vector length that is below 1 or does not divide the number of values per thread.
    #[error("expected a multiple of {vector} values per thread (one vector), found {values}")]
    Vector {
        /// The number of values per thread.
        values: i64,
        /// The number of elements per vector.
        vector: i64,
    },
    /// Values of one vector that are not contiguous in memory.
    #[error(
        "thread {thread}, value {value}: expected byte {expected}, contiguous with the previous value, found {found}"
    )]
    Scattered {
        /// The index of the thread.
        thread: i64,
        /// The index of the value within the thread.
        value: i64,
        /// The expected byte offset.
        expected: i64,
        /// The byte offset of the value.
        found: i64,
    },
    /// A byte offset below 0.
    #[error("thread {thread}, value {value}: expected a byte offset of at least 0, found {found}")]
    Negative {
        /// The index of the thread.
        thread: i64,
        /// The index of the value within the thread.
        value: i64,
        /// The byte offset.
        found: i64,
    },
}

/// The cost of a warp's access to shared memory.
///
/// An access is served in phases of at most 128 bytes: 32 lanes of up to 4 bytes each, 16 lanes of 8 bytes, or 8 lanes of 16 bytes. Each
/// phase takes one or more passes. In each pass, a bank delivers one word to all lanes that access that word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BankConflicts {
    /// The number of passes in each phase: the maximum, over all banks, of the number of distinct words that the phase accesses.
    pub passes: Vec<u32>,
}

impl BankConflicts {
    /// Returns the maximum number of passes in any phase: 1 if there are no conflicts, 0 if no lane is active.
    #[must_use]
    pub fn degree(&self) -> u32 {
        self.passes.iter().copied().max().unwrap_or(0)
    }

    /// Returns the total number of passes, which profilers report as wavefronts.
    #[must_use]
    pub fn wavefronts(&self) -> u32 {
        self.passes.iter().sum()
    }
}

/// The cost of a warp's access to global memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Coalescing {
    /// The number of 32-byte sectors accessed.
    pub sectors: u32,
    /// The number of 128-byte lines accessed.
    pub lines: u32,
    /// The number of distinct bytes requested.
    pub bytes: u32,
}

impl Coalescing {
    /// Returns the ratio of requested bytes to bytes in the accessed sectors: 1 if the access is fully coalesced, 0 if no lane is active.
    #[must_use]
    pub fn efficiency(&self) -> f64 {
        f64::from(self.bytes) / (f64::from(self.sectors.max(1)) * SECTOR as f64)
    }
}

/// Computes the cost of one shared-memory access of `width` bytes per lane.
///
/// `addresses` contains the byte address of each lane, or `None` for an inactive lane.
///
/// # Errors
/// Returns [`AccessError::Width`] if `width` is not 1, 2, 4, 8 or 16, [`AccessError::Misaligned`] if an address is not a multiple of
/// `width`, or [`AccessError::Lanes`] if there are more than 32 addresses.
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

/// Computes the cost of one global-memory access of `width` bytes per lane.
///
/// `addresses` contains the byte address of each lane, or `None` for an inactive lane.
///
/// # Errors
/// Returns the same errors as [`bank_conflicts`].
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

/// Returns the byte addresses that each warp accesses when it moves its values in vectors of `vector` elements.
///
/// `layout` maps (thread, value) to byte addresses, and each element occupies `element_bytes` bytes. In one access, each lane of a warp
/// moves one vector. The result has one entry per access, starting with the accesses of warp 0. Each entry contains one address per lane.
///
/// # Errors
/// Returns [`AccessError::Rank`] if the layout is not of rank 2, [`AccessError::Vector`] if `vector` is below 1 or does not divide the
/// number of values per thread, [`AccessError::Negative`] if an address is below 0, or [`AccessError::Scattered`] if the elements of a
/// vector are not contiguous.
///
/// ```
/// use warpwright::layout::{ComposedLayout, Layout, bank_conflicts, warp_accesses};
/// // Each of 32 lanes reads one row of a 32×8 tile of floats, four elements at a time.
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

/// Computes [`warp_accesses`] for any function that maps the (thread, value) index to a byte address.
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
                    let (expected, found) = (start.wrapping_add(step), byte(thread, value));
                    if expected != found {
                        return Err(AccessError::Scattered { thread, value, expected, found });
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
