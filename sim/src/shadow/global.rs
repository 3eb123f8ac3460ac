//! Races in global memory between clusters of blocks.
//!
//! For every unit of memory (the smallest access size of the kernel), a shadow cell records the writers and readers.
//!
//! Clusters that run concurrently are not ordered, so a write by one cluster races with any access by another, unless all of them write the
//! same value and read only their own writes. These races are determined after the launch has ended ([`side_by_side`]). Clusters that
//! communicate take turns. Their cells contain the last plain writer, the last strong writer and the last reader, and [`Order`] determines
//! whether their accesses are ordered before the next access.
//!
//! [`ThreadRaces`] distinguishes the threads of one cluster.

pub(crate) mod order;
mod own_writes;
mod side_by_side;
mod threads;

use crate::program::spaces::REGION_BITS;
use crate::report::fault::Elsewhere;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use crate::lanes::{FULL, Lanes64, lanes};
use crate::program::code::Code;
use crate::shadow::clocks::Clocks;

pub(crate) use crate::shadow::global::order::{Inside, Order};
pub(crate) use crate::shadow::global::own_writes::OwnWrites;
use crate::shadow::global::side_by_side::{Page, Pages};
pub(crate) use crate::shadow::global::threads::{Other, Thread, ThreadRaces};

/// The number of units whose cells are allocated together, at the first access to any of them.
const PAGE: usize = 1 << 10;

/// The number of clusters that can be distinguished.
const MAX_CLUSTERS: u64 = 1 << 22;

/// The origin of an access: the cluster, the instruction, the warp or engine of the cluster, and a hash of the value. Zero represents no
/// access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Accessor(u64);

const HASH_BITS: u32 = 16;
const WARP_BITS: u32 = 10;
const PC_BITS: u32 = 16;
/// Instructions with greater indices are not distinguished.
const LAST_PC: u64 = (1 << PC_BITS) - 1;

impl Accessor {
    pub(crate) fn new(cluster: u64, pc: u32, warp: usize) -> Self {
        let pc = u64::from(pc).min(LAST_PC);
        let warp = warp as u64 & ((1 << WARP_BITS) - 1);
        Self((((cluster + 1) << PC_BITS | pc) << WARP_BITS | warp) << HASH_BITS)
    }

    /// Returns the accessor with the hash of a written value.
    #[inline(always)]
    fn writing(self, value: u32) -> Self {
        Self(self.0 | u64::from(value.wrapping_mul(0x9e37_79b1) >> (32 - HASH_BITS)))
    }

    fn without_value(self) -> Self {
        self.with_value(0)
    }

    /// Returns the accessor with the hash of a value.
    fn with_value(self, hash: u16) -> Self {
        Self(self.0 & !((1 << HASH_BITS) - 1) | u64::from(hash))
    }

    /// Returns the hash of the value.
    fn value(self) -> u16 {
        self.0 as u16
    }

    fn cluster(self) -> u64 {
        (self.0 >> (PC_BITS + WARP_BITS + HASH_BITS)).wrapping_sub(1)
    }

    pub(crate) fn pc(self) -> u32 {
        (self.0 >> (WARP_BITS + HASH_BITS) & LAST_PC) as u32
    }

    fn warp(self) -> usize {
        (self.0 >> HASH_BITS) as usize & ((1 << WARP_BITS) - 1)
    }

    /// Returns the accessor with the hash of the value in the high bits, so that accessors are ordered by value.
    fn by_value(self) -> Self {
        Self(self.0.rotate_right(HASH_BITS))
    }

    /// Reverts [`Accessor::by_value`].
    fn by_cluster(self) -> Self {
        Self(self.0.rotate_left(HASH_BITS))
    }

    fn same_value(self, other: Self) -> bool {
        (self.0 ^ other.0) & ((1 << HASH_BITS) - 1) == 0
    }

    /// Returns the second location of a finding: cluster, warp of the cluster, and instruction if known.
    pub(crate) fn place(self) -> Elsewhere {
        Elsewhere { cluster: self.cluster(), warp: self.warp(), pc: self.pc() }
    }
}

