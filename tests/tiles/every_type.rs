//! Arithmetic, reductions and predicates of every element type, including types that compute in a wider one: two blocks, two launches,
//! poisoned outputs.

use warpwright::{
    prelude::*,
    ptx::{Element as _, traits::Divide},
    run::Device,
    tensor::Computed,
    tiles::{Accumulate, RegisterLayout},
};

use super::numbers::{Numeral, element_types};
use crate::cases::{everywhere, everywhere_of};

const BLOCKS: usize = 2;

/// An element between 4 and 12, some negative if the type has a sign; and one of 1, 2 and 4, by which its quotients are exact in every type
/// with fractions.
fn numbers<T: Numeral>(launch: usize, at: usize) -> (f64, f64) {
    let mixed = (at * 37 + at / 32 * 11 + launch * 5) % 101;
    let is_negative = mixed % 5 < 2 && T::of(-1.0).number() < 0.0;
    ((4 + mixed % 9) as f64 * if is_negative { -1.0 } else { 1.0 }, f64::from(1 << (mixed % 3)))
}

/// The results of a kernel on two tiles, in the order of the kernel.
type Reference = fn(f64, f64) -> f64;

const REFERENCES: [(&str, Reference); 12] = [
    ("+", |x, y| x + y),
    ("-", |x, y| x - y),
    ("*", |x, y| x * y),
    ("/", |x, y| x / y),
    ("/=", |x, y| x / y),
    ("/ 2", |x, _| x / 2.0),
    ("max", |x, y| x.max(y)),
    ("min", |x, y| x.min(y)),
    ("mul_add", |x, y| x * y + x),
    ("add_product", |x, y| x + y * y),
    ("relu", |x, _| x.max(0.0)),
    ("clamp", |x, _| x.clamp(5.0, 8.0)),
];

type Args<T> = (In<T>, In<T>, Out<T>);

fn arithmetic<T, L: RegisterLayout>()
where
    T: Numeral + Computed<In: Divide>,
{
    let (rows, cols) = (Rt::<T, 2, 1, L>::ROWS, Rt::<T, 2, 1, L>::COLS);
    let (size, count) = ((rows * cols) as usize, REFERENCES.len() as u32);
    let kernel = Kernel::<Args<T>>::build("arithmetic(x, y, z)", T::TARGET, |k, (x, y, z)| {
        k.block([32]);
        k.grid([BLOCKS as u32]);
        let at = |tensor: u32| row_major(BLOCKS as u32 * tensor * rows, cols);
        let [x, y] = [x, y].map(|from| k.global(from, at(1)).tile(k.ctaid_x(), 0).load::<T, 2, 1, L>());
        let z = k.global(z, at(count));
        let copy = || x.map_words(|word| word);
        let mut divided = copy();
        divided /= &y;
        let mut next = k.ctaid_x() * count;
        macro_rules! store {
            ($result:expr) => {
                z.tile(next, 0).store(&$result);
                next = next + 1;
            };
        }
        store!(&x + &y);
        store!(&x - &y);
        store!(&x * &y);
        store!(&x / &y);
        store!(divided);
        store!(&x / T::of(2.0));
        store!(copy().max(&y));
        store!(copy().min(&y));
        store!(copy().mul_add(&y, &x));
        store!(copy().add_product(&y, &y));
        store!(copy().relu());
        z.tile(next, 0).store(&copy().clamp(T::of(5.0), T::of(8.0)));
    })
    .unwrap_or_else(|error| panic!("{}: {error}", T::NAME));
    crate::assemble::kernel(&kernel);
    let found = everywhere_of(T::TARGET, |device| {
        let mut z = device.upload(&vec![T::of(77.0); BLOCKS * size * REFERENCES.len()]).unwrap();
        [0, 1].map(|launch| {
            let all: Vec<_> = (0..BLOCKS * size).map(|at| numbers::<T>(launch, at)).collect();
            let x = device.upload(&all.iter().map(|(x, _)| T::of(*x)).collect::<Vec<_>>()).unwrap();
            let y = device.upload(&all.iter().map(|(_, y)| T::of(*y)).collect::<Vec<_>>()).unwrap();
            device.launch(&kernel, (&x, &y, &mut z)).unwrap();
            device.download(&z).unwrap().iter().map(|z: &T| z.to_mem_bits()).collect::<Vec<_>>()
        })
    });
    for (launch, found) in found.into_iter().enumerate() {
        for (band, found) in found.chunks(size).enumerate() {
            let (block, (name, reference)) = (band / REFERENCES.len(), REFERENCES[band % REFERENCES.len()]);
            let expected = (0..size).map(|at| {
                let (x, y) = numbers::<T>(launch, block * size + at);
                T::of(reference(T::of(x).number(), y)).to_mem_bits()
            });
            assert_eq!(found, expected.collect::<Vec<_>>(), "{name} of {} {:?}", T::NAME, L::LAYOUT);
        }
    }
}

