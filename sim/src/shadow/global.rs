//! Races in global memory between clusters of blocks.
//!
//! Of every unit of memory (the smallest piece that the kernel accesses) a shadow cell remembers who wrote and read it.
//!
//! Clusters that run side by side have nothing to order them, so that any write and another access by two of them
//! race, unless all write one value and read only what they wrote themselves. Cells then hold the least and the greatest
//! writer, value and reader, which are the same in whatever order they came; they are looked at when the launch has
//! ended. Clusters that communicate take turns, and cells hold the last plain and the last strong writer and the last
//! reader, which [`Order`] knows to be ordered before the next access or not.

pub(crate) mod order;
mod own_writes;

use crate::program::spaces::REGION_BITS;
use crate::report::fault::Elsewhere;
use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use crate::program::code::Code;
use crate::shadow::clocks::Clocks;

pub(crate) use crate::shadow::global::order::{Inside, Order};
pub(crate) use crate::shadow::global::own_writes::OwnWrites;

/// Units whose cells are made together, when one of them is accessed first.
const PAGE: usize = 1 << 10;

/// Clusters that can be told apart.
const MAX_CLUSTERS: u64 = 1 << 22;

/// Who made an access: cluster, instruction, warp of the cluster, and a hash of the value. Zero is no accessor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Accessor(u64);

const HASH_BITS: u32 = 16;
const WARP_BITS: u32 = 9;
const PC_BITS: u32 = 16;
/// Instructions beyond the last number are not told apart.
const LAST_PC: u64 = (1 << PC_BITS) - 1;

impl Accessor {
    pub(crate) fn new(cluster: u64, pc: u32, warp: usize) -> Self {
        let pc = u64::from(pc).min(LAST_PC);
        let warp = warp as u64 & ((1 << WARP_BITS) - 1);
        Self((((cluster + 1) << PC_BITS | pc) << WARP_BITS | warp) << HASH_BITS)
    }

    /// With the value that is written.
    #[inline(always)]
    fn writing(self, value: u32) -> Self {
        Self(self.0 | u64::from(value.wrapping_mul(0x9e37_79b1) >> (32 - HASH_BITS)))
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

    /// With the value in front, which decides what is least and greatest.
    fn by_value(self) -> Self {
        Self(self.0.rotate_right(HASH_BITS))
    }

    /// Back from [`Accessor::by_value`].
    fn by_cluster(self) -> Self {
        Self(self.0.rotate_left(HASH_BITS))
    }

    fn same_value(self, other: Self) -> bool {
        (self.0 ^ other.0) & ((1 << HASH_BITS) - 1) == 0
    }

    /// The other side of a finding: cluster, warp of the cluster, instruction if it is known.
    pub(crate) fn place(self) -> Elsewhere {
        Elsewhere { cluster: self.cluster(), warp: self.warp(), pc: self.pc() }
    }
}

/// The cells of some units. Side by side, each least (inverted) and greatest: writer; writer by value; reader of what others wrote.
/// In turns, each with its time: last plain writer; last strong writer, and whether its value is known; last reader; last strong
/// writer of another cluster than the last one.
type Page = Box<[AtomicU64]>;

/// Words of the cell of a unit.
const SIDE_BY_SIDE: usize = 6;
const IN_TURNS: usize = 8;

/// The cell of a unit that clusters access side by side.
#[derive(Clone, Copy, Debug)]
struct Extremes<'p>(&'p [AtomicU64; SIDE_BY_SIDE]);

/// Who accessed global memory during a launch.
#[derive(Debug)]
pub(crate) struct GlobalRaces {
    /// Logarithm of the bytes of a unit.
    shift: u32,
    /// Words of a cell.
    cell: usize,
    /// By allocation, then by page.
    shadows: Vec<Box<[OnceLock<Page>]>>,
    pub(crate) order: Option<Mutex<Order>>,
}

/// How an access looks to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    Read,
    Write,
    /// A strong store, which may meet others at work.
    Strong,
    /// A read and a write in one, strong.
    Atomic,
    /// An atomic among the threads of the cluster only.
    Narrow,
}

impl GlobalRaces {
    /// Shadows for allocations of these sizes, if there are clusters to race.
    pub(crate) fn new(code: &Code, allocations: impl Iterator<Item = u64>, clusters: u64) -> Option<Self> {
        if !(2..MAX_CLUSTERS).contains(&clusters) {
            return None;
        }
        let shift = u32::from(code.global_unit).trailing_zeros();
        let pages = |bytes: u64| (bytes >> shift).div_ceil(PAGE as u64) as usize + 1;
        let shadows = allocations.map(|bytes| {
            let count = if bytes == 0 { 0 } else { pages(bytes) };
            (0..count).map(|_| OnceLock::new()).collect()
        });
        let order = code.communicates.then(|| Mutex::new(Order::new(clusters as usize)));
        let cell = if order.is_some() { IN_TURNS } else { SIDE_BY_SIDE };
        Some(Self { shift, cell, shadows: shadows.collect(), order })
    }

