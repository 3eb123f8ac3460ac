//! The sources of tensor copies: views, batches, edges and types.

use warpwright::{
    prelude::*,
    ptx::Read,
    run::Device,
    tiles::{Auto, EmptyStage, FillingStage, SharedSwizzle, Swizzle32, consumers, producer},
};

use super::problem::assert_same;
use crate::{devices::everywhere, numbers::Numeral};

/// X, the tile of 64×64 elements in Y, m, n.
type Args<T> = (In<T>, Out<T>, u32, u32);

/// A view of X, of m×n elements or more.
type View<'a, T> =
    &'a dyn for<'k> Fn(Builder<'k>, Ptr<'k, T, Global, Read>, [Val<'k, u32>; 2]) -> GlTile<'k, T, Read>;

/// Copies a tile of a view through a ring to Y, for X of `length` elements that are numbered from 0 (modulo 101); `element` is what
/// the tile must contain at a row and column, `None` past the edge.
fn check<T: Numeral, const W: usize, S: SharedSwizzle>(
    view: View<'_, T>,
    length: u32,
    [m, n]: [u32; 2],
    element: &dyn Fn(u32, u32) -> Option<u32>,
) {
    let cols = W as u32 * T::SUBTILE_LENGTH;
    let kernel = Kernel::<Args<T>>::build("copy(x, y, m, n)", Target::SM_90A, |k, (x, y, m, n)| {
        k.block([256]);
        k.grid([1]);
        let y = k.global(y, row_major(64, cols));
        let ring = k.ring::<(St<'_, T, 4, W, S>,), 2, 1>();
        k.specialize(
            producer(40, |p| p.run(&ring, 1, |_, stage| stage.fill((view(k, x, [m, n]),)))),
            consumers::<1, _>(232, |c| {
                c.each(&ring, 1, (), |_, (), (tile,)| {
                    let tile: Rt<T, 1, W> = tile.tile_of(c.group()).load();
                    y.tile_of(c.group(), 0, 0).store(&tile);
                });
            }),
        );
    })
    .unwrap();
    crate::assemble::kernel(&kernel);
    let code = |at: u32| f64::from(at % 101);
    let found = everywhere(|device| {
        let x: Vec<T> = (0..length).map(|at| T::of(code(at))).collect();
        let x = device.upload(&x).unwrap();
        let mut y = device.upload(&vec![T::of(99.0); (64 * cols) as usize]).unwrap();
        device.launch(&kernel, (&x, &mut y, m, n)).unwrap();
        device.download(&y).unwrap().into_iter().map(T::number).collect::<Vec<_>>()
    });
    let expected: Vec<f64> =
        (0..64 * cols).map(|at| element(at / cols, at % cols).map_or(0.0, code)).collect();
    assert_same(T::NAME, &found, &expected, cols as usize);
}

/// Element (row, col) of a matrix of these extents and this pitch, if it is inside.
fn inside([m, n]: [u32; 2], pitch: u32) -> impl Fn(u32, u32) -> Option<u32> {
    move |row, col| (row < m && col < n).then_some(row * pitch + col)
}

#[test]
fn types_and_swizzles() {
    fn whole<T: Numeral, const W: usize, S: SharedSwizzle>() {
        let cols = W as u32 * T::SUBTILE_LENGTH;
        let view: View<'_, T> = &|k, x, [m, n]| k.global(x, row_major(m, n)).tile(0, 0);
        check::<T, W, S>(view, 64 * cols, [64, cols], &inside([64, cols], cols));
    }
    whole::<bf16, 4, Auto>();
    whole::<f32, 3, Swizzle32>();
    whole::<u8, 4, Auto>();
}

#[test]
fn edges() {
    let view: View<'_, bf16> = &|k, x, [m, n]| k.global(x, row_major(m, n)).tile(1, 1);
    for [m, n] in [[128, 128], [70, 104], [65, 72], [64, 128], [128, 64], [1, 8]] {
        let matrix = inside([m, n], n);
        check::<bf16, 4, Auto>(view, m * n, [m, n], &|row, col| matrix(row + 64, col + 64));
    }
}

#[test]
fn pitches() {
    let view: View<'_, bf16> = &|k, x, [m, n]| k.global(x, row_major(m, n).with_row_stride(88)).tile(0, 0);
    // The elements between the rows are past the edge.
    check::<bf16, 4, Auto>(view, 88 * 64, [50, 33], &inside([50, 33], 88));
    let dynamic: View<'_, bf16> =
        &|k, x, [m, n]| k.global(x, row_major(m, n).with_row_stride(n + 16)).tile(0, 0);
    check::<bf16, 4, Auto>(dynamic, 64 * 80, [64, 64], &inside([64, 64], 80));
}

/// A matrix of one row has no pitch.
#[test]
fn one_row() {
    let view: View<'_, bf16> = &|k, x, [m, n]| k.global(x, row_major(m, n)).tile(0, 0);
    check::<bf16, 4, Auto>(view, 7, [1, 7], &inside([1, 7], 7));
}

/// Tiles may begin at any row, and at columns whose offset is a multiple of 16 bytes.
#[test]
fn tiles_at_any_row() {
    let view: View<'_, bf16> = &|k, x, [m, n]| k.global(x, row_major(m, n)).tile_at(3, 8);
    let matrix = inside([64, 64], 64);
    check::<bf16, 4, Auto>(view, 64 * 64, [64, 64], &|row, col| matrix(row + 3, col + 8));
}

/// The part of a matrix outside of a sub-matrix is past its edge.
#[test]
fn sub_matrices() {
    let matrix = inside([96, 96], 96);
    let part: View<'_, bf16> =
        &|k, x, _| k.global(x, row_major(96, 96)).sub_matrix((8, 16), (40u32, 24u32)).tile(0, 0);
    check::<bf16, 4, Auto>(part, 96 * 96, [96, 96], &|row, col| {
        if row < 40 && col < 24 { matrix(row + 8, col + 16) } else { None }
    });
}

#[test]
fn batches() {
    // Matrix (2, 1) of 3×2 of 48×72 elements.
    let view: View<'_, bf16> =
        &|k, x, [m, n]| k.global(x, contiguous([3.into(), 2.into(), m, n])).batch((2, 1)).tile(0, 0);
    let matrix = inside([48, 72], 72);
    check::<bf16, 4, Auto>(view, 6 * 48 * 72, [48, 72], &|row, col| Some(5 * 48 * 72 + matrix(row, col)?));
    // Past the last batch, everything is past the edge.
    let past: View<'_, bf16> = &|k, x, [m, n]| k.global(x, contiguous([2.into(), m, n])).batch(2).tile(0, 0);
    check::<bf16, 4, Auto>(past, 2 * 64 * 64, [64, 64], &|_, _| None);
}

/// Batches and heads of matrices of [batches, rows, heads, cols].
#[test]
fn permuted_batches() {
    let view: View<'_, bf16> = &|k, x, [m, n]| {
        k.global(x, contiguous([2.into(), m, 3.into(), n])).permuted([0, 2, 1, 3]).batch((1, 2)).tile(0, 0)
    };
    check::<bf16, 4, Auto>(view, 2 * 40 * 3 * 64, [40, 64], &|row, col| {
        (row < 40).then_some(((40 + row) * 3 + 2) * 64 + col)
    });
}

/// A stage of 64×128 elements.
type Wide<'k> = (St<'k, bf16, 4, 8>,);

/// The copies from X, of 256×256 elements, that fill a stage.
type Fill<'a> =
    &'a dyn for<'k> Fn(EmptyStage<'k, Wide<'k>>, &Gl<'k, bf16, Read>) -> FillingStage<'k, Wide<'k>>;

/// Fills three stages of a ring of two, which contains zeros at first; `element` is what each must contain at a row and column.
fn check_parts(fill: Fill<'_>, element: &dyn Fn(usize, usize) -> Option<(usize, usize)>) {
    let kernel = Kernel::<(In<bf16>, Out<bf16>)>::build("parts(x, y)", Target::SM_90A, |k, (x, y)| {
        k.block([256]);
        k.grid([1]);
        let (x, y) = (k.global(x, row_major(256, 256)), k.global(y, row_major(3 * 64, 128)));
        let ring = k.ring::<Wide<'_>, 2, 1>().zeroed();
        k.specialize(
            producer(40, |p| p.run(&ring, 3, |_, stage| fill(stage, &x))),
            consumers::<1, _>(232, |c| {
                c.each(&ring, 3, (), |step, (), (tile,)| {
                    let tile: Rt<bf16, 1, 8> = tile.tile_of(c.group()).load();
                    y.tile_of(c.group(), step, 0).store(&tile);
                });
            }),
        );
    })
    .unwrap();
    crate::assemble::kernel(&kernel);
    // Every number up to 256 is a bf16, and neighbors in rows and in columns differ.
    let code = |row: usize, col: usize| ((row * 37 + col * 11) % 251 + 1) as f64;
    let found = everywhere(|device| {
        let x: Vec<bf16> = (0..256 * 256).map(|at| bf16::of(code(at / 256, at % 256))).collect();
        let x = device.upload(&x).unwrap();
        let mut y = device.output::<bf16>(3 * 64 * 128).unwrap();
        device.launch(&kernel, (&x, &mut y)).unwrap();
        device.download(&y).unwrap().into_iter().map(bf16::number).collect::<Vec<_>>()
    });
    let of = |at: usize| element(at / 128 % 64, at % 128).map_or(0.0, |(row, col)| code(row, col));
    assert_same("a stage", &found, &(0..3 * 64 * 128).map(of).collect::<Vec<_>>(), 128);
}

/// Tiles above each other, next to each other, and in a stack.
#[test]
fn several_tiles_in_one_shared_tile() {
    check_parts(&|stage, x| stage.fill((x.tile(3, 1).above(x.tile(1, 0)),)), &|row, col| {
        Some(if row < 32 { (96 + row, 128 + col) } else { (row, col) })
    });
    check_parts(&|stage, x| stage.fill((x.tile(1, 3).left_of(x.tile(2, 0)),)), &|row, col| {
        Some(if col < 64 { (64 + row, 192 + col) } else { (128 + row, col - 64) })
    });
    let order = [7, 0, 5, 5u32];
    check_parts(
        &|stage, x| stage.fill((GlTile::stacked(order.map(|i| x.tile(i, 0)).to_vec()),)),
        &|row, col| Some((16 * order[row / 16] as usize + row % 16, col)),
    );
}

/// The other rows keep the zeros of the ring.
#[test]
fn first_rows_of_a_shared_tile() {
    for rows in [8, 16, 32, 64] {
        check_parts(&|stage, x| stage.fill((x.tile(3, 1).first_rows(rows),)), &|row, col| {
            (row < rows as usize).then_some((3 * rows as usize + row, 128 + col))
        });
    }
}
