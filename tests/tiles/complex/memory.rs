//! Complex tiles in global memory and pipelines, conversions between types, and parts of tiles.

use pretty_assertions::assert_eq;
use warpwright::{
    prelude::*,
    ptx::{BuildErrorKind, Read},
    run::Device,
    tiles::{Aligned, Cgl, Complex, Convert, Crt, Crv, Cst, Csv, Orthogonal},
};

use super::{super::numbers::Numeral, pairs, product, sum, whole};
use crate::cases::everywhere;

/// Small numbers, exact in every type, whose parts differ.
fn number(at: usize) -> [f64; 2] {
    let hash = (at * 37 + at / 16 * 11) % 101;
    [hash % 7, hash / 7 % 5].map(|part| part as f64 - 2.0)
}

/// The parts of the first numbers.
fn parts<T: Numeral>(count: usize) -> [Vec<T>; 2] {
    [0, 1].map(|part| (0..count).map(|at| T::of(number(at)[part])).collect())
}

/// Numbers that alternate in memory are loaded, multiplied by i and stored, transposed, past the edges of both matrices.
#[test]
fn parts_that_alternate_in_memory() {
    let (m, n) = (37, 29);
    type Args = (In<f32>, Out<f32>, u32, u32);
    let kernel = Kernel::<Args>::build("alternate(x, y, m, n)", Target::SM_80, |k, (x, y, m, n)| {
        k.block([32]);
        k.grid((m.tiles(16), n.tiles(16)));
        let x = k.global(x, contiguous([m, n, 2.into()])).permuted([2, 0, 1]);
        let y = k.global(y, contiguous([n, m, 2.into()])).permuted([2, 0, 1]);
        let (x, y) = (Cgl { re: x.batch(0), im: x.batch(1) }, Cgl { re: y.batch(0), im: y.batch(1) });
        let tile: Crt<f32, 1, 1> = x.tile(k.ctaid_x(), k.ctaid_y()).load();
        y.transposed().tile(k.ctaid_x(), k.ctaid_y()).store(&(tile * Complex { re: 0.0, im: 1.0 }));
    })
    .unwrap();
    crate::assemble::kernel(&kernel);
    let x: Vec<f32> = (0..m * n).flat_map(number).map(|part| part as f32).collect();
    let found = everywhere(|device| {
        let (x, mut y) = (device.upload(&x).unwrap(), device.upload(&vec![f32::NAN; 2 * m * n]).unwrap());
        device.launch(&kernel, (&x, &mut y, m as u32, n as u32)).unwrap();
        device.download(&y).unwrap()
    });
    let element = |at: usize| {
        let [re, im] = number(at % m * n + at / m);
        [-im, re].map(|part| part as f32)
    };
    assert_eq!(found, (0..m * n).flat_map(element).collect::<Vec<_>>());
}

