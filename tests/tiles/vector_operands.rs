//! Arithmetic with vectors, in every type that has arithmetic: a tile with a vector that is broadcast along its rows or its columns, and a
//! vector with a vector, returning and in place, in both layouts: two blocks, two launches, poisoned outputs.

use warpwright::{
    prelude::*,
    ptx::Element as _,
    run::Device,
    tensor::TensorElement,
    tiles::{Col, ColVec, RowVec},
};

use super::numbers::{Numeral, element_types};
use crate::cases::everywhere_of;

type Reference = fn(f64, f64) -> f64;

const REFERENCES: [(&str, Reference); 4] =
    [("+", |x, y| x + y), ("-", |x, y| x - y), ("*", |x, y| x * y), ("/", |x, y| x / y)];

/// The vector operands: one element per row, and one per column.
const AXES: [&str; 2] = ["rows", "columns"];

/// Returning, and in place.
const FORMS: usize = 2;

/// An element of a tile: its row and column are not multiples of one another's, so transposed results differ.
fn element(row: usize, col: usize, launch: usize) -> f64 {
    [8.0, 10.0, 12.0, 14.0][(row * 3 + row / 4 + col * 5 + col / 8 + launch) % 4]
}

/// An element of a vector: a power of two, by which quotients are exact in types with fractions.
fn factor(at: usize, launch: usize) -> f64 {
    f64::from(1 << ((at + at / 3 + at / 16 + launch) % 3))
}

/// The target of an assignment, afterwards.
macro_rules! in_place {
    ($target:expr, $op:tt, $operand:expr) => {{
        let mut target = $target;
        target $op $operand;
        target
    }};
}

macro_rules! with_vectors {
    ($t:ident $layout:ident) => {{
        type T = $t;
        type Length = <T as TensorElement>::Length;
        type Tile<'k> = Rt<'k, T, 1, 2, $layout>;
        type PerRow<'k> = ColVec<'k, T, 1, $layout, Length>;
        type PerCol<'k> = RowVec<'k, T, 2, $layout, Length>;
        const ROWS: usize = Tile::ROWS as usize;
        const COLS: usize = Tile::COLS as usize;
        const TILES: u32 = (AXES.len() * FORMS * REFERENCES.len()) as u32;
        const VECTORS: u32 = (FORMS * REFERENCES.len()) as u32;
        type Args = (In<T>, In<T>, In<T>, Out<T>, Out<T>);
        let name = format!("{} {}", T::NAME, stringify!($layout));
        let kernel = Kernel::<Args>::build("with_vectors(x, r, c, y, v)", T::TARGET, |k, (x, r, c, y, v)| {
            k.block([32]);
            k.grid([2]);
            let b = k.ctaid_x();
            let x = k.global(x, row_major(2 * ROWS as u32, COLS as u32));
            let y = k.global(y, row_major(2 * TILES * ROWS as u32, COLS as u32));
            let v = k.global(v, row_major(2 * VECTORS, ROWS as u32));
            let tile = || -> Tile<'_> { x.tile(b, 0).load() };
            let per_row: PerRow<'_> = k.global(r, vector(2 * ROWS as u32)).tile(b).load();
            let per_col: PerCol<'_> = k.global(c, vector(COLS as u32)).tile(0).load();
            let (rows, cols) = (&per_row, &per_col);
            let mut at = b * TILES;
            let mut store = |result| {
                y.tile(at, 0).store::<T, 1, 2, $layout>(&result);
                at = at + 1;
            };
            macro_rules! with {
                ($operand:expr) => {
                    store(&tile() + $operand);
                    store(&tile() - $operand);
                    store(&tile() * $operand);
                    store(&tile() / $operand);
                    store(in_place!(tile(), +=, $operand));
                    store(in_place!(tile(), -=, $operand));
                    store(in_place!(tile(), *=, $operand));
                    store(in_place!(tile(), /=, $operand));
                };
            }
            with!(rows);
            with!(cols);
            let eights = || k.filled::<PerRow<'_>>(T::of(8.0));
            let vectors = [
                &eights() + rows,
                &eights() - rows,
                &eights() * rows,
                &eights() / rows,
                in_place!(eights(), +=, rows),
                in_place!(eights(), -=, rows),
                in_place!(eights(), *=, rows),
                in_place!(eights(), /=, rows),
            ];
            for (i, result) in (0u32..).zip(&vectors) {
                v.row(b * VECTORS + i).tile(0).store(result);
            }
        })
        .unwrap_or_else(|error| panic!("{name}: {error}"));
        crate::assemble::kernel(&kernel);
        let size = ROWS * COLS;
        for launch in 0..2 {
            let found = everywhere_of(T::TARGET, |device| {
                let x: Vec<T> = (0..2 * size).map(|at| T::of(element(at / COLS, at % COLS, launch))).collect();
                let factors = |count: usize| (0..count).map(|at| T::of(factor(at, launch))).collect::<Vec<_>>();
                let mut y = device.upload(&vec![T::of(77.0); 2 * TILES as usize * size]).unwrap();
                let mut v = device.upload(&vec![T::of(77.0); 2 * VECTORS as usize * ROWS]).unwrap();
                let (rows, cols) = (device.upload(&factors(2 * ROWS)).unwrap(), device.upload(&factors(COLS)).unwrap());
                device.launch(&kernel, (&device.upload(&x).unwrap(), &rows, &cols, &mut y, &mut v)).unwrap();
                let numbers = |found: Vec<T>| found.into_iter().map(T::number).collect::<Vec<_>>();
                [numbers(device.download(&y).unwrap()), numbers(device.download(&v).unwrap())]
            });
            for block in 0..2 {
                for (axis, along) in AXES.iter().enumerate() {
                    for (result, (op, reference)) in REFERENCES.iter().cycle().take(FORMS * REFERENCES.len()).enumerate() {
                        let tile = (block * AXES.len() + axis) * FORMS * REFERENCES.len() + result;
                        let expected: Vec<f64> = (0..size)
                            .map(|at| (block * ROWS + at / COLS, at % COLS))
                            .map(|(row, col)| (element(row, col, launch), factor([row, col][axis], launch)))
                            .map(|(x, y)| T::of(reference(T::of(x).number(), y)).number())
                            .collect();
                        assert_eq!(found[0][tile * size..][..size], expected, "{name}: {op} along {along}, form {}", result / 4);
                    }
                }
                for (result, (op, reference)) in REFERENCES.iter().cycle().take(FORMS * REFERENCES.len()).enumerate() {
                    let expected: Vec<f64> = (block * ROWS..(block + 1) * ROWS)
                        .map(|at| T::of(reference(T::of(8.0).number(), factor(at, launch))).number())
                        .collect();
                    let vector = block * FORMS * REFERENCES.len() + result;
                    assert_eq!(found[1][vector * ROWS..][..ROWS], expected, "{name}: vector {op} vector, form {}", result / 4);
                }
            }
        }
    }};
}

#[test]
fn in_row_layout() {
    macro_rules! rows {
        ($($t:ident)*) => {$(with_vectors! { $t Row })*};
    }
    element_types! { computed, rows }
}

#[test]
fn in_column_layout() {
    macro_rules! cols {
        ($($t:ident)*) => {$(with_vectors! { $t Col })*};
    }
    element_types! { computed, cols }
}
