//! Operations on tiles of the types that are reduced without conversion, f64 and integers of 32 and 64 bits: integers, two blocks, two
//! launches, poisoned outputs.

use std::fmt::Debug;

use pretty_assertions::assert_eq;
use warpwright::{
    prelude::*,
    run::Device,
    tensor::Arithmetic,
    tiles::{Accumulate, Broadcast, RegisterLayout},
};

use crate::cases::everywhere;

/// A type with whole numbers.
trait Whole: Accumulate<Sum = Self> + Arithmetic + Debug + PartialEq {
    fn of(number: i64) -> Self;
}

macro_rules! whole {
    ($($t:ty)*) => {$( impl Whole for $t { fn of(number: i64) -> Self { number as $t } } )*};
}

whole! { f64 i32 u32 i64 u64 }

const H: usize = 2;
const W: usize = 2;
const ROWS: usize = 16 * H;
const COLS: usize = 16 * W;

type Tile<'k, T, L> = Rt<'k, T, H, W, L>;

/// The operations of a kernel, whose results are stored one below the other.
const NAMES: [&str; 14] = [
    "row_sum",
    "col_sum",
    "row_max",
    "col_min",
    "sum",
    "maximum",
    "row_scan",
    "col_scan",
    "square",
    "numbers",
    "row_argmax",
    "tril",
    "map_indexed",
    "row_prod",
];

/// Calls `store` with the result of each operation.
fn results<'k, T: Whole, L: RegisterLayout>(
    k: Builder<'k>,
    t: &Tile<'k, T, L>,
    store: &mut dyn FnMut(Tile<'k, T, L>),
) where
    L::PerRow<T::Length>: Broadcast<L, H, W, H, T::Length>,
    L::PerCol<T::Length>: Broadcast<L, H, W, W, T::Length>,
{
    let zeros = || k.zeros::<Tile<'k, T, L>>();
    let copy = || t.zip(t, |x, _| x);
    let (two, three) = (T::of(2), T::of(3));
    store(copy() + &t.row_sum());
    store(copy() + &t.col_sum());
    store(zeros() + &t.row_max());
    store(zeros() + &t.col_min());
    store(zeros() + t.sum());
    store(zeros() + t.maximum());
    store(t.row_scan());
    store(t.col_scan());
    store(t * t);
    store((copy() * two + three).max(T::of(7)).min(T::of(19)));
    store(zeros() + &t.row_argmax().0);
    store(copy().tril(1, T::of(9)));
    store(copy().map_indexed(|_, (row, col), x| x + row.eq(col).select(T::ONE, T::ZERO)));
    store(zeros() + &copy().map_indexed(|_, _, x| x.gt(three).select(two, T::ONE)).row_prod());
}

/// The same on the host: of operation `which`, at (row, col).
fn expected(which: usize, x: &dyn Fn(usize, usize) -> i64, row: usize, col: usize) -> i64 {
    let in_row = || (0..COLS).map(|col| x(row, col));
    let in_col = || (0..ROWS).map(|row| x(row, col));
    let all = || (0..ROWS).flat_map(|row| (0..COLS).map(move |col| x(row, col)));
    let own = x(row, col);
    match NAMES[which] {
        "row_sum" => own + in_row().sum::<i64>(),
        "col_sum" => own + in_col().sum::<i64>(),
        "row_max" | "row_argmax" => in_row().max().unwrap_or(0),
        "col_min" => in_col().min().unwrap_or(0),
        "sum" => all().sum(),
        "maximum" => all().max().unwrap_or(0),
        "row_scan" => in_row().take(col + 1).sum(),
        "col_scan" => in_col().take(row + 1).sum(),
        "square" => own * own,
        "numbers" => (own * 2 + 3).clamp(7, 19),
        "tril" => {
            if col <= row + 1 {
                own
            } else {
                9
            }
        }
        "map_indexed" => own + i64::from(row == col),
        _ => in_row().map(|x| if x > 3 { 2 } else { 1 }).product(),
    }
}

fn check<T: Whole, L: RegisterLayout>()
where
    L::PerRow<T::Length>: Broadcast<L, H, W, H, T::Length>,
    L::PerCol<T::Length>: Broadcast<L, H, W, W, T::Length>,
{
    let (rows, cols, count) = (ROWS as u32, COLS as u32, NAMES.len() as u32);
    let kernel = Kernel::<(In<T>, Out<T>)>::build("whole(x, y)", Target::SM_80, |k, (x, y)| {
        k.block([32]);
        k.grid([2]);
        let t: Tile<'_, T, L> = k.global(x, row_major(2 * rows, cols)).tile(k.ctaid_x(), 0).load();
        let y = k.global(y, row_major(2 * rows * count, cols));
        let mut next = k.ctaid_x() * count;
        results(k, &t, &mut |result| {
            y.tile(next, 0).store(&result);
            next = next + 1;
        });
    })
    .unwrap();
    crate::assemble::kernel(&kernel);
    // Few above 3, so that products of powers of two stay small.
    let number = |launch: usize, row: usize, col: usize| {
        let mixed = (row * 7 + col * 3 + row * col + launch) % 11;
        (if mixed > 3 && !(row + col).is_multiple_of(5) { mixed % 4 } else { mixed }) as i64
    };
    let found = everywhere(|device| {
        let mut y = device.upload(&vec![T::of(77); 2 * ROWS * COLS * NAMES.len()]).unwrap();
        [0, 1].map(|launch| {
            let x: Vec<T> = (0..2 * ROWS * COLS).map(|i| T::of(number(launch, i / COLS, i % COLS))).collect();
            let x = device.upload(&x).unwrap();
            device.launch(&kernel, (&x, &mut y)).unwrap();
            let bits: Vec<u64> = device.download(&y).unwrap().iter().map(|y: &T| y.to_mem_bits()).collect();
            bits
        })
    });
    for (launch, found) in found.into_iter().enumerate() {
        for (band, found) in found.chunks(ROWS * COLS).enumerate() {
            let (block, which) = (band / NAMES.len(), band % NAMES.len());
            let x = |row: usize, col: usize| number(launch, block * ROWS + row, col);
            let expected =
                (0..ROWS * COLS).map(|i| T::of(expected(which, &x, i / COLS, i % COLS)).to_mem_bits());
            let name = format!("{} of {}, {:?}, block {block}", NAMES[which], T::NAME, L::LAYOUT);
            assert_eq!(found, expected.collect::<Vec<_>>(), "{name}");
        }
    }
}

macro_rules! cases {
    ($($name:ident $t:ty;)*) => {$(
        #[test]
        fn $name() {
            check::<$t, Row>();
            check::<$t, Col>();
        }
    )*};
}

cases! {
    f64_tiles f64;
    i32_tiles i32;
    u32_tiles u32;
    i64_tiles i64;
    u64_tiles u64;
}