/// Views of matrices and vectors: other axes, parts, and the tiles of the warps of a block.
#[test]
fn views() {
    type Args = (In<f32>, In<f32>, Out<f32>, Out<f32>);
    let kernel =
        Kernel::<Args>::build("views(xre, xim, yre, yim)", Target::SM_80, |k, (xre, xim, yre, yim)| {
            let block = k.block([64]);
            k.grid([2]);
            let (of_x, b) = (contiguous([40, 3, 32]), k.ctaid_x());
            let x = Cgl { re: k.global(xre, of_x), im: k.global(xim, of_x) };
            let y = Cgl { re: k.global(yre, row_major(64, 32)), im: k.global(yim, row_major(64, 32)) };
            // The matrix of 40×32 numbers in the middle, of whose last rows and columns the tiles see only some.
            let x = x.permuted([1, 0, 2]).batch(1).sub_matrix((2, 1), (34, 30));
            let tile: Crt<f32, 1, 2> = x.skip(b, 0).tile_of(block, 0, 0).load_or(-1.0, 7.0);
            y.tile_of(block, b, 0).store(&tile);
            block.sync();
            let (own, next) = (x.col(3).tile_of(block, 0).load::<f32, 1, Orthogonal>(), x.row(5).tile_at(9));
            y.col(31).tile_at(b * 32 + k.warp().rank() * 16).store(&own);
            let next: Crv<f32, 1, Aligned> = next.load_or(8.0, 9.0);
            block.sync();
            k.when_warp(1, |_| y.row(b * 32 + 31).tile(0).store(&next));
        })
        .unwrap();
    crate::assemble::kernel(&kernel);
    let found = everywhere(|device| {
        let [xre, xim] = parts::<f32>(40 * 3 * 32).map(|part| device.upload(&part).unwrap());
        let [mut yre, mut yim] = [(); 2].map(|()| device.upload(&[f32::NAN; 64 * 32]).unwrap());
        device.launch(&kernel, (&xre, &xim, &mut yre, &mut yim)).unwrap();
        pairs(&[device.download(&yre).unwrap(), device.download(&yim).unwrap()])
    });
    let x = |row: usize, col: usize, other: [f64; 2]| {
        if row < 34 && col < 30 { number(((row + 2) * 3 + 1) * 32 + col + 1) } else { other }
    };
    for (at, found) in found.into_iter().enumerate() {
        let (block, row, col) = (at / 1024, at / 32 % 32, at % 32);
        let expected = match (row, col) {
            (31, 0..16) => x(5, col + 9, [8.0, 9.0]),
            (_, 31) => x(row, 3, [0.0; 2]),
            _ => x(row + block, col, [-1.0, 7.0]),
        };
        assert_eq!(found, expected, "block {block}, ({row}, {col})");
    }
}

/// Σ A·B ∘ v over stages of complex tiles and vectors, of `count` tiles of rows that reach past the edge; numbers past it are 1 + 2i in A.
fn pipeline<const N: usize>(count: u32) {
    type Args = (In<bf16>, In<bf16>, In<bf16>, In<bf16>, Out<f32>, Out<f32>, u32);
    let signature = "pipeline(are, aim, bre, bim, dre, dim, n)";
    let kernel = Kernel::<Args>::build(signature, Target::SM_80, |k, (are, aim, bre, bim, dre, dim, n)| {
        let block = k.block([64]);
        k.grid([1]);
        let (of_a, of_b, of_d) = (row_major(29, 80), row_major(80, 16), row_major(32, 16));
        let a = Cgl { re: k.global(are, of_a), im: k.global(aim, of_a) };
        let b = Cgl { re: k.global(bre, of_b), im: k.global(bim, of_b) };
        let d = Cgl { re: k.global(dre, of_d), im: k.global(dim, of_d) };
        let stages = k.pipeline::<(Cst<bf16, 2, 1>, Cst<bf16, 1, 1>, Csv<bf16, 1>), N>();
        let one = [1.0, 2.0].map(bf16::from_f64);
        let sums = stages.run(
            n,
            Crt::<f32, 1, 1>::zeros(k),
            |i, stage| stage.fill((a.tile(0, i).or(one[0], one[1]), b.tile(i, 0), b.col(0).tile(i))),
            |sums, (a, b, v)| {
                let a: Crt<bf16, 1, 1> = a.tile_of(block).load();
                let product = Crt::<f32, 1, 1>::zeros(k).mma_ab(&a, &b.load());
                sums + &product.map_parts(|part| part) + &(Crt::zeros(k) + &v.load_as::<f32, Orthogonal>())
            },
        );
        d.tile_of(block, 0, 0).store(&sums);
    })
    .unwrap();
    crate::assemble::kernel(&kernel);
    let (a, b) = (whole::<bf16>(29 * 80, 5), whole::<bf16>(80 * 16, 6));
    let found = everywhere(|device| {
        let [are, aim] = a.each_ref().map(|part| device.upload(part).unwrap());
        let [bre, bim] = b.each_ref().map(|part| device.upload(part).unwrap());
        let [mut dre, mut dim] = [(); 2].map(|()| device.upload(&[f32::NAN; 512]).unwrap());
        device.launch(&kernel, (&are, &aim, &bre, &bim, &mut dre, &mut dim, count)).unwrap();
        pairs(&[device.download(&dre).unwrap(), device.download(&dim).unwrap()])
    });
    let (a, b) = (pairs(&a), pairs(&b));
    let element = |at: usize| {
        let (row, col) = (at / 16, at % 16);
        let a = |depth: usize| if row < 29 { a[row * 80 + depth] } else { [1.0, 2.0] };
        let products = (0..16 * count as usize).map(|depth| product(a(depth), b[depth * 16 + col]));
        let vectors = (0..count as usize).map(|i| b[(i * 16 + row % 16) * 16]);
        products.chain(vectors).fold([0.0; 2], sum)
    };
    assert_eq!(found, (0..512).map(element).collect::<Vec<_>>(), "{count} stages of {N}");
}

