//! (thread, value) layouts: owners, elements, lines, and what is rejected.

use pretty_assertions::assert_eq;
use proptest::prelude::*;
use warpwright::layout::{Element, IntTuple, Layout, TvError, TvLayout, coord_of_index};
use warpwright_proptest::layout::tv_layout;

use super::lines::assert_lines;

fn tv(name: &str, shape: impl Into<IntTuple>, layout: &str) -> Result<TvLayout, TvError> {
    TvLayout::new(name, shape, layout.parse().expect("a layout"))
}

#[track_caller]
fn assert_error<T: std::fmt::Debug>(result: Result<T, TvError>, expected: &str) {
    assert_eq!(result.unwrap_err().to_string(), expected);
}

#[test]
fn layouts_that_are_not_valid() {
    assert_error(tv("t", (4, 4), "16:1"), "t: expected a layout of rank 2, (thread, value), found 16:1");
    assert_error(
        tv("t", (4, 3), "(4,3):(1,4)").unwrap().packed(2),
        "t: expected whole registers of 2 values, found 3 values per thread",
    );
    assert_error(
        tv("t", (4, 3), "(4,3):(1,4)").unwrap().packed(0),
        "t: expected whole registers of 0 values, found 3 values per thread",
    );
    assert_error(
        tv("t", (4, 2), "(4,4):(1,4)"),
        "t: expected indices within the tile (4,2), found 15 at thread 3, value 3",
    );
    assert_error(
        tv("t", (4, 2), "((2,2),2):((1,-2),4)"),
        "t: expected indices within the tile (4,2), found -2 at thread 2, value 0",
    );
    assert_error(tv("t", (4, 0), "(4,1):(1,0)"), "mode 1: expected an extent of at least 1, found 0");
}

#[test]
fn layouts_that_are_too_large_are_rejected_immediately() {
    let layout = Layout::column_major((1 << 20, 1 << 20)).unwrap();
    assert_error(
        TvLayout::new("huge", (1 << 20, 1 << 20), layout),
        "huge: expected at most 4194304 elements, found 1099511627776",
    );
    let part = |extent: i64| Layout::new(extent, 0).unwrap();
    let overflow = TvLayout::new("huge", 4, Layout::concat([part(1 << 40), part(1 << 40)]));
    assert!(matches!(overflow, Err(TvError::Layout(_))), "{overflow:?}");
    let base = tv("base", (16, 16), "(32,8):(1,32)").unwrap();
    assert!(matches!(TvLayout::tiled(&base, u32::MAX, u32::MAX), Err(TvError::TooLarge { .. })));
    assert!(matches!(TvLayout::tiled(&base, 0, 1), Err(TvError::Layout(_))));
    let line = tv("line", 256, "(32,8):(1,32)").unwrap();
    assert_error(TvLayout::tiled(&line, 1, 1), "line 1×1: expected a tile of rank 2 to repeat, found 256");
}

#[test]
fn elements_with_several_owners_or_without_an_owner() {
    let shared = tv("s", (4, 2), "(4,2):(1,0)").unwrap().packed(2).unwrap();
    assert_error(
        shared.check_bijective(),
        "s: expected one owner of element (0,0), found thread 0, value 0 and thread 0, value 1",
    );
    assert_error(shared.check_covering(), "s: expected an owner of element (0,1), found none");
    let partial = tv("p", (4, 2), "(2,2):(1,4)").unwrap();
    assert_error(partial.check_bijective(), "p: expected an owner of element (2,0), found none");
    assert_error(partial.owner((2, 1)), "p: expected an owner of element (2,1), found none");
    let broadcast = tv("b", (4, 2), "((4,2),2):((1,0),4)").unwrap();
    broadcast.assert_covering();
    let owners: Vec<_> = broadcast.owners((1, 1)).unwrap().iter().map(|o| (o.thread, o.value)).collect();
    assert_eq!(owners, [(1, 1), (5, 1)]);
}

#[test]
#[should_panic(expected = "not a bijection: s: expected one owner of element (0,0)")]
fn an_assertion_names_the_element() {
    tv("s", (4, 2), "(4,2):(1,0)").unwrap().assert_bijective();
}

#[test]
fn queries_outside_of_the_tile() {
    let tile = tv("t", ((2, 2), 2), "(4,2):(1,4)").unwrap();
    for coord in [IntTuple::from((4, 0)), (0, -1).into(), 8.into(), (0, (0, 0)).into(), ((2, 0), 0).into()] {
        let expected = format!("t: expected a coordinate of the tile ((2,2),2), found {coord}");
        assert_error(tile.owner(coord.clone()), &expected);
        assert_error(tile.owners(coord), &expected);
    }
    for thread in [-1, 4] {
        assert_error(tile.elements(thread), &format!("t: expected a thread below 4, found {thread}"));
    }
    let owner = tile.owner((3, 1));
    assert_eq!((tile.owner(((1, 1), 1)), tile.owner(7)), (owner.clone(), owner));
}

