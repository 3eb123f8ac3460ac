//! Complex tiles.

mod memory;
mod operations;
mod rounding;
mod shared;

use pretty_assertions::assert_eq;
use warpwright::{
    prelude::*,
    run::Device,
    tensor::FloatElement,
    tiles::{Aligned, Cgl, Crt, Crv, Cst, Csv, Plain, Product},
};

use super::numbers::{Numeral, Random};
use crate::cases::everywhere;

/// Whole complex numbers, small enough that every sum of the tests is exact.
fn whole<T: Numeral>(count: usize, seed: u64) -> [Vec<T>; 2] {
    let mut random = Random(seed);
    [(); 2].map(|()| (0..count).map(|_| T::small(&mut random)).collect())
}

/// The complex numbers of two parts.
fn pairs<T: Numeral>([re, im]: &[Vec<T>; 2]) -> Vec<[f64; 2]> {
    re.iter().zip(im).map(|(re, im)| [re.number(), im.number()]).collect()
}

fn product([a, b]: [f64; 2], [c, d]: [f64; 2]) -> [f64; 2] {
    [a * c - b * d, a * d + b * c]
}

fn sum([a, b]: [f64; 2], [c, d]: [f64; 2]) -> [f64; 2] {
    [a + c, b + d]
}

fn conj([a, b]: [f64; 2]) -> [f64; 2] {
    [a, -b]
}

type Args<T, C> = (In<T>, In<T>, In<T>, In<T>, Out<C>, Out<C>);

/// An operand as it is, or transposed in the same registers.
macro_rules! operand {
    (row, $t:ty, $h:literal, $w:literal, $load:expr) => {{
        let tile: Crt<'_, $t, $h, $w, Row> = $load;
        tile
    }};
    (col, $t:ty, $h:literal, $w:literal, $load:expr) => {{
        let tile: Crt<'_, $t, $h, $w, Col> = $load;
        tile
    }};
    (transposed_row, $t:ty, $h:literal, $w:literal, $load:expr) => {{
        let tile: Crt<'_, $t, $h, $w, Row> = $load;
        tile.into_transposed()
    }};
    (transposed_col, $t:ty, $h:literal, $w:literal, $load:expr) => {{
        let tile: Crt<'_, $t, $h, $w, Col> = $load;
        tile.into_transposed()
    }};
}

/// (2 + i) + A·B for A of 2×2 and B of 2×1 subtiles, in two blocks: with operands in every layout, from the same matrices.
macro_rules! products {
    ($($test:ident: $t:ty => $c:ty, $method:ident, $a:ident, $b:ident;)*) => {$(
        #[test]
        fn $test() {
            let (m, n, depth) = (32, 16, 32);
            let kernel = Kernel::<Args<$t, $c>>::build("complex", Target::SM_80, |k, (are, aim, bre, bim, dre, dim)| {
                k.block([32]);
                k.grid([2]);
                let (of_a, of_b, of_d) = (row_major(2 * m, depth), row_major(2 * depth, n), row_major(2 * m, n));
                let a = Cgl { re: k.global(are, of_a), im: k.global(aim, of_a) };
                let b = Cgl { re: k.global(bre, of_b), im: k.global(bim, of_b) };
                let d = Cgl { re: k.global(dre, of_d), im: k.global(dim, of_d) };
                let block = k.ctaid_x();
                let a = operand!($a, $t, 2, 2, a.tile(block, 0).load());
                let b = operand!($b, $t, 2, 1, b.tile(block, 0).load());
                let one = <$c as Numeral>::of;
                let sum = Crt::<$c, 2, 1>::filled(k, one(2.0), one(1.0)).$method(&a, &b);
                d.tile(block, 0).store(&sum);
            })
            .unwrap();
            check::<$t, $c>(&kernel, [m as usize, n as usize, depth as usize]);
        }
    )*};
}

