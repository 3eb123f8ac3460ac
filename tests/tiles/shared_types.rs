//! Shared tiles and the edges of matrices, for every element type: fills, maps, copies and reductions of shared tiles, and loads of register
//! tiles past rows and columns; two blocks, two launches, poisoned outputs.

use pretty_assertions::assert_eq;
use warpwright::{
    prelude::*,
    run::Device,
    tensor::{Computed, TensorElement},
    tiles::{Accumulate, Length16, Orthogonal, Padded, Plain, RegisterLayout},
};

use super::numbers::Numeral;
use crate::cases::everywhere;

/// A small whole number, exact in every type.
fn number(launch: usize, at: usize) -> f64 {
    ((at * 37 + at / 16 * 11 + launch * 5) % 101 % 7) as f64
}

/// The number that fills elements past an edge.
const FILL: f64 = 5.0;

/// The subtiles along the height of a shared tile.
const H: usize = 3;
const ROWS: usize = 16 * H;

/// A tile that reaches past the last row and column is filled, changed in place, copied to another swizzle, and reduced to vectors, one of
/// which is copied; by `warps` warps. `N` is the number of columns in units of 16.
fn shared<T, const N: usize>(warps: u32)
where
    T: Numeral + Computed + Accumulate<Sum: Numeral>,
{
    type SumOf<T> = <T as Accumulate>::Sum;
    type Args<T> = (In<T>, Out<T>, Out<SumOf<T>>, Out<SumOf<T>>, Out<T>);
    let cols = St::<T, H, 1>::COLS as usize;
    // The second block's tile is cut off by the last row, both by the last column.
    let (m, n) = (2 * ROWS - 5, cols - 3);
    let kernel = Kernel::<Args<T>>::build(
        "shared(x, y, rows, cols, v)",
        Target::SM_89,
        |k, (x, y, of_rows, of_cols, v)| {
            k.block([32 * warps]);
            k.grid([2]);
            let b = k.ctaid_x();
            let (x, y) =
                (k.global(x, row_major(m as u32, n as u32)), k.global(y, row_major(m as u32, n as u32)));
            let tile = k.shared_tile::<St<T, H, 1>>().fill_or(x.tile(b, 0), T::of(FILL)).wait();
            let tile = tile.update(|_, band| band + T::of(2.0)).wait();
            let copy = k.shared_tile::<St<T, H, 1, Padded>>().copy_from(&tile).wait();
            y.tile(b, 0).store_shared(&copy);
            let rows = copy.row_max(k.shared_tile::<Sv<SumOf<T>, H>>()).wait();
            k.global(of_rows, vector(2 * ROWS as u32)).tile(b).store_shared(&rows);
            let sums = tile.col_sum(k.shared_tile::<Sv<SumOf<T>, N>>()).wait();
            let sums = k.shared_tile::<Sv<SumOf<T>, N>>().copy_from(&sums).wait();
            k.global(of_cols, vector(2 * cols as u32)).tile(b).store_shared(&sums);
            let constant = k.shared_tile::<Sv<T, N>>().fill_with(T::of(FILL)).wait();
            k.global(v, vector(2 * cols as u32)).tile(b).store_shared(&constant);
        },
    )
    .unwrap_or_else(|error| panic!("{}: {error}", T::NAME));
    crate::assemble::kernel(&kernel);
    fn numbers<T: Numeral>(found: Vec<T>) -> Vec<f64> {
        found.into_iter().map(Numeral::number).collect()
    }
    let found = everywhere(|device| {
        let mut y = device.upload(&vec![T::of(77.0); m * n]).unwrap();
        let mut rows = device.upload(&[SumOf::<T>::of(77.0); 2 * ROWS]).unwrap();
        let mut sums = device.upload(&vec![SumOf::<T>::of(77.0); 2 * cols]).unwrap();
        let mut v = device.upload(&vec![T::of(77.0); 2 * cols]).unwrap();
        [0, 1].map(|launch| {
            let x: Vec<T> = (0..m * n).map(|at| T::of(number(launch, at))).collect();
            device
                .launch(&kernel, (&device.upload(&x).unwrap(), &mut y, &mut rows, &mut sums, &mut v))
                .unwrap();
            [
                numbers(device.download(&y).unwrap()),
                numbers(device.download(&rows).unwrap()),
                numbers(device.download(&sums).unwrap()),
                numbers(device.download(&v).unwrap()),
            ]
        })
    });
    for (launch, found) in found.into_iter().enumerate() {
        let x = |row: usize, col: usize| {
            2.0 + if row < m && col < n { number(launch, row * n + col) } else { FILL }
        };
        let sum = |at: usize| (0..ROWS).map(|row| x(at / cols * ROWS + row, at % cols)).sum::<f64>();
        let expected = [
            (0..m * n).map(|at| x(at / n, at % n)).collect(),
            (0..2 * ROWS).map(|row| (0..cols).map(|col| x(row, col)).fold(0.0, f64::max)).collect(),
            (0..2 * cols).map(sum).collect(),
            vec![FILL; 2 * cols],
        ];
        assert_eq!(found, expected, "{} by {warps} warps, launch {launch}", T::NAME);
    }
}

