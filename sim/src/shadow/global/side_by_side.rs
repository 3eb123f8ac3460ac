//! Accesses by clusters that run side by side: of each unit the least and the greatest writer, value and reader, which are the
//! same in whatever order they came.
//!
//! Most reads are of whole sectors: those are noted once for all units of a segment.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::shadow::global::{Accessor, OwnWrites, PAGE};

/// Units of a segment: a sector of 32 bytes, if units have 4.
const SEGMENT: usize = 8;

/// The least accessor (inverted) and the greatest.
#[derive(Debug, Default)]
struct Extremes([AtomicU64; 2]);

impl Extremes {
    #[inline(always)]
    fn note(&self, who: Accessor) {
        for (cell, key) in [(&self.0[0], !who.0), (&self.0[1], who.0)] {
            if cell.load(Relaxed) < key {
                cell.fetch_max(key, Relaxed);
            }
        }
    }

    /// Returns both, if an accessor was recorded.
    fn get(&self) -> Option<[Accessor; 2]> {
        let [inverted, most] = [0, 1].map(|at| self.0[at].load(Relaxed));
        (most != 0).then_some([Accessor(!inverted), Accessor(most)])
    }
}

/// The writers of a unit, in the order of clusters and of values.
#[derive(Debug, Default)]
struct Writers {
    by_cluster: Extremes,
    by_value: Extremes,
}

/// A part of a page that is made when it is needed first.
type Part<T> = OnceLock<Box<[T]>>;

fn part<T: Default>(part: &Part<T>, count: usize) -> &[T] {
    part.get_or_init(|| (0..count).map(|_| T::default()).collect())
}

/// The accesses of [`PAGE`] units.
#[derive(Debug, Default)]
pub(super) struct Page {
    writers: Part<Writers>,
    /// Readers of what others wrote: of single units, and of whole segments.
    readers: Part<Extremes>,
    segments: Part<Extremes>,
}

/// The pages of an allocation.
pub(super) type Pages = Box<[Page]>;

/// Notes reads of some units, except of those that the cluster wrote itself.
pub(super) fn read(pages: &Pages, written: &mut OwnWrites, slot: usize, units: Range<usize>, who: Accessor) {
    let mut at = units.start;
    while at < units.end {
        let Some(page) = pages.get(at / PAGE) else { return };
        let end = units.end.min((at / PAGE + 1) * PAGE);
        if written.has_page(slot, at) {
            let readers = part(&page.readers, PAGE);
            let foreign = (at..end).filter(|&unit| !written.has(slot, unit));
            foreign.for_each(|unit| readers[unit % PAGE].note(who));
        } else {
            page.read(at % PAGE..at % PAGE + end - at, who);
        }
        at = end;
    }
}

/// Notes writes of some units; `who` gives the writer of each, by its position among them.
#[inline]
pub(super) fn write(
    pages: &Pages,
    written: &mut OwnWrites,
    slot: usize,
    units: Range<usize>,
    who: impl Fn(usize) -> Accessor,
) {
    let mut at = units.start;
    while at < units.end {
        let Some(page) = pages.get(at / PAGE) else { return };
        let end = units.end.min((at / PAGE + 1) * PAGE);
        written.mark(slot, at..end);
        let writers = part(&page.writers, PAGE);
        for unit in at..end {
            let who = who(unit - units.start);
            writers[unit % PAGE].by_cluster.note(who);
            writers[unit % PAGE].by_value.note(who.by_value());
        }
        at = end;
    }
}

impl Page {
    fn read(&self, units: Range<usize>, who: Accessor) {
        let (first, last) = (units.start.div_ceil(SEGMENT), units.end / SEGMENT);
        if first >= last {
            let readers = part(&self.readers, PAGE);
            return readers[units].iter().for_each(|reader| reader.note(who));
        }
        let segments = part(&self.segments, PAGE / SEGMENT);
        segments[first..last].iter().for_each(|reader| reader.note(who));
        for rest in [units.start..first * SEGMENT, last * SEGMENT..units.end] {
            if !rest.is_empty() {
                part(&self.readers, PAGE)[rest].iter().for_each(|reader| reader.note(who));
            }
        }
    }

    /// The races of the page: the unit, two accessors of two clusters, the later cluster first, of which one or both write, and
    /// whether both do.
    pub(super) fn races(&self) -> impl Iterator<Item = (usize, Accessor, Accessor, bool)> {
        let writers = self.writers.get().map_or(&[][..], |writers| writers);
        writers.iter().enumerate().filter_map(|(unit, writers)| {
            let (one, other, both) = self.race(unit, writers)?;
            Some((unit, one, other, both))
        })
    }

    fn race(&self, unit: usize, writers: &Writers) -> Option<(Accessor, Accessor, bool)> {
        let [first, last] = writers.by_cluster.get()?;
        let [low, high] = writers.by_value.get()?.map(Accessor::by_cluster);
        // Where two values were written by two clusters, they are among these.
        let pairs = [(last, first), (high, low), (last, low), (last, high), (first, low), (first, high)];
        let writers = pairs.into_iter().find(|(a, b)| a.cluster() != b.cluster() && !a.same_value(*b));
        let readers = || {
            let single = self.readers.get().and_then(|readers| readers[unit].get());
            let segment = self.segments.get().and_then(|segments| segments[unit / SEGMENT].get());
            let readers = single.into_iter().chain(segment).flatten();
            let mut pairs = readers.flat_map(|reader| [(reader, last), (reader, first)]);
            pairs.find(|(reader, writer)| reader.cluster() != writer.cluster())
        };
        let both = writers.is_some();
        let (one, other) = writers.or_else(readers)?;
        Some(if one.cluster() > other.cluster() { (one, other, both) } else { (other, one, both) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The units that race after some accesses: cluster, whether it writes, units.
    fn races(accesses: &[(u64, bool, Range<usize>)]) -> Vec<usize> {
        let pages: Pages = (0..2).map(|_| Page::default()).collect();
        let mut written = OwnWrites::default();
        for (i, (cluster, writes, units)) in accesses.iter().enumerate() {
            if i > 0 && accesses[i - 1].0 != *cluster {
                written.clear();
            }
            let who = Accessor::new(*cluster, i as u32, 0);
            match writes {
                true => write(&pages, &mut written, 0, units.clone(), |_| who.writing(*cluster as u32)),
                false => read(&pages, &mut written, 0, units.clone(), who),
            }
        }
        let units =
            |(number, page): (usize, &Page)| page.races().map(move |race| PAGE * number + race.0).collect();
        pages.iter().enumerate().flat_map(|page| -> Vec<usize> { units(page) }).collect()
    }

    #[test]
    fn reads_of_segments_meet_writes_of_single_units() {
        assert_eq!(races(&[(0, false, 3..30), (1, true, 2..3), (1, true, 29..31)]), [29]);
        assert_eq!(races(&[(0, true, 13..14), (1, false, 0..PAGE)]), [13]);
        assert_eq!(races(&[(0, true, PAGE - 1..PAGE + 1), (1, false, PAGE - 9..PAGE + 9)]), [PAGE - 1, PAGE]);
        assert_eq!(races(&[(0, true, 13..14), (1, false, 14..17), (1, false, 5..13)]), []);
    }

    #[test]
    fn a_cluster_reads_back_what_it_wrote() {
        // Both write the same values only if they are one cluster's.
        assert_eq!(races(&[(1, true, 8..16), (1, false, 0..24), (2, true, 0..1)]), [0]);
        assert_eq!(races(&[(1, true, 8..16), (1, false, 0..24), (2, false, 10..11)]), [10]);
    }
}