#[test]
fn stages_of_complex_tiles() {
    for count in [0, 1, 3, 5] {
        pipeline::<2>(count);
        pipeline::<3>(count);
    }
}

/// In an emitted loop, both parts of a tile are filled after one barrier.
#[test]
fn one_barrier_for_both_parts() {
    let barriers = |emit: for<'k> fn(Builder<'k>, Cgl<'k, f32, Read>)| {
        let kernel = Kernel::<(In<f32>, In<f32>)>::build("loop(re, im)", Target::SM_80, |k, (re, im)| {
            k.block([64]);
            k.grid([1]);
            emit(k, Cgl { re: k.global(re, row_major(16, 16)), im: k.global(im, row_major(16, 16)) });
        });
        kernel.unwrap().ptx().matches("bar.sync").count()
    };
    let real = barriers(|k, x| {
        k.for_(4u32, |_| {
            drop(
                k.shared_tile::<St<f32, 1, 1>>()
                    .fill(x.re.tile(0, 0))
                    .wait()
                    .update(|_, t| t)
                    .wait()
                    .release(),
            );
        });
    });
    let complex = barriers(|k, x| {
        k.for_(4u32, |_| {
            drop(
                k.shared_tile::<Cst<f32, 1, 1>>().fill(x.tile(0, 0)).wait().update(|_, t| t).wait().release(),
            );
        });
    });
    assert!(real > 2, "{real}");
    assert_eq!(complex, real);
}

/// Converts a tile and a vector from `T` to `U` as they are loaded, in registers, as they are stored, and from shared memory.
fn conversions<T, U>()
where
    T: Numeral + Convert<U>,
    U: Numeral,
{
    type Args<T, U> = (In<T>, In<T>, Out<U>, Out<U>);
    let kernel = Kernel::<Args<T, U>>::build(
        "convert(xre, xim, yre, yim)",
        Target::SM_89,
        |k, (xre, xim, yre, yim)| {
            k.block([32]);
            k.grid([2]);
            let (b, of_x, of_y) = (k.ctaid_x(), row_major(32, 32), row_major(160, 32));
            let x = Cgl { re: k.global(xre, of_x), im: k.global(xim, of_x) };
            let y = Cgl { re: k.global(yre, of_y), im: k.global(yim, of_y) };
            let x_tile = || x.tile(b, 0);
            y.tile(b * 5, 0).store(&x_tile().load::<U, 1, 2, Row>());
            y.tile(b * 5 + 1, 0).store(&x_tile().load::<T, 1, 2, Col>().convert::<U>());
            y.tile(b * 5 + 2, 0).store(&x_tile().load::<T, 1, 2, Row>());
            let shared = k.shared_tile::<Cst<T, 1, 2>>().fill(x_tile()).wait();
            y.tile(b * 5 + 3, 0).store(&shared.load_as::<U, Row>());
            let copy = k.shared_tile::<Cst<U, 1, 2>>().copy_from(&shared).wait();
            let other = k.shared_tile::<Cst<U, 1, 2>>().store(&shared.load::<Row>()).wait();
            drop(other);
            y.tile(b * 5 + 4, 0).store_shared(&copy);
            // The first row of the second tile, as a vector.
            let row: Crv<T, 2, Aligned> = x.row(b * 16).tile(0).load::<T, 2, Aligned>();
            y.row(b * 80 + 16).tile(0).store(&row.convert::<U>());
        },
    )
    .unwrap_or_else(|error| panic!("{} to {}: {error}", T::NAME, U::NAME));
    crate::assemble::kernel(&kernel);
    let found = everywhere(|device| {
        let [xre, xim] = parts::<T>(1024).map(|part| device.upload(&part).unwrap());
        let [mut yre, mut yim] = [(); 2].map(|()| device.upload(&[U::of(77.0); 5120]).unwrap());
        device.launch(&kernel, (&xre, &xim, &mut yre, &mut yim)).unwrap();
        pairs(&[device.download(&yre).unwrap(), device.download(&yim).unwrap()])
    });
    let element =
        |at: usize| number(at / 2560 * 512 + at % 512).map(|part| U::of(T::of(part).number()).number());
    assert_eq!(found, (0..5120).map(element).collect::<Vec<_>>(), "{} to {}", T::NAME, U::NAME);
}

