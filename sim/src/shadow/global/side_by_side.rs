//! Accesses by clusters that run concurrently. The least and the greatest writer, value and reader of each unit are recorded, because these
//! do not depend on the order of execution.
//!
//! Most accesses cover whole sectors. Reads of a whole segment, and the first write to it, are recorded once for all of its units. Only
//! writes by other clusters, and later writes by the same cluster, are recorded by unit.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering::Relaxed};

use crate::shadow::global::{Accessor, OwnWrites, PAGE};

/// The number of units per segment. With 4-byte units, a segment is a 32-byte sector.
const SEGMENT: usize = 8;

/// The least accessor (inverted) and the greatest accessor.
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

    /// Returns both extremes, if an accessor was recorded.
    fn get(&self) -> Option<[Accessor; 2]> {
        let [inverted, most] = [0, 1].map(|at| self.0[at].load(Relaxed));
        (most != 0).then_some([Accessor(!inverted), Accessor(most)])
    }
}

/// The extreme writers of a unit, in the order of clusters and in the order of values.
#[derive(Debug, Default)]
struct Writers {
    by_cluster: Extremes,
    by_value: Extremes,
}

impl Writers {
    #[inline]
    fn note(&self, who: Accessor) {
        self.by_cluster.note(who);
        self.by_value.note(who.by_value());
    }
}

/// The first writer of a whole segment, and hashes of the values that it wrote to each unit.
#[derive(Debug, Default)]
struct Owner {
    who: AtomicU64,
    values: [AtomicU16; SEGMENT],
}

impl Owner {
    /// Records writes of the whole segment by one instruction; `who` returns the writer of each unit. Returns whether no cluster had
    /// written the whole segment before.
    #[inline(always)]
    fn take(&self, who: impl Fn(usize) -> Accessor) -> bool {
        let first = who(0).without_value().0;
        if self.who.load(Relaxed) != 0 || self.who.compare_exchange(0, first, Relaxed, Relaxed).is_err() {
            return false;
        }
        let values = self.values.iter().enumerate();
        values.for_each(|(unit, value)| value.store(who(unit).value(), Relaxed));
        true
    }

    /// Returns the writer of a unit of the segment.
    fn get(&self, unit: usize) -> Option<Accessor> {
        let who = Accessor(self.who.load(Relaxed));
        (who.0 != 0).then(|| who.with_value(self.values[unit].load(Relaxed)))
    }
}

/// A part of a page, which is allocated when it is first needed.
type Part<T> = OnceLock<Box<[T]>>;

fn part<T: Default>(part: &Part<T>, count: usize) -> &[T] {
    part.get_or_init(|| (0..count).map(|_| T::default()).collect())
}

/// Returns the whole segments among `units`, and the units before and after them.
#[inline]
fn split(units: Range<usize>) -> (Range<usize>, [Range<usize>; 2]) {
    let (first, last) = (units.start.div_ceil(SEGMENT), units.end / SEGMENT);
    if first >= last {
        return (0..0, [units, 0..0]);
    }
    (first..last, [units.start..first * SEGMENT, last * SEGMENT..units.end])
}

/// The accesses of [`PAGE`] units.
#[derive(Debug, Default)]
pub(super) struct Page {
    /// The first writers of whole segments, and all other writers of single units.
    owners: Part<Owner>,
    writers: Part<Writers>,
    /// The clusters that read data written by others, for single units and for whole segments.
    readers: Part<Extremes>,
    segments: Part<Extremes>,
}

/// The pages of an allocation.
pub(super) type Pages = Box<[Page]>;

/// Records reads of units, except units that the cluster itself has written.
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

/// Records writes of units; `who` returns the writer of each unit, given the unit's position in `units`.
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
        page.write(at % PAGE..at % PAGE + end - at, |i| who(at - units.start + i));
        at = end;
    }
}

impl Page {
    fn read(&self, units: Range<usize>, who: Accessor) {
        let (segments, rests) = split(units);
        if !segments.is_empty() {
            let readers = part(&self.segments, PAGE / SEGMENT);
            readers[segments].iter().for_each(|reader| reader.note(who));
        }
        for rest in rests {
            if !rest.is_empty() {
                part(&self.readers, PAGE)[rest].iter().for_each(|reader| reader.note(who));
            }
        }
    }

    /// Records writes of units by one instruction; `who` returns the writer of each unit, given the unit's position in `units`.
    #[inline]
    fn write(&self, units: Range<usize>, who: impl Fn(usize) -> Accessor) {
        let note = |rest: Range<usize>| {
            if !rest.is_empty() {
                let writers = &part(&self.writers, PAGE)[rest.clone()];
                writers.iter().zip(rest).for_each(|(writers, unit)| writers.note(who(unit - units.start)));
            }
        };
        let (segments, rests) = split(units.clone());
        if !segments.is_empty() {
            let owners = &part(&self.owners, PAGE / SEGMENT)[segments.clone()];
            for (owner, segment) in owners.iter().zip(segments) {
                let start = segment * SEGMENT;
                if !owner.take(|i| who(start - units.start + i)) {
                    note(start..start + SEGMENT);
                }
            }
        }
        rests.into_iter().for_each(note);
    }