/// The sum, maximum and first position of the maximum of each row, and whether any and all elements are above 10; over the tile, the same
/// and whether it has NaN.
macro_rules! reductions {
    ($t:ty, $l:ident, $row_sum:ident $row_min:ident $row_argmax:ident $row_argmin_with:ident $row_any:ident $row_all:ident, $by_rows:literal) => {{
        type T = $t;
        type Sum = <T as Accumulate>::Sum;
        const H: usize = 2;
        const W: usize = 1;
        let (rows, cols) = (Rt::<T, H, W, $l>::ROWS as usize, Rt::<T, H, W, $l>::COLS as usize);
        let lines = if $by_rows { rows } else { cols };
        type Args = (In<T>, Out<Sum>, Out<u32>, Out<Sum>, Out<u32>);
        let kernel = Kernel::<Args>::build("reductions", T::TARGET, |k, (x, sums, indices, all, places)| {
            k.block([32]);
            k.grid([BLOCKS as u32]);
            let b = k.ctaid_x();
            let x: Rt<T, H, W, $l> =
                k.global(x, row_major((BLOCKS * rows) as u32, cols as u32)).tile(b, 0).load();
            let (sums, indices) = (
                k.global(sums, row_major(BLOCKS as u32 * 4, lines as u32)),
                k.global(indices, row_major(BLOCKS as u32 * 4, lines as u32)),
            );
            let ten = Sum::of(10.0);
            let (best, at) = x.$row_argmax();
            // The same tile twice: the first of equal elements stays.
            let (least, first) =
                x.$row_argmin_with(x.$row_argmin_with((k.filled(Sum::of(99.0)), k.zeros()), 100), 200);
            sums.row(b * 4).tile(0).store(&x.$row_sum());
            sums.row(b * 4 + 1).tile(0).store(&x.$row_min());
            sums.row(b * 4 + 2).tile(0).store(&best);
            sums.row(b * 4 + 3).tile(0).store(&least);
            indices.row(b * 4).tile(0).store(&at);
            indices.row(b * 4 + 1).tile(0).store(&first);
            indices.row(b * 4 + 2).tile(0).store(&x.$row_any(|x| x.gt(ten)));
            indices.row(b * 4 + 3).tile(0).store(&x.$row_all(|x| x.gt(ten)));
            let (best, (row, col)) = x.argmax();
            let (least, index) = x.$row_sum().argmin();
            let (all, places) = (k.slice(all, BLOCKS as u32 * 4), k.slice(places, BLOCKS as u32 * 4));
            for (i, value) in (0u32..).zip([x.sum(), x.minimum(), best, least]) {
                all.at(b * 4 + i).store(value);
            }
            for (i, value) in (0u32..).zip([row, col, index, x.has_nan().select(1u32, 0u32)]) {
                places.at(b * 4 + i).store(value);
            }
        })
        .unwrap_or_else(|error| panic!("{}: {error}", T::NAME));
        crate::assemble::kernel(&kernel);
        let size = rows * cols;
        let found = everywhere_of(T::TARGET, |device| {
            let mut sums = device.upload(&vec![Sum::of(77.0); BLOCKS * 4 * lines]).unwrap();
            let mut indices = device.upload(&vec![77u32; BLOCKS * 4 * lines]).unwrap();
            let mut all = device.upload(&[Sum::of(77.0); BLOCKS * 4]).unwrap();
            let mut places = device.upload(&[77u32; BLOCKS * 4]).unwrap();
            [0, 1].map(|launch| {
                let x: Vec<T> = (0..BLOCKS * size).map(|at| T::of(numbers::<T>(launch, at).0)).collect();
                device
                    .launch(
                        &kernel,
                        (&device.upload(&x).unwrap(), &mut sums, &mut indices, &mut all, &mut places),
                    )
                    .unwrap();
                let numbers = |found: Vec<Sum>| found.into_iter().map(Sum::number).collect::<Vec<_>>();
                (
                    numbers(device.download(&sums).unwrap()),
                    device.download(&indices).unwrap(),
                    numbers(device.download(&all).unwrap()),
                    device.download(&places).unwrap(),
                )
            })
        });
        for (launch, found) in found.into_iter().enumerate() {
            let mut expected = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
            for block in 0..BLOCKS {
                let x = |row: usize, col: usize| {
                    T::of(numbers::<T>(launch, block * size + row * cols + col).0).number()
                };
                let line = |at: usize| -> Vec<f64> {
                    if $by_rows {
                        (0..cols).map(|col| x(at, col)).collect()
                    } else {
                        (0..rows).map(|row| x(row, at)).collect()
                    }
                };
                let best = |line: &[f64]| line.iter().copied().fold(0.0, f64::max);
                let least = |line: &[f64]| line.iter().copied().fold(99.0, f64::min);
                let first = |line: &[f64], of: f64| line.iter().position(|x| *x == of).unwrap() as u32;
                let each = |f: &dyn Fn(&[f64]) -> f64| (0..lines).map(|at| f(&line(at))).collect::<Vec<_>>();
                let sums = each(&|line| line.iter().sum());
                expected.0.extend([sums.clone(), each(&least), each(&best), each(&least)].concat());
                let indices =
                    |f: &dyn Fn(&[f64]) -> u32| (0..lines).map(|at| f(&line(at))).collect::<Vec<_>>();
                expected.1.extend(
                    [
                        indices(&|line| first(line, best(line))),
                        indices(&|line| 100 + first(line, least(line))),
                        indices(&|line| u32::from(line.iter().any(|x| *x > 10.0))),
                        indices(&|line| u32::from(line.iter().all(|x| *x > 10.0))),
                    ]
                    .concat(),
                );
                let all: Vec<f64> = (0..size).map(|at| x(at / cols, at % cols)).collect();
                let smallest = sums.iter().copied().fold(f64::INFINITY, f64::min);
                expected.2.extend([all.iter().sum::<f64>(), least(&all), best(&all), smallest]);
                let at = first(&all, best(&all));
                expected.3.extend([at / cols as u32, at % cols as u32, first(&sums, smallest), 0]);
            }
            assert_eq!(found, expected, "{} {:?}, launch {launch}", T::NAME, <$l as RegisterLayout>::LAYOUT);
        }
    }};
}

