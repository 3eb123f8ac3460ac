//! Register tiles against ThunderKittens' formulas, and what every map must be.

use pretty_assertions::assert_eq;
use proptest::prelude::*;
use warpwright::atoms::{
    Element, ElementWidth, FragmentError, FragmentMap, MmaOperand, Owner, Source, TileLayout, mma_atoms,
    rt_base,
};
use warpwright::layout::Layout;
use warpwright_proptest::atoms::{any_map, base_map, coordinate, lane, tile_map};

/// Row and column of part `e` of pair `k` of a lane in the row layout.
fn row_layout(lane: u32, k: u32, e: u32) -> (u32, u32) {
    let (g, t) = (lane / 4, lane % 4);
    (g + 8 * (k % 2), 2 * t + e + 8 * (k / 2))
}

#[test]
fn register_tiles_follow_their_formulas() {
    for (layout, width) in [
        (TileLayout::Row, ElementWidth::B16),
        (TileLayout::Row, ElementWidth::B32),
        (TileLayout::Col, ElementWidth::B16),
        (TileLayout::Col, ElementWidth::B32),
    ] {
        let map = rt_base(layout, width);
        assert_eq!((map.rows(), map.cols(), map.lanes()), (16, 16, 32));
        for lane in 0..32 {
            for (k, e) in (0..4).flat_map(|k| [(k, 0), (k, 1)]) {
                let (a, b) = row_layout(lane, k, e);
                let (row, col) = if layout == TileLayout::Row { (a, b) } else { (b, a) };
                let owner = match width {
                    ElementWidth::B16 => Owner { lane, register: k, half: e },
                    ElementWidth::B32 => Owner { lane, register: 2 * k + e, half: 0 },
                };
                assert_eq!(map.owner(row, col), Ok(owner), "{layout:?} {width:?} ({row}, {col})");
            }
        }
    }
}

/// ThunderKittens' `rt_base` and `rt_fl_1x1` … `rt_fl_8x1`.
#[test]
fn register_tiles_have_as_many_registers_as_thunderkittens_says() {
    for layout in [TileLayout::Row, TileLayout::Col] {
        for (width, registers) in [(ElementWidth::B16, 4), (ElementWidth::B32, 8)] {
            let map = rt_base(layout, width);
            assert_eq!((map.registers(), map.registers() * map.per_register()), (registers, 8));
        }
    }
    let base = rt_base(TileLayout::Row, ElementWidth::B32);
    let sizes = [(1, 1), (1, 2), (1, 4), (1, 8), (2, 1), (2, 2), (2, 4), (4, 1), (4, 2), (8, 1)];
    for ((height, width), registers) in sizes.into_iter().zip([8, 16, 32, 64, 16, 32, 64, 32, 64, 64]) {
        let map = FragmentMap::tiled(&base, height, width).unwrap();
        assert_eq!((map.rows(), map.cols(), map.registers()), (16 * height, 16 * width, registers));
    }
}