#[test]
fn conversions_of_both_parts() {
    macro_rules! pairs {
        ($($t:ident => $($u:ident)*;)*) => { $($( conversions::<$t, $u>(); )*)* };
    }
    pairs! {
        f16  => f32 bf16 f64 tf32 i32;
        bf16 => f32 f16;
        f32  => f16 bf16 f64 tf32 i32;
        f64  => f32 f16;
        i32  => f32 bf16;
    }
}

/// Between 8 bits and wider elements, with saturation, and parts of tiles.
#[test]
fn widths_and_parts() {
    type Args = (In<e4m3>, In<e4m3>, Out<f32>, Out<f32>);
    let kernel =
        Kernel::<Args>::build("widths(xre, xim, yre, yim)", Target::SM_89, |k, (xre, xim, yre, yim)| {
            k.block([32]);
            k.grid([1]);
            let x = Cgl { re: k.global(xre, row_major(32, 64)), im: k.global(xim, row_major(32, 64)) };
            let y = Cgl { re: k.global(yre, row_major(128, 64)), im: k.global(yim, row_major(128, 64)) };
            let tile: Crt<e4m3, 2, 2> = x.tile(0, 0).load();
            let wide: Crt<bf16, 2, 4> = tile.widen();
            y.tile(0, 0).store(&wide.narrow::<e4m3, 2, 2>().widen::<f32, 2, 4>());
            // The halves exchanged: of the rows, and of the columns.
            let [left, right] = wide.convert::<bf16>().hsplit::<2, 2>();
            let [top, bottom] = wide.vsplit::<1, 2>();
            y.tile(1, 0).store(&Crt::<bf16, 2, 4>::vconcat([bottom, top]));
            let exchanged = Crt::<bf16, 2, 4>::hconcat([right, left]);
            y.tile(2, 0).store(&exchanged);
            let large = exchanged.convert::<f32>().scale(1e5).convert_saturating::<f16>();
            y.tile(3, 0).store(&large.convert::<f32>().scale(1.0 / 65504.0));
        })
        .unwrap();
    crate::assemble::kernel(&kernel);
    let found = everywhere(|device| {
        let [xre, xim] = parts::<e4m3>(2048).map(|part| device.upload(&part).unwrap());
        let [mut yre, mut yim] = [(); 2].map(|()| device.upload(&[f32::NAN; 8192]).unwrap());
        device.launch(&kernel, (&xre, &xim, &mut yre, &mut yim)).unwrap();
        pairs(&[device.download(&yre).unwrap(), device.download(&yim).unwrap()])
    });
    for (at, found) in found.into_iter().enumerate() {
        let (row, col) = (at / 64 % 32, at % 64);
        let exchanged = || number(row * 64 + (col + 32) % 64);
        let expected = match at / 2048 {
            0 => number(at),
            1 => number((row + 16) % 32 * 64 + col),
            2 => exchanged(),
            _ => exchanged().map(|part| if part == 0.0 { 0.0 } else { part.signum() }),
        };
        assert_eq!(found, expected, "({row}, {col})");
    }
}