#[test]
fn layouts_without_lines_along_an_axis_are_rejected() {
    let tile = |layout| tv("t", (4, 4), layout).unwrap();
    assert_error(tile("(4,4):(1,4)").along(2), "t: expected an axis of the tile (4,4), found axis 2");
    // Bit 1 of the thread moves from (0, 0) to (1, 1).
    assert_error(
        tile("((2,2),1):((1,5),0)").along(0),
        "t: expected a step of 2 in the thread index that varies along one axis, found (1,1)",
    );
    assert_error(
        tile("(2,(2,2)):(8,(1,6))").along(1),
        "t: expected a step of 2 in the value index that varies along one axis, found (2,1)",
    );
    // Steps of 3 reach row 3 of column 0, then row 2 of column 1.
    let wraps = tile("(4,2):(3,1)").along(0).unwrap_err();
    assert!(
        wraps.to_string().starts_with("t: expected steps that each move along one axis: (4,4):(1@0,1@1) ∘ "),
        "{wraps}"
    );
    let six = tv("six", (6, 4), "(6,4):(1,6)").unwrap();
    assert_error(
        six.along(0),
        "six: expected a power-of-2 number of threads along axis 0, found 6 in steps of 1 threads",
    );
    assert_lines(&six, 1);
}

#[test]
fn a_digit_may_cover_two_axes_bit_by_bit() {
    // Bit 0 of the thread moves 2 rows, bit 1 a column.
    let tile = tv("t", (4, 4), "(4,(2,2)):(2,(1,8))").unwrap();
    let bits = |axis| {
        let along = tile.along(axis).unwrap();
        along.thread_bits.iter().map(|bit| (bit.bit, bit.offset)).collect::<Vec<_>>()
    };
    assert_eq!((bits(0), bits(1)), (vec![(0, 2)], vec![(1, 1)]));
    (0..2).for_each(|axis| assert_lines(&tile, axis));
}

#[test]
fn extents_of_1_are_not_digits() {
    let tile = tv("t", (4, 4), "((1,4),(1,2,1,2)):((0,1),(7,4,1,8))").unwrap();
    let along = (tile.along(0).unwrap(), tile.along(1).unwrap());
    assert_eq!(along.0.thread_bits.iter().map(|bit| bit.bit).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(along.1.values.to_string(), "(2,2):(1,2)");
    (0..2).for_each(|axis| assert_lines(&tile, axis));
}

#[test]
fn threads_of_the_same_elements_are_not_along_an_axis() {
    let tile = tv("t", (4, 8), "((4,2,4),2):((1,0,4),16)").unwrap();
    let bits = |axis| tile.along(axis).unwrap().thread_bits.iter().map(|bit| bit.bit).collect::<Vec<_>>();
    assert_eq!((bits(0), bits(1)), (vec![0, 1], vec![3, 4]));
    (0..2).for_each(|axis| assert_lines(&tile, axis));
}

#[test]
fn tables() {
    let tile = tv("t", (2, 3), "(2,2):(1,2)").unwrap();
    assert_eq!(
        tile.to_string(),
        "t: (2,2):(1,2) onto (2,3)\nr\\c    0    1    2\n  0 T0V0 T0V1    -\n  1 T1V0 T1V1    -"
    );
    let packed = |n: u32| tv("t", (2, 8), "(2,8):(1,2)").unwrap().packed(n).unwrap().to_string();
    let row_1 = |n: u32| packed(n).lines().nth(3).map(str::to_owned);
    assert_eq!(row_1(4).as_deref(), Some("  1 1.0x 1.0y 1.0z 1.0w 1.1x 1.1y 1.1z 1.1w"));
    assert_eq!(row_1(8).as_deref(), Some("  1 1.0.0 1.0.1 1.0.2 1.0.3 1.0.4 1.0.5 1.0.6 1.0.7"));
    let line = tv("l", 4, "(2,2):(1,2)").unwrap();
    assert_eq!(line.to_string().lines().nth(3), Some("  1 T1V0"));
}

#[test]
fn conflicts_need_no_composition() {
    // The tile's rows of 8 end within the layout's runs of 3, so that no layout is the two composed.
    let tile = tv("odd", (8, 12), "(32,3):(3,1)").unwrap();
    let bytes: Layout = "(8,12):(4,36)".parse().unwrap();
    assert_eq!(tile.conflicts(&bytes.into(), 4, 1).unwrap().len(), 3);
}

proptest! {
    #[test]
    fn owners_and_elements_agree(tile in tv_layout(), packed in 1..=3_u32) {
        tile.assert_bijective();
        let tile = tile.clone().packed(packed).unwrap_or(tile);
        for thread in 0..tile.threads() {
            for (number, element) in (0..).zip(tile.elements(thread).unwrap()) {
                let Element { value, register, slot, coord } = element;
                prop_assert_eq!((value, register * tile.per_register() + slot), (number, number));
                prop_assert!(slot < tile.per_register() && register < tile.registers());
                // By the definition: the layout's value is the column-major index of the coordinate.
                let index = tile.layout().index(thread + value * tile.threads());
                prop_assert_eq!(&coord, &coord_of_index(index, tile.shape()));
                let owner = tile.owner(coord.clone()).unwrap();
                prop_assert_eq!((owner.thread, owner.value, owner.register, owner.slot), (thread, value, register, slot));
                prop_assert_eq!(tile.owners(coord).unwrap(), vec![owner]);
            }
        }
    }

    /// Along an axis whose threads are bits, the digits reach the line; otherwise the axis is rejected.
    #[test]
    fn lines(tile in tv_layout()) {
        for axis in 0..tile.shape().rank() {
            match tile.along(axis) {
                Ok(_) => assert_lines(&tile, axis),
                Err(error) => {
                    let rejected = matches!(error, TvError::Bits { .. }) && tile.threads() % 3 == 0;
                    prop_assert!(rejected, "{}", error);
                }
            }
        }
    }
}