macro_rules! arithmetic_of {
    ($($t:ident)*) => {$(
        arithmetic::<$t, Row>();
        arithmetic::<$t, Col>();
    )*};
}

#[test]
fn arithmetic_of_every_type() {
    element_types! { computed, arithmetic_of }
}

macro_rules! reductions_of {
    ($($t:ident)*) => {$(
        reductions!($t, Row, row_sum row_min row_argmax row_argmin_with row_any row_all, true);
        reductions!($t, Col, col_sum col_min col_argmax col_argmin_with col_any col_all, false);
    )*};
}

#[test]
fn reductions_of_every_type() {
    element_types! { computed, reductions_of }
}

/// Across the words: along the sides of 32 elements of 8-bit subtiles.
#[test]
fn along_the_other_axis() {
    reductions!(bf16, Col, row_sum row_min row_argmax row_argmin_with row_any row_all, true);
    reductions!(f32, Row, col_sum col_min col_argmax col_argmin_with col_any col_all, false);
    reductions!(tf32, Row, col_sum col_min col_argmax col_argmin_with col_any col_all, false);
    reductions!(e4m3, Row, col_sum col_min col_argmax col_argmin_with col_any col_all, false);
    reductions!(e5m2, Col, row_sum row_min row_argmax row_argmin_with row_any row_all, true);
    reductions!(i8, Row, col_sum col_min col_argmax col_argmin_with col_any col_all, false);
    reductions!(u8, Col, row_sum row_min row_argmax row_argmin_with row_any row_all, true);
}

/// Elementary functions in f32, of types without their own.
#[test]
fn functions_of_narrow_types() {
    fn check<T: Numeral + Computed<In = f32>, const W: usize>(precision: f64) {
        let kernel = Kernel::<(In<T>, Out<T>)>::build("functions(x, y)", T::TARGET, |k, (x, y)| {
            k.block([32]);
            k.grid([2]);
            let (x, y) = (k.global(x, row_major(32, 32)), k.global(y, row_major(160, 32)));
            let b = k.ctaid_x();
            let tile = || x.tile_at(b * 16, 0).load::<T, 1, W, Row>();
            let whole = tile().abs();
            for (i, result) in
                (0u32..).zip([tile().exp2(), tile().sqrt(), -tile(), tile().sigmoid(), whole.recip()])
            {
                y.tile_at((b * 5 + i) * 16, 0).store(&result);
            }
        })
        .unwrap();
        crate::assemble::kernel(&kernel);
        let x = |at: usize| T::of([0.5, 1.0, 1.5, 2.0, 3.0][at % 5]).number();
        let found = everywhere_of(T::TARGET, |device| {
            let input: Vec<T> = (0..1024).map(|at| T::of(x(at))).collect();
            let mut y = device.upload(&[T::of(-77.0); 5120]).unwrap();
            device.launch(&kernel, (&device.upload(&input).unwrap(), &mut y)).unwrap();
            device.download(&y).unwrap().into_iter().map(|y| y.number()).collect::<Vec<_>>()
        });
        for (at, found) in found.into_iter().enumerate() {
            let (band, x) = (at / 512, x(at / 2560 * 512 + at % 512));
            let expected = [x.exp2(), x.sqrt(), -x, 1.0 / (1.0 + (-x).exp()), 1.0 / x][band % 5];
            assert!(
                (found - expected).abs() <= precision * expected.abs(),
                "{} {band}: of {x} {found}, expected {expected}",
                T::NAME
            );
        }
    }
    check::<tf32, 2>(1.0 / 1024.0);
    check::<e4m3, 1>(1.0 / 16.0);
    check::<e5m2, 1>(1.0 / 8.0);
    check::<e3m2, 1>(1.0 / 8.0);
    // One third is not a normal number.
    check::<e2m3, 1>(1.0 / 4.0);
}

