//! Views of global memory: batches, transposes, parts of matrices, tiles at elements, tiles of several warps.

use pretty_assertions::assert_eq;
use warpwright::{prelude::*, ptx, run::Device, tensor::Stride, tiles::GlLayout};

use super::codes::{code, coded};
use crate::cases::everywhere;

/// The number past the edges, which must not be overwritten.
const CANARY: f32 = -1.0;

/// Copies a matrix of a view, tile by tile of 16×32, through registers or shared memory, from a tensor of `elements` to another with the
/// same layout; two blocks, of which each takes every other row of tiles.
fn copied<const R: usize>(
    elements: u32,
    layout: impl for<'k> Fn(Val<'k, u32>) -> GlLayout<'k, R>,
    view: impl for<'k> Fn(Gl<'k, f32, ptx::ReadWrite, R>) -> Gl<'k, f32, ptx::ReadWrite>,
    view_in: impl for<'k> Fn(Gl<'k, f32, ptx::Read, R>) -> Gl<'k, f32, ptx::Read>,
) -> Vec<f32> {
    // A dimension that the launch decides keeps extents and strides dynamic where the layout uses it.
    type Args = (In<f32>, InOut<f32>, u32);
    let kernel = Kernel::<Args>::build("copied(x, y, two)", Target::SM_80, |k, (x, y, two)| {
        k.block([32]);
        k.grid([2]);
        let (x, y) = (view_in(k.global(x, layout(two))), view(k.global(y, layout(two))));
        for row in 0..3 {
            for col in 0..3 {
                let row = k.ctaid_x() + 2 * row;
                if col == 1 {
                    let tile = k.shared_tile::<St<f32, 1, 2>>().fill(x.tile(row, col)).wait();
                    y.tile(row, col).store_shared(&tile);
                } else {
                    y.tile(row, col).store(&Rt::<f32, 1, 2>::load(x.tile(row, col)));
                }
            }
        }
    })
    .unwrap();
    crate::assemble::kernel(&kernel);
    everywhere(|device| {
        let x: Vec<f32> = (0..elements).map(|at| at as f32).collect();
        let x = device.upload(&x).unwrap();
        let mut y = device.upload(&vec![CANARY; elements as usize]).unwrap();
        for _ in 0..2 {
            device.launch(&kernel, (&x, &mut y, 2)).unwrap();
        }
        device.download(&y).unwrap()
    })
}

/// Elements of `of` copied where `is_selected`, else untouched.
fn selected(elements: u32, is_selected: impl Fn(u32) -> bool) -> Vec<f32> {
    (0..elements).map(|at| if is_selected(at) { at as f32 } else { CANARY }).collect()
}

macro_rules! views {
    ($($name:ident $rank:literal: $elements:expr, $layout:expr, $view:expr, $selected:expr;)*) => {$(
        #[test]
        fn $name() {
            fn layout<'k>(two: Val<'k, u32>) -> GlLayout<'k, $rank> {
                let layout: fn(Val<'k, u32>) -> GlLayout<'k, $rank> = $layout;
                layout(two)
            }
            fn view<'k, A>(of: Gl<'k, f32, A, $rank>) -> Gl<'k, f32, A> {
                let view: fn(Gl<'k, f32, A, $rank>) -> Gl<'k, f32, A> = $view;
                view(of)
            }
            assert_eq!(copied::<$rank>($elements, layout, view, view), selected($elements, $selected));
        }
    )*};
}

