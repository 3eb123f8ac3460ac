//! Complex tiles and vectors in shared memory: fills, updates, copies, parts, sums and atomic additions, by several numbers of warps; two
//! blocks, two launches, poisoned outputs.

use warpwright::{
    prelude::*,
    ptx::traits::Signed,
    run::Device,
    tensor::{Arithmetic, Computed, Length16, TensorElement},
    tiles::{Accumulate, Aligned, Cgl, Complex, Crt, Crv, Cst, Csv, Orthogonal, Padded},
};

use super::{super::numbers::Numeral, conj, pairs, product, sum};
use crate::cases::everywhere;

/// The subtiles along each axis, and the extents of a tile.
const H: usize = 3;
const W: usize = 2;
const ROWS: usize = 16 * H;
const COLS: usize = 16 * W;
/// The extents of the matrix, whose last tile has fewer rows and columns; the numbers past its edges; another number.
const M: usize = 2 * ROWS - 5;
const N: usize = COLS - 3;
const FILL: [f64; 2] = [2.0, -1.0];
const TWO: [f64; 2] = [1.0, 2.0];
/// The tiles and the vectors that a block stores.
const TILES: usize = 4;
const VECTORS: usize = 6;

fn number(launch: usize, at: usize) -> [f64; 2] {
    let hash = (at * 37 + at / 16 * 11 + launch * 5) % 101;
    [hash % 7, hash / 7 % 5].map(|part| part as f64 - 2.0)
}

fn of<T: Numeral>([re, im]: [f64; 2]) -> Complex<T> {
    Complex { re: T::of(re), im: T::of(im) }
}

