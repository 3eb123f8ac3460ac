//! Pictures of matrix instructions.

use pretty_assertions::assert_eq;
use warpwright::atoms::{Group, MmaOperand, Source, mma_atom, mma_atoms};
use warpwright::draw::{Highlight, Picture, Table, Tint};
use warpwright::layout::{Layout, Tiler};
use warpwright::tensor::TiledMma;

fn tables(picture: &Picture) -> [&Table; 3] {
    assert_eq!(picture.tables[0][0], None);
    let at = |row: usize, col: usize| picture.tables[row][col].as_ref().expect("a table");
    [at(1, 0), at(0, 1), at(1, 1)]
}

/// For every instruction of a warp or less, each cell names the owner given by the fragment.
#[test]
fn cells_are_those_of_the_fragments() {
    let mut checked = 0;
    for atom in mma_atoms().filter(|atom| atom.group() != Group::Warpgroup && atom.sparsity().is_none()) {
        let picture = Picture::of_mma(atom, Highlight::All).expect("a picture");
        let [a, b, c] = tables(&picture);
        let (m, n, k) = atom.shape();
        assert_eq!((a.rows(), a.cols()), (m as usize, k as usize), "{atom}");
        assert_eq!((b.rows(), b.cols()), (k as usize, n as usize), "{atom}");
        assert_eq!((c.rows(), c.cols()), (m as usize, n as usize), "{atom}");
        for (operand, table) in [(MmaOperand::A, a), (MmaOperand::B, b), (MmaOperand::C, c)] {
            let map = atom.fragment(operand).expect("in registers");
            let rows = map.rows() as usize;
            for at in 0..rows * map.cols() as usize {
                let (row, col) = (at % rows, at / rows);
                let owner = map.owner((row, col)).expect("held");
                let (lane, value) = (atom.thread_ids().index(owner.thread), owner.value);
                let place = if operand == MmaOperand::B { (col, row) } else { (row, col) };
                let cell = table.cell(place.0, place.1).expect("a cell");
                assert_eq!(
                    cell.lines[..2],
                    [format!("T{lane}"), format!("V{value}")],
                    "{atom} {operand:?} {row} {col}"
                );
            }
        }
        checked += 1;
    }
    assert!(checked > 100, "{checked}");
}

/// The lanes of a quad pair are 0–3 and 16–19.
#[test]
fn quad_pairs_show_lanes() {
    let atom = mma_atoms().find(|atom| atom.group() == Group::QuadPair).expect("sm_70 has them");
    let picture = Picture::of_mma(atom, Highlight::Thread(17)).expect("a picture");
    let [a, ..] = tables(&picture);
    let lit = (0..a.rows() * a.cols()).filter_map(|at| a.cell(at / a.cols(), at % a.cols()));
    let lit: Vec<_> = lit.filter(|cell| cell.tint != Tint::Dim).collect();
    assert!(lit.len() == 4 && lit.iter().all(|cell| cell.lines[0] == "T17"), "{lit:?}");
}

#[test]
fn operands_in_shared_memory_are_empty() {
    let atom = mma_atoms()
        .find(|atom| {
            atom.group() == Group::Warpgroup
                && atom.source(MmaOperand::A) == Source::Shared
                && atom.shape().1 == 16
        })
        .expect("wgmma");
    let picture = Picture::of_mma(atom, Highlight::Warp(2)).expect("a picture");
    let [a, b, c] = tables(&picture);
    for table in [a, b] {
        assert!((0..table.rows()).all(|row| table.cell(row, 0).is_some_and(|cell| cell.lines.is_empty())));
    }
    // Warp 2 of the warpgroup owns rows 32 to 47 of the accumulators.
    for row in 0..64 {
        let dim = c.cell(row, 0).expect("a cell").tint == Tint::Dim;
        assert_eq!(dim, !(32..48).contains(&row), "{row}");
    }
}

#[test]
fn tables_of_operands_share_a_corner() {
    let atom = mma_atom("SM80_16x8x16_F32BF16BF16F32_TN").expect("an atom");
    let svg = Picture::of_mma(atom, Highlight::All).expect("a picture").svg();
    let outline =
        svg.split("class=\"h0\" d=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("a path");
    let starts = outline.split('M').skip(1).map(|cell| {
        let (x, rest) = cell.split_once(' ').expect("two numbers");
        let y = rest.split_once('h').expect("a cell").0;
        (x.parse::<i32>().expect("x"), y.parse::<i32>().expect("y"))
    });
    // Lane 0 owns the corner of C; its element of A is in that row, its element of B in that column.
    let starts: Vec<_> = starts.collect();
    let corner = starts.iter().filter(|(x, y)| {
        starts.iter().any(|a| a.1 == *y && a.0 < *x) && starts.iter().any(|b| b.0 == *x && b.1 < *y)
    });
    assert!(corner.count() > 0);
}

/// The owner of every element of a tiled product is the one given by the map.
#[test]
fn tiled_products_show_all_warps() {
    let atom = mma_atom("SM80_16x8x8_F32TF32TF32F32_TN").expect("an atom");
    let atoms = Layout::new((2, 2, 1), (2, 1, 1)).expect("a layout");
    let mma = TiledMma::new(atom, &atoms, Tiler::from((32, 32, 8))).expect("it tiles");
    let picture = Picture::of_tiled_mma(&mma, Highlight::Warp(3)).expect("a picture");
    let [a, b, c] = tables(&picture);
    assert_eq!((a.rows(), a.cols(), b.rows(), b.cols(), c.rows(), c.cols()), (32, 8, 8, 32, 32, 32));
    for (operand, table) in [(MmaOperand::A, a), (MmaOperand::B, b), (MmaOperand::C, c)] {
        let map = mma.map(operand).expect("a map");
        for row in 0..table.rows() {
            for col in 0..table.cols() {
                let cell = table.cell(row, col).expect("a cell");
                let coord = if operand == MmaOperand::B { (col, row) } else { (row, col) };
                let owners = map.owners((coord.0 as i64, coord.1 as i64)).expect("in the tile");
                let shown = owners.iter().map(|o| [format!("T{}", o.thread), format!("V{}", o.value)]);
                assert!(
                    shown.into_iter().any(|lines| lines == cell.lines[..2]),
                    "{operand:?} {row} {col} {cell:?}"
                );
                let lit = owners.iter().any(|owner| owner.thread / 32 == 3);
                assert_eq!(cell.tint != Tint::Dim, lit);
            }
        }
    }
}