/// Both parts of an element are dropped together, and vectors of several warps are added.
#[test]
fn dropout_and_vectors() {
    type Args = (In<f32>, In<f32>, Out<f32>, Out<f32>);
    let kernel =
        Kernel::<Args>::build("drop(xre, xim, yre, yim)", Target::SM_80, |k, (xre, xim, yre, yim)| {
            let block = k.block([64]);
            k.grid([1]);
            let x = Cgl { re: k.global(xre, row_major(32, 16)), im: k.global(xim, row_major(32, 16)) };
            let y = Cgl { re: k.global(yre, row_major(48, 16)), im: k.global(yim, row_major(48, 16)) };
            let tile: Crt<f32, 1, 1> = x.tile_of(block, 0, 0).load();
            let sums = tile.col_sum_over(block);
            let same = tile.col_sum().all_reduce_sum(block);
            let rows = tile.row_sum_over(block);
            let all = tile.sum_over(block);
            let scan = sums.scan().to_layout::<Aligned>();
            let element = sums.get(3);
            y.tile_of(block, 0, 0).store(&tile.dropout(0.5, &k.random(3, 4).tile(k.warp().rank(), 0)));
            k.when_warp(0, |_| {
                let y = y.skip(32, 0);
                y.row(0).tile(0).store(&sums);
                y.row(1).tile(0).store(&same);
                y.row(2).tile(0).store(&scan);
                y.row(3).tile(0).store(&(Crv::<f32, 1, Aligned>::zeros(k) + element));
                y.row(4).tile(0).store(&(Crv::<f32, 1, Aligned>::zeros(k) + all));
                y.row(5).tile(0).store(&rows.to_layout::<Aligned>());
            });
        })
        .unwrap();
    crate::assemble::kernel(&kernel);
    let found = everywhere(|device| {
        let [xre, xim] = parts::<f32>(512).map(|part| device.upload(&part).unwrap());
        let [mut yre, mut yim] = [(); 2].map(|()| device.upload(&[77.0f32; 768]).unwrap());
        device.launch(&kernel, (&xre, &xim, &mut yre, &mut yim)).unwrap();
        pairs(&[device.download(&yre).unwrap(), device.download(&yim).unwrap()])
    });
    let of_row = |row: usize| (0..16).fold([0.0; 2], |all, col| sum(all, number(row * 16 + col)));
    let of_col = |col: usize| (0..32).fold([0.0; 2], |all, row| sum(all, number(row * 16 + col)));
    let mut dropped = 0;
    for (at, found) in found.into_iter().enumerate() {
        let (row, col) = (at / 16, at % 16);
        let expected = match row {
            0..32 => {
                let is_dropped = found == [0.0; 2];
                dropped += usize::from(is_dropped);
                number(at).map(|part| if is_dropped { 0.0 } else { 2.0 * part })
            }
            32 | 33 => of_col(col),
            34 => (0..=col).map(of_col).fold([0.0; 2], sum),
            35 => of_col(3),
            36 => (0..16).map(of_col).fold([0.0; 2], sum),
            // Warp `w` has rows 16w + i: the sum of rows i of all warps.
            37 => sum(of_row(col), of_row(16 + col)),
            _ => [77.0; 2],
        };
        assert_eq!(found, expected, "({row}, {col})");
    }
    assert!((200..320).contains(&dropped), "{dropped} of 512 numbers are dropped");
}

/// Parts that different scopes own, which no barrier would protect, are refused.
#[test]
fn parts_of_different_scopes_are_refused() {
    let kernel = Kernel::<()>::build("scopes", Target::SM_80, |k, ()| {
        k.block([64]);
        let tile =
            Cst { re: k.shared_tile::<St<f32, 1, 1>>(), im: k.shared_tile_of::<St<f32, 1, 1>>(k.warp()) };
        drop(tile.fill_with(1.0, 2.0).wait());
    });
    let error = kernel.unwrap_err();
    let BuildErrorKind::Refused(why) = error.kind() else { panic!("{error}") };
    assert!(why.contains("expected a result that"), "{why}");
}
