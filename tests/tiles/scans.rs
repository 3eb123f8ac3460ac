//! Prefix sums, products, maxima and minima of every type with reductions: of rows and columns that a loop over tiles carries, and of
//! vectors in parts; two blocks, two launches, poisoned outputs. The numbers are such that every result is exact.

use pretty_assertions::assert_eq;
use warpwright::{
    prelude::*,
    run::Device,
    tensor::TensorElement,
    tiles::{Accumulate, Aligned, Length16, Naive, Orthogonal, RegisterLayout, VectorLayout},
};

use super::numbers::Numeral;
use crate::cases::everywhere;

/// An element of a matrix; for products, mostly ones.
fn number(launch: usize, at: usize, is_factor: bool) -> f64 {
    match (is_factor, (at * 37 + at / 32 * 11 + launch * 5) % 23) {
        (true, 0) => 2.0,
        (true, _) => 1.0,
        (false, mixed) => (mixed % 9) as f64,
    }
}

/// The operation of a scan, on the host.
type Combine = fn(f64, f64) -> f64;

const COMBINED: [(Combine, bool); 4] =
    [(|a, b| a + b, false), (|a, b| a * b, true), (f64::max, false), (f64::min, false)];

/// The results of a scan of a line that continues after `before`.
fn scanned(line: &[f64], before: f64, combine: Combine) -> Vec<f64> {
    line.iter()
        .scan(before, |total, x| {
            *total = combine(*total, *x);
            Some(*total)
        })
        .collect()
}

/// The results before the first tile.
const BEFORE: f64 = 3.0;

type Scanned<'k, S, L, const H: usize, const W: usize> = (Rt<'k, S, H, W, L>, ColVec<'k, S, H, L>);
type SumOf<T> = <T as Accumulate>::Sum;
type OfTiles<T> = (In<T>, Out<SumOf<T>>, Out<SumOf<T>>, Out<SumOf<T>>, Out<SumOf<T>>);
type OfVectors<T> = (In<T>, Out<SumOf<T>>, Out<SumOf<T>>);