fn check<T, S>(warps: u32)
where
    T: Numeral + Computed<In: Signed> + TensorElement<Length = Length16> + Accumulate<Sum = S>,
    S: Numeral + Arithmetic + Signed + Accumulate<Sum = S>,
{
    type Args<T, S> = (In<T>, In<T>, Out<T>, Out<T>, Out<S>, Out<S>);
    let signature = "shared(xre, xim, yre, yim, vre, vim)";
    let kernel =
        Kernel::<Args<T, S>>::build(signature, Target::SM_80, |k, (xre, xim, yre, yim, vre, vim)| {
            let block = k.block([32 * warps]);
            k.grid([2]);
            let (b, of_x) = (k.ctaid_x(), row_major(M as u32, N as u32));
            let of_y = row_major((2 * TILES * ROWS) as u32, COLS as u32);
            let of_v = row_major(2 * VECTORS as u32, ROWS as u32);
            let x = Cgl { re: k.global(xre, of_x), im: k.global(xim, of_x) };
            let y = Cgl { re: k.global(yre, of_y), im: k.global(yim, of_y) };
            let v = Cgl { re: k.global(vre, of_v), im: k.global(vim, of_v) };
            let result = |i: usize| y.tile(b * TILES as u32 + i as u32, 0);
            let vector_result = |i: usize| v.row(b * VECTORS as u32 + i as u32).tile(0);
            let (fill, two) = (of::<T>(FILL), of::<T>(TWO));

            let tile = k.shared_tile::<Cst<T, H, W>>().fill_or(x.tile(b, 0), fill.re, fill.im).wait();
            let tile = tile.update(|_, band| band * two).wait();
            result(0).store_shared(&tile);

            // A copy with another swizzle, a rectangle of which is conjugated, by columns.
            let copy = k.shared_tile::<Cst<T, H, W, Padded>>().copy_from(&tile).wait();
            let copy = copy.update_with(|copy| {
                k.when_warp(0, |_| copy.subtile(1, 1).update(|part: Crt<T, 1, 1, Col>| part.conj()));
            });
            let copy = copy.wait();
            result(1).store_shared(&copy);

            // A constant, with a row and a column of the copy.
            let constant = k.shared_tile::<Cst<T, H, W>>().fill_with(fill.re, fill.im).wait();
            let row: Crv<T, W, Aligned> = copy.row(5).load();
            let col: Crv<T, H, Orthogonal> = copy.col(17).load_as::<T, H, Orthogonal>();
            let with_lines =
                constant.release().fill_with(two.re, two.im).wait().release().store_with(|all| {
                    k.when_warp(0, |_| {
                        all.subtile(0, 0).store(&tile.subtile(0, 0).load::<1, W, Row>());
                        k.warp().sync();
                        all.row(2).store(&row);
                        k.warp().sync();
                        all.col(3).store(&col);
                    });
                });
            let with_lines = with_lines.wait();
            result(2).store_shared(&with_lines);

            // Rows that the warps of the block divide; or a tile of each warp, all of which have the same contents.
            if H as u32 == warps {
                let own: Crt<T, 1, W> = tile.tile_of(block).load();
                let other =
                    k.shared_tile::<Cst<T, H, W>>().store_with(|all| all.tile_of(block).store(&-own)).wait();
                let other =
                    other.update_with(|all| all.tile_of(block).update(|own: Crt<T, 1, W>| own * two)).wait();
                result(3).store_shared(&other);
            } else {
                let own =
                    k.shared_tile_of::<Cst<T, H, W>>(k.warp()).fill(x.tile(b, 0).or(fill.re, fill.im)).wait();
                let own = own.update(|_, band| band * two).wait();
                let own = own.update(|_, band| -(band * two)).wait();
                k.when_warp(0, |_| result(3).store_shared(&own));
            }

            // Sums, in their own type.
            let of_rows = tile.row_sum(k.shared_tile::<Csv<S, H>>()).wait();
            let of_cols = tile.col_sum(k.shared_tile::<Csv<S, W>>()).wait();
            let of_cols = k.shared_tile::<Csv<S, W>>().copy_from(&of_cols).wait();
            vector_result(0).store_shared(&of_rows);
            vector_result(1).store_shared(&of_cols);
            // Of the tile, of the vectors, and of constants.
            let all = [tile.sum(), of_rows.sum(), of_cols.sum()];
            let constants = k.shared_tile::<Csv<S, 1>>().fill_with(S::of(FILL[0]), S::of(FILL[1])).wait();
            for (i, all) in all.into_iter().enumerate() {
                let sums = constants.load::<Orthogonal>() + all;
                k.when_warp(0, |_| vector_result(2 + i).store(&sums));
            }
            // Parts of a vector, exchanged, of one that the first warp updates.
            let own = of_cols.release().store_with(|to| {
                k.when_warp(0, |_| {
                    to.tile(1).store(&of_rows.tile(0).load::<1, Aligned>());
                    to.tile(0).store(&of_rows.tile(2).load_as::<S, 1, Orthogonal>());
                });
            });
            let own = own.wait().update(|v| v * of::<S>(TWO)).wait();
            vector_result(5).store_shared(&own);
        })
        .unwrap_or_else(|error| panic!("{}: {error}", T::NAME));
    crate::assemble::kernel(&kernel);
    let (of_y, of_v) = (2 * TILES * ROWS * COLS, 2 * VECTORS * ROWS);
    let found = everywhere(|device| {
        let [mut yre, mut yim] = [(); 2].map(|()| device.upload(&vec![T::of(f64::NAN); of_y]).unwrap());
        let [mut vre, mut vim] = [(); 2].map(|()| device.upload(&vec![S::of(77.0); of_v]).unwrap());
        [0, 1].map(|launch| {
            let [xre, xim] = [0, 1].map(|part| {
                let x: Vec<_> = (0..M * N).map(|at| T::of(number(launch, at)[part])).collect();
                device.upload(&x).unwrap()
            });
            device.launch(&kernel, (&xre, &xim, &mut yre, &mut yim, &mut vre, &mut vim)).unwrap();
            let y = pairs(&[device.download(&yre).unwrap(), device.download(&yim).unwrap()]);
            (y, pairs(&[device.download(&vre).unwrap(), device.download(&vim).unwrap()]))
        })
    });
    for (launch, (y, v)) in found.into_iter().enumerate() {
        let x = |block: usize, row: usize, col: usize| {
            let row = block * ROWS + row;
            if row < M && col < N { number(launch, row * N + col) } else { FILL }
        };
        let tile = |block, row, col| product(x(block, row, col), TWO);
        let copy = |block, row: usize, col: usize| {
            let number = tile(block, row, col);
            if row / 16 == 1 && col / 16 == 1 { conj(number) } else { number }
        };
        for (at, found) in y.into_iter().enumerate() {
            let (block, row, col) = (at / (TILES * ROWS * COLS), at / COLS % ROWS, at % COLS);
            let result = at / (ROWS * COLS) % TILES;
            let expected = match (result, row, col) {
                (0, ..) => tile(block, row, col),
                (1, ..) => copy(block, row, col),
                (2, _, 3) => copy(block, row, 17),
                (2, 2, _) => copy(block, 5, col),
                (2, 0..16, _) => tile(block, row, col),
                (2, ..) => TWO,
                _ => product(tile(block, row, col), TWO).map(|part| -part),
            };
            assert_eq!(found, expected, "result {result} of {}, ({row}, {col}), {warps} warps", T::NAME);
        }
        for (at, found) in v.into_iter().enumerate() {
            let (block, result, i) = (at / (VECTORS * ROWS), at / ROWS % VECTORS, at % ROWS);
            let of_row = |row: usize| (0..COLS).fold([0.0; 2], |all, col| sum(all, tile(block, row, col)));
            let of_col = |col: usize| (0..ROWS).fold([0.0; 2], |all, row| sum(all, tile(block, row, col)));
            let expected = match (result, i) {
                (0, _) => of_row(i),
                (1, 0..COLS) => of_col(i),
                (2..=4, 0..16) => sum((0..ROWS).map(of_row).fold([0.0; 2], sum), FILL),
                (5, 0..16) => product(of_row(32 + i), TWO),
                (5, 16..32) => product(of_row(i - 16), TWO),
                _ => [77.0; 2],
            };
            assert_eq!(found, expected, "vector {result} of {}, ({i}), {warps} warps", T::NAME);
        }
    }
}