/// Loads a register tile that reaches past the last row and column, filled with zeros and with a number, and a shared tile filled with zeros.
fn edges<T: Numeral, L: RegisterLayout>(divisor: u32) {
    type Args<T> = (In<T>, Out<T>, u32, u32);
    let (rows, cols) = (Rt::<T, 1, 1, L>::ROWS as usize, Rt::<T, 1, 1, L>::COLS as usize);
    let (m, n) = (2 * rows - 5, 2 * cols - divisor as usize);
    let kernel = Kernel::<Args<T>>::build("edges(x, y, m, n)", Target::SM_89, |k, (x, y, m, n)| {
        k.block([32]);
        k.grid([2]);
        let b = k.ctaid_x();
        let (x, y) = (
            k.global(x, row_major(m, n.multiple_of(divisor))),
            k.global(y, row_major(6 * rows as u32, cols as u32)),
        );
        // The last rows, in and past the last columns.
        let zeros: Rt<T, 1, 1, L> = x.tile(1, b).load();
        let filled: Rt<T, 1, 1, L> = x.tile(1, b).load_or(T::of(FILL));
        y.tile(b * 3, 0).store(&zeros);
        y.tile(b * 3 + 1, 0).store(&filled);
        let shared =
            k.shared_tile::<St<T, 2, 2, Plain>>().fill(x.tile_at(rows as u32, b * cols as u32)).wait();
        let part: Rt<T, 1, 1, L> = shared.subtile(0, 0).load();
        y.tile(b * 3 + 2, 0).store(&part);
    })
    .unwrap_or_else(|error| panic!("{}: {error}", T::NAME));
    crate::assemble::kernel(&kernel);
    let found = everywhere(|device| {
        let mut y = device.upload(&vec![T::of(77.0); 6 * rows * cols]).unwrap();
        [0, 1].map(|launch| {
            let x: Vec<T> = (0..m * n).map(|at| T::of(number(launch, at))).collect();
            device.launch(&kernel, (&device.upload(&x).unwrap(), &mut y, m as u32, n as u32)).unwrap();
            device.download(&y).unwrap().into_iter().map(Numeral::number).collect::<Vec<_>>()
        })
    });
    for (launch, found) in found.into_iter().enumerate() {
        let expected = (0..6 * rows * cols).map(|at| {
            let (band, row, col) = (at / (rows * cols), rows + at / cols % rows, at % cols);
            let col = band / 3 * cols + col;
            let past = if band % 3 == 1 { FILL } else { 0.0 };
            if row < m && col < n { number(launch, row * n + col) } else { past }
        });
        let what = format!("{} {:?}, a multiple of {divisor} columns, launch {launch}", T::NAME, L::LAYOUT);
        assert_eq!(found, expected.collect::<Vec<_>>(), "{what}");
    }
}