    /// What is known of the order of clusters that take turns.
    pub(crate) fn order(&self) -> Option<MutexGuard<'_, Order>> {
        Some(self.order.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Notes an access of `bytes` bytes by one lane, `value` giving the word that begins at a byte of it. Returns
    /// whom it races with, where that is known at once.
    #[inline]
    pub(crate) fn access(
        &self,
        order: &mut Option<MutexGuard<'_, Order>>,
        written: &mut OwnWrites,
        address: u64,
        bytes: u64,
        who: Accessor,
        manner: Manner,
        clocks: Option<&Clocks>,
        value: impl Fn(u64) -> u32,
    ) -> Option<Accessor> {
        let slot = ((address >> REGION_BITS) as usize).wrapping_sub(1);
        let shadow = self.shadows.get(slot)?;
        let offset = address & ((1 << REGION_BITS) - 1);
        let mut found = None;
        for unit in offset >> self.shift..(offset + bytes).div_ceil(1 << self.shift) {
            let page = shadow.get(unit as usize / PAGE)?;
            let page = page.get_or_init(|| (0..PAGE * self.cell).map(|_| AtomicU64::new(0)).collect());
            let cell = &page[unit as usize % PAGE * self.cell..];
            let who = match manner {
                Manner::Read => who,
                _ => {
                    let bits = 8u32 << self.shift;
                    who.writing(value((unit << self.shift).saturating_sub(offset)) & u32::MAX >> (32 - bits))
                }
            };
            match order {
                None if manner != Manner::Read => {
                    written.mark(slot, unit as usize);
                    Extremes(cell.first_chunk()?).wrote(who);
                }
                None if written.has(slot, unit as usize) => {}
                None => Extremes(cell.first_chunk()?).note(4, who),
                Some(order) => found = found.or(order.access(cell.first_chunk()?, who, manner, clocks)),
            }
        }
        found
    }

    /// The races among clusters that ran side by side, one for each pair of instructions.
    pub(crate) fn races(&self) -> Vec<(u64, Accessor, Accessor, bool)> {
        let mut seen = HashSet::new();
        let mut found = vec![];
        for (slot, shadow) in self.shadows.iter().enumerate() {
            for (number, page) in shadow.iter().enumerate() {
                let cells = page.get().into_iter().flat_map(|page| page.as_chunks().0);
                for (at, cell) in cells.enumerate() {
                    let Some((one, other, writes)) = Extremes(cell).race() else { continue };
                    if seen.insert((one.pc(), other.pc())) {
                        let unit = (number * PAGE + at) as u64;
                        let address = ((slot as u64 + 1) << REGION_BITS) + (unit << self.shift);
                        found.push((address, one, other, writes));
                    }
                }
            }
        }
        found
    }
}

impl Extremes<'_> {
    #[inline(always)]
    fn wrote(&self, who: Accessor) {
        self.note(0, who);
        self.note(2, who.by_value());
    }

    /// Keeps the least and the greatest.
    #[inline(always)]
    fn note(&self, at: usize, who: Accessor) {
        for (cell, key) in [(&self.0[at], !who.0), (&self.0[at + 1], who.0)] {
            if cell.load(Relaxed) < key {
                cell.fetch_max(key, Relaxed);
            }
        }
    }

    /// The least and the greatest, if anybody was noted.
    fn extremes(&self, at: usize) -> Option<[Accessor; 2]> {
        let [inverted, most] = [at, at + 1].map(|at| self.0[at].load(Relaxed));
        (most != 0).then_some([Accessor(!inverted), Accessor(most)])
    }

    /// Two accessors of two clusters, the later cluster first, of which one or both write, and whether both do.
    fn race(&self) -> Option<(Accessor, Accessor, bool)> {
        let [first, last] = self.extremes(0)?;
        let [low, high] = self.extremes(2)?.map(Accessor::by_cluster);
        // Where two values were written by two clusters, they are among these.
        let pairs = [(last, first), (high, low), (last, low), (last, high), (first, low), (first, high)];
        let writers = pairs.into_iter().find(|(a, b)| a.cluster() != b.cluster() && !a.same_value(*b));
        let readers = || {
            let readers = self.extremes(4)?;
            let pairs = readers.into_iter().flat_map(|reader| [(reader, last), (reader, first)]);
            pairs.into_iter().find(|(reader, writer)| reader.cluster() != writer.cluster())
        };
        let writes = writers.is_some();
        let (one, other) = writers.or_else(readers)?;
        Some(if one.cluster() > other.cluster() { (one, other, writes) } else { (other, one, writes) })
    }
}
