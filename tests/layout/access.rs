//! Bank conflicts and coalescing.

use std::collections::BTreeSet;

use pretty_assertions::assert_eq;
use proptest::prelude::*;
use warpwright::layout::{
    AccessError, ComposedLayout, Layout, Swizzle, bank_conflicts, coalescing, warp_accesses,
};

fn degree(tile: &ComposedLayout, element_bytes: i64, vector: i64) -> u32 {
    let accesses = warp_accesses(tile, element_bytes, vector).expect("a (thread, value) layout");
    let width = (element_bytes * vector) as u64;
    let cost = |lanes: Vec<u64>| bank_conflicts(lanes, width).expect("aligned").degree();
    accesses.into_iter().map(cost).max().expect("an access")
}

/// A 16-bit tile of 64 rows, its columns in one swizzle block, as (row, column).
fn tile(swizzle: Swizzle, cols: i64) -> ComposedLayout {
    ComposedLayout::new(swizzle, 0, Layout::new((64, cols), (2 * cols, 2)).expect("a layout"))
}

#[test]
fn ldmatrix_phases_conflict_unless_swizzled() {
    // Eight rows of 16 bytes each: the degrees of unswizzled rows of 16, 32 and 64 columns.
    for (swizzle, cols, plain) in
        [(Swizzle::BYTES_32, 16, 2), (Swizzle::BYTES_64, 32, 4), (Swizzle::BYTES_128, 64, 8)]
    {
        let rows = |swizzle| tile(swizzle, cols).try_map(|tile| tile.compose((8, 8))).expect("eight rows");
        assert_eq!(degree(&rows(Swizzle::NONE), 2, 8), plain);
        assert_eq!(degree(&rows(swizzle), 2, 8), 1);
    }
}

#[test]
fn fragment_loads_conflict_unless_swizzled() {
    // lane 4g + t reads the pair at row g, columns 2t and 2t + 1.
    let fragment = Layout::new(((4, 8), 2), ((2 * 64, 1), 64)).expect("a layout");
    for (swizzle, cols, plain) in
        [(Swizzle::BYTES_32, 16, 2), (Swizzle::BYTES_64, 32, 4), (Swizzle::BYTES_128, 64, 8)]
    {
        let lanes =
            |swizzle| tile(swizzle, cols).try_map(|tile| tile.compose(&fragment)).expect("a fragment");
        assert_eq!(degree(&lanes(Swizzle::NONE), 2, 2), plain);
        assert_eq!(degree(&lanes(swizzle), 2, 2), 1);
    }
}

#[test]
fn a_padded_transpose_is_free_of_conflicts() {
    let column = |pitch: i64| ComposedLayout::from(Layout::new((32, 1), (4 * pitch, 0)).expect("a layout"));
    assert_eq!(degree(&column(32), 4, 1), 32);
    assert_eq!(degree(&column(33), 4, 1), 1);
    assert_eq!(degree(&column(31), 4, 1), 1);
    assert_eq!(degree(&column(0), 4, 1), 1, "one word is broadcast");
}

#[test]
fn wide_accesses_are_split_into_phases() {
    let cost = |width: u64| bank_conflicts((0..32).map(|lane| lane * width), width).expect("aligned");
    assert_eq!(cost(4).passes, [1]);
    assert_eq!(cost(8).passes, [1, 1]);
    assert_eq!(cost(16).passes, [1, 1, 1, 1]);
    assert_eq!((cost(16).degree(), cost(16).wavefronts()), (1, 4));
    assert_eq!(cost(1).passes, [1]);
    let idle = bank_conflicts((0..32).map(|lane| (lane % 2 == 0).then_some(lane * 128)), 4).expect("aligned");
    assert_eq!(idle.degree(), 16);
    assert_eq!(bank_conflicts(Vec::<u64>::new(), 4).expect("nothing").degree(), 0);
}

#[test]
fn sectors_and_lines() {
    let cost =
        |step: u64, width: u64| coalescing((0..32).map(|lane| 64 + lane * step), width).expect("aligned");
    assert_eq!((cost(4, 4).sectors, cost(4, 4).lines), (4, 2));
    assert_eq!((cost(16, 16).sectors, cost(16, 16).bytes), (16, 512));
    assert_eq!((cost(0, 4).sectors, cost(0, 4).bytes), (1, 4));
    assert_eq!(cost(4096, 4).efficiency(), 0.125);
}

#[test]
fn impossible_accesses_are_refused() {
    assert_eq!(bank_conflicts([0_u64], 3), Err(AccessError::Width { width: 3 }));
    assert_eq!(coalescing([0_u64; 33], 4), Err(AccessError::Lanes { lanes: 33 }));
    let odd_pad = bank_conflicts([0_u64, 516], 8).unwrap_err().to_string();
    assert_eq!(odd_pad, "lane 1: expected an address that is a multiple of 8 bytes, found 516");
    let strided = ComposedLayout::from(Layout::new((32, 2), (4, 128)).expect("a layout"));
    assert_eq!(
        warp_accesses(&strided, 4, 2).unwrap_err().to_string(),
        "thread 0, value 1: expected byte 4, contiguous with the previous value, found 128"
    );
    assert!(matches!(warp_accesses(&strided, 4, 4), Err(AccessError::Vector { .. })));
    let negative = ComposedLayout::from(Layout::new((32, 1), (-4, 0)).expect("a layout"));
    assert!(matches!(warp_accesses(&negative, 4, 1), Err(AccessError::Negative { thread: 1, .. })));
}

proptest! {
    #[test]
    fn costs_by_definition(units in prop::collection::vec(0..512_u64, 1..=32), log_width in 0..=4_u32) {
        let width = 1_u64 << log_width;
        let addresses: Vec<u64> = units.iter().map(|unit| unit * width).collect();
        let words = |phase: &[u64]| -> BTreeSet<u64> {
            phase.iter().flat_map(|address| (*address..address + width).map(|byte| byte / 4)).collect()
        };
        let lanes = [32, 32, 32, 16, 8][log_width as usize];
        let passes: Vec<u32> = addresses.chunks(lanes).map(|phase| {
            let words = words(phase);
            (0..32).map(|bank| words.iter().filter(|word| *word % 32 == bank).count() as u32).max().unwrap_or(0)
        }).collect();
        prop_assert_eq!(bank_conflicts(addresses.iter().copied(), width).expect("aligned").passes, passes);

        let bytes: BTreeSet<u64> = addresses.iter().flat_map(|address| *address..address + width).collect();
        let sectors: BTreeSet<u64> = bytes.iter().map(|byte| byte / 32).collect();
        let cost = coalescing(addresses, width).expect("aligned");
        prop_assert_eq!((cost.sectors as usize, cost.bytes as usize), (sectors.len(), bytes.len()));
        prop_assert!(cost.efficiency() > 0.0 && cost.efficiency() <= 1.0);
    }
}