fn check<T, C>(kernel: &Kernel<Args<T, C>>, [m, n, depth]: [usize; 3])
where
    T: Numeral + Product<T, C> + FloatElement,
    C: Numeral,
{
    crate::assemble::kernel(kernel);
    let (a, b) = (whole::<T>(2 * m * depth, 1), whole::<T>(2 * depth * n, 2));
    let found = everywhere(|device| {
        let [are, aim] = a.each_ref().map(|part| device.upload(part).unwrap());
        let [bre, bim] = b.each_ref().map(|part| device.upload(part).unwrap());
        let mut dre = device.output::<C>(2 * m * n).unwrap();
        let mut dim = device.output::<C>(2 * m * n).unwrap();
        device.launch(kernel, (&are, &aim, &bre, &bim, &mut dre, &mut dim)).unwrap();
        pairs(&[device.download(&dre).unwrap(), device.download(&dim).unwrap()])
    });
    let (a, b) = (pairs(&a), pairs(&b));
    let element = |at: usize| {
        let (row, col, block) = (at / n, at % n, at / (m * n));
        let terms = (0..depth).map(|k| product(a[row * depth + k], b[(block * depth + k) * n + col]));
        terms.fold([2.0, 1.0], sum)
    };
    assert_eq!(found, (0..2 * m * n).map(element).collect::<Vec<_>>());
}

products! {
    bf16_ab:   bf16 => f32, mma_ab,   row,            col;
    bf16_abt:  bf16 => f32, mma_abt,  row,            transposed_col;
    bf16_atb:  bf16 => f32, mma_atb,  transposed_row, col;
    bf16_atbt: bf16 => f32, mma_atbt, transposed_row, transposed_col;
    f16_in_f16: f16 => f16, mma_ab,   row,            col;
    tf32_ab:   tf32 => f32, mma_ab,   row,            col;
    tf32_atbt: tf32 => f32, mma_atbt, transposed_row, transposed_col;
    f64_ab:    f64 => f64,  mma_ab,   row,            col;
    f64_abt:   f64 => f64,  mma_abt,  row,            transposed_col;
}

/// Tiles and vectors change their layout and their type, and a tile is carried through a loop.
#[test]
fn layouts_and_types() {
    type Args = (In<f32>, In<f32>, Out<f32>, Out<f32>, Out<bf16>, Out<bf16>);
    let kernel = Kernel::<Args>::build("complex", Target::SM_80, |k, (xre, xim, yre, yim, zre, zim)| {
        k.block([32]);
        k.grid([2]);
        let (b, shape) = (k.ctaid_x(), row_major(64, 32));
        let x = Cgl { re: k.global(xre, shape), im: k.global(xim, shape) };
        let y = Cgl { re: k.global(yre, shape), im: k.global(yim, shape) };
        let z = Cgl { re: k.global(zre, row_major(2, 32)), im: k.global(zim, row_major(2, 32)) };
        let tile: Crt<f32, 2, 2> = x.tile(b, 0).load();
        let swapped: Crt<f16, 2, 2, Col> = tile.swap_layout().convert();
        let sum = k.fold(4u32, Crt::<f32, 2, 2, Col>::zeros(k), |_, mut sum| {
            sum += &swapped.convert();
            sum
        });
        let mut sum = -sum;
        sum -= &x.tile_of(k.warp(), b, 0).load();
        y.tile_at(b * 32, 0).store(&sum);
        let row: Crv<f32, 2> = x.transposed().col(b).tile(0).load();
        z.row(b).tile(0).store(&row.convert::<bf16>());
    })
    .unwrap();
    crate::assemble::kernel(&kernel);
    let x = whole::<f32>(2048, 5);
    let found = everywhere(|device| {
        let [xre, xim] = x.each_ref().map(|part| device.upload(part).unwrap());
        let [mut yre, mut yim] = [(); 2].map(|()| device.upload(&[-77.0f32; 2048]).unwrap());
        let [mut zre, mut zim] = [(); 2].map(|()| device.upload(&[bf16::from_f64(-77.0); 64]).unwrap());
        device.launch(&kernel, (&xre, &xim, &mut yre, &mut yim, &mut zre, &mut zim)).unwrap();
        let y = pairs(&[device.download(&yre).unwrap(), device.download(&yim).unwrap()]);
        (y, pairs(&[device.download(&zre).unwrap(), device.download(&zim).unwrap()]))
    });
    let x = pairs(&x);
    let fivefold = x.iter().map(|number| number.map(|part| -5.0 * part)).collect();
    assert_eq!(found, (fivefold, x[..64].to_vec()));
}