macro_rules! types {
    ($($test:ident: $t:ty, $n:literal;)*) => {$(
        #[test]
        fn $test() {
            shared::<$t, $n>(1);
            shared::<$t, $n>(3);
            for divisor in [1, 4, 8] {
                edges::<$t, Row>(divisor);
                edges::<$t, Col>(divisor);
            }
        }
    )*};
}

types! {
    bf16_tiles: bf16, 1;
    f16_tiles: f16, 1;
    f32_tiles: f32, 1;
    f64_tiles: f64, 1;
    tf32_tiles: tf32, 1;
    e4m3_tiles: e4m3, 2;
    e5m2_tiles: e5m2, 2;
    i8_tiles: i8, 2;
    u8_tiles: u8, 2;
    i32_tiles: i32, 1;
    u32_tiles: u32, 1;
    i64_tiles: i64, 1;
    u64_tiles: u64, 1;
}

/// The second operand of an update is a vector of the columns, a vector of the rows, or the same rows of another shared tile.
#[test]
fn operands_of_updates() {
    fn check<T: Numeral + Computed + TensorElement<Length = Length16>>(warps: u32) {
        type Args<T> = (In<T>, In<T>, Out<T>);
        let kernel = Kernel::<Args<T>>::build("operands(x, v, y)", Target::SM_80, |k, (x, v, y)| {
            k.block([32 * warps]);
            k.grid([2]);
            let b = k.ctaid_x();
            let (x, y) = (k.global(x, row_major(192, 32)), k.global(y, row_major(128, 32)));
            let v = k.global(v, vector(96));
            let tile = k.shared_tile::<St<T, 4, 2>>().fill(x.tile(b, 0)).wait();
            let other = k.shared_tile::<St<T, 4, 2, Padded>>().fill(x.tile(b + 1, 0)).wait();
            let by_column = k.shared_tile::<Sv<T, 2>>().fill(v.tile(0)).wait();
            let by_row = k.shared_tile::<Sv<T, 4>>().fill(v.tile_at(32)).wait();
            let tile = tile.update(|row, band| {
                let columns: RowVec<T, 2> = by_column.load();
                let rows: Rv<T, 1, Orthogonal> = by_row.tile(row).load();
                (band * &columns + &rows) + &other.subtile(row, 0).load()
            });
            y.tile(b, 0).store_shared(&tile.wait());
        })
        .unwrap();
        crate::assemble::kernel(&kernel);
        let found = everywhere(|device| {
            let mut y = device.upload(&[T::of(77.0); 128 * 32]).unwrap();
            [0, 1].map(|launch| {
                let x: Vec<T> = (0..192 * 32).map(|at| T::of(number(launch, at))).collect();
                let v: Vec<T> = (0..96).map(|at| T::of(number(launch + 2, at))).collect();
                device
                    .launch(&kernel, (&device.upload(&x).unwrap(), &device.upload(&v).unwrap(), &mut y))
                    .unwrap();
                device.download(&y).unwrap().into_iter().map(Numeral::number).collect::<Vec<_>>()
            })
        });
        for (launch, found) in found.into_iter().enumerate() {
            let x = |at: usize| number(launch, at);
            let v = |at: usize| number(launch + 2, at);
            let expected =
                (0..128 * 32).map(|at| x(at) * v(at % 32) + v(32 + at / 32 % 64) + x(at + 64 * 32));
            assert_eq!(found, expected.collect::<Vec<_>>(), "{} by {warps} warps", T::NAME);
        }
    }
    check::<f32>(2);
    check::<bf16>(3);
    check::<f16>(1);
    check::<i32>(4);
    check::<f64>(2);
    check::<tf32>(8);
}
