//! Pictures of copy instructions.

use pretty_assertions::assert_eq;
use warpwright::atoms::{copy_atom, copy_atoms};
use warpwright::draw::{Highlight, Picture, Table, Tint};
use warpwright::layout::Layout;
use warpwright::tensor::TiledCopy;

fn sides(picture: &Picture) -> (&Table, &Table) {
    let tables: Vec<_> = picture.all_tables().collect();
    let [source, destination] = tables[..] else { panic!("two tables") };
    (source, destination)
}

fn line(table: &Table, row: usize) -> Vec<String> {
    (0..table.cols()).map(|col| table.cell(row, col).expect("a cell").lines.concat()).collect()
}

/// MoYe's figures of `ldmatrix`: a lane supplies a row and receives a pair of each row.
#[test]
fn ldmatrix_reads_rows_and_returns_pairs() {
    let atom = copy_atom("SM75_U32x4_LDSM_N").expect("an atom");
    let picture = Picture::of_copy(atom, None, Highlight::All).expect("a picture");
    let (source, destination) = sides(&picture);
    assert_eq!((source.rows(), source.cols(), destination.rows(), destination.cols()), (32, 8, 32, 8));
    assert_eq!(line(source, 9), (0..8).map(|v| format!("T9V{v}")).collect::<Vec<_>>());
    let pairs = ["T4V2", "T4V3", "T5V2", "T5V3", "T6V2", "T6V3", "T7V2", "T7V3"];
    assert_eq!(line(destination, 9), pairs);

    let transposed = copy_atom("SM75_U16x2_LDSM_T").expect("an atom");
    let picture = Picture::of_copy(transposed, None, Highlight::All).expect("a picture");
    // Lanes 12 to 15 receive column 3 of the matrix.
    let column: Vec<_> = (0..8).map(|row| line(sides(&picture).1, row)[3].clone()).collect();
    assert_eq!(column, ["T12V0", "T12V1", "T13V0", "T13V1", "T14V0", "T14V1", "T15V0", "T15V1"]);
}

#[test]
fn every_atom_can_be_drawn() {
    for atom in copy_atoms() {
        let picture = Picture::of_copy(atom, None, Highlight::Thread(0)).expect("a picture");
        let (source, destination) = sides(&picture);
        assert_eq!(
            (source.rows(), source.cols()),
            (destination.rows(), destination.cols()),
            "{}",
            atom.name()
        );
    }
    let wide = copy_atom("UniversalCopy<u128>").expect("an atom");
    let parts = Picture::of_copy(wide, Some(3), Highlight::All);
    assert!(parts.is_err());
}

/// MoYe's figures of the 4×9 copy by six threads, and of tiled `ldmatrix`.
#[test]
fn tiled_copies_match_the_tables_of_moye() {
    let tiled = |name: &str, bits, threads: &str, values: &str| {
        let layout = |text: &str| text.parse::<Layout>().expect("a layout");
        let atom = copy_atom(name).expect("an atom");
        TiledCopy::new(atom, bits, &layout(threads), &layout(values)).expect("it tiles")
    };
    let six = tiled("UniversalCopy<u64>", 64, "(2,3):(3,1)", "(2,3):(1,2)");
    let picture = Picture::of_tiled_copy(&six, Highlight::Thread(1)).expect("a picture");
    let (source, destination) = sides(&picture);
    assert_eq!((source.rows(), source.cols()), (4, 9));
    for table in [source, destination] {
        assert_eq!(line(table, 0), ["T0V0", "T0V2", "T0V4", "T1V0", "T1V2", "T1V4", "T2V0", "T2V2", "T2V4"]);
        assert_eq!(line(table, 3)[0], "T3V1");
        let lit = (0..9).filter(|&col| table.cell(1, col).is_some_and(|cell| cell.tint != Tint::Dim));
        assert_eq!(lit.collect::<Vec<_>>(), [3, 4, 5]);
    }

    let ldmatrix = tiled("SM75_U32x4_LDSM_N", 16, "(16,2):(1,16)", "(2,4):(1,2)");
    let picture = Picture::of_tiled_copy(&ldmatrix, Highlight::All).expect("a picture");
    let (source, destination) = sides(&picture);
    assert_eq!(line(source, 0), ["T0V0", "T8V0", "T16V0", "T24V0", "T4V0", "T12V0", "T20V0", "T28V0"]);
    assert_eq!(line(destination, 0), ["T0V0", "T0V2", "T0V4", "T0V6", "T16V0", "T16V2", "T16V4", "T16V6"]);
}