/// Elementwise operations, transposition and conversion: conj(x + y)·(x − y)·2, transposed.
#[test]
fn elementwise() {
    type Args = (In<f32>, In<f32>, In<f32>, In<f32>, Out<f32>, Out<f32>);
    let kernel = Kernel::<Args>::build("complex", Target::SM_80, |k, (xre, xim, yre, yim, zre, zim)| {
        k.block([32]);
        k.grid([1]);
        let shape = row_major(32, 16);
        let x = Cgl { re: k.global(xre, shape), im: k.global(xim, shape) };
        let y = Cgl { re: k.global(yre, shape), im: k.global(yim, shape) };
        let z = Cgl { re: k.global(zre, row_major(16, 32)), im: k.global(zim, row_major(16, 32)) };
        let x: Crt<f32, 2, 1> = x.tile(0, 0).load();
        let y: Crt<f32, 2, 1> = y.tile(0, 0).load();
        let product = &(&x + &y).conj() * &(&x - &y);
        z.tile(0, 0).store(&product.scale(2.0).transpose());
    })
    .unwrap();
    crate::assemble::kernel(&kernel);
    let (x, y) = (whole::<f32>(512, 3), whole::<f32>(512, 4));
    let found = everywhere(|device| {
        let [xre, xim] = x.each_ref().map(|part| device.upload(part).unwrap());
        let [yre, yim] = y.each_ref().map(|part| device.upload(part).unwrap());
        let (mut zre, mut zim) = (device.output::<f32>(512).unwrap(), device.output::<f32>(512).unwrap());
        device.launch(&kernel, (&xre, &xim, &yre, &yim, &mut zre, &mut zim)).unwrap();
        pairs(&[device.download(&zre).unwrap(), device.download(&zim).unwrap()])
    });
    let (x, y) = (pairs(&x), pairs(&y));
    let element = |at: usize| {
        let ([a, b], [c, d]) = (x[at % 32 * 16 + at / 32], y[at % 32 * 16 + at / 32]);
        product([a + c, -b - d], [a - c, b - d]).map(|part| 2.0 * part)
    };
    // −0 and 0 are equal.
    assert_eq!(found, (0..512).map(element).collect::<Vec<_>>());
}