/// Along which direction the two elements of a register lie: what makes `col_vec_pack` and `row_vec_pack` 1 and 2 or 2 and 1.
#[test]
fn a_register_of_a_row_tile_spans_two_columns_of_a_column_tile_two_rows() {
    for (layout, spans) in [(TileLayout::Row, (1, 2)), (TileLayout::Col, (2, 1))] {
        let map = rt_base(layout, ElementWidth::B16);
        for lane in 0..map.lanes() {
            let elements: Vec<_> = map.elements(lane).collect();
            for pair in elements.chunks(2) {
                let span = |of: fn(&Element) -> u32| 1 + of(&pair[0]).abs_diff(of(&pair[1]));
                assert_eq!((span(|e| e.row), span(|e| e.col)), spans, "{layout:?}, lane {lane}");
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
    assert_eq!(row[0], "row tile: ((4,8),(2,2,2)):((32,1),(16,8,128)) onto 16×16");
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
    assert_eq!(wide.lines().nth(2).map(|line| &line[..18]), Some("  0  0.0  0.1  1.0"));
}

#[test]
fn faults_are_named() {
    let refused = |size, per_register, layout: &str| {
        let layout: Layout = layout.parse().expect("a layout");
        FragmentMap::new("t", size, per_register, layout).unwrap_err().to_string()
    };
    assert_eq!(refused((4, 4), 1, "16:1"), "t: wanted a layout of rank 2, (thread, value), found 16:1");
    assert_eq!(refused((4, 3), 2, "(4,3):(1,4)"), "t: 3 values per thread do not fill registers of 2");
    assert_eq!(refused((4, 2), 1, "(4,4):(1,4)"), "t: lane 0, value 2 maps to offset 8, outside 4×2");
    assert_eq!(
        refused((1 << 16, 1 << 16), 1, "(4,4):(1,4)"),
        "t: wanted at most 1048576 elements, found 65536×65536"
    );

    let shared = FragmentMap::new("s", (4, 2), 2, Layout::new((4, 2), (1, 0)).expect("a layout"));
    let fault = shared.expect("within the tile").check_bijective().unwrap_err();
    assert_eq!(
        fault.to_string(),
        "s: element (0, 0) is held by lane 0, register 0, part 0 and by lane 0, register 0, part 1"
    );
    let partial = FragmentMap::new("p", (4, 2), 1, Layout::new((4, 1), (1, 0)).expect("a layout"));
    let partial = partial.expect("within the tile");
    assert_eq!(partial.check_bijective().unwrap_err().to_string(), "p: no lane holds element (0, 1)");
    assert_eq!(partial.owner(4, 0).unwrap_err().to_string(), "p: element (4, 0) is outside 4×2");
    assert_eq!(partial.elements(4).count(), 0);

    let base = rt_base(TileLayout::Row, ElementWidth::B16);
    assert!(matches!(FragmentMap::tiled(&base, 0, 1), Err(FragmentError::Layout(_))));
    assert!(matches!(FragmentMap::tiled(&base, u32::MAX, u32::MAX), Err(FragmentError::TooLarge { .. })));
}

proptest! {
    #[test]
    fn every_map_is_a_bijection(map in any_map()) {
        map.assert_bijective();
        prop_assert_eq!(map.lanes() * map.registers() * map.per_register(), map.rows() * map.cols());
    }

    #[test]
    fn owner_and_elements_agree(
        (map, (row, col)) in any_map().prop_flat_map(|map| (Just(map.clone()), coordinate(&map))),
        lane in lane(),
    ) {
        let Owner { lane: owner, register, half } = map.owner(row, col).expect("within the tile");
        let element = Element { register, half, row, col };
        prop_assert!(map.elements(owner).any(|held| held == element));
        for Element { register, half, row, col } in map.elements(lane) {
            prop_assert_eq!(map.owner(row, col), Ok(Owner { lane, register, half }));
        }
    }

    #[test]
    fn the_col_layout_is_the_transposed_row_layout(r in 0..16_u32, c in 0..16_u32) {
        for width in [ElementWidth::B16, ElementWidth::B32] {
            prop_assert_eq!(
                rt_base(TileLayout::Row, width).owner(r, c),
                rt_base(TileLayout::Col, width).owner(c, r)
            );
        }
    }

    #[test]
    fn tiles_repeat_their_base_row_by_row(
        base in base_map(),
        height in 1..=4_u32,
        width in 1..=4_u32,
        (r, c) in (0..16_u32, 0..16_u32),
    ) {
        let map = FragmentMap::tiled(&base, height, width).expect("a small tile");
        let inner = base.owner(r, c).expect("within the base");
        for (i, j) in (0..height).flat_map(|i| (0..width).map(move |j| (i, j))) {
            let register = (i * width + j) * base.registers() + inner.register;
            prop_assert_eq!(map.owner(16 * i + r, 16 * j + c), Ok(Owner { register, ..inner }));
        }
    }

    #[test]
    fn tiles_of_tiles_keep_their_size(map in tile_map()) {
        let twice = FragmentMap::tiled(&map, 2, 1).expect("a small tile");
        prop_assert_eq!((twice.rows(), twice.cols(), twice.registers()), (2 * map.rows(), map.cols(), 2 * map.registers()));
        twice.assert_bijective();
    }
}

#[test]
fn every_operand_of_every_atom_is_whole() {
    let (mut fragments, mut shared) = (0, 0);
    for atom in mma_atoms() {
        for operand in MmaOperand::ALL {
            let Ok(map) = atom.fragment(operand) else {
                // Every thread reads all of what is in shared memory.
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
    assert_eq!((fragments, shared), (3974, 1638));
}
