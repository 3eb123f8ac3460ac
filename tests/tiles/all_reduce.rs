//! Reductions along rows and columns that are divided among warps, and of shared tiles.

use pretty_assertions::assert_eq;
use warpwright::{
    prelude::*,
    run::Device,
    tiles::{Accumulate, Filled, Pending, RegisterLayout},
};

use super::codes::Coded;
use crate::cases::everywhere;

/// A reduction on the host.
type Reduce = fn(f64, f64) -> f64;

/// Small whole numbers, in some cases powers of two whose products are exact.
fn numbers<T: Coded>(count: usize, are_powers: bool) -> Vec<T> {
    let number = |i: usize| match (are_powers, i * 7 + i / 32) {
        (false, i) => (i % 11) as f64 - 5.0,
        (true, i) => [2.0, 0.5, 1.0, 1.0, 1.0, 4.0, 1.0][i % 7],
    };
    (0..count).map(|i| T::from_f64(number(i))).collect()
}

/// The matrix of the blocks, two iterations one above another, each of 4 · 16 rows and columns.
const SIDE: usize = 64;
const ITERATIONS: usize = 2;
const BLOCKS: usize = 2;

/// The matrix, and for each warp the results per column and per row.
type Args<T> = (In<T>, Out<f32>, Out<f32>);

/// A tile's results over a scope of columns and of rows.
type Operation<'a, T, L> = dyn for<'k> Fn(
        Builder<'k>,
        &Rt<'k, T, 1, 4, L>,
        &Rt<'k, T, 4, 1, L>,
    ) -> (RowVec<'k, f32, 4, L>, ColVec<'k, f32, 4, L>)
    + 'a;

