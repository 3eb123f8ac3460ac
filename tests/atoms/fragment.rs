//! Register tiles compared with ThunderKittens' formulas, and properties of all fragment maps.

use std::collections::HashSet;

use pretty_assertions::assert_eq;
use proptest::prelude::*;
use warpwright::atoms::{ElementWidth, MmaOperand, Source, TileLayout, mma_atoms, rt_base};
use warpwright::layout::{Element, Owner, TvLayout};
use warpwright_proptest::atoms::{any_fragment, base_tile, coordinate, lane, register_tile};

use super::lines::assert_lines;

/// Row and column of element `e` of word group `k` of a lane in the row layout, with `n` elements a group.
fn row_layout(lane: i64, k: i64, e: i64, n: i64) -> (i64, i64) {
    let (g, t) = (lane / 4, lane % 4);
    (g + 8 * (k % 2), n * t + e + 4 * n * (k / 2))
}

#[test]
fn register_tiles_follow_their_formulas() {
    let widths = [ElementWidth::B8, ElementWidth::B16, ElementWidth::B32, ElementWidth::B64];
    for (layout, width) in widths.into_iter().flat_map(|w| [(TileLayout::Row, w), (TileLayout::Col, w)]) {
        let map = rt_base(layout, width);
        let n = if width == ElementWidth::B8 { 4 } else { 2 };
        let shape = if layout == TileLayout::Row { (16, 8 * n) } else { (8 * n, 16) };
        assert_eq!(((map.rows(), map.cols()), map.threads()), (shape, 32));
        for (lane, value) in (0..32).flat_map(|lane| (0..4 * n).map(move |value| (lane, value))) {
            let (a, b) = row_layout(lane, value / n, value % n, n);
            let (row, col) = if layout == TileLayout::Row { (a, b) } else { (b, a) };
            let per_register = i64::from(width.per_register());
            let (register, slot) = (value / per_register, value % per_register);
            let owner = Owner { thread: lane, value, register, slot };
            assert_eq!(map.owner((row, col)), Ok(owner), "{layout:?} {width:?} ({row}, {col})");
        }
    }
}

/// ThunderKittens' `rt_base` and `rt_fl_1x1` … `rt_fl_8x1`.
#[test]
fn register_tiles_have_the_register_counts_of_thunderkittens() {
    for layout in [TileLayout::Row, TileLayout::Col] {
        for (width, registers) in [(ElementWidth::B16, 4), (ElementWidth::B32, 8)] {
            let map = rt_base(layout, width);
            assert_eq!((map.registers(), map.values()), (registers, 8));
        }
    }
    let base = rt_base(TileLayout::Row, ElementWidth::B32);
    let sizes = [(1, 1), (1, 2), (1, 4), (1, 8), (2, 1), (2, 2), (2, 4), (4, 1), (4, 2), (8, 1)];
    for ((height, width), registers) in sizes.into_iter().zip([8, 16, 32, 64, 16, 32, 64, 32, 64, 64]) {
        let map = TvLayout::tiled(&base, height, width).unwrap();
        let (rows, cols) = (16 * i64::from(height), 16 * i64::from(width));
        assert_eq!((map.rows(), map.cols(), map.registers()), (rows, cols, registers));
    }
}

/// The direction of the two elements of a register determines whether `col_vec_pack` and `row_vec_pack` are 1 and 2, or 2 and 1.
#[test]
fn a_register_of_a_row_tile_spans_two_columns_of_a_column_tile_two_rows() {
    for (layout, spans) in [(TileLayout::Row, (1, 2)), (TileLayout::Col, (2, 1))] {
        let map = rt_base(layout, ElementWidth::B16);
        for lane in 0..map.threads() {
            for pair in map.elements(lane).unwrap().chunks(2) {
                let span = |of: fn(&Element) -> i64| 1 + of(&pair[0]).abs_diff(of(&pair[1]));
                assert_eq!((span(Element::row), span(Element::col)), spans, "{layout:?}, lane {lane}");
            }
        }
    }
}

