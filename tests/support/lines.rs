//! Lines of a tile along an axis: the rows and columns of a matrix.

use warpwright::layout::{Tuple, TvLayout};

/// From any value of any thread, the digits that move along `axis` reach the whole line of the element, each of its elements
/// once, at the offsets stated.
#[track_caller]
pub(crate) fn assert_lines(tile: &TvLayout, axis: usize) {
    let along = tile.along(axis).unwrap_or_else(|error| panic!("{error}"));
    let mut threads = vec![(0, 0)];
    for bit in &along.thread_bits {
        threads.extend(
            threads.clone().into_iter().map(|(thread, at)| (thread + (1 << bit.bit), at + bit.offset)),
        );
    }
    let mask: i64 = threads.iter().map(|(thread, _)| *thread).max().unwrap_or(0);
    let first_of_line = |value| {
        let digits = along.values.coord_of_offset(value);
        value - along.values.at(digits).expect("digits of the values")
    };
    let elements: Vec<_> =
        (0..tile.threads()).map(|thread| tile.elements(thread).expect("a thread")).collect();
    let coord = |thread: i64, value: i64| -> Vec<i64> {
        elements[thread as usize][value as usize].coord.leaves().copied().collect()
    };
    let extent = tile.shape().mode(axis).map_or(1, Tuple::size);
    for thread in (0..tile.threads()).filter(|thread| thread & mask == 0) {
        for value in (0..tile.values()).filter(|&value| first_of_line(value) == value) {
            let first = coord(thread, value);
            let mut line = Vec::new();
            for (thread_step, thread_offset) in &threads {
                for (value_step, value_offset) in along.values.values().zip(along.offsets.values()) {
                    let found = coord(thread + thread_step, value + value_step);
                    let mut expected = first.clone();
                    expected[axis] += thread_offset + value_offset;
                    assert_eq!(found, expected, "{} along {axis}: {along:?}", tile.name());
                    line.push(found[axis]);
                }
            }
            line.sort_unstable();
            assert_eq!(line, (0..extent).collect::<Vec<_>>(), "{} along {axis}: {along:?}", tile.name());
        }
    }
}
