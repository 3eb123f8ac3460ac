//! Tables of owners.

use std::collections::BTreeSet;

use pretty_assertions::assert_eq;
use proptest::prelude::*;
use warpwright::atoms::{ElementWidth, TileLayout, rt_base};
use warpwright::draw::{DrawError, Highlight, Picture, Tint};
use warpwright::layout::Layout;
use warpwright_proptest::layout::compact;

use super::layouts::{cell, layout, only};

/// The picture and the (thread, value) layout name the same owner of each element.
#[test]
fn owners_are_those_of_the_layout() {
    for base in [TileLayout::Row, TileLayout::Col] {
        let map = rt_base(base, ElementWidth::B16);
        let picture = Picture::of_thread_values(map.layout(), (16, 16), Highlight::All).expect("a picture");
        for row in 0..map.rows() {
            for col in 0..map.cols() {
                let owner = map.owner((row, col)).expect("a bijection");
                let found = cell(&picture, row as usize, col as usize);
                assert_eq!(
                    found.lines,
                    [format!("T{}", owner.thread), format!("V{}", owner.value)],
                    "{}",
                    map.name()
                );
                assert_eq!(found.tint, Tint::Hue((owner.thread % 8) as u8));
            }
        }
    }
}

#[test]
fn a_highlight_dims_the_others() {
    let map = layout("((4,8),(2,2)):((32,1),(16,8))");
    let picture = Picture::of_thread_values(&map, (16, 8), Highlight::Thread(5)).expect("a picture");
    let mut lit = BTreeSet::new();
    for row in 0..16 {
        for col in 0..8 {
            match cell(&picture, row, col).tint {
                Tint::Dim => assert_ne!(cell(&picture, row, col).lines[0], "T5"),
                _ => assert!(lit.insert((row, col))),
            }
        }
    }
    assert_eq!(lit, BTreeSet::from([(1, 2), (1, 3), (9, 2), (9, 3)]));

    let block = layout("(64,1):(1,0)");
    let picture = Picture::of_thread_values(&block, (8, 8), Highlight::Warp(1)).expect("a picture");
    assert_eq!((cell(&picture, 7, 3).tint, cell(&picture, 0, 4).tint), (Tint::Dim, Tint::Hue(0)));
}

#[test]
fn elements_of_several_owners_show_their_number() {
    let broadcast = layout("((4,8),1):((1,0),0)");
    let picture = Picture::of_thread_values(&broadcast, (4, 2), Highlight::Thread(9)).expect("a picture");
    assert_eq!(cell(&picture, 1, 0).lines, ["T9", "V0", "+7"]);
    assert_eq!(cell(&picture, 2, 0).lines, ["T2", "V0", "+7"]);
    assert_eq!((cell(&picture, 1, 0).tint, cell(&picture, 2, 0).tint), (Tint::Hue(1), Tint::Dim));
    assert!(cell(&picture, 0, 1).lines.is_empty(), "no owner");
}

#[test]
fn layouts_outside_the_tile_or_of_another_rank_are_refused() {
    let outside = Picture::of_thread_values(&layout("(4,3):(1,4)"), (4, 2), Highlight::All);
    let expected = DrawError::Outside { thread: 0, value: 2, offset: 8, rows: 4, cols: 2 };
    assert_eq!(outside, Err(expected));
    let rank = Picture::of_thread_values(&layout("(2,2,2):(1,2,4)"), (4, 2), Highlight::All);
    assert_eq!(
        rank.expect_err("rank 3").to_string(),
        "expected a (thread, value) layout of rank 2, found (2,2,2):(1,2,4)"
    );
}

proptest! {
    #[test]
    fn every_element_shows_its_owner(modes in compact().prop_filter("two modes", |layout| layout.rank() > 1)) {
        let values = modes.take(1, modes.rank()).expect("two modes");
        let map = Layout::concat([modes.mode(0).expect("two modes"), values.clone()]);
        let (rows, cols, threads) = (map.size() / values.size(), values.size() as u32, map.shape().modes()[0].size());
        let rows = rows as usize;
        let picture = Picture::of_thread_values(&map, (rows as u32, cols), Highlight::All).expect("a picture");
        for index in 0..map.size() {
            let offset = map.index(index) as usize;
            let found = &only(&picture).cell(offset % rows, offset / rows).expect("a cell").lines;
            prop_assert_eq!(found, &[format!("T{}", index % threads), format!("V{}", index / threads)]);
        }
    }
}