/// The accesses to a unit by clusters that take turns, each with its time: the last plain writer; the last strong writer, and whether its
/// value is known; the last reader; and the last strong writer in another cluster.
#[derive(Debug, Default)]
struct Cell([AtomicU64; 8]);

/// Pages of cells, which are allocated at the first access.
type Cells = Box<[OnceLock<Box<[Cell]>>]>;

/// The units of global memory. Their size is the smallest access size of the kernel.
#[derive(Clone, Copy, Debug, Default)]
struct Units {
    /// The binary logarithm of the unit size in bytes.
    shift: u32,
}

impl Units {
    fn new(code: &Code) -> Self {
        Self { shift: u32::from(code.global_unit).trailing_zeros() }
    }

    /// Returns the slot of the allocation at an address, and the units of a range of bytes.
    #[inline(always)]
    fn of(self, address: u64, bytes: u64) -> (usize, Range<usize>) {
        let slot = ((address >> REGION_BITS) as usize).wrapping_sub(1);
        let offset = address & ((1 << REGION_BITS) - 1);
        let end = (offset + bytes).div_ceil(1 << self.shift);
        (slot, (offset >> self.shift) as usize..end as usize)
    }

    /// Returns the part of a word that belongs to one unit.
    #[inline(always)]
    fn part(self, word: u32) -> u32 {
        word & u32::MAX >> (32 - (8u32 << self.shift))
    }
}

/// Returns whether the lanes of a full warp access consecutive bytes, in lane order.
#[inline(always)]
fn consecutive(all: &Lanes64, bytes: u64, m: u32) -> bool {
    let expected = |lane: usize| all[0].wrapping_add(bytes * lane as u64);
    m == FULL && (0..32).fold(true, |yes, lane| yes & (all[lane] == expected(lane)))
}

/// Calls `note` for each run of adjacent bytes that lanes access. Neighboring lanes usually access adjacent bytes or the same bytes.
#[inline]
pub(crate) fn for_runs(all: &Lanes64, bytes: u64, m: u32, mut note: impl FnMut(Range<u64>)) {
    if consecutive(all, bytes, m) {
        return note(all[0]..all[31] + bytes);
    }
    let mut run = 0..0;
    for lane in lanes(m) {
        let address = all[lane];
        if (run.start..=run.end).contains(&address) && run.end != 0 {
            run.end = run.end.max(address + bytes);
            continue;
        }
        if !run.is_empty() {
            note(run);
        }
        run = address..address + bytes;
    }
    note(run);
}

/// The accesses to global memory during a launch.
#[derive(Debug)]
pub(crate) struct GlobalRaces {
    units: Units,
    /// The accesses of clusters that take turns, by allocation.
    cells: Vec<Cells>,
    /// The accesses of clusters that run concurrently, by allocation.
    pages: Vec<Pages>,
    pub(crate) order: Option<Mutex<Order>>,
}

/// The kind of access, as observed by other threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    Read,
    Write,
    /// A strong store, which may be concurrent with other strong accesses.
    Strong,
    /// A strong read-modify-write.
    Atomic,
    /// An operation that is atomic only with respect to threads of the cluster.
    Narrow,
}

impl GlobalRaces {
    /// Creates the shadow of allocations of these sizes, if clusters may race.
    pub(crate) fn new(code: &Code, allocations: impl Iterator<Item = u64>, clusters: u64) -> Option<Self> {
        if !(2..MAX_CLUSTERS).contains(&clusters) {
            return None;
        }
        let units = Units::new(code);
        let counts: Vec<usize> = allocations
            .map(
                |bytes| {
                    if bytes == 0 { 0 } else { (bytes >> units.shift).div_ceil(PAGE as u64) as usize + 1 }
                },
            )
            .collect();
        if code.communicates {
            let order = Some(Mutex::new(Order::new(clusters as usize)));
            let cells = counts.iter().map(|&count| (0..count).map(|_| OnceLock::new()).collect()).collect();
            return Some(Self { units, cells, pages: vec![], order });
        }
        let pages = counts.iter().map(|&count| (0..count).map(|_| Page::default()).collect()).collect();
        Some(Self { units, cells: vec![], pages, order: None })
    }