views! {
    // name       rank  elements     layout                                          view                             elements selected
    whole            2: 40 * 50,     |_| row_major(40, 50),                          |x| x,                           |_| true;
    dynamic          2: 40 * 50,     |two| row_major(two * 20, two * 25),            |x| x,                           |_| true;
    columns          2: 40 * 50,     |two| col_major(40, two * 25),                  |x| x,                           |_| true;
    transposed       2: 40 * 50,     |two| row_major(two * 25, 40),                  |x| x.transposed(),              |_| true;
    part             2: 60 * 70,     |two| row_major(two * 30, two * 35),            |x| x.sub_matrix((5, 7), (20, 33)),
        |at| (5..25).contains(&(at / 70)) && (7..40).contains(&(at % 70));
    part_of_part     2: 60 * 70,     |_| row_major(60, 70),                          |x| x.sub_matrix((5, 7), (20, 33)).sub_matrix((3, 1), (99, 8)),
        |at| (8..25).contains(&(at / 70)) && (8..16).contains(&(at % 70));
    part_past_edge   2: 60 * 70,     |two| row_major(60, two * 35),                  |x| x.sub_matrix((50, 60), (20, 33)),
        |at| (50..60).contains(&(at / 70)) && (60..70).contains(&(at % 70));
    part_of_transpose 2: 60 * 70,    |_| row_major(60, 70),                          |x| x.transposed().sub_matrix((5, 7), (20, 33)),
        |at| (7..40).contains(&(at / 70)) && (5..25).contains(&(at % 70));
    batch            3: 3 * 40 * 30, |two| contiguous([(two + 1), 40.into(), 30.into()]), |x| x.batch(1),
        |at| at / 1200 == 1;
    no_such_batch    3: 3 * 40 * 30, |two| contiguous([(two + 1), 40.into(), 30.into()]), |x| x.batch(3),            |_| false;
    head             4: 2 * 3 * 20 * 24, |two| contiguous([two, 3.into(), two * 10, 24.into()]), |x| x.batch((1, 2)),
        |at| at / 480 == 5;
    inner_heads      4: 2 * 20 * 3 * 24, |two| contiguous([two, two * 10, 3.into(), 24.into()]), |x| x.permuted([0, 2, 1, 3]).batch((1, 2)),
        |at| at / 1440 == 1 && at / 24 % 3 == 2;
    rank_five        5: 2 * 2 * 2 * 20 * 24, |two| contiguous([two, two, 2.into(), 20.into(), two * 12]), |x| x.batch((1, 0, 1)),
        |at| at / 480 == 5;
    strides          3: 2 * 1000,    |two| contiguous([2, 20, 16]).with_strides([two * 500, two * 24, two]), |x| x.batch(1),
        |at| at >= 1000 && (at - 1000) / 48 < 20 && (at - 1000) % 48 < 32 && at % 2 == 0;
}

/// Tiles at any element, whose rows are aligned or not; and an element in registers.
#[test]
fn tiles_at_elements() {
    type Args = (In<bf16>, Out<f32>, u32, u32, u32, u32);
    let kernel =
        Kernel::<Args>::build("at(x, y, m, n, row, col)", Target::SM_80, |k, (x, y, m, n, row, col)| {
            k.block([32]);
            k.grid([2]);
            let (x, y) = (k.global(x, row_major(m, n)), k.global(y, row_major(64, 64)));
            let b = k.ctaid_x();
            y.tile(b * 2, 0).store(&Rt::<f32, 1, 2>::load(x.tile_at(row + b, col)));
            y.tile(b * 2 + 1, 0).store(&Rt::<f32, 1, 2>::load(x.tile_at(b * 8, 16)));
            y.tile(b * 2, 1).store(&Rt::<f32, 1, 2>::load(x.tile_at(3, b + 9)));
            y.tile(b * 2 + 1, 1).store(&x.tile_at(row, u32::MAX).load::<f32, 1, 2, Row>());
        })
        .unwrap();
    crate::assemble::kernel(&kernel);
    let (m, n) = (37, 45);
    for (row, col) in [(0, 0), (5, 8), (36, 44), (13, 21), (u32::MAX - 1, 3)] {
        let found = everywhere(|device| {
            let x = device.upload(&coded::<bf16>(m, n)).unwrap();
            let mut y = device.upload(&[f32::NAN; 4096]).unwrap();
            device.launch(&kernel, (&x, &mut y, m, n, row, col)).unwrap();
            device.download(&y).unwrap()
        });
        let at = |row: u64, col: u64| {
            if row < m.into() && col < n.into() { code::<f32>(row as u32, col as u32) } else { 0.0 }
        };
        for (i, &found) in found.iter().enumerate() {
            let (i, j) = (i as u64 / 64, i as u64 % 64);
            let (b, r) = (i / 32, i % 16);
            let start = match (i / 16 % 2, j / 32) {
                (0, 0) => (u64::from(row.wrapping_add(b as u32)), col.into()),
                (1, 0) => (b * 8, 16),
                (0, 1) => (3, b + 9),
                _ => (row.into(), u32::MAX.into()),
            };
            assert_eq!(found, at(start.0 + r, start.1 + j % 32), "({i}, {j}) of {row}, {col}");
        }
    }
}