#[test]
fn shared_tiles_of_every_scope() {
    for warps in [1, 3, 4] {
        check::<f32, f32>(warps);
    }
    check::<bf16, f32>(3);
    check::<f16, f32>(2);
    check::<f64, f64>(2);
    check::<i32, i32>(3);
}

/// Every warp of two blocks adds its rows to a shared tile and a shared vector, which are added to global memory.
#[test]
fn atomic_additions() {
    type Args = (In<f32>, In<f32>, InOut<f32>, InOut<f32>);
    let kernel =
        Kernel::<Args>::build("add(xre, xim, yre, yim)", Target::SM_80, |k, (xre, xim, yre, yim)| {
            let block = k.block([96]);
            k.grid([2]);
            let (of_x, of_y) = (row_major(96, 32), row_major(16, 32));
            let x = Cgl { re: k.global(xre, of_x), im: k.global(xim, of_x) };
            let y = Cgl { re: k.global(yre, of_y), im: k.global(yim, of_y) };
            let own: Crt<f32, 1, 2> = x.tile_of(block, k.ctaid_x(), 0).load();
            let sums = k.shared_tile::<Cst<f32, 1, 2>>().fill_with(0.0, 0.0).wait();
            let sums = sums.add_with(|sums| sums.add(0, 0, &own)).wait();
            let of_cols = k.shared_tile::<Csv<f32, 2>>().fill_with(0.0, 0.0).wait();
            let of_cols = of_cols.add_with(|sums| sums.add(0, &own.col_sum())).wait();
            k.when_warp(0, |_| {
                y.tile(0, 0).add(&sums.load::<Row>());
                y.row(3).tile(0).add(&of_cols.load::<Aligned>());
            });
        })
        .unwrap();
    crate::assemble::kernel(&kernel);
    let found = everywhere(|device| {
        let [xre, xim] = [0, 1].map(|part| {
            let x: Vec<_> = (0..96 * 32).map(|at| number(0, at)[part] as f32).collect();
            device.upload(&x).unwrap()
        });
        let [mut yre, mut yim] = [1.0f32, 2.0].map(|initial| device.upload(&[initial; 512]).unwrap());
        for _ in 0..2 {
            device.launch(&kernel, (&xre, &xim, &mut yre, &mut yim)).unwrap();
        }
        pairs(&[device.download(&yre).unwrap(), device.download(&yim).unwrap()])
    });
    for (at, found) in found.into_iter().enumerate() {
        let total = |rows: &mut dyn Iterator<Item = usize>| {
            rows.fold([0.0; 2], |all, row| sum(all, number(0, row * 32 + at % 32))).map(|part| 2.0 * part)
        };
        let mut expected = sum([1.0, 2.0], total(&mut (0..6).map(|band| band * 16 + at / 32)));
        if at / 32 == 3 {
            expected = sum(expected, total(&mut (0..96)));
        }
        assert_eq!(found, expected, "({}, {})", at / 32, at % 32);
    }
}

/// NaN in either part of one element is found in registers and in shared memory, by every thread.
#[test]
fn nan_in_either_part() {
    type Args = (In<f32>, In<f32>, Out<u32>);
    let kernel = Kernel::<Args>::build("nan(xre, xim, y)", Target::SM_80, |k, (xre, xim, y)| {
        k.block([64]);
        k.grid([1]);
        let x = Cgl { re: k.global(xre, row_major(32, 32)), im: k.global(xim, row_major(32, 32)) };
        let tile = k.shared_tile::<Cst<f32, 2, 2>>().fill(x.tile(0, 0)).wait();
        let vector = k.shared_tile::<Csv<f32, 2>>().fill(x.row(7).tile(0)).wait();
        let in_registers = [tile.load::<Col>().has_nan(), vector.load::<Orthogonal>().has_nan()];
        let found = [in_registers[0], in_registers[1], tile.has_nan(), vector.has_nan()];
        let y = k.slice(y, 64 * 4);
        for (i, found) in (0u32..).zip(found) {
            y.at(k.tid_x() * 4 + i).store(found.select(1u32, 0u32));
        }
    })
    .unwrap();
    crate::assemble::kernel(&kernel);
    for (part, at) in [(2, 0), (0, 7 * 32 + 9), (1, 7 * 32 + 30), (0, 3), (1, 1023)] {
        let found = everywhere(|device| {
            let [xre, xim] = [0, 1].map(|own| {
                let mut x = [1.0f32; 1024];
                if own == part {
                    x[at] = f32::NAN;
                }
                device.upload(&x).unwrap()
            });
            let mut y = device.upload(&[77u32; 256]).unwrap();
            device.launch(&kernel, (&xre, &xim, &mut y)).unwrap();
            device.download(&y).unwrap()
        });
        let [in_tile, in_vector] = [part < 2, part < 2 && at / 32 == 7].map(u32::from);
        assert_eq!(found, [in_tile, in_vector, in_tile, in_vector].repeat(64), "part {part}, element {at}");
    }
}