    /// Returns the known order of clusters that take turns.
    pub(crate) fn order(&self) -> Option<MutexGuard<'_, Order>> {
        Some(self.order.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Records reads of `bytes` bytes by the lanes of a cluster that runs concurrently with others.
    pub(crate) fn read(&self, written: &mut OwnWrites, all: &Lanes64, bytes: u64, m: u32, who: Accessor) {
        for_runs(all, bytes, m, |run| {
            let (slot, units) = self.units.of(run.start, run.end - run.start);
            if let Some(pages) = self.pages.get(slot) {
                side_by_side::read(pages, written, slot, units, who);
            }
        });
    }

    /// Records writes by the lanes of a cluster that runs concurrently with others; `value` returns the word at a byte offset in a lane's
    /// value.
    pub(crate) fn write(
        &self,
        written: &mut OwnWrites,
        all: &Lanes64,
        bytes: u64,
        m: u32,
        who: Accessor,
        value: &dyn Fn(usize, u64) -> u32,
    ) {
        let Units { shift } = self.units;
        let writer =
            |lane: usize, unit: usize| who.writing(self.units.part(value(lane, (unit as u64) << shift)));
        let each = (bytes >> shift) as usize;
        if each.is_power_of_two() && consecutive(all, bytes, m) {
            let (slot, units) = self.units.of(all[0], 32 * bytes);
            let lane = |i: usize| i >> each.trailing_zeros();
            if let Some(pages) = self.pages.get(slot) {
                side_by_side::write(pages, written, slot, units, |i| writer(lane(i), i & (each - 1)));
            }
            return;
        }
        for lane in lanes(m) {
            let (slot, units) = self.units.of(all[lane], bytes);
            if let Some(pages) = self.pages.get(slot) {
                side_by_side::write(pages, written, slot, units, |i| writer(lane, i));
            }
        }
    }

    /// Checks and records an access of `bytes` bytes by one lane of a cluster that takes turns; `value` returns the word at a byte offset
    /// in the accessed value. Returns the access with which it races, if any.
    #[inline]
    pub(crate) fn access(
        &self,
        order: &mut Order,
        address: u64,
        bytes: u64,
        who: Accessor,
        manner: Manner,
        clocks: Option<&Clocks>,
        value: impl Fn(u64) -> u32,
    ) -> Option<Accessor> {
        let (slot, units) = self.units.of(address, bytes);
        let cells = self.cells.get(slot)?;
        let mut found = None;
        for unit in units.clone() {
            let page = cells.get(unit / PAGE)?;
            let page = page.get_or_init(|| (0..PAGE).map(|_| Cell::default()).collect());
            let who = match manner {
                Manner::Read => who,
                _ => who.writing(self.units.part(value(((unit - units.start) as u64) << self.units.shift))),
            };
            found = found.or(order.access(&page[unit % PAGE].0, who, manner, clocks));
        }
        found
    }

    /// Records that bytes now belong to another allocation of the device heap. The clusters of kernels that allocate memory take turns.
    pub(crate) fn forget(&self, address: u64, bytes: u64) {
        let (slot, units) = self.units.of(address, bytes);
        let Some(cells) = self.cells.get(slot) else { return };
        for unit in units {
            if let Some(page) = cells.get(unit / PAGE).and_then(OnceLock::get) {
                page[unit % PAGE].0.iter().for_each(|word| word.store(0, Relaxed));
            }
        }
    }

    /// Returns the races among clusters that ran concurrently, one for each pair of instructions.
    pub(crate) fn races(&self) -> Vec<(u64, Accessor, Accessor, bool)> {
        let mut seen = HashSet::new();
        let mut found = vec![];
        for (slot, pages) in self.pages.iter().enumerate() {
            for (number, page) in pages.iter().enumerate() {
                for (at, one, other, writes) in page.races() {
                    if seen.insert((one.pc(), other.pc())) {
                        let unit = (number * PAGE + at) as u64;
                        let address = ((slot as u64 + 1) << REGION_BITS) + (unit << self.units.shift);
                        found.push((address, one, other, writes));
                    }
                }
            }
        }
        found
    }
}