/// A matrix of three tiles per block, of which each row and each column is scanned with the results of the tiles before.
fn tiles<T, L, const H: usize, const W: usize>()
where
    T: Numeral + Accumulate<Sum: Numeral, Length = Length16>,
    SumOf<T>: TensorElement<Length = Length16>,
    L: RegisterLayout,
{
    let (rows, cols) = (16 * H, 16 * W);
    macro_rules! check {
        ($($at:literal $row:ident $row_with:ident $col:ident $col_with:ident;)*) => {$(
            let kernel = Kernel::<OfTiles<T>>::build("scans(x, a, b, c, d)", Target::SM_80, |k, (x, a, b, c, d)| {
                k.block([32]);
                k.grid([2]);
                // Three tiles across for the rows, three down for the columns.
                let (wide, tall) = (row_major(2 * rows as u32, 3 * cols as u32), row_major(3 * rows as u32, 2 * cols as u32));
                let block = k.ctaid_x();
                let of = <SumOf<T> as Numeral>::of;
                let (x_wide, a, b) = (k.global(x, wide), k.global(a, wide), k.global(b, wide));
                let (x_tall, c, d) = (k.global(x, tall), k.global(c, tall), k.global(d, tall));
                let first: ColVec<SumOf<T>, H, L> = k.filled(of(BEFORE));
                let _ = k.fold(3u32, first, |j, before| {
                    let tile: Rt<T, H, W, L> = x_wide.tile(block, j).load();
                    let (result, totals): Scanned<'_, _, L, H, W> = tile.$row_with(before);
                    a.tile(block, j).store(&result);
                    b.tile(block, j).store(&tile.$row());
                    totals
                });
                let first: RowVec<SumOf<T>, W, L> = k.filled(of(BEFORE));
                let _ = k.fold(3u32, first, |i, before| {
                    let tile: Rt<T, H, W, L> = x_tall.tile(i, block).load();
                    let (result, totals) = tile.$col_with(before);
                    c.tile(i, block).store(&result);
                    d.tile(i, block).store(&tile.$col());
                    totals
                });
            })
            .unwrap_or_else(|error| panic!("{}: {error}", T::NAME));
            crate::assemble::kernel(&kernel);
            let (combine, is_factor) = COMBINED[$at];
            let size = 6 * rows * cols;
            let found = everywhere(|device| {
                let mut out = [(); 4].map(|()| device.upload(&vec![<SumOf<T>>::of(77.0); size]).unwrap());
                [0, 1].map(|launch| {
                    let x: Vec<T> = (0..size).map(|at| T::of(number(launch, at, is_factor))).collect();
                    let [a, b, c, d] = &mut out;
                    device.launch(&kernel, (&device.upload(&x).unwrap(), a, b, c, d)).unwrap();
                    out.each_ref().map(|part| {
                        device.download(part).unwrap().into_iter().map(Numeral::number).collect::<Vec<_>>()
                    })
                })
            });
            for (launch, [a, b, c, d]) in found.into_iter().enumerate() {
                let x = |row: usize, col: usize, width: usize| number(launch, row * width + col, is_factor);
                for row in 0..2 * rows {
                    let line: Vec<f64> = (0..3 * cols).map(|col| x(row, col, 3 * cols)).collect();
                    let own = |all: &[f64]| all[row * 3 * cols..][..3 * cols].to_vec();
                    assert_eq!(own(&a), scanned(&line, BEFORE, combine), "{} of {}, row {row}", stringify!($row_with), T::NAME);
                    let each = line.chunks(cols).flat_map(|part| [&part[..1], &scanned(&part[1..], part[0], combine)].concat());
                    assert_eq!(own(&b), each.collect::<Vec<_>>(), "{} of {}, row {row}", stringify!($row), T::NAME);
                }
                for col in 0..2 * cols {
                    let line: Vec<f64> = (0..3 * rows).map(|row| x(row, col, 2 * cols)).collect();
                    let own = |all: &[f64]| (0..3 * rows).map(|row| all[row * 2 * cols + col]).collect::<Vec<_>>();
                    assert_eq!(own(&c), scanned(&line, BEFORE, combine), "{} of {}, column {col}", stringify!($col_with), T::NAME);
                    let each = line.chunks(rows).flat_map(|part| [&part[..1], &scanned(&part[1..], part[0], combine)].concat());
                    assert_eq!(own(&d), each.collect::<Vec<_>>(), "{} of {}, column {col}", stringify!($col), T::NAME);
                }
            }
        )*};
    }
    check! {
        0 row_scan row_scan_with col_scan col_scan_with;
        1 row_scan_prod row_scan_prod_with col_scan_prod col_scan_prod_with;
        2 row_scan_max row_scan_max_with col_scan_max col_scan_max_with;
        3 row_scan_min row_scan_min_with col_scan_min col_scan_min_with;
    }
}

