//! Schedules: each tile is computed once, in the specified order and by the specified block.

use proptest::prelude::*;
use warpwright::{
    prelude::*,
    run::{Device, Simulator},
    tiles::{Footprint, Schedule},
};

/// The tiles of a result in the order of the schedule.
fn order(schedule: Schedule, rows: u32, cols: u32) -> Vec<(u32, u32)> {
    (0..rows * cols).map(|number| schedule.tile(number, rows, cols)).collect()
}

proptest! {
    #[test]
    fn every_tile_once(group in 0u32..20, rows in 1u32..40, cols in 1u32..40) {
        for schedule in [Schedule::linear(), Schedule::grouped(group)] {
            let mut tiles = order(schedule, rows, cols);
            tiles.sort_unstable();
            let all: Vec<_> = (0..rows).flat_map(|row| (0..cols).map(move |col| (row, col))).collect();
            prop_assert_eq!(tiles, all);
        }
    }

    /// Tiles that are computed at the same time are in few rows and columns: those of a group, and the columns that fill it.
    #[test]
    fn groups_stay_together(group in 1u32..12, rows in 1u32..40, cols in 1u32..40, at_once in 1usize..60) {
        for tiles in order(Schedule::grouped(group), rows, cols).chunks(at_once) {
            let groups: Vec<_> = tiles.iter().map(|(row, _)| row / group).collect();
            prop_assert!(groups.is_sorted());
            for pair in tiles.windows(2).filter(|pair| pair[0].0 / group == pair[1].0 / group) {
                let (before, after) = (pair[0], pair[1]);
                prop_assert!(before.1 < after.1 || (before.1 == after.1 && before.0 + 1 == after.0));
            }
        }
    }
}

#[test]
fn every_second_round_is_reversed() {
    let blocks = |schedule: Schedule| (0..7).map(|number| schedule.block(number, 3)).collect::<Vec<_>>();
    assert_eq!(blocks(Schedule::linear()), [0, 1, 2, 0, 1, 2, 0]);
    assert_eq!(blocks(Schedule::linear().back_and_forth()), [0, 1, 2, 2, 1, 0, 0]);
}

/// For each tile, the block that computed it and its position among the block's tiles; the number of rows and of columns of tiles.
type Args = (Out<u32>, Out<u32>, u32, u32);

/// A kernel whose blocks number the tiles that they compute.
fn kernel(schedule: Schedule, cluster: u32) -> Kernel<Args> {
    let [high, wide] = rectangle(schedule, cluster);
    let kernel =
        Kernel::<Args>::build("order(block, number, m, n)", Target::SM_90, |k, (blocks, numbers, m, n)| {
            let block = k.block([32]);
            if cluster > 1 {
                k.cluster([cluster]);
            }
            // The rectangles of a cluster may reach past the last row and column.
            let shape = row_major(m + (high - 1), n + (wide - 1));
            let (blocks, numbers) = (k.global(blocks, shape), k.global(numbers, shape));
            let count = k.var(0u32);
            k.persistent(schedule, m, n).each(|row, col| {
                k.if_(block.thread().eq(0), || {
                    blocks.at(row, col).store(k.ctaid_x());
                    numbers.at(row, col).store(count.get());
                });
                count.set(count.get() + 1);
            });
        })
        .unwrap();
    crate::assemble::kernel(&kernel);
    kernel
}

/// The tiles that a cluster computes at the same time.
fn rectangle(schedule: Schedule, cluster: u32) -> [u32; 2] {
    match cluster {
        4 if schedule == Schedule::grouped(3).per_cluster(2, 2) => [2, 2],
        4 if schedule == Schedule::linear().per_cluster(1, 4) => [1, 4],
        _ => [cluster, 1],
    }
}