/// Loads past the edge with a number, shared tiles and vectors, quotients, exponentials, and vectors along rows and columns: of the
/// matrix of a block, x · (r / c), by two launches.
#[test]
fn through_shared_memory() {
    type Args = (In<f32>, In<f32>, Out<f32>, Out<f32>);
    let kernel = Kernel::<Args>::build("complex", Target::SM_80, |k, (xre, xim, yre, yim)| {
        k.block([32]);
        k.grid([2]);
        let b = k.ctaid_x();
        let x = Cgl { re: k.global(xre, row_major(60, 32)), im: k.global(xim, row_major(60, 32)) };
        let y = Cgl { re: k.global(yre, row_major(96, 32)), im: k.global(yim, row_major(96, 32)) };
        let edge: Crt<f32, 2, 2> = x.tile(b, 0).load_or(2.0, 1.0);
        let tile = k.shared_tile::<Cst<f32, 2, 2>>().fill(x.tile(b, 0)).wait();
        let row = k.shared_tile::<Csv<f32, 2>>().fill_or(x.row(b).tile(0), 3.0, 4.0).wait();
        let tile: Crt<f32, 2, 2> = tile.load();
        let row: Crv<f32, 2, Aligned> = row.load();
        let col: Crv<f32, 2> = x.col(b).tile(b).load_or(4.0, 0.0);
        // (edge − x) is zero but past the edge, where x is zero.
        let result = &(&edge - &tile) + &(&(&tile * &row) / &col);
        let stored = k.shared_tile::<Cst<f32, 2, 2, Plain>>();
        let stored = stored.store(&result);
        y.tile(b, 0).store_shared(&stored.wait());
        let v: Crv<f32, 2, Aligned> = &(&row / &row) + &row;
        let v = k.shared_tile::<Csv<f32, 2>>().store(&v).wait();
        y.row(b + 64).tile(0).store_shared(&v);
        k.when_warp(0, |_| {
            let angle = Crv { re: row.re.map(|x| x * 0.0), im: row.im.map(|x| x * 0.25) };
            y.row(b + 66).tile(0).store(&angle.exp());
        });
    })
    .unwrap();
    crate::assemble::kernel(&kernel);
    // Magnitudes of powers of two, so that quotients are exact: i^n · 2^m.
    let number = |at: usize| {
        let (turns, size) = (at * 7 % 4, f64::from(1u32 << (at * 5 % 3)));
        [[size, 0.0], [0.0, size], [-size, 0.0], [0.0, -size]][turns]
    };
    let found = everywhere(|device| {
        let [xre, xim] =
            [0, 1].map(|part| (0..60 * 32).map(|at| number(at)[part] as f32).collect::<Vec<_>>());
        let (xre, xim) = (device.upload(&xre).unwrap(), device.upload(&xim).unwrap());
        let poison = vec![-77.0f32; 96 * 32];
        let (mut yre, mut yim) = (device.upload(&poison).unwrap(), device.upload(&poison).unwrap());
        for _ in 0..2 {
            device.launch(&kernel, (&xre, &xim, &mut yre, &mut yim)).unwrap();
        }
        pairs(&[device.download(&yre).unwrap(), device.download(&yim).unwrap()])
    });
    let x = |row: usize, col: usize| if row < 60 { number(row * 32 + col) } else { [0.0; 2] };
    let quotient =
        |[a, b]: [f64; 2], [c, d]: [f64; 2]| product([a, b], [c, -d]).map(|part| part / (c * c + d * d));
    for (at, found) in found.into_iter().enumerate() {
        let (row, col) = (at / 32, at % 32);
        let expected = match row {
            0..60 => {
                let by = x(row, row / 32);
                quotient(product(x(row, col), x(row / 32, col)), by)
            }
            60..64 => [2.0, 1.0],
            64..66 => sum([1.0, 0.0], x(row - 64, col)),
            66..68 => {
                let angle = x(row - 66, col)[1] * 0.25;
                let close = (found[0] - angle.cos()).abs().max((found[1] - angle.sin()).abs()) < 1e-5;
                assert!(close, "e^(i{angle}): found {found:?}");
                found
            }
            _ => [-77.0; 2],
        };
        assert_eq!(found, expected, "({row}, {col})");
    }
}

/// e^(a + ib) and quotients of tiles whose magnitudes are any.
#[test]
fn exponentials_and_quotients() {
    type Args = (In<f32>, In<f32>, Out<f32>, Out<f32>, Out<f32>, Out<f32>);
    let kernel = Kernel::<Args>::build("complex", Target::SM_80, |k, (xre, xim, yre, yim, zre, zim)| {
        k.block([32]);
        k.grid([2]);
        let [xre, xim] = [xre, xim].map(|x| k.global(x, row_major(32, 16)));
        let [yre, yim, zre, zim] = [yre, yim, zre, zim].map(|x| k.global(x, row_major(32, 16)));
        let (x, y, z) = (Cgl { re: xre, im: xim }, Cgl { re: yre, im: yim }, Cgl { re: zre, im: zim });
        let b = k.ctaid_x();
        let x: Crt<f32, 1, 1> = x.tile(b, 0).load();
        let one = Crt::filled(k, 1.0, -1.0);
        z.tile(b, 0).store(&(&one / &x));
        y.tile(b, 0).store(&x.exp());
    })
    .unwrap();
    crate::assemble::kernel(&kernel);
    let number = |at: usize| [(at % 13) as f64 * 0.375 - 2.0, (at % 7) as f64 * 0.5 - 1.25];
    let found = everywhere(|device| {
        let [xre, xim] = [0, 1].map(|part| (0..512).map(|at| number(at)[part] as f32).collect::<Vec<_>>());
        let (xre, xim) = (device.upload(&xre).unwrap(), device.upload(&xim).unwrap());
        let mut out = [(); 4].map(|()| device.output::<f32>(512).unwrap());
        let [yre, yim, zre, zim] = &mut out;
        device.launch(&kernel, (&xre, &xim, yre, yim, zre, zim)).unwrap();
        let [yre, yim, zre, zim] = out.map(|part| device.download(&part).unwrap());
        [pairs(&[yre, yim]), pairs(&[zre, zim])]
    });
    for at in 0..512 {
        let [a, b] = number(at);
        let norm = a * a + b * b;
        let expected = [[a.exp() * b.cos(), a.exp() * b.sin()], [(a - b) / norm, (-a - b) / norm]];
        for (found, expected) in found.iter().zip(expected) {
            let error = (found[at][0] - expected[0]).hypot(found[at][1] - expected[1]);
            assert!(
                error <= 1e-5 * expected[0].hypot(expected[1]),
                "{a} + i{b}: {:?}, expected {expected:?}",
                found[at]
            );
        }
    }
}

