//! Laws of tilings, over all threads and values.

use proptest::prelude::*;
use warpwright::{
    layout::Layout,
    tensor::{TiledCopy, TiledMma, local_partition, local_tile},
};

use super::{atoms, lines::assert_lines};

fn extents() -> impl Strategy<Value = (i64, i64)> {
    (1..=6_i64, 1..=6_i64)
}

fn grid() -> impl Strategy<Value = Layout> {
    (extents(), any::<bool>()).prop_map(|(extents, rows)| {
        if rows { Layout::row_major(extents) } else { Layout::column_major(extents) }.unwrap()
    })
}

proptest! {
    /// Each element of the tile is read once and written once.
    #[test]
    fn copies_are_bijections(threads in grid(), values in grid()) {
        let copy = TiledCopy::new(atoms::copy("u32"), 32, &threads, &values).unwrap();
        copy.source().unwrap().assert_bijective();
        copy.destination().unwrap().assert_bijective();
        prop_assert_eq!(copy.threads(), threads.size());
        prop_assert_eq!(copy.tile().size(), threads.size() * values.size());
    }

    /// The threads' parts are a partition of a tensor that the tile divides.
    #[test]
    fn parts_cover_the_tensor(threads in grid(), values in grid(), rest in extents()) {
        let copy = TiledCopy::new(atoms::copy("u32"), 32, &threads, &values).unwrap();
        let extents: Vec<i64> = copy.tile().modes().iter().map(|m| m.size()).collect();
        let tensor = Layout::row_major((extents[0] * rest.0, extents[1] * rest.1)).unwrap();
        let mut seen: Vec<i64> = Vec::new();
        for thread in 0..copy.threads() {
            seen.extend(copy.get_slice(thread).unwrap().partition_s(&tensor).unwrap().values());
        }
        seen.sort_unstable();
        prop_assert_eq!(seen, (0..tensor.size()).collect::<Vec<_>>());
    }

    /// Element i of tile b is element b·extent + i.
    #[test]
    fn tiles_are_blocks(tile in extents(), blocks in extents(), b in (0..6_i64, 0..6_i64), i in (0..6_i64, 0..6_i64)) {
        let tensor = Layout::row_major((tile.0 * blocks.0, tile.1 * blocks.1)).unwrap();
        let (b, i) = ((b.0 % blocks.0, b.1 % blocks.1), (i.0 % tile.0, i.1 % tile.1));
        let part = local_tile(&tensor, tile, b).unwrap();
        let whole = tensor.at((b.0 * tile.0 + i.0, b.1 * tile.1 + i.1)).unwrap();
        prop_assert_eq!(part.offset + part.layout.at(i).unwrap(), whole);
    }

    /// Element i of thread t's part is element t + i·threads.
    #[test]
    fn partitions_are_strided(threads in extents(), rest in extents(), t in (0..6_i64, 0..6_i64), i in (0..6_i64, 0..6_i64)) {
        let tensor = Layout::column_major((threads.0 * rest.0, threads.1 * rest.1)).unwrap();
        let (t, i) = ((t.0 % threads.0, t.1 % threads.1), (i.0 % rest.0, i.1 % rest.1));
        let grid = Layout::row_major(threads).unwrap();
        let part = local_partition(&tensor, &grid, t.0 * threads.1 + t.1).unwrap();
        let whole = tensor.at((t.0 + i.0 * threads.0, t.1 + i.1 * threads.1)).unwrap();
        prop_assert_eq!(part.offset + part.layout.at(i).unwrap(), whole);
    }

    /// Threads own every element of each operand's tile; of C, threads that do not share K own each element once.
    #[test]
    fn products_cover_their_operands(atoms_mn in (1..=3_i64, 1..=3_i64), grow in (1..=2_i64, 1..=2_i64)) {
        let atom = atoms::mma("SM80_16x8x16_F32F16F16F32_TN");
        let grid = Layout::column_major((atoms_mn.0, atoms_mn.1, 1)).unwrap();
        let permutation = (16 * atoms_mn.0 * grow.0, 8 * atoms_mn.1 * grow.1, 16);
        let mma = TiledMma::new(atom, &grid, permutation).unwrap();
        use warpwright::atoms::MmaOperand::{A, B, C};
        mma.map(A).unwrap().assert_covering();
        mma.map(B).unwrap().assert_covering();
        mma.map(C).unwrap().assert_bijective();
    }

    /// Rows and columns of operands, which several warps own together, and some of them the same elements.
    #[test]
    fn lines_of_tiled_products(warps in (0..=1_u32, 0..=1_u32, 0..=1_u32), rows in 1..=2_i64, axis in 0..2_usize) {
        let (m, n, k) = (1_i64 << warps.0, 1_i64 << warps.1, 1_i64 << warps.2);
        let grid = Layout::row_major((m, n, k)).unwrap();
        let permutation = (16 * m * rows, 8 * n, 16 * k);
        let mma = TiledMma::new(atoms::mma("SM80_16x8x16_F32F16F16F32_TN"), &grid, permutation).unwrap();
        for operand in warpwright::atoms::MmaOperand::ALL {
            assert_lines(&mma.map(operand).unwrap(), axis);
        }
    }
}
