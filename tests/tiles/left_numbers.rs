//! Numbers on the left of register tiles and vectors of every type with arithmetic: kept tiles and tiles that are given up.

use warpwright::{
    prelude::*,
    ptx::{Element as _, bf16x2, f16x2},
    run::Device,
    tiles::Orthogonal,
};

use super::numbers::{Numeral, element_types};
use crate::cases::{everywhere, everywhere_of};

/// 1, 2, 4 or 8, in another order in each row: quotients of 8 are exact in every type.
fn number(at: usize) -> f64 {
    f64::from(1 << ((at * 7 + at / 32 * 3) % 4))
}

/// An operator with 8 on the left.
type WithEight = fn(f64, f64) -> f64;

/// The results of 8 and an element, in the order of the kernel.
const REFERENCES: [(&str, WithEight); 4] = [
    ("+", |eight, x| eight + x),
    ("-", |eight, x| eight - x),
    ("*", |eight, x| eight * x),
    ("/", |eight, x| eight / x),
];

macro_rules! on_the_left {
    ($($t:ident)*) => {$({
        type T = $t;
        const ROWS: usize = Rt::<T, 1, 1>::ROWS as usize;
        const COLS: usize = Rt::<T, 1, 1>::COLS as usize;
        type Args = (In<T>, Out<T>, Out<T>);
        let kernel = Kernel::<Args>::build("on_the_left(x, y, v)", T::TARGET, |k, (x, y, v)| {
            k.block([32]);
            k.grid([2]);
            let b = k.ctaid_x();
            let x = k.global(x, row_major(2 * ROWS as u32, COLS as u32));
            let (y, v) = (k.global(y, row_major(16 * ROWS as u32, COLS as u32)), k.global(v, row_major(16, COLS as u32)));
            let tile = || x.tile(b, 0).load::<T, 1, 1, Row>();
            let vector = || x.row(b * ROWS as u32 + 5).tile(0).load::<T, { COLS / 16 }, Orthogonal>();
            let eight = T::of(8.0);
            let tiles = [
                eight + &tile(), eight - &tile(), eight * &tile(), eight / &tile(),
                eight + tile(), eight - tile(), eight * tile(), eight / tile(),
            ];
            for (i, result) in (0u32..).zip(&tiles) {
                y.tile(b * 8 + i, 0).store(result);
            }
            let vectors = [
                eight + &vector(), eight - &vector(), eight * &vector(), eight / &vector(),
                eight + vector(), eight - vector(), eight * vector(), eight / vector(),
            ];
            for (i, result) in (0u32..).zip(&vectors) {
                v.row(b * 8 + i).tile(0).store(result);
            }
        })
        .unwrap_or_else(|error| panic!("{}: {error}", T::NAME));
        crate::assemble::kernel(&kernel);
        let size = ROWS * COLS;
        let found = everywhere_of(T::TARGET, |device| {
            let x: Vec<T> = (0..2 * size).map(|at| T::of(number(at))).collect();
            let mut y = device.upload(&vec![T::of(77.0); 16 * size]).unwrap();
            let mut v = device.upload(&vec![T::of(77.0); 16 * COLS]).unwrap();
            device.launch(&kernel, (&device.upload(&x).unwrap(), &mut y, &mut v)).unwrap();
            let numbers = |found: Vec<T>| found.into_iter().map(T::number).collect::<Vec<_>>();
            [numbers(device.download(&y).unwrap()), numbers(device.download(&v).unwrap())]
        });
        for band in 0..16 {
            let (block, (name, reference)) = (band / 8, REFERENCES[band % 4]);
            // Rounded as the type is, which may not have 8.
            let of = |number| T::of(number).number();
            let expected = |at: usize| of(reference(of(8.0), of(number(block * size + at))));
            let tile: Vec<f64> = (0..size).map(expected).collect();
            assert_eq!(found[0][band * size..][..size], tile, "8 {name} tile of {}", T::NAME);
            let row: Vec<f64> = (5 * COLS..6 * COLS).map(expected).collect();
            assert_eq!(found[1][band * COLS..][..COLS], row, "8 {name} vector of {}", T::NAME);
        }
    })*};
}

#[test]
fn numbers_on_the_left_of_every_type() {
    element_types! { computed, on_the_left }
}

/// Pairs as elements: another number for each half.
#[test]
fn pairs_on_the_left() {
    macro_rules! pairs {
        ($($t:ident $half:ident)*) => {$({
            let pair = |low: f64, high: f64| $t([$half::of(low), $half::of(high)]);
            let kernel = Kernel::<(In<$t>, Out<$t>)>::build("pairs(x, y)", Target::SM_89, |k, (x, y)| {
                k.block([32]);
                k.grid([1]);
                let (x, y) = (k.global(x, row_major(16, 16)), k.global(y, row_major(32, 16)));
                let tile = || x.tile(0, 0).load::<$t, 1, 1, Row>();
                y.tile(0, 0).store(&(pair(8.0, 4.0) - tile()));
                y.tile(1, 0).store(&(pair(8.0, 4.0) / &tile()));
            })
            .unwrap();
            crate::assemble::kernel(&kernel);
            let found = everywhere(|device| {
                let x: Vec<$t> = (0..256).map(|at| pair(number(at), number(at + 1))).collect();
                let mut y = device.upload(&[pair(77.0, 77.0); 512]).unwrap();
                device.launch(&kernel, (&device.upload(&x).unwrap(), &mut y)).unwrap();
                device.download(&y).unwrap().into_iter().map(|y| y.to_mem_bits()).collect::<Vec<_>>()
            });
            let differences = (0..256).map(|at| pair(8.0 - number(at), 4.0 - number(at + 1)));
            let quotients = (0..256).map(|at| pair(8.0 / number(at), 4.0 / number(at + 1)));
            let expected: Vec<_> = differences.chain(quotients).map(|pair| pair.to_mem_bits()).collect();
            assert_eq!(found, expected, "{}", <$t>::NAME);
        })*};
    }
    pairs! { bf16x2 bf16 f16x2 f16 }
}