/// Products and quotients in place are those of the operators, to the bit: of tiles and of vectors.
#[test]
fn products_and_quotients_in_place() {
    type Args = (In<f32>, In<f32>, Out<f32>, Out<f32>);
    let kernel = Kernel::<Args>::build("complex", Target::SM_80, |k, (xre, xim, yre, yim)| {
        k.block([32]);
        k.grid([2]);
        let x = [xre, xim].map(|part| k.global(part, row_major(64, 16)));
        let y = [yre, yim].map(|part| k.global(part, row_major(8 * 16, 16)));
        let (x, y) = (Cgl { re: x[0].clone(), im: x[1].clone() }, Cgl { re: y[0].clone(), im: y[1].clone() });
        let block = k.ctaid_x();
        let (a, b): (Crt<f32, 1, 1>, Crt<f32, 1, 1>) =
            (x.tile(2 * block, 0).load(), x.tile(2 * block + 1, 0).load());
        let (v, w): (Crv<f32, 1>, Crv<f32, 1>) =
            (x.col(0).tile(2 * block).load(), x.col(1).tile(2 * block).load());
        let (product, quotient) = (&a * &b, &a / &b);
        let copy = || Crt { re: a.re.map(|x| x), im: a.im.map(|x| x) };
        let (mut in_place, mut divided) = (copy(), copy());
        in_place *= &b;
        divided /= &b;
        let (mut of_vectors, expected) = (Crv { re: v.re.map(|x| x), im: v.im.map(|x| x) }, &(&v * &w) / &w);
        of_vectors *= &w;
        of_vectors /= &w;
        for (i, result) in (0u32..).zip([product, in_place, quotient, divided]) {
            y.tile(block * 4 + i, 0).store(&result);
        }
        // The vectors replace the first columns of the products.
        y.col(0).tile(block * 4).store(&expected);
        y.col(0).tile(block * 4 + 1).store(&of_vectors);
    })
    .unwrap();
    crate::assemble::kernel(&kernel);
    let x = [3, 4].map(|seed| {
        let mut random = Random(seed);
        (0..1024).map(|_| f32::random(&mut random) + 4.0).collect::<Vec<_>>()
    });
    let found = everywhere(|device| {
        let [xre, xim] = x.each_ref().map(|part| device.upload(part).unwrap());
        let [mut yre, mut yim] = [(); 2].map(|()| device.output::<f32>(2048).unwrap());
        device.launch(&kernel, (&xre, &xim, &mut yre, &mut yim)).unwrap();
        pairs(&[device.download(&yre).unwrap(), device.download(&yim).unwrap()])
    });
    let x = pairs(&x);
    for (at, results) in found
        .chunks(512)
        .enumerate()
        .flat_map(|(pair, both)| (0..256).map(move |at| (pair * 256 + at, [both[at], both[256 + at]])))
    {
        assert_eq!(results[0], results[1], "element {at}");
        let (pair, at) = (at / 256, at % 256);
        let (a, b) = (x[pair / 2 * 512 + at], x[pair / 2 * 512 + 256 + at]);
        if at % 16 != 0 {
            let [re, im] = if pair % 2 == 0 {
                product(a, b)
            } else {
                product(a, [b[0], -b[1]]).map(|part| part / (b[0] * b[0] + b[1] * b[1]))
            };
            let error = (results[0][0] - re).hypot(results[0][1] - im);
            assert!(
                error <= 1e-5 * (1.0 + re.hypot(im)),
                "{a:?} and {b:?}: {:?}, expected {:?}",
                results[0],
                [re, im]
            );
        }
    }
}