#[test]
fn blocks_follow_the_schedule() {
    let cases = [
        (Schedule::linear(), 1),
        (Schedule::grouped(4), 1),
        (Schedule::grouped(3), 2),
        (Schedule::grouped(3).per_cluster(2, 2), 4),
        (Schedule::linear().per_cluster(1, 4), 4),
        (Schedule::linear().back_and_forth(), 1),
        (Schedule::grouped(3).back_and_forth(), 2),
    ];
    for (schedule, cluster) in cases {
        let kernel = kernel(schedule, cluster);
        let [high, wide] = rectangle(schedule, cluster);
        for (multiprocessors, m, n) in
            [(1, 3, 5), (2, 7, 4), (5, 9, 9), (132, 11, 6), (3, 1, 1), (2, 0, 4), (2, 4, 0)]
        {
            let (rows, cols) = (m + high - 1, n + wide - 1);
            let device = Simulator::new().multiprocessors(multiprocessors);
            let none = vec![u32::MAX; (rows * cols) as usize];
            let (mut blocks, mut numbers) = (device.upload(&none).unwrap(), device.upload(&none).unwrap());
            let launched = device.launch(&kernel, (&mut blocks, &mut numbers, m, n)).unwrap();
            let found: Vec<_> = device
                .download(&blocks)
                .unwrap()
                .into_iter()
                .zip(device.download(&numbers).unwrap())
                .collect();
            // In rectangles of a cluster.
            let (rect_rows, rect_cols) = (m.div_ceil(high), n.div_ceil(wide));
            let clusters = (multiprocessors / cluster).max(1).min(rect_rows * rect_cols);
            assert_eq!(launched.grid[0], clusters * cluster, "{schedule} on {multiprocessors}");
            let mut expected = vec![(u32::MAX, u32::MAX); (rows * cols) as usize];
            for number in 0..rect_rows * rect_cols {
                let (row, col) = schedule.tile(number, rect_rows, rect_cols);
                let cluster_index = schedule.block(number, clusters);
                for rank in 0..cluster {
                    let (row, col) = (row * high + rank % high, col * wide + rank / high);
                    if row < rows && col < cols {
                        expected[(row * cols + col) as usize] =
                            (cluster_index * cluster + rank, number / clusters);
                    }
                }
            }
            assert_eq!(found, expected, "{schedule}, clusters of {cluster}, {m}×{n} on {multiprocessors}");
        }
    }
}

proptest! {
    /// The rounds of a schedule contain every tile once, in clusters of any shape, and its blocks compute them in this order.
    #[test]
    fn rounds_contain_every_tile_once(
        group in 1u32..9, high in 1u32..4, wide in 1u32..4, parts in 1u32..3, blocks in 1u32..40,
        rows in 0u32..20, cols in 0u32..20,
    ) {
        let schedule = Schedule::grouped(group).per_cluster(high, wide).split(parts);
        let size = [rows, cols];
        let rounds: Vec<_> =
            (0..schedule.rounds(blocks, size)).map(|round| schedule.round(round, blocks, size)).collect();
        let clusters = (blocks / (high * wide * parts)).max(1);
        for tiles in &rounds {
            prop_assert!(tiles.len() as u32 <= clusters * high * wide);
        }
        // The rounds follow the numbers of the rectangles.
        let order: Vec<_> = rounds.concat();
        let (rect_rows, rect_cols) = (rows.div_ceil(high), cols.div_ceil(wide));
        let of_rectangles: Vec<_> = (0..rect_rows * rect_cols)
            .map(|number| schedule.tile(number, rect_rows, rect_cols))
            .collect();
        let mut rectangles: Vec<_> = order.iter().map(|(row, col)| (row / high, col / wide)).collect();
        rectangles.dedup();
        prop_assert_eq!(rectangles, of_rectangles);
        let mut sorted = order;
        sorted.sort_unstable();
        let all: Vec<_> = (0..rows).flat_map(|row| (0..cols).map(move |col| (row, col))).collect();
        prop_assert_eq!(sorted, all);
    }

    /// At least as many rows and columns as a square of the tiles has, and at most one per tile.
    #[test]
    fn footprints_have_the_tiles(group in 1u32..20, blocks in 1u32..200, rows in 1u32..30, cols in 1u32..30) {
        let schedule = Schedule::grouped(group);
        for round in 0..schedule.rounds(blocks, [rows, cols]) {
            let Footprint { tiles, a_tiles, b_tiles } = schedule.footprint(round, blocks, [rows, cols]);
            prop_assert!(tiles <= a_tiles * b_tiles && a_tiles <= tiles.min(rows) && b_tiles <= tiles.min(cols));
        }
    }
}

#[test]
fn groups_read_fewer_tiles() {
    let of = |schedule: Schedule, round| {
        let Footprint { tiles, a_tiles, b_tiles } = schedule.footprint(round, 132, [64, 64]);
        [tiles, a_tiles, b_tiles]
    };
    assert_eq!(of(Schedule::linear(), 0), [132, 3, 64]);
    assert_eq!(of(Schedule::grouped(16), 0), [132, 16, 9]);
    // Two tiles of a column per cluster: the rows of a group are 8 pairs.
    assert_eq!(of(Schedule::grouped(8).per_cluster(2, 1), 0), [132, 16, 9]);
    // The last round: 4096 = 31 · 132 + 4.
    assert_eq!(of(Schedule::grouped(16), 31), [4, 4, 1]);
    assert_eq!(Schedule::grouped(16).rounds(132, [64, 64]), 32);
}
