//! Orders of tiles: each cell contains the number of its tile, in the color of its round.

use warpwright::draw::{Cell, DrawError, Picture, Tint};

#[test]
fn tiles_have_their_numbers_and_rounds() {
    let rounds = [vec![(0, 0), (1, 0), (0, 1)], vec![(1, 1), (0, 2), (5, 0), (0, 7)]];
    let picture = Picture::of_order("an order", (2, 3), rounds).expect("a picture");
    let table = picture.all_tables().next().expect("a table");
    let cells: Vec<_> = (0..2).flat_map(|row| (0..3).map(move |col| (row, col))).collect();
    let cells: Vec<_> = cells.into_iter().map(|(row, col)| table.cell(row, col).expect("a cell")).collect();
    let of_round = |number: &str, round| Cell::new(number, Tint::Hue(round));
    let expected = [
        of_round("0", 0),
        of_round("2", 0),
        of_round("4", 1),
        of_round("1", 0),
        of_round("3", 1),
        // No round contains the last tile; tiles outside of the table are left out.
        Cell::default(),
    ];
    assert_eq!(cells, expected.iter().collect::<Vec<_>>());
}

#[test]
fn too_many_tiles_are_rejected() {
    let error = Picture::of_order("an order", (1000, 1000), []).expect_err("too many");
    assert!(matches!(error, DrawError::TooLarge { rows: 1000, cols: 1000, .. }), "{error}");
}