/// The two halves of a vector, of which the second continues the first, and the result of both in all lanes.
fn vectors<T, V, const N: usize>()
where
    T: Numeral + Accumulate<Sum: Numeral>,
    V: VectorLayout,
{
    let length = Rv::<T, N, V>::LENGTH as usize;
    macro_rules! check {
        ($($at:literal $scan:ident $scan_with:ident;)*) => {$(
            let kernel = Kernel::<OfVectors<T>>::build("scans(x, y, totals)", Target::SM_89, |k, (x, y, totals)| {
                k.block([32]);
                k.grid([2]);
                let (x, y) = (k.global(x, vector(4 * length as u32)), k.global(y, vector(4 * length as u32)));
                let block = k.ctaid_x();
                let [first, second] = [0, 1].map(|part| x.tile(block * 2 + part).load::<T, N, V>());
                y.tile(block * 2).store(&first.$scan());
                let (_, before) = first.$scan_with(<SumOf<T>>::of(BEFORE));
                let (result, total) = second.$scan_with(before);
                y.tile(block * 2 + 1).store(&result);
                k.slice(totals, 64).at(block * 32 + k.laneid()).store(total);
            })
            .unwrap_or_else(|error| panic!("{}: {error}", T::NAME));
            crate::assemble::kernel(&kernel);
            let (combine, is_factor) = COMBINED[$at];
            let found = everywhere(|device| {
                let mut y = device.upload(&vec![<SumOf<T>>::of(77.0); 4 * length]).unwrap();
                let mut totals = device.upload(&[<SumOf<T>>::of(77.0); 64]).unwrap();
                [0, 1].map(|launch| {
                    let x: Vec<T> = (0..4 * length).map(|at| T::of(number(launch, at, is_factor))).collect();
                    device.launch(&kernel, (&device.upload(&x).unwrap(), &mut y, &mut totals)).unwrap();
                    [&y, &totals].map(|part| {
                        device.download(part).unwrap().into_iter().map(Numeral::number).collect::<Vec<_>>()
                    })
                })
            });
            for (launch, [y, totals]) in found.into_iter().enumerate() {
                let x: Vec<f64> = (0..4 * length).map(|at| number(launch, at, is_factor)).collect();
                let both = x.chunks(2 * length).map(|both| scanned(both, BEFORE, combine)).collect::<Vec<_>>();
                let expected = x.chunks(2 * length).zip(&both).flat_map(|(x, both)| {
                    [&x[..1], &scanned(&x[1..length], x[0], combine), &both[length..]].concat()
                });
                let what = format!("{} of {} {N} {}", stringify!($scan), T::NAME, V::NAME);
                assert_eq!(y, expected.collect::<Vec<_>>(), "{what}");
                let all = both.iter().flat_map(|both| [both[2 * length - 1]; 32]);
                assert_eq!(totals, all.collect::<Vec<_>>(), "{what}");
            }
        )*};
    }
    check! {
        0 scan scan_with;
        1 scan_prod scan_prod_with;
        2 scan_max scan_max_with;
        3 scan_min scan_min_with;
    }
}

#[test]
fn of_tiles() {
    tiles::<f32, Row, 1, 2>();
    tiles::<f32, Col, 2, 1>();
    tiles::<bf16, Row, 2, 1>();
    tiles::<f16, Col, 1, 3>();
    tiles::<f64, Row, 1, 1>();
    tiles::<i32, Col, 1, 1>();
    tiles::<u64, Row, 1, 1>();
}

#[test]
fn of_vectors() {
    vectors::<f32, Orthogonal, 3>();
    vectors::<bf16, Aligned, 2>();
    vectors::<f16, Naive, 4>();
    vectors::<e4m3, Orthogonal, 2>();
    vectors::<i32, Naive, 1>();
}

/// Of NaN and numbers, maxima and minima are the numbers, also if a lane's first elements are all NaN.
#[test]
fn numbers_are_preferred_to_nan() {
    let kernel =
        Kernel::<(In<f32>, Out<f32>, Out<f32>)>::build("nan(x, y, z)", Target::SM_80, |k, (x, y, z)| {
            k.block([32]);
            k.grid([1]);
            let t: Rt<f32, 1, 1> = k.global(x, row_major(16, 16)).tile(0, 0).load();
            k.global(y, row_major(16, 16)).tile(0, 0).store(&t.row_scan_max());
            k.global(z, row_major(16, 16)).tile(0, 0).store(&t.row_scan_min());
        })
        .unwrap();
    crate::assemble::kernel(&kernel);
    // Row i begins with i NaN, then −∞ and falling numbers.
    let x: Vec<f32> = (0..256usize)
        .map(|at| match (at % 16, at / 16) {
            (col, row) if col < row => f32::NAN,
            (col, row) if col == row => f32::NEG_INFINITY,
            (col, _) => -(col as f32),
        })
        .collect();
    let found = everywhere(|device| {
        let (mut y, mut z) = (device.output::<f32>(256).unwrap(), device.output::<f32>(256).unwrap());
        device.launch(&kernel, (&device.upload(&x).unwrap(), &mut y, &mut z)).unwrap();
        [y, z].map(|found| {
            let found = device.download(&found).unwrap();
            found.into_iter().map(|x| (!x.is_nan()).then_some(x)).collect::<Vec<_>>()
        })
    });
    let expected = [f32::max, f32::min].map(|combine: fn(f32, f32) -> f32| {
        let prefix = |at: usize| (at / 16 * 16..=at).map(|at| x[at]).fold(f32::NAN, combine);
        (0..256).map(prefix).map(|x| (!x.is_nan()).then_some(x)).collect::<Vec<_>>()
    });
    assert_eq!(found, expected);
}
