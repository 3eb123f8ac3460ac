//! Tables of offsets, coordinates and swizzles.

use pretty_assertions::assert_eq;
use warpwright::draw::{Cell, DrawError, Picture, Table, Tint};
use warpwright::layout::{ComposedLayout, Layout, Swizzle};

pub(super) fn layout(text: &str) -> Layout {
    text.parse().expect("a layout")
}

pub(super) fn only(picture: &Picture) -> &Table {
    let tables: Vec<_> = picture.all_tables().collect();
    assert_eq!(tables.len(), 1);
    tables[0]
}

pub(super) fn cell(picture: &Picture, row: usize, col: usize) -> &Cell {
    only(picture).cell(row, col).expect("a cell")
}

#[test]
fn cells_have_the_offsets_of_their_coordinates() {
    let layout = layout("((2,3),(4,2)):((1,8),(2,24))");
    let picture = Picture::of_layout(&layout.clone().into()).expect("a picture");
    assert_eq!((only(&picture).rows(), only(&picture).cols()), (6, 8));
    for row in 0..6 {
        for col in 0..8 {
            let offset = layout.at((row, col)).expect("a coordinate");
            let hue = Tint::Hue((offset % 8) as u8);
            assert_eq!(cell(&picture, row as usize, col as usize), &Cell::new(offset.to_string(), hue));
        }
    }
    assert_eq!(only(&picture).cell(0, 8), None);
}

#[test]
fn swizzled_offsets_have_the_colors_of_banks() {
    let tile = ComposedLayout::new(Swizzle::BYTES_128, 0, layout("(8,8):(128,16)"));
    let picture = Picture::of_layout(&tile).expect("a picture");
    for col in 0..8 {
        let mut hues: Vec<_> = (0..8).map(|row| cell(&picture, row, col).tint).collect();
        hues.sort_by_key(|tint| format!("{tint:?}"));
        assert_eq!(hues, (0..8).map(Tint::Hue).collect::<Vec<_>>(), "a column is in all banks");
    }
}

#[test]
fn cells_of_an_identity_are_coordinates() {
    let places = Layout::identity((4, 4)).expect("a layout").zipped_divide((2, 2)).expect("it divides");
    let picture = Picture::of_coordinates(&places).expect("a picture");
    assert_eq!(cell(&picture, 3, 2).lines, ["(1,3)"]);
    assert_eq!(cell(&picture, 0, 3).lines, ["(2,2)"]);
}

#[test]
fn cells_of_a_swizzle_have_the_row_and_the_source_column() {
    let picture = Picture::of_swizzle(Swizzle::BYTES_128).expect("a picture");
    assert_eq!((only(&picture).rows(), only(&picture).cols()), (8, 8));
    for row in 0..8_usize {
        for col in 0..8_usize {
            let from = col ^ row;
            assert_eq!(cell(&picture, row, col).lines, [format!("{row}.{from}")]);
            assert_eq!(cell(&picture, row, col).tint, Tint::Hue(from as u8));
        }
    }
    let elements = Picture::of_swizzle(Swizzle::new(2, 0, 3).expect("a swizzle")).expect("a picture");
    assert_eq!((only(&elements).rows(), only(&elements).cols()), (1, 128));
    let far = Swizzle::new(1, 20, 1).expect("a swizzle");
    assert!(matches!(Picture::of_swizzle(far), Err(DrawError::Period { period: 4_194_304, .. })));
}

#[test]
fn pictures_of_too_many_cells_are_refused() {
    let error = Picture::of_layout(&layout("(1024,1024):(1,1024)").into()).expect_err("too large");
    assert_eq!(error.to_string(), "(1024,1024): expected at most 65536 cells, found 1024×1024");
    assert!(Picture::of_layout(&layout("4611686018427387904:1").into()).is_err());
}