/// Compares the results of every warp, in every iteration of a loop: over 16 rows of each warp, and over 16 columns. `group` is the
/// number of warps of the scope.
fn over<T, L>(name: &str, operation: &Operation<'_, T, L>, reduce: Reduce, group: usize)
where
    T: Coded + Accumulate<Sum = f32>,
    L: RegisterLayout,
{
    let kernel = Kernel::<Args<T>>::build("over(x, cols, rows)", Target::SM_80, |k, (x, cols, rows)| {
        k.block([128]);
        k.grid([BLOCKS as u32]);
        let side = SIDE as u32;
        let x = k.global(x, row_major((BLOCKS * ITERATIONS) as u32 * side, side));
        let result = row_major((BLOCKS * ITERATIONS) as u32 * 4, side);
        let (cols, rows) = (k.global(cols, result), k.global(rows, result));
        k.for_(ITERATIONS as u32, |i| {
            let (at, warp) = (k.ctaid_x() * ITERATIONS as u32 + i, k.warp().rank());
            let (by_rows, by_cols) = operation(k, &x.tile(at * 4 + warp, 0).load(), &x.tile(at, warp).load());
            cols.row(at * 4 + warp).tile(0).store(&by_rows);
            rows.row(at * 4 + warp).tile(0).store(&by_cols);
        });
    })
    .unwrap_or_else(|error| panic!("{name}: {error}"));
    crate::assemble::kernel(&kernel);
    let x: Vec<T> = numbers(BLOCKS * ITERATIONS * SIDE * SIDE, name.contains("prod"));
    let found = everywhere(|device| {
        let x = device.upload(&x).unwrap();
        let poison = vec![f32::NAN; BLOCKS * ITERATIONS * 4 * SIDE];
        let (mut cols, mut rows) = (device.upload(&poison).unwrap(), device.upload(&poison).unwrap());
        device.launch(&kernel, (&x, &mut cols, &mut rows)).unwrap();
        let bits = |d: Vec<f32>| d.into_iter().map(f32::to_bits).collect::<Vec<_>>();
        [bits(device.download(&cols).unwrap()), bits(device.download(&rows).unwrap())]
    });
    for (at, found) in
        (0..found[0].len()).map(|at| (at, [0, 1].map(|which| f32::from_bits(found[which][at]))))
    {
        let (part, warp, index) = (at / (4 * SIDE), at / SIDE % 4, at % SIDE);
        let lines = warp / group * group * 16..(warp / group + 1) * group * 16;
        let element = |row: usize, col: usize| x[(part * SIDE + row) * SIDE + col].to_f64();
        let col = lines.clone().map(|row| element(row, index)).reduce(reduce).unwrap() as f32;
        let row = lines.map(|col| element(index, col)).reduce(reduce).unwrap() as f32;
        assert_eq!(found, [col, row], "{name} of {} {:?}, warp {warp}, element {index}", T::NAME, L::LAYOUT);
    }
}

/// All reductions over a scope of a type and layout.
macro_rules! over {
    ($t:ty, $l:ty, $group:literal: $scope:ident $(<$warps:literal>)?) => {
        over! { @each $t, $l, $group, $scope $(<'_, $warps>)? =>
            row_sum_over col_sum_over |a, b| a + b;
            row_prod_over col_prod_over |a, b| a * b;
            row_max_over col_max_over f64::max;
            row_min_over col_min_over f64::min;
        }
    };
    (@each $t:ty, $l:ty, $group:literal, $scope:ty => $($row:ident $col:ident $reduce:expr;)*) => {$(
        over::<$t, $l>(
            stringify!($col),
            &|k, rows, cols| {
                let scope = <$scope>::current(k);
                (rows.$col(scope), cols.$row(scope))
            },
            $reduce,
            $group,
        );
    )*};
}

#[test]
fn over_a_block() {
    over!(f32, Row, 4: Block);
    over!(bf16, Col, 4: Block);
}

#[test]
fn over_pairs_of_warps() {
    over!(f16, Row, 2: Warps<2>);
    over!(f32, Col, 1: Warp);
}

/// A result of a shared tile, per row or column.
type OfShared<'a, T, const N: usize> =
    dyn for<'k> Fn(&Filled<St<'k, T, 5, 3>>, Sv<'k, f32, N>) -> Pending<'k, Sv<'k, f32, N>> + 'a;

/// Compares the results of a shared tile of 80×48 elements, filled twice in a loop, by `warps` warps.
fn of_shared<T, const N: usize>(name: &str, operation: &OfShared<'_, T, N>, reduce: Reduce, warps: u32)
where
    T: Coded + Accumulate<Sum = f32>,
{
    let kernel = Kernel::<(In<T>, Out<f32>)>::build("of_shared(x, y)", Target::SM_80, |k, (x, y)| {
        k.block([32 * warps]);
        k.grid([BLOCKS as u32]);
        let parts = (BLOCKS * ITERATIONS) as u32;
        let (x, y) = (k.global(x, row_major(parts * 80, 48)), k.global(y, row_major(parts, N as u32 * 16)));
        let (tile, results) = (k.shared_tile::<St<T, 5, 3>>(), k.shared_tile::<Sv<f32, N>>());
        let _ = k.fold(ITERATIONS as u32, (tile, results), |i, (tile, results)| {
            let at = k.ctaid_x() * ITERATIONS as u32 + i;
            let tile = tile.fill(x.tile(at, 0)).wait();
            let results = operation(&tile, results).wait();
            y.row(at).tile(0).store_shared(&results);
            (tile.release(), results.release())
        });
    })
    .unwrap_or_else(|error| panic!("{name}: {error}"));
    crate::assemble::kernel(&kernel);
    let x: Vec<T> = numbers(BLOCKS * ITERATIONS * 80 * 48, name.contains("prod"));
    let found = everywhere(|device| {
        let x = device.upload(&x).unwrap();
        let mut y = device.upload(&vec![f32::NAN; BLOCKS * ITERATIONS * 16 * N]).unwrap();
        device.launch(&kernel, (&x, &mut y)).unwrap();
        device.download(&y).unwrap()
    });
    let element = |at: usize| {
        let (part, index) = (at / (16 * N), at % (16 * N));
        let x = |row: usize, col: usize| x[(part * 80 + row) * 48 + col].to_f64();
        let line: Vec<f64> = match N {
            5 => (0..48).map(|col| x(index, col)).collect(),
            _ => (0..80).map(|row| x(row, index)).collect(),
        };
        line.into_iter().reduce(reduce).unwrap() as f32
    };
    let expected: Vec<f32> = (0..BLOCKS * ITERATIONS * 16 * N).map(element).collect();
    assert_eq!(found, expected, "{name} of {} by {warps} warps", T::NAME);
}

#[test]
fn of_shared_tiles() {
    macro_rules! each {
        ($t:ty, $warps:literal: $($row:ident $col:ident $reduce:expr;)*) => {$(
            of_shared::<$t, 5>(stringify!($row), &|tile, to| tile.$row(to), $reduce, $warps);
            of_shared::<$t, 3>(stringify!($col), &|tile, to| tile.$col(to), $reduce, $warps);
        )*};
    }
    macro_rules! all {
        ($t:ty, $warps:literal) => {
            each! { $t, $warps:
                row_sum col_sum |a, b| a + b;
                row_prod col_prod |a, b| a * b;
                row_max col_max f64::max;
                row_min col_min f64::min;
            }
        };
    }
    all!(f32, 1);
    all!(bf16, 4);
    all!(f16, 8);
}

/// A vector that a loop carries is reduced once: the gradient of a weight, over all rows of a matrix.
#[test]
fn carried_vectors() {
    const ROWS: u32 = 7 * 64;
    let kernel = Kernel::<(In<bf16>, Out<f32>)>::build("carried(x, y)", Target::SM_80, |k, (x, y)| {
        let block = k.block([128]);
        k.grid([1]);
        let (x, y) = (k.global(x, row_major(ROWS, 32)), k.global(y, vector(32)));
        let sums = k.fold(ROWS / 64, k.zeros::<RowVec<f32, 2>>(), |i, sums| {
            let t: Rt<bf16, 1, 2> = x.tile_of(block, i, 0).load();
            t.col_sum_with(sums)
        });
        let sums = sums.all_reduce_sum(block);
        k.when_warp(3, |_| y.tile(0).store(&sums));
    })
    .unwrap();
    crate::assemble::kernel(&kernel);
    let x: Vec<bf16> = numbers(ROWS as usize * 32, false);
    let found = everywhere(|device| {
        let x = device.upload(&x).unwrap();
        let mut y = device.output::<f32>(32).unwrap();
        device.launch(&kernel, (&x, &mut y)).unwrap();
        device.download(&y).unwrap()
    });
    let sum = |col: usize| x.iter().skip(col).step_by(32).map(|x| x.to_f32()).sum::<f32>();
    assert_eq!(found, (0..32).map(sum).collect::<Vec<_>>());
}

/// Memory that is written again in the next iteration, without another barrier in between.
#[test]
fn one_reduction_per_iteration() {
    let kernel = Kernel::<(In<f32>, Out<f32>)>::build("repeated(x, y)", Target::SM_80, |k, (x, y)| {
        let block = k.block([64]);
        k.grid([1]);
        let (x, y) = (k.global(x, row_major(96, 16)), k.global(y, row_major(6, 16)));
        k.for_(3, |i| {
            let t: Rt<f32, 1, 1> = x.tile_of(block, i, 0).load();
            y.row(i * 2 + k.warp()).tile(0).store(&t.col_max_over(block));
        });
    })
    .unwrap();
    crate::assemble::kernel(&kernel);
    let x: Vec<f32> = (0..96 * 16).map(|i| (i * 37 % 101) as f32).collect();
    let found = everywhere(|device| {
        let x = device.upload(&x).unwrap();
        let mut y = device.output::<f32>(96).unwrap();
        device.launch(&kernel, (&x, &mut y)).unwrap();
        device.download(&y).unwrap()
    });
    let most = |at: usize| {
        let (first, col) = (at / 32 * 32, at % 16);
        (first..first + 32).map(|row| x[row * 16 + col]).fold(f32::NEG_INFINITY, f32::max)
    };
    assert_eq!(found, (0..96).map(most).collect::<Vec<_>>());
}