    /// Returns the races in the page: the unit, two accessors in different clusters (the later cluster first), and whether both write. At
    /// least one of them writes.
    pub(super) fn races(&self) -> impl Iterator<Item = (usize, Accessor, Accessor, bool)> {
        let is_read = self.readers.get().is_some() || self.segments.get().is_some();
        // Segments that are written once and never read have no races.
        let units = if is_read || self.writers.get().is_some() { 0..PAGE } else { 0..0 };
        units.filter_map(|unit| {
            let (one, other, both) = self.race(unit)?;
            Some((unit, one, other, both))
        })
    }

    /// Returns the writers of a unit in the first and the last cluster, and the writers of the least and the greatest value.
    fn writers(&self, unit: usize) -> Option<[Accessor; 4]> {
        let owner = self.owners.get().and_then(|owners| owners[unit / SEGMENT].get(unit % SEGMENT));
        let noted = self.writers.get().and_then(|writers| {
            let Writers { by_cluster, by_value } = &writers[unit];
            Some((by_cluster.get()?, by_value.get()?.map(Accessor::by_cluster)))
        });
        let Some(([first, last], [low, high])) = noted else { return owner.map(|owner| [owner; 4]) };
        let Some(owner) = owner else { return Some([first, last, low, high]) };
        let extreme = |max: bool, key: fn(Accessor) -> u64, other: Accessor| {
            if (key(owner) > key(other)) == max { owner } else { other }
        };
        let (by_cluster, by_value) = (|who: Accessor| who.0, |who: Accessor| who.by_value().0);
        Some([
            extreme(false, by_cluster, first),
            extreme(true, by_cluster, last),
            extreme(false, by_value, low),
            extreme(true, by_value, high),
        ])
    }

    fn race(&self, unit: usize) -> Option<(Accessor, Accessor, bool)> {
        let [first, last, low, high] = self.writers(unit)?;
        // If two clusters wrote different values, at least one of these pairs differs in cluster and value.
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
    use proptest::prelude::*;

    /// An access: the cluster, the value if it is a write, and the units.
    type Access = (u64, Option<u32>, Range<usize>);

    /// Returns the units that race after these accesses.
    fn races(accesses: &[Access]) -> Vec<usize> {
        let pages: Pages = (0..2).map(|_| Page::default()).collect();
        let mut written = OwnWrites::default();
        for (i, (cluster, value, units)) in accesses.iter().enumerate() {
            if i > 0 && accesses[i - 1].0 != *cluster {
                written.clear();
            }
            let who = Accessor::new(*cluster, i as u32, 0);
            match *value {
                Some(value) => write(&pages, &mut written, 0, units.clone(), |_| who.writing(value)),
                None => read(&pages, &mut written, 0, units.clone(), who),
            }
        }
        let units =
            |(number, page): (usize, &Page)| page.races().map(move |race| PAGE * number + race.0).collect();
        pages.iter().enumerate().flat_map(|page| -> Vec<usize> { units(page) }).collect()
    }

    /// Returns the same units, computed from the definition of a race.
    fn races_of_pairs(accesses: &[Access]) -> Vec<usize> {
        let races = |unit: &usize| {
            let all: Vec<&Access> = accesses.iter().filter(|(_, _, units)| units.contains(unit)).collect();
            let own =
                |i: usize| all[..i].iter().any(|(cluster, value, _)| *cluster == all[i].0 && value.is_some());
            let pairs = (0..all.len()).flat_map(|i| (0..all.len()).map(move |j| (i, j)));
            pairs.filter(|&(i, j)| all[i].0 != all[j].0).any(|(i, j)| match (all[i].1, all[j].1) {
                (Some(one), Some(other)) => one != other,
                (None, Some(_)) => !own(i),
                _ => false,
            })
        };
        (0..2 * PAGE).filter(races).collect()
    }

    #[test]
    fn reads_of_segments_conflict_with_writes_of_units() {
        assert_eq!(races(&[(0, None, 3..30), (1, Some(1), 2..3), (1, Some(1), 29..31)]), [29]);
        assert_eq!(races(&[(0, Some(0), 13..14), (1, None, 0..PAGE)]), [13]);
        let edge = [(0, Some(0), PAGE - 1..PAGE + 1), (1, None, PAGE - 9..PAGE + 9)];
        assert_eq!(races(&edge), [PAGE - 1, PAGE]);
        assert_eq!(races(&[(0, Some(0), 13..14), (1, None, 14..17), (1, None, 5..13)]), []);
    }

    #[test]
    fn a_cluster_reads_back_its_own_writes() {
        // Only the accesses of cluster 2 race with those of cluster 1.
        assert_eq!(races(&[(1, Some(1), 8..16), (1, None, 0..24), (2, Some(2), 0..1)]), [0]);
        assert_eq!(races(&[(1, Some(1), 8..16), (1, None, 0..24), (2, None, 10..11)]), [10]);
    }

    proptest! {
        #[test]
        fn races_are_those_of_pairs_of_accesses(
            mut accesses in prop::collection::vec(
                (0u64..4, prop::option::of(0u32..2), 0usize..40, 1usize..40)
                    .prop_map(|(cluster, value, start, count)| (cluster, value, start..start + count)),
                1..12,
            ),
            start in prop::sample::select(vec![0, PAGE - 20]),
        ) {
            accesses.sort_by_key(|access| access.0);
            for (_, _, units) in &mut accesses {
                *units = units.start + start..units.end + start;
            }
            prop_assert_eq!(races(&accesses), races_of_pairs(&accesses));
        }
    }
}