/// Each warp of a block or of several warps has its own rows.
#[test]
fn rows_of_warps() {
    type Args = (In<f32>, Out<f32>, Out<f32>, u32, u32);
    let kernel = Kernel::<Args>::build("bands(x, y, z, m, n)", Target::SM_80, |k, (x, y, z, m, n)| {
        let block = k.block([128]);
        k.grid([m.tiles(64)]);
        let layout = row_major(m, n);
        let (x, y, z) = (k.global(x, layout), k.global(y, layout), k.global(z, layout));
        let tile: Rt<f32, 1, 2> = x.tile_of(block, k.ctaid_x(), 0).load();
        y.tile_of(block, k.ctaid_x(), 0).store(&tile);
        // The two pairs of warps of each block have 32 rows each.
        let pair = k.warps::<2>();
        let tile: Rt<f32, 1, 2> = x.tile_of(pair, k.ctaid_x() * 2 + pair.rank(), 0).load();
        z.tile_of(pair, k.ctaid_x() * 2 + pair.rank(), 0).store(&tile);
    })
    .unwrap();
    crate::assemble::kernel(&kernel);
    let (m, n) = (100, 31);
    let found = everywhere(|device| {
        let x = device.upload(&coded::<f32>(m, n)).unwrap();
        let mut y = device.upload(&vec![f32::NAN; (m * n) as usize]).unwrap();
        let mut z = device.upload(&vec![f32::NAN; (m * n) as usize]).unwrap();
        for _ in 0..2 {
            device.launch(&kernel, (&x, &mut y, &mut z, m, n)).unwrap();
        }
        (device.download(&y).unwrap(), device.download(&z).unwrap())
    });
    assert_eq!(found.0, coded::<f32>(m, n));
    assert_eq!(found.1, coded::<f32>(m, n));
}

/// Rows beyond 2³² elements are addressed with 64 bits; the launch refuses a buffer that does not have them.
#[test]
fn offsets_have_64_bits() {
    type Args = (In<f32>, Out<f32>, u32, u32);
    let kernel = Kernel::<Args>::build("large(x, y, m, pitch)", Target::SM_80, |k, (x, y, m, pitch)| {
        k.block([32]);
        k.grid([1]);
        let x = k.global(x, row_major(m, 16).with_row_stride(pitch));
        k.global(y, row_major(16, 16)).tile(0, 0).store(&Rt::<f32, 1, 1>::load(x.tile_at(m - 1, 0)));
    })
    .unwrap();
    crate::assemble::kernel(&kernel);
    let refused = everywhere(|device| {
        let x = device.upload(&coded::<f32>(32, 16)).unwrap();
        let mut y = device.upload(&[f32::NAN; 256]).unwrap();
        // (2²⁰ + 1) rows, 2¹² · 16 bytes apart: the last one is at element 2³², which in 32 bits is element 0.
        let refused = device.launch(&kernel, (&x, &mut y, (1 << 20) + 1, 1 << 12)).is_err();
        device.launch(&kernel, (&x, &mut y, 32, 16)).unwrap();
        (refused, device.download(&y).unwrap()[..16].to_vec())
    });
    assert_eq!(refused, (true, coded::<f32>(32, 16)[31 * 16..].to_vec()));
}

