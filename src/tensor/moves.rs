//! Grouping of elements into moves, the widest vectors that both sides allow.

use std::cmp::Ordering;

use arrayvec::ArrayVec;

use super::offset::{MAX_AXES, Offset};

/// The properties of an element's location that determine how elements are grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Memory(Location),
    /// A slot of a register.
    Register {
        word: usize,
        slot: usize,
    },
}

/// The location of an element in memory: the address is known to be aligned to `align` bytes, and elements of the same group are either all
/// in bounds or all out of bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Location {
    pub(super) offset: Offset,
    pub(super) align: u32,
    pub(super) group: Group,
}

/// A group of coordinates along each axis.
pub(super) type Group = [i64; MAX_AXES];

/// Elements that one access moves, in memory order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Move {
    pub(super) elements: ArrayVec<i64, MOST_IN_ACCESS>,
}

/// The maximum number of elements of an access: 16 bytes.
const MOST_IN_ACCESS: usize = 16;

impl Move {
    /// Returns the move of a single element.
    pub(super) fn of(element: i64) -> Self {
        Self { elements: [element].into_iter().collect() }
    }
}

/// The sizes of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Widths {
    /// The number of bytes per element.
    pub(super) element: u32,
    /// The number of elements per register of a fragment.
    pub(super) per_word: usize,
    /// The maximum width of an access in bytes.
    pub(super) widest: u32,
    /// Whether an access of 4 bytes or more may extend past an edge, because `cp.async` accepts the number of bytes to read.
    pub(super) partial: bool,
}

/// Groups elements into moves, each as wide as both sides allow, in memory order (the destination's if both sides are in memory).
pub(super) fn plan(dst: &[Place], src: &[Place], widths: Widths) -> Vec<Move> {
    let mut order: Vec<usize> = (0..dst.len()).collect();
    let lead = if matches!(dst.first(), Some(Place::Memory(_))) { dst } else { src };
    order.sort_by(|&a, &b| match (&lead[a], &lead[b]) {
        (Place::Memory(a), Place::Memory(b)) => a.offset.in_memory().cmp(&b.offset.in_memory()),
        (Place::Register { word: a, slot: first }, Place::Register { word: b, slot: second }) => {
            (a, first).cmp(&(b, second))
        }
        _ => Ordering::Equal,
    });
    let mut moves = Vec::with_capacity(order.len());
    let mut at = 0;
    while at < order.len() {
        let mut bytes = widest(dst[order[at]], src[order[at]], widths);
        let count = loop {
            let count = (bytes / widths.element).max(1) as usize;
            let run = order.get(at..at + count);
            let fits = |run: &[usize]| [dst, src].iter().all(|side| moves_together(side, run, bytes, widths));
            if count == 1 || run.is_some_and(fits) {
                break count;
            }
            bytes /= 2;
        };
        let elements = order[at..at + count].iter().map(|&element| element as i64).collect();
        moves.push(Move { elements });
        at += count;
    }
    moves
}

/// Returns the maximum width in bytes of an access that starts at `dst` and `src`, the locations of an element on both sides.
fn widest(dst: Place, src: Place, widths: Widths) -> u32 {
    let aligned = |side| match side {
        Place::Memory(location) => location.align,
        Place::Register { .. } => widths.widest,
    };
    widths.widest.min(aligned(dst)).min(aligned(src))
}

/// Returns whether one `bytes`-byte access can move the elements `run` of a side.
fn moves_together(side: &[Place], run: &[usize], bytes: u32, widths: Widths) -> bool {
    let first = &side[run[0]];
    // The data passes through whole registers, even from memory to memory.
    let whole_words = run.len().is_multiple_of(widths.per_word);
    let fits = |(position, &element): (usize, &usize)| match (first, &side[element]) {
        (Place::Memory(first), Place::Memory(other)) => {
            whole_words
                && first.offset.line == other.offset.line
                && other.offset.elements == first.offset.elements.wrapping_add(position as i64)
                && first.align % bytes == 0
                && (first.group == other.group
                    || widths.partial && bytes >= 4 && runs_along_an_axis(side, run))
        }
        (Place::Register { .. }, Place::Register { word, slot }) => {
            let begins = position - position % widths.per_word;
            let same = matches!(&side[run[begins]], Place::Register { word: first, .. } if first == word);
            whole_words && same && *slot == position % widths.per_word
        }
        _ => false,
    };
    run.iter().enumerate().all(fits)
}

