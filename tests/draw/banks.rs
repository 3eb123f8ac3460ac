//! Bank maps: exactly the conflicting words are framed.

use pretty_assertions::assert_eq;
use proptest::prelude::*;
use warpwright::draw::{DrawError, Highlight, Picture, Table};
use warpwright::layout::{ComposedLayout, Layout, Swizzle, bank_conflicts, warp_accesses};

use super::layouts::layout;

/// The maximum number of words per bank, and of framed words.
fn columns(table: &Table) -> (u32, u32) {
    let most = |expected: fn(&warpwright::draw::Cell) -> bool| {
        let count = |col| (0..table.rows()).filter(|&row| table.cell(row, col).is_some_and(expected)).count();
        (0..table.cols()).map(count).max().unwrap_or(0) as u32
    };
    (most(|cell| !cell.lines.is_empty()), most(|cell| cell.alarm))
}

#[test]
fn a_column_of_floats_is_one_bank() {
    let access = ComposedLayout::from(layout("(32,1):(128,0)"));
    let picture = Picture::of_banks(&access, 4, 1, 0, Highlight::All).expect("a picture");
    let tables: Vec<_> = picture.all_tables().collect();
    assert_eq!((tables.len(), columns(tables[0])), (1, (32, 32)));
    assert_eq!(picture.notes, ["conflict degree 32, 32 passes in total"]);

    let padded = ComposedLayout::from(layout("(32,1):(132,0)"));
    let picture = Picture::of_banks(&padded, 4, 1, 0, Highlight::All).expect("a picture");
    assert_eq!(columns(picture.all_tables().next().expect("a table")), (1, 0));
}

#[test]
fn lanes_that_share_a_word_do_not_conflict() {
    let access = ComposedLayout::from(layout("((2,16),1):((0,4),0)"));
    let picture = Picture::of_banks(&access, 4, 1, 0, Highlight::Thread(7)).expect("a picture");
    let table = picture.all_tables().next().expect("a table");
    assert_eq!(table.cell(0, 3).expect("a cell").lines, ["T7", "+1"]);
    assert_eq!(columns(table), (1, 0));
}

#[test]
fn the_second_warp_has_separate_accesses() {
    let access = ComposedLayout::from(layout("(64,2):(8,4)"));
    let picture = Picture::of_banks(&access, 4, 1, 3, Highlight::All).expect("a picture");
    let table = picture.all_tables().next().expect("a table");
    assert_eq!(table.cell(0, 1).expect("a cell").lines, ["T32"]);
    let error = Picture::of_banks(&access, 4, 1, 4, Highlight::All);
    assert_eq!(error, Err(DrawError::Access { access: 4, count: 4 }));
}

proptest! {
    /// Lanes read rows 16 bytes at a time, with and without a swizzle: each phase of the picture has the passes that the access
    /// costs, and frames exactly the banks that need more than one.
    #[test]
    fn frames_are_conflicts(rows in 1..=4_i64, pitch in 1..=12_i64, bits in 0..=3_u32) {
        let swizzle = Swizzle::new(bits, 4, 3).expect("a swizzle");
        let inner = Layout::new(((8, rows), 16), ((pitch * 16, 8 * pitch * 16), 1)).expect("a layout");
        let access = ComposedLayout::new(swizzle, 0, inner);
        let addresses = warp_accesses(&access, 1, 16).expect("an access").remove(0);
        let cost = bank_conflicts(addresses, 16).expect("aligned");
        let picture = Picture::of_banks(&access, 1, 16, 0, Highlight::All).expect("a picture");
        let phases: Vec<_> = picture.all_tables().map(columns).collect();
        for (passes, (words, framed)) in cost.passes.iter().zip(&phases) {
            prop_assert_eq!(passes, words);
            prop_assert_eq!(*framed, if *passes > 1 { *passes } else { 0 });
        }
        prop_assert_eq!(cost.passes.len(), phases.len());
    }
}