/// Functions of types that compute in themselves: the roots and the reciprocal of f64, and the signs of integers.
#[test]
fn functions_of_wide_types() {
    fn check<T: Numeral>(
        precision: f64,
        operation: &dyn for<'k> Fn(Rt<'k, T, 1, 1>) -> Rt<'k, T, 1, 1>,
        reference: fn(f64) -> f64,
    ) {
        let kernel = Kernel::<(In<T>, Out<T>)>::build("functions(x, y)", Target::SM_80, |k, (x, y)| {
            k.block([32]);
            k.grid([2]);
            let b = k.ctaid_x();
            let tile = k.global(x, row_major(32, 16)).tile(b, 0).load();
            k.global(y, row_major(32, 16)).tile(b, 0).store(&operation(tile));
        })
        .unwrap();
        crate::assemble::kernel(&kernel);
        // Few with exact roots, and both signs where the type has them.
        let x: Vec<T> =
            (0..512).map(|at| T::of(f64::from(1 + at % 97) * [1.0, -1.0][at as usize % 2])).collect();
        let found = everywhere(|device| {
            let mut y = device.upload(&[T::of(77.0); 512]).unwrap();
            device.launch(&kernel, (&device.upload(&x).unwrap(), &mut y)).unwrap();
            device.download(&y).unwrap().into_iter().map(|y: T| y.number()).collect::<Vec<_>>()
        });
        for (x, found) in x.iter().zip(found) {
            let expected = reference(x.number());
            let close = (found - expected).abs() <= precision * expected.abs();
            assert!(close, "{} of {}: found {found}, expected {expected}", T::NAME, x.number());
        }
    }
    check::<f64>(0.0, &|x| x.abs().sqrt(), |x| x.abs().sqrt());
    check::<f64>(1e-6, &|x| x.abs().rsqrt(), |x| x.abs().sqrt().recip());
    check::<f64>(0.0, &|x| x.recip(), f64::recip);
    check::<f64>(0.0, &|x| -x, |x| -x);
    check::<f64>(0.0, &|x| x.abs(), f64::abs);
    check::<i32>(0.0, &|x| -x, |x| -x);
    check::<i32>(0.0, &|x| x.abs(), f64::abs);
    check::<i64>(0.0, &|x| -x, |x| -x);
    check::<i64>(0.0, &|x| x.abs(), f64::abs);
    check::<i8>(0.0, &|x| -x, |x| -x);
    check::<i8>(0.0, &|x| x.abs(), f64::abs);
}

/// Quotients of 16-bit numbers are rounded once: all of 32 random significands by one another.
#[test]
fn quotients_are_correctly_rounded() {
    fn check<T: Numeral + Computed<In: Divide>>() {
        let kernel =
            Kernel::<(In<T>, In<T>, Out<T>)>::build("quotients(x, y, z)", Target::SM_80, |k, (x, y, z)| {
                k.block([32]);
                k.grid([2]);
                let b = k.ctaid_x();
                let [x, y] =
                    [x, y].map(|from| k.global(from, row_major(64, 32)).tile(b, 0).load::<T, 2, 2, Row>());
                k.global(z, row_major(64, 32)).tile(b, 0).store(&(x / &y));
            })
            .unwrap();
        let number = |at: usize| T::of((128 + at * 29 % 127) as f64 / 64.0);
        let (x, y): (Vec<T>, Vec<T>) = (0..2048).map(|at| (number(at / 45), number(at % 45 + 7))).unzip();
        let found = everywhere(|device| {
            let (x, y) = (device.upload(&x).unwrap(), device.upload(&y).unwrap());
            let mut z = device.output::<T>(2048).unwrap();
            device.launch(&kernel, (&x, &y, &mut z)).unwrap();
            device.download(&z).unwrap().into_iter().map(|z| z.to_mem_bits()).collect::<Vec<_>>()
        });
        let expected = x.iter().zip(&y).map(|(x, y)| T::of(x.number() / y.number()).to_mem_bits());
        assert_eq!(found, expected.collect::<Vec<_>>(), "{}", T::NAME);
    }
    check::<bf16>();
    check::<f16>();
    check::<f32>();
}