/// Returns whether each element is one coordinate after the previous one along a single axis, which then determines how many are in bounds.
fn runs_along_an_axis(side: &[Place], run: &[usize]) -> bool {
    let coords = |&element: &usize| match &side[element] {
        Place::Memory(location) => location.offset.coords,
        Place::Register { .. } => Default::default(),
    };
    let first = coords(&run[0]);
    let along = |axis: usize| {
        run.iter().zip(0..).all(|(element, position)| {
            let mut expected = first;
            expected[axis] = expected[axis].wrapping_add(position);
            coords(element) == expected
        })
    };
    (0..first.len()).any(along)
}

#[cfg(test)]
mod tests {
    use super::*;

    const F32: Widths = Widths { element: 4, per_word: 1, widest: 16, partial: false };
    const F16: Widths = Widths { element: 2, per_word: 2, widest: 16, partial: false };

    fn memory(offsets: &[i64], align: u32) -> Vec<Place> {
        let place = |&elements: &i64| {
            let own = (elements * 4).trailing_zeros().min(4);
            in_memory(elements, align.min(1 << own))
        };
        offsets.iter().map(place).collect()
    }

    fn in_memory(elements: i64, align: u32) -> Place {
        let offset = Offset { elements, ..Offset::default() };
        Place::Memory(Location { offset, align, group: Group::default() })
    }

    fn registers(count: usize, per_word: usize) -> Vec<Place> {
        (0..count).map(|at| Place::Register { word: at / per_word, slot: at % per_word }).collect()
    }

    fn widths(moves: &[Move]) -> Vec<usize> {
        moves.iter().map(|m| m.elements.len()).collect()
    }

    #[test]
    fn widest_first() {
        let moves = plan(&registers(7, 1), &memory(&[0, 1, 2, 3, 4, 5, 6], 16), F32);
        assert_eq!(widths(&moves), [4, 2, 1]);
        let moves = plan(&registers(4, 1), &memory(&[0, 1, 2, 3], 8), F32);
        assert_eq!(widths(&moves), [2, 2]);
    }

    #[test]
    fn order_of_memory_not_of_the_view() {
        let moves = plan(&registers(4, 1), &memory(&[3, 1, 2, 0], 16), F32);
        assert_eq!(moves, [Move { elements: [3, 1, 2, 0].into_iter().collect() }]);
    }

    #[test]
    fn halves_need_whole_registers() {
        let offsets = |count: i64| (0..count).collect::<Vec<_>>();
        let even = |count| offsets(count).into_iter().map(|offset| in_memory(offset, 16)).collect::<Vec<_>>();
        assert_eq!(widths(&plan(&registers(8, 2), &even(8), F16)), [8]);
        let swapped: Vec<_> = (0..2).map(|at| Place::Register { word: 0, slot: 1 - at }).collect();
        assert_eq!(widths(&plan(&swapped, &even(2), F16)), [1, 1]);
    }

    #[test]
    fn bytes_between_memories_need_whole_registers() {
        let bytes = Widths { element: 1, per_word: 4, ..F32 };
        let places = |align| (0..6).map(|offset| in_memory(offset, align)).collect::<Vec<_>>();
        assert_eq!(widths(&plan(&places(2), &places(2), bytes)), [1; 6]);
        assert_eq!(widths(&plan(&places(4), &places(16), bytes)), [4, 1, 1]);
    }

    #[test]
    fn both_memories_count() {
        let moves = plan(&memory(&[0, 1, 2, 3], 16), &memory(&[0, 1, 33, 34], 16), F32);
        assert_eq!(widths(&moves), [2, 1, 1]);
    }
}
