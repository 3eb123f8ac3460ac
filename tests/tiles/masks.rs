//! Masks, indexed maps, combinations and vector operands of every element type, in both layouts: two blocks, two launches, poisoned
//! outputs.

use warpwright::{
    prelude::*,
    ptx::Scalar,
    run::Device,
    tensor::{Computed, TensorElement},
    tiles::{Accumulate, Broadcast, Convert, RegisterLayout},
};

use super::numbers::Numeral;
use crate::cases::everywhere;

const BLOCKS: usize = 2;

/// An element between 1 and 8.
fn number(launch: usize, at: usize) -> f64 {
    (1 + (at * 37 + at / 32 * 11 + launch * 5) % 101 % 8) as f64
}

/// A result in the order of the kernel: element (row, col) of a tile whose element is `x`, and whose rows have `cols` elements.
type Reference = fn(usize, usize, f64) -> f64;

const REFERENCES: [(&str, Reference); 12] = [
    ("tril", |row, col, x| if col as i32 <= row as i32 + 3 { x } else { 9.0 }),
    ("triu", |row, col, x| if col as i32 >= row as i32 - 5 { x } else { 9.0 }),
    ("causal", |row, col, x| if col > row { 9.0 } else { x }),
    ("causal_transposed", |row, col, x| if col < row { 9.0 } else { x }),
    ("right_fill", |_, col, x| if col >= 11 { 9.0 } else { x }),
    ("left_fill", |_, col, x| if col < 7 { 9.0 } else { x }),
    ("upper_fill", |row, _, x| if row < 9 { 9.0 } else { x }),
    ("lower_fill", |row, _, x| if row >= 13 { 9.0 } else { x }),
    ("upper_right_fill", |row, col, x| if row < 10 && col >= 5 { 9.0 } else { x }),
    ("fill_where", |row, col, x| if row == col { 9.0 } else { x }),
    ("map_indexed", |row, col, x| if (row + col).is_multiple_of(3) { 9.0 } else { x }),
    ("zip", |_, _, _| 9.0),
];

/// Returns an element as a value of its register type.
pub(super) fn value<'k, T: TensorElement>(element: T) -> Val<'k, T::Reg> {
    T::Reg::from_bits(element.to_mem_bits()).into()
}

fn check<T: Numeral, L: RegisterLayout>() {
    let (rows, cols) = (Rt::<T, 2, 1, L>::ROWS, Rt::<T, 2, 1, L>::COLS);
    let (size, count) = ((rows * cols) as usize, REFERENCES.len() as u32);
    let kernel = Kernel::<(In<T>, Out<T>)>::build("masks(x, y)", Target::SM_89, |k, (x, y)| {
        k.block([32]);
        k.grid([BLOCKS as u32]);
        let x = k.global(x, row_major(BLOCKS as u32 * rows, cols));
        let x = x.tile(k.ctaid_x(), 0).load::<T, 2, 1, L>();
        let y = k.global(y, row_major(BLOCKS as u32 * rows * count, cols));
        let (nine, copy) = (value(T::of(9.0)), || x.map_words(|word| word));
        let results = [
            copy().tril(3, nine),
            copy().triu(k.var(-5).get(), nine),
            copy().causal(nine),
            copy().causal_transposed(nine),
            copy().right_fill(11, nine),
            copy().left_fill(k.var(7u32).get(), nine),
            copy().upper_fill(9, nine),
            copy().lower_fill(13, nine),
            copy().upper_right_fill(10, 5, nine),
            copy().fill_where(nine, |row, col| row.eq(col)),
            copy().map_indexed(|_, (row, col), x| ((row + col) % 3).eq(0).select(nine, x)),
            copy().zip_words(&k.filled(T::of(9.0)), |_, other| other),
        ];
        for (i, result) in (0u32..).zip(&results) {
            y.tile(k.ctaid_x() * count + i, 0).store(result);
        }
    })
    .unwrap_or_else(|error| panic!("{}: {error}", T::NAME));
    crate::assemble::kernel(&kernel);
    let found = everywhere(|device| {
        let mut y = device.upload(&vec![T::of(77.0); BLOCKS * size * REFERENCES.len()]).unwrap();
        [0, 1].map(|launch| {
            let x: Vec<_> = (0..BLOCKS * size).map(|at| T::of(number(launch, at))).collect();
            device.launch(&kernel, (&device.upload(&x).unwrap(), &mut y)).unwrap();
            device.download(&y).unwrap().into_iter().map(T::to_mem_bits).collect::<Vec<_>>()
        })
    });
    for (launch, found) in found.into_iter().enumerate() {
        for (band, found) in found.chunks(size).enumerate() {
            let (block, (name, reference)) = (band / REFERENCES.len(), REFERENCES[band % REFERENCES.len()]);
            let expected = (0..size).map(|at| {
                let (row, col) = (at / cols as usize, at % cols as usize);
                T::of(reference(row, col, number(launch, block * size + at))).to_mem_bits()
            });
            assert_eq!(found, expected.collect::<Vec<_>>(), "{name} of {} {:?}", T::NAME, L::LAYOUT);
        }
    }
}