/// Strides of 64 bits: products of extents that exceed 32 bits, and strides in 64-bit parameters; the launch computes them too.
#[test]
fn strides_have_64_bits() {
    type Args = (In<f32>, Out<f32>, u32, u32, u64);
    let kernel = Kernel::<Args>::build("wide(x, y, m, n, far)", Target::SM_80, |k, (x, y, m, n, far)| {
        k.block([32]);
        k.grid([2]);
        let y = k.global(y, row_major(64, 16));
        let b = k.ctaid_x();
        let batches = k.global(x, contiguous([2.into(), m, n]));
        y.tile(b, 0).store(&batches.batch(b).tile_at(m - 16, 0).load::<f32, 1, 1, Row>());
        let unit: Val<'_, u32> = 1.into();
        let apart = contiguous([2u32, 16, 16]).with_strides([far.into(), Stride::from(n), unit.into()]);
        y.tile(b + 2, 0).store(&k.global(x, apart).batch(b).tile(0, 0).load::<f32, 1, 1, Row>());
    })
    .unwrap();
    crate::assemble::kernel(&kernel);
    let (m, n) = (20, 16);
    let found = everywhere(|device| {
        let x = device.upload(&coded::<f32>(2 * m, n)).unwrap();
        let mut y = device.upload(&[f32::NAN; 1024]).unwrap();
        // Batches of 2³² + 2¹⁶ elements, and one that begins at element 2³²: both would be in the buffer if the stride had 32 bits.
        let refused = [
            device.launch(&kernel, (&x, &mut y, (1 << 16) + 1, 1 << 16, 0)).is_err(),
            device.launch(&kernel, (&x, &mut y, m, n, 1 << 32)).is_err(),
        ];
        device.launch(&kernel, (&x, &mut y, m, n, 100)).unwrap();
        (refused, device.download(&y).unwrap())
    });
    let at = |at: u32| code::<f32>(at / n, at % n);
    let expected = (0..1024).map(|i| (i / 16, i % 16)).map(|(row, col)| match row {
        0..32 => at((row / 16 * m + 4 + row % 16) * n + col),
        _ => at((row - 32) / 16 * 100 + row % 16 * n + col),
    });
    assert_eq!(found, ([true; 2], expected.collect::<Vec<_>>()));
}

/// A matrix of more than 2³² elements: its last rows, and the last of two batches, are those that were written. Requires 9 GB on the device.
#[test]
fn more_than_32_bits_of_elements() {
    type Args = (In<u8>, Out<u8>, u32);
    let kernel = Kernel::<Args>::build("large(x, y, half)", Target::SM_80, |k, (x, y, half)| {
        k.block([32]);
        k.grid([3]);
        let (b, cols, m) = (k.ctaid_x(), 1u32 << 16, half * 2);
        let y = k.global(y, row_major(48, 32));
        // Tiles of the whole as one matrix, and of two batches of half the rows.
        let whole = k.global(x, row_major(m, cols)).tile_at(m - 16, cols - 32).load::<u8, 1, 1, Row>();
        k.if_(b.eq(0), || y.tile(0, 0).store(&whole));
        let batches = k.global(x, contiguous([2.into(), half, cols.into()]));
        let last = batches.batch(1).tile_at(half - 16, cols - 32).load::<u8, 1, 1, Row>();
        k.if_(b.eq(1), || y.tile(1, 0).store(&last));
        let first = batches.batch(0).tile(0, 0).load::<u8, 1, 1, Row>();
        k.if_(b.eq(2), || y.tile(2, 0).store(&first));
    })
    .unwrap();
    crate::assemble::kernel(&kernel);
    let Some(gpu) = crate::devices::gpu() else { return };
    // 2¹⁷ + 2 rows of 2¹⁶ columns: batches of 2³² + 2¹⁶ elements.
    let (rows, cols) = ((1usize << 17) + 2, 1usize << 16);
    let mut matrix = vec![0u8; rows * cols];
    let element = |row: usize, col: usize| ((row % 16 * 32 + col % 32) % 255 + 1) as u8;
    for (row, col) in (0..16).flat_map(|row| (0..32).map(move |col| (row, col))) {
        matrix[row * cols + col] = element(row, col);
        matrix[(rows - 16 + row) * cols + cols - 32 + col] = element(row + 3, col + 5);
    }
    let x = gpu.upload(&matrix).unwrap();
    let mut y = gpu.upload(&[0u8; 48 * 32]).unwrap();
    gpu.launch(&kernel, (&x, &mut y, rows as u32 / 2)).unwrap();
    let expected = (0..48 * 32usize).map(|i| (i / 32, i % 32)).map(|(row, col)| match row {
        0..32 => element(row % 16 + 3, col + 5),
        _ => element(row, col),
    });
    assert_eq!(gpu.download(&y).unwrap(), expected.collect::<Vec<_>>());
}