#[test]
fn the_table_prints_as_thunderkittens_draws_it() {
    let lines = |layout| {
        let text = rt_base(layout, ElementWidth::B16).to_string();
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let row = lines(TileLayout::Row);
    assert_eq!(row[0], "row tile: ((4,8),(2,2,2)):((32,1),(16,8,128)) onto (16,16)");
    assert_eq!(
        row[3],
        "  1  4.0x  4.0y  5.0x  5.0y  6.0x  6.0y  7.0x  7.0y  4.2x  4.2y  5.2x  5.2y  6.2x  6.2y  7.2x  7.2y"
    );
    let col = lines(TileLayout::Col);
    assert_eq!(
        col[10],
        "  8  0.2x  4.2x  8.2x 12.2x 16.2x 20.2x 24.2x 28.2x  0.3x  4.3x  8.3x 12.3x 16.3x 20.3x 24.3x 28.3x"
    );
    let wide = rt_base(TileLayout::Row, ElementWidth::B32).to_string();
    assert_eq!(wide.lines().nth(2).map(|line| &line[..21]), Some("  0  T0V0  T0V1  T1V0"));
}

proptest! {
    #[test]
    fn every_map_is_a_bijection(map in any_fragment()) {
        map.assert_bijective();
        prop_assert_eq!(map.threads() * map.registers() * map.per_register(), map.rows() * map.cols());
    }

    #[test]
    fn owner_and_elements_agree(
        (map, (row, col)) in any_fragment().prop_flat_map(|map| (Just(map.clone()), coordinate(&map))),
        lane in lane(),
    ) {
        let Owner { thread, value, register, slot } = map.owner((row, col)).expect("within the tile");
        let coord = (row, col).into();
        let elements = map.elements(thread).expect("an owner");
        prop_assert_eq!(&elements[value as usize], &Element { value, register, slot, coord });
        for Element { value, register, slot, coord } in map.elements(lane % map.threads()).expect("a thread") {
            let thread = lane % map.threads();
            prop_assert_eq!(map.owner(coord), Ok(Owner { thread, value, register, slot }));
        }
    }

    #[test]
    fn the_col_layout_is_the_transposed_row_layout(r in 0..16_i64, c in 0..16_i64) {
        for width in [ElementWidth::B16, ElementWidth::B32] {
            prop_assert_eq!(
                rt_base(TileLayout::Row, width).owner((r, c)),
                rt_base(TileLayout::Col, width).owner((c, r))
            );
        }
    }

    #[test]
    fn tiles_repeat_their_base_row_by_row(
        base in base_tile(),
        height in 1..=4_u32,
        width in 1..=4_u32,
        (r, c) in (0..16_i64, 0..16_i64),
    ) {
        let map = TvLayout::tiled(&base, height, width).expect("a small tile");
        let inner = base.owner((r, c)).expect("within the base");
        let (height, width) = (i64::from(height), i64::from(width));
        for (i, j) in (0..height).flat_map(|i| (0..width).map(move |j| (i, j))) {
            let copy = i * width + j;
            let (value, register) = (copy * 8 + inner.value, copy * base.registers() + inner.register);
            prop_assert_eq!(map.owner((16 * i + r, 16 * j + c)), Ok(Owner { value, register, ..inner }));
        }
    }

    #[test]
    fn tiles_of_tiles_keep_their_size(map in register_tile()) {
        let twice = TvLayout::tiled(&map, 2, 1).expect("a small tile");
        prop_assert_eq!((twice.rows(), twice.cols(), twice.registers()), (2 * map.rows(), map.cols(), 2 * map.registers()));
        twice.assert_bijective();
    }

    #[test]
    fn lines_of_register_tiles(tile in register_tile(), axis in 0..2_usize) {
        assert_lines(&tile, axis);
    }
}

#[test]
fn rows_and_columns_follow_from_the_layout() {
    let mut seen = HashSet::new();
    for atom in mma_atoms() {
        for fragment in MmaOperand::ALL.into_iter().filter_map(|operand| atom.fragment(operand).ok()) {
            if seen.insert((fragment.layout().clone(), fragment.shape().clone())) {
                (0..2).for_each(|axis| assert_lines(&fragment, axis));
            }
        }
    }
    assert!(seen.len() > 40, "{}", seen.len());
}

#[test]
fn every_operand_of_every_atom_is_whole() {
    let (mut fragments, mut shared) = (0, 0);
    for atom in mma_atoms() {
        for operand in MmaOperand::ALL {
            let Ok(map) = atom.fragment(operand) else {
                // Every thread reads the whole operand in shared memory.
                assert_eq!(atom.source(operand), Source::Shared, "{atom} {operand:?}");
                let (rows, cols) = atom.operand_size(operand);
                let values = atom.layout(operand).mode(1).expect("values");
                assert!(
                    values.is_bijective() && values.size() == i64::from(rows * cols),
                    "{atom} {operand:?}"
                );
                shared += 1;
                continue;
            };
            map.assert_bijective();
            // CuTe's layout of a sparse A covers the uncompressed matrix.
            assert!(atom.layout(operand).is_bijective(), "{atom} {operand:?}");
            let (rows, cols) = atom.operand_size(operand);
            assert_eq!(atom.layout(operand).size(), i64::from(rows * cols), "{atom} {operand:?}");
            fragments += 1;
        }
        if let Some(sparsity) = atom.sparsity() {
            let layout = sparsity.metadata_layout();
            assert!(layout.is_bijective(), "{atom}: each bit of metadata is held once");
            assert_eq!(layout.size(), i64::from(16 * sparsity.metadata_bits()), "{atom}");
            assert!(sparsity.metadata_threads().is_injective(), "{atom}");
        }
        if let Some(scale) = atom.block_scale() {
            let (m, n, k) = atom.shape();
            for (layout, rows, lanes) in [(scale.layout_a(), m, 2), (scale.layout_b(), n, 4)] {
                let mut held = vec![0; (rows * k) as usize];
                layout.values().for_each(|place| held[place as usize] += 1);
                assert!(
                    held.iter().all(|&times| times == lanes),
                    "{atom}: every element's scale, in {lanes} lanes"
                );
            }
        }
    }
    assert_eq!((fragments, shared), (6614, 3222));
}