/// Vectors along both sides of a tile: x + (the row's maximum), and x · (the column's minimum).
fn with_vectors<T, L: RegisterLayout, const H: usize, const W: usize>()
where
    T: Numeral + Computed + Accumulate<Sum: Convert<T>>,
    L::PerRow<T::Length>: Broadcast<L, H, W, H, T::Length>,
    L::PerCol<T::Length>: Broadcast<L, H, W, W, T::Length>,
{
    let [rows, cols] = [Rt::<T, H, W, L>::ROWS, Rt::<T, H, W, L>::COLS];
    let kernel = Kernel::<(In<T>, Out<T>)>::build("vectors(x, y)", Target::SM_89, |k, (x, y)| {
        k.block([32]);
        k.grid([BLOCKS as u32]);
        let x = k.global(x, row_major(BLOCKS as u32 * rows, cols)).tile(k.ctaid_x(), 0).load::<T, H, W, L>();
        let y = k.global(y, row_major(BLOCKS as u32 * 2 * rows, cols));
        y.tile(k.ctaid_x() * 2, 0).store(&(&x + &x.row_max().convert::<T>()));
        y.tile(k.ctaid_x() * 2 + 1, 0).store(&(&x * &x.col_min().convert::<T>()));
    })
    .unwrap_or_else(|error| panic!("{}: {error}", T::NAME));
    crate::assemble::kernel(&kernel);
    let [rows, cols] = [rows, cols].map(|extent| extent as usize);
    let size = rows * cols;
    // The maxima of rows that are 1 or 8 apart differ, and the minima of adjacent columns.
    let x = |block: usize, row: usize, col: usize| {
        T::of((2 + block + row / 8 % 2 + row % 3 + col % 5) as f64).number()
    };
    let found = everywhere(|device| {
        let mut y = device.upload(&vec![T::of(77.0); BLOCKS * 2 * size]).unwrap();
        let x = (0..BLOCKS * size).map(|at| T::of(x(at / size, at % size / cols, at % cols)));
        let x: Vec<_> = x.collect();
        device.launch(&kernel, (&device.upload(&x).unwrap(), &mut y)).unwrap();
        device.download(&y).unwrap().into_iter().map(|y: T| y.number()).collect::<Vec<_>>()
    });
    let expected = (0..BLOCKS * 2 * size).map(|at| {
        let (block, row, col) = (at / (2 * size), at % size / cols, at % cols);
        let result = match at / size % 2 {
            0 => x(block, row, col) + (0..cols).map(|col| x(block, row, col)).fold(0.0, f64::max),
            _ => x(block, row, col) * (0..rows).map(|row| x(block, row, col)).fold(99.0, f64::min),
        };
        T::of(result).number()
    });
    assert_eq!(found, expected.collect::<Vec<_>>(), "{} {:?}", T::NAME, L::LAYOUT);
}

macro_rules! with_vectors {
    ($height:literal $width:literal: $($t:ty)*) => {$(
        with_vectors::<$t, Row, $height, $width>();
        with_vectors::<$t, Col, $height, $width>();
    )*};
}

#[test]
fn vectors_of_every_type() {
    with_vectors! { 2 2: bf16 f16 f32 f64 tf32 i32 u32 i64 u64 }
    // The lanes own two or six elements of the vectors along the sides of 16.
    with_vectors! { 1 3: e4m3 e5m2 i8 u8 }
}

macro_rules! types {
    ($($test:ident: $t:ty;)*) => {$(
        #[test]
        fn $test() {
            check::<$t, Row>();
            check::<$t, Col>();
        }
    )*};
}

types! {
    bf16_tiles: bf16;
    f16_tiles: f16;
    f32_tiles: f32;
    f64_tiles: f64;
    tf32_tiles: tf32;
    e4m3_tiles: e4m3;
    e5m2_tiles: e5m2;
    i8_tiles: i8;
    u8_tiles: u8;
    i32_tiles: i32;
    u64_tiles: u64;
}
