//! Every operation on register tiles compared with a reference on the host: types × shapes × layouts, with integers for which every result
//! is exact. Two blocks work on different tiles, and the output is poisoned with NaN. A second launch has the same numbers with NaN and
//! infinities among them.

use std::marker::PhantomData;

use warpwright::{
    prelude::*,
    ptx::Module,
    run::Device,
    tiles::{Broadcast, Convert, RegisterLayout},
};

use super::{
    codes::Coded,
    matrix::{MAX, MIN, Matrix, Reduce, SUM, argmax, argmin, cols_reduced, rows_reduced},
};
use crate::cases::everywhere;

/// The tile of a block: small whole numbers, different in each.
fn numbers(block: usize, rows: usize, cols: usize) -> Matrix {
    Matrix::from_fn(rows, cols, |row, col| ((row * 7 + col * 3 + row * col + 5 * block) % 11) as f64 - 4.0)
}

/// The same numbers, a few of which are not finite: in the first lane, at the edges, and in the last lane.
fn special(mut tile: Matrix) -> Matrix {
    let last = tile.elements.len() - 1;
    let middle = last / 2;
    for (at, special) in
        [(1, f64::NAN), (middle, f64::INFINITY), (middle + 3, f64::NEG_INFINITY), (last, f64::INFINITY)]
    {
        tile.elements[at] = special;
    }
    tile
}

/// An operation on a tile; the result in f32.
type Operation<'a, T, L, const H: usize, const W: usize> =
    dyn for<'k> Fn(Builder<'k>, Rt<'k, T, H, W, L>) -> Rt<'k, f32, H, W, L> + 'a;

/// The operations on tiles of one type, shape and layout, all of whose kernels are assembled together.
struct Operations<T, L, const H: usize, const W: usize> {
    target: Target,
    module: Module,
    count: usize,
    /// Those of both blocks, in the first and in the second launch.
    tiles: [[Matrix; 2]; 2],
    types: PhantomData<(T, L)>,
}

impl<T, L, const H: usize, const W: usize> Operations<T, L, H, W>
where
    T: Coded,
    L: RegisterLayout,
{
    fn new(target: Target) -> Self {
        let tiles = [0, 1].map(|block| numbers(block, 16 * H, 16 * W));
        let tiles = [tiles.clone(), tiles.map(special)];
        Self { target, module: Module::new(target), count: 0, tiles, types: PhantomData }
    }

    /// Runs an operation on the tiles of two blocks in two launches, and compares the results with those of `reference` exactly.
    #[track_caller]
    fn check(
        &mut self,
        name: &str,
        operation: &Operation<'_, T, L, H, W>,
        reference: &dyn Fn(&Matrix) -> Matrix,
    ) {
        self.check_launches(2, name, operation, reference);
    }

    #[track_caller]
    fn check_launches(
        &mut self,
        launches: usize,
        name: &str,
        operation: &Operation<'_, T, L, H, W>,
        reference: &dyn Fn(&Matrix) -> Matrix,
    ) {
        let (rows, cols) = (16 * H as u32, 16 * W as u32);
        self.count += 1;
        let kernel_name = format!("operation_{}", self.count);
        let kernel = Kernel::<(In<T>, Out<f32>)>::build(&kernel_name, self.target, |k, (x, y)| {
            k.block([32]);
            k.grid([2]);
            let shape = row_major(2 * rows, cols);
            let tile = k.global(x, shape).tile(k.ctaid_x(), 0).load();
            k.global(y, shape).tile(k.ctaid_x(), 0).store(&operation(k, tile));
        })
        .unwrap_or_else(|error| panic!("{name} {H}×{W}: {error}"));
        self.module.add(&kernel).expect("kernels of one target, with different names");
        let launches = &self.tiles[..launches];
        let found = everywhere(|device| {
            // A number that no operation returns, because NaN is a result.
            let mut y = device.upload(&vec![-12_345.0_f32; 512 * H * W]).unwrap();
            let mut found: Vec<u32> = Vec::new();
            for tiles in launches {
                let elements = tiles.iter().flat_map(|tile| &tile.elements);
                let x = device.upload(&elements.map(|&x| T::from_f64(x)).collect::<Vec<_>>()).unwrap();
                device.launch(&kernel, (&x, &mut y)).unwrap();
                found.extend(device.download(&y).unwrap().into_iter().map(f32::to_bits));
            }
            found
        });
        let expected = launches.iter().flatten().flat_map(|tile| reference(tile).elements);
        for (at, (found, expected)) in found.into_iter().map(f32::from_bits).zip(expected).enumerate() {
            let same = f64::from(found) == expected || found.is_nan() && expected.is_nan();
            let (row, col) = (at / cols as usize, at % cols as usize);
            let kind = std::any::type_name::<T>();
            assert!(
                same,
                "{name} of {kind} {H}×{W} {:?}: row {row} of all tiles, column {col}: found {found}, expected {expected}",
                L::LAYOUT
            );
        }
    }

    /// Assembles the kernels, if the registers of a thread suffice for two tiles of f32.
    fn assemble(self) {
        if H * W >= 16 {
            return;
        }
        crate::assemble::module(&self.module.ptx(), self.target);
    }
}

/// Returns the tile in f32.
fn single<'k, T: Convert<f32>, const H: usize, const W: usize, L: RegisterLayout>(
    tile: Rt<'k, T, H, W, L>,
) -> Rt<'k, f32, H, W, L> {
    tile.convert()
}

/// One operation of each kind on one type, shape and layout.
fn each_kind<T, L, const H: usize, const W: usize>(target: Target)
where
    T: Coded + warpwright::tiles::Accumulate<Sum = f32>,
    L: RegisterLayout,
    L::PerRow<T::Length>: Broadcast<L, H, W, H, T::Length>,
    L::PerCol<T::Length>: Broadcast<L, H, W, W, T::Length>,
    f32: Convert<T>,
{
    let mut operations = Operations::<T, L, H, W>::new(target);
    fn zeros<const H: usize, const W: usize, L: RegisterLayout>(k: Builder<'_>) -> Rt<'_, f32, H, W, L> {
        k.zeros()
    }
    operations.check("row_sum", &|k, t| zeros(k) + &t.row_sum(), &|x| rows_reduced(x, SUM));
    operations.check("row_max", &|k, t| zeros(k) + &t.row_max(), &|x| rows_reduced(x, MAX));
    operations.check("col_sum", &|k, t| zeros(k) + &t.col_sum(), &|x| cols_reduced(x, SUM));
    operations.check("col_min", &|k, t| zeros(k) + &t.col_min(), &|x| cols_reduced(x, MIN));
    operations
        .check("maximum", &|k, t| zeros(k) + t.maximum(), &|x| x.full(MAX(&mut x.elements.iter().copied())));
    operations.check("row_argmin", &|k, t| zeros(k) + &t.row_argmin().1.map_to::<f32>(|x| x.cast()), &|x| {
        x.per_row(|row| argmin(x.row(row)))
    });
    operations.check("col_argmax", &|k, t| zeros(k) + &t.col_argmax().1.map_to::<f32>(|x| x.cast()), &|x| {
        x.per_col(|col| argmax(x.col(col)))
    });
    operations
        .check("row_scan", &|_, t| t.row_scan(), &|x| x.map(|row, col, _| x.row(row).take(col + 1).sum()));
    operations
        .check("col_scan", &|_, t| t.col_scan(), &|x| x.map(|row, col, _| x.col(col).take(row + 1).sum()));
    let two = T::from_f64(2.0);
    operations.check(
        "tile * tile",
        &|_, t| {
            single({
                let u = &t + two;
                &u * &t
            })
        },
        &|x| x.map(|_, _, x| (x + 2.0) * x),
    );
    operations.check(
        "tile -= vector per row",
        &|_, t| {
            let v = t.row_max();
            let mut t = t.convert::<f32>();
            t -= &v;
            t
        },
        &|x| x.per_row(|row| MAX(&mut x.row(row))).map(|row, col, reduced| x.at(row, col) - reduced),
    );
    operations.check(
        "tile + vector per column",
        &|_, t| {
            let v = t.col_max();
            t.convert::<f32>() + &v
        },
        &|x| x.per_col(|col| MAX(&mut x.col(col))).map(|row, col, reduced| x.at(row, col) + reduced),
    );
    operations.check(
        "packed tile - vector per row",
        &|_, t| {
            single({
                let v = t.row_max().convert::<T>();
                t - &v
            })
        },
        &|x| x.per_row(|row| MAX(&mut x.row(row))).map(|row, col, reduced| x.at(row, col) - reduced),
    );
    operations.check(
        "packed tile * vector per column",
        &|_, t| {
            single({
                let v = t.col_max().convert::<T>();
                t * &v
            })
        },
        &|x| x.per_col(|col| MAX(&mut x.col(col))).map(|row, col, reduced| x.at(row, col) * reduced),
    );
    // A norm: the squares of a vector of sums, and a polynomial of it.
    operations.check(
        "sum of the squares of a vector",
        &|k, t| {
            let v = t.row_sum();
            let squares = &v * &v;
            zeros(k) + squares.sum()
        },
        &|x| x.full((0..x.rows).map(|row| SUM(&mut x.row(row)).powi(2)).sum()),
    );
    operations.check(
        "polynomial of a vector",
        &|k, t| zeros(k) + &t.col_max().map(|x| x * x + x * 3.0 - 1.0),
        &|x| {
            x.per_col(|col| {
                let max = MAX(&mut x.col(col));
                max * max + max * 3.0 - 1.0
            })
        },
    );
    operations.check("max", &|_, t| single(t.max(T::from_f64(1.0))), &|x| x.map(|_, _, x| x.max(1.0)));
    operations.check(
        "map_indexed",
        &|_, t| t.convert::<f32>().map_indexed(|_, (row, col), x| x + (row * 128 + col).cast::<f32>()),
        &|x| x.map(|row, col, x| x + (row * 128 + col) as f64),
    );
    operations.check("tril", &|_, t| single(t.tril(3, T::from_f64(9.0))), &|x| {
        x.map(|row, col, x| if col <= row + 3 { x } else { 9.0 })
    });
    operations.check(
        "right_fill",
        &|k, t| single(t.right_fill(k.var(11u32).get(), T::from_f64(9.0))),
        &|x| x.map(|_, col, x| if col >= 11 { 9.0 } else { x }),
    );
    operations.check("lower_fill", &|_, t| single(t.lower_fill(7, T::from_f64(9.0))), &|x| {
        x.map(|row, _, x| if row >= 7 { 9.0 } else { x })
    });
    operations.check("has_nan", &|k, t| zeros(k) + t.has_nan().select(1.0f32, 0.0f32), &|x| {
        let yes = f64::from(u8::from(x.elements.iter().any(|x| x.is_nan())));
        x.full(yes)
    });
    operations.check(
        "a part of the tile",
        &|_, t| {
            let mut t = t;
            let corner: Rt<T, 1, 1, L> = t.subtile(H - 1, W - 1);
            let first = corner.convert::<f32>().maximum();
            t = t.map(|x| x);
            single(t) + first
        },
        &|x| {
            let corner =
                || (16 * H - 16..16 * H).flat_map(|row| (16 * W - 16..16 * W).map(move |col| (row, col)));
            let first = MAX(&mut corner().map(|(row, col)| x.at(row, col)));
            x.map(|_, _, x| x + first)
        },
    );
    operations.assemble();
}

/// All operations on one type, shape and layout.
fn all<T, L, const H: usize, const W: usize>(target: Target)
where
    T: Coded + warpwright::tiles::Accumulate<Sum = f32>,
    L: RegisterLayout,
    L::PerRow<T::Length>: Broadcast<L, H, W, H, T::Length>,
    L::PerCol<T::Length>: Broadcast<L, H, W, W, T::Length>,
    f32: Convert<T>,
{
    let mut operations = Operations::<T, L, H, W>::new(target);
    // Reductions, through the broadcast of their results.
    macro_rules! reduced {
        ($($row:ident $row_with:ident $col:ident $col_with:ident $all:ident $reduce:expr, $combine:expr;)*) => {$(
            operations.check(stringify!($row), &|k, t| k.zeros::<Rt<f32, H, W, L>>() + &t.$row(), &|x| rows_reduced(x, $reduce));
            operations.check(stringify!($col), &|k, t| k.zeros::<Rt<f32, H, W, L>>() + &t.$col(), &|x| cols_reduced(x, $reduce));
            operations.check(stringify!($row_with), &|k, t| {
                    let with = k.filled::<Rt<f32, H, W, L>>(1.5).row_max();
                    k.zeros::<Rt<f32, H, W, L>>() + &t.$row_with(with)
                }, &|x| rows_reduced(x, $reduce).map(|_, _, sum| $combine(sum, 1.5)));
            operations.check(stringify!($col_with), &|k, t| {
                    let with = k.filled::<Rt<f32, H, W, L>>(1.5).col_max();
                    k.zeros::<Rt<f32, H, W, L>>() + &t.$col_with(with)
                }, &|x| cols_reduced(x, $reduce).map(|_, _, sum| $combine(sum, 1.5)));
            operations.check(stringify!($all), &|k, t| k.zeros::<Rt<f32, H, W, L>>() + t.$all(), &|x| x.full($reduce(&mut x.elements.iter().copied())));
        )*};
    }
    reduced! {
        row_sum row_sum_with col_sum col_sum_with sum SUM, |a: f64, b: f64| a + b;
        row_max row_max_with col_max col_max_with maximum MAX, f64::max;
        row_min row_min_with col_min col_min_with minimum MIN, f64::min;
    }
    // Products of powers of two.
    fn powers<'k, T: Convert<f32>, const H: usize, const W: usize, L: RegisterLayout>(
        tile: &Rt<'k, T, H, W, L>,
    ) -> Rt<'k, f32, H, W, L> {
        tile.convert::<f32>().map_indexed(|_, _, x| x.gt(4.0).select(2.0, x.lt(-3.0).select(-1.0, 1.0)))
    }
    const PRODUCT: Reduce = |line| {
        let power = |x: f64| {
            if x > 4.0 {
                2.0
            } else if x < -3.0 {
                -1.0
            } else {
                1.0
            }
        };
        line.map(power).product()
    };
    macro_rules! products {
        ($($prod:ident $prod_with:ident $max:ident $reduced:ident;)*) => {$(
            operations.check(stringify!($prod), &|k, t| k.zeros::<Rt<f32, H, W, L>>() + &powers(&t).$prod(), &|x| $reduced(x, PRODUCT));
            operations.check(stringify!($prod_with), &|k, t| {
                    let with = k.filled::<Rt<f32, H, W, L>>(1.5).$max();
                    k.zeros::<Rt<f32, H, W, L>>() + &powers(&t).$prod_with(with)
                }, &|x| $reduced(x, PRODUCT).map(|_, _, product| 1.5 * product));
        )*};
    }
    products! {
        row_prod row_prod_with row_max rows_reduced;
        col_prod col_prod_with col_max cols_reduced;
    }
    operations.check(
        "product",
        &|k, t| {
            let few = powers(&t).map_indexed(|_, (_, col), x| col.lt(2).select(x, 1.0));
            k.zeros::<Rt<f32, H, W, L>>() + few.product()
        },
        &|x| x.full(PRODUCT(&mut (0..x.rows).flat_map(|row| [0, 1].map(|col| x.at(row, col))))),
    );
    operations.check(
        "product of a vector",
        &|k, t| {
            k.zeros::<Rt<f32, H, W, L>>()
                + powers(&t).map_indexed(|_, (_, col), x| col.eq(0).select(x, 1.0)).row_prod().product()
        },
        &|x| x.full(PRODUCT(&mut (0..x.rows).map(|row| x.at(row, 0)))),
    );
    // Vectors.
    operations.check("sum of a vector", &|k, t| k.zeros::<Rt<f32, H, W, L>>() + t.row_max().sum(), &|x| {
        x.full((0..x.rows).map(|row| MAX(&mut x.row(row))).sum())
    });
    operations.check(
        "maximum of a vector",
        &|k, t| k.zeros::<Rt<f32, H, W, L>>() + t.col_sum().maximum(),
        &|x| x.full((0..x.cols).map(|col| SUM(&mut x.col(col))).fold(f64::NEG_INFINITY, f64::max)),
    );
    operations.check(
        "elements of a vector by index",
        &|k, t| {
            let indexed = t.row_sum().map_indexed(|_, index, x| x + index.cast::<f32>() * 100.0);
            k.zeros::<Rt<f32, H, W, L>>() + &indexed
        },
        &|x| x.per_row(|row| SUM(&mut x.row(row)) + 100.0 * row as f64),
    );
    // Extremes and their positions.
    operations.check(
        "row_argmax",
        &|k, t| {
            let (best, at) = t.row_argmax();
            let mut sum = k.zeros::<Rt<f32, H, W, L>>() + &best;
            sum += &at.map_to::<f32>(|x| x.cast::<f32>() * 16.0);
            sum
        },
        &|x| x.per_row(|row| MAX(&mut x.row(row)) + 16.0 * argmax(x.row(row))),
    );
    operations.check(
        "col_argmin",
        &|k, t| {
            let (best, at) = t.col_argmin();
            let mut sum = k.zeros::<Rt<f32, H, W, L>>() + &best;
            sum += &at.map_to::<f32>(|x| x.cast::<f32>() * 16.0);
            sum
        },
        &|x| x.per_col(|col| MIN(&mut x.col(col)) + 16.0 * argmin(x.col(col))),
    );
    macro_rules! with_positions {
        ($($arg:ident $arg_with:ident $max:ident $line:ident $lines:ident $best:ident $first:ident $beats:tt $start:literal;)*) => {$(
            operations.check(stringify!($arg_with), &|k, t| {
                    let start = k.filled::<Rt<f32, H, W, L>>($start).$max();
                    let first = start.map_to::<u32>(|_| Val::from(1000));
                    // Indices of this tile begin at 100; of equal elements, the first stays.
                    let (best, at) = t.$arg_with(t.$arg_with((start, first), 100), 500);
                    let mut sum = k.zeros::<Rt<f32, H, W, L>>() + &best;
                    sum += &at.map_to::<f32>(|x| x.cast::<f32>() * 16.0);
                    sum
                }, &|x| x.$lines(|line| {
                    let best = $best(&mut x.$line(line));
                    let beaten = best $beats $start;
                    if beaten {
                        best + 16.0 * (100.0 + $first(x.$line(line)))
                    } else {
                        $start + 16_000.0
                    }
                }));
        )*};
    }
    with_positions! {
        row_argmax row_argmax_with row_max row per_row MAX argmax > 5.5;
        col_argmax col_argmax_with col_max col per_col MAX argmax > 5.5;
        row_argmin row_argmin_with row_max row per_row MIN argmin < -3.5;
        col_argmin col_argmin_with col_max col per_col MIN argmin < -3.5;
    }
    macro_rules! positions_of_all {
        ($($arg:ident $best:ident;)*) => {$(
            operations.check(concat!(stringify!($arg), " of a tile"), &|k, t| {
                    let (best, (row, col)) = t.$arg();
                    k.zeros::<Rt<f32, H, W, L>>() + (best + (row * 16 * W as u32 + col).cast::<f32>() * 16.0)
                }, &|x| x.full({
                    let best = $best(&mut x.elements.iter().copied());
                    best + 16.0 * $arg(x.elements.iter().copied())
                }));
            operations.check(concat!(stringify!($arg), " of a vector"), &|k, t| {
                    let (best, at) = t.row_sum().$arg();
                    k.zeros::<Rt<f32, H, W, L>>() + (best + at.cast::<f32>() * 1024.0)
                }, &|x| x.full({
                    let sums = || (0..x.rows).map(|row| SUM(&mut x.row(row)));
                    $best(&mut sums()) + 1024.0 * $arg(sums())
                }));
        )*};
    }
    positions_of_all! {
        argmax MAX;
        argmin MIN;
    }
    operations.check(
        "minimum of a vector",
        &|k, t| k.zeros::<Rt<f32, H, W, L>>() + t.row_sum().minimum(),
        &|x| x.full((0..x.rows).map(|row| SUM(&mut x.row(row))).fold(f64::INFINITY, f64::min)),
    );
    operations.check(
        "any and all of a vector",
        &|k, t| {
            let maxima = t.row_max();
            let any = maxima.any(|x| x.gt(5.0)).select(1.0f32, 0.0f32);
            k.zeros::<Rt<f32, H, W, L>>() + (any + maxima.all(|x| x.ge(5.0)).select(2.0f32, 0.0f32))
        },
        &|x| {
            let maxima = || (0..x.rows).map(|row| MAX(&mut x.row(row)));
            let any = f64::from(u8::from(maxima().any(|x| x > 5.0)));
            let all = f64::from(u8::from(maxima().all(|x| x >= 5.0)));
            x.full(any + 2.0 * all)
        },
    );
    // Scans.
    operations
        .check("row_scan", &|_, t| t.row_scan(), &|x| x.map(|row, col, _| x.row(row).take(col + 1).sum()));
    operations
        .check("col_scan", &|_, t| t.col_scan(), &|x| x.map(|row, col, _| x.col(col).take(row + 1).sum()));
    // Elementwise operations: with a tile, a number, a vector per row, a vector per column; in place and not.
    let two = T::from_f64(2.0);
    macro_rules! elementwise {
        ($($sign:tt $in_place:tt;)*) => {$(
            operations.check(concat!("tile ", stringify!($sign), " tile"), &|_, t| single({ let u = &t + two; &u $sign &t }), &|x| x.map(|_, _, x| (x + 2.0) $sign x));
            operations.check(concat!("tile ", stringify!($in_place), " tile"), &|_, t| single({ let mut u = &t + two; u $in_place &t; u }), &|x| x.map(|_, _, x| (x + 2.0) $sign x));
            operations.check(concat!("tile ", stringify!($sign), " number"), &|_, t| single(t $sign two), &|x| x.map(|_, _, x| x $sign 2.0));
            operations.check(concat!("tile ", stringify!($sign), " vector per row"), &|_, t| { let v = t.row_max(); t.convert::<f32>() $sign &v }, &|x| x.per_row(|row| MAX(&mut x.row(row))).map(|row, col, reduced| x.at(row, col) $sign reduced));
            operations.check(concat!("tile ", stringify!($sign), " vector per column"), &|_, t| { let v = t.col_max(); t.convert::<f32>() $sign &v }, &|x| x.per_col(|col| MAX(&mut x.col(col))).map(|row, col, reduced| x.at(row, col) $sign reduced));
            operations.check(concat!("tile ", stringify!($sign), " packed vector per row"), &|_, t| single({ let v = t.row_max().convert::<T>(); t $sign &v }), &|x| x.per_row(|row| MAX(&mut x.row(row))).map(|row, col, reduced| x.at(row, col) $sign reduced));
            operations.check(concat!("tile ", stringify!($sign), " packed vector per column"), &|_, t| single({ let v = t.col_max().convert::<T>(); t $sign &v }), &|x| x.per_col(|col| MAX(&mut x.col(col))).map(|row, col, reduced| x.at(row, col) $sign reduced));
        )*};
    }
    elementwise! { + +=; - -=; * *=; }
    operations.check("max", &|_, t| single(t.max(T::from_f64(1.0))), &|x| x.map(|_, _, x| x.max(1.0)));
    operations.check("min", &|_, t| single(t.min(T::from_f64(1.0))), &|x| x.map(|_, _, x| x.min(1.0)));
    operations.check(
        "mul_add",
        &|_, t| {
            single({
                let u = t.map(|x| x);
                t.mul_add(two, &u)
            })
        },
        &|x| x.map(|_, _, x| 3.0 * x),
    );
    operations.check(
        "zip",
        &|_, t| {
            single({
                let u = &t + two;
                t.zip(&u, |a, b| a * b)
            })
        },
        &|x| x.map(|_, _, x| x * (x + 2.0)),
    );
    // Numbers on the left, of a tile that is kept and of one that is not, and of a vector.
    operations.check(
        "number - tile, number / tile",
        &|_, t| {
            let t = t.convert::<f32>();
            12.0 / &t + (2.0 - t)
        },
        &|x| x.map(|_, _, x| f64::from((12.0 / x) as f32 + (2.0 - x) as f32)),
    );
    operations.check(
        "number - vector",
        &|k, t| k.zeros::<Rt<f32, H, W, L>>() + &(2.0 * &t.row_sum() + (1.0 - t.row_sum())),
        &|x| rows_reduced(x, SUM).map(|_, _, sum| 2.0 * sum + (1.0 - sum)),
    );
    // Masks at constant and computed positions.
    let nine = || T::from_f64(9.0);
    for diagonal in [-40, -9, -1, 0, 1, 8, 17, 40] {
        operations.check("tril", &|_, t| single(t.tril(diagonal, nine())), &|x| {
            x.map(|row, col, x| if col as i32 <= row as i32 + diagonal { x } else { 9.0 })
        });
        operations.check("triu by a register", &|k, t| single(t.triu(k.var(diagonal).get(), nine())), &|x| {
            x.map(|row, col, x| if col as i32 >= row as i32 + diagonal { x } else { 9.0 })
        });
    }
    for at in [0, 1, 7, 16, 23, 1000] {
        macro_rules! fills {
            ($($name:ident $replaced:expr;)*) => {$(
                operations.check(stringify!($name), &|_, t| single(t.$name(at as u32, nine())), &|x| x.map(|row, col, x| if $replaced(row, col) { 9.0 } else { x }));
                operations.check(stringify!($name), &|k, t| single(t.$name(k.var(at as u32).get(), nine())), &|x| x.map(|row, col, x| if $replaced(row, col) { 9.0 } else { x }));
            )*};
        }
        fills! {
            right_fill |_, col| col >= at;
            left_fill |_, col| col < at;
            upper_fill |row, _| row < at;
            lower_fill |row, _| row >= at;
        }
        operations.check(
            "upper_right_fill",
            &|_, t| single(t.upper_right_fill(at as u32, 5, nine())),
            &|x| x.map(|row, col, x| if row < at && col >= 5 { 9.0 } else { x }),
        );
    }
    operations.check("causal", &|_, t| single(t.causal(nine())), &|x| {
        x.map(|row, col, x| if col > row { 9.0 } else { x })
    });
    operations.check("causal_transposed", &|_, t| single(t.causal_transposed(nine())), &|x| {
        x.map(|row, col, x| if col < row { 9.0 } else { x })
    });
    operations.check("fill_where", &|_, t| single(t.fill_where(nine(), |row, col| row.eq(col))), &|x| {
        x.map(|row, col, x| if row == col { 9.0 } else { x })
    });
    // Questions about all elements.
    macro_rules! asked {
        ($($name:literal $ask:ident($($argument:expr)?), $answer:expr;)*) => {$(
            operations.check($name, &|_, t| single({ let yes = t.$ask($($argument)?).select(1.0f32, 0.0f32); t.map_indexed(|_, _, _| yes.cast::<T>()) }), &|x| { let yes = f64::from(u8::from($answer(x))); x.full(yes) });
        )*};
    }
    asked! {
        "any" any(|x| x.gt(5.0)), |x: &Matrix| x.elements.iter().any(|&x| x > 5.0);
        "all" all(|x| x.ge(-4.0)), |x: &Matrix| x.elements.iter().all(|&x| x >= -4.0);
        "not all" all(|x| x.ge(-3.0)), |x: &Matrix| x.elements.iter().all(|&x| x >= -3.0);
        "has_nan" has_nan(), |x: &Matrix| x.elements.iter().any(|x| x.is_nan());
    }
    operations.assemble();
}

macro_rules! cases {
    ($($name:ident $t:ty, $layout:ty, $h:literal by $w:literal, $target:ident;)*) => {$(
        #[test]
        fn $name() {
            all::<$t, $layout, $h, $w>(Target::$target);
        }
    )*};
}

macro_rules! kinds {
    ($($name:ident $t:ty, $layout:ty, $h:literal by $w:literal;)*) => {$(
        #[test]
        fn $name() {
            each_kind::<$t, $layout, $h, $w>(Target::SM_80);
        }
    )*};
}

kinds! {
    f32_row_1_1  f32,  Row, 1 by 1;
    f32_row_4_4  f32,  Row, 4 by 4;
    f32_row_1_8  f32,  Row, 1 by 8;
    f32_col_4_4  f32,  Col, 4 by 4;
    f32_col_2_1  f32,  Col, 2 by 1;
    bf16_row_4_4 bf16, Row, 4 by 4;
    bf16_row_8_1 bf16, Row, 8 by 1;
    bf16_col_1_1 bf16, Col, 1 by 1;
    bf16_col_4_3 bf16, Col, 4 by 3;
    f16_row_3_2  f16,  Row, 3 by 2;
    f16_row_1_16 f16,  Row, 1 by 16;
    f16_col_4_4  f16,  Col, 4 by 4;
}

cases! {
    f32_row_2_3  f32,  Row, 2 by 3, SM_80;
    f32_col_3_1  f32,  Col, 3 by 1, SM_80;
    bf16_row_1_2 bf16, Row, 1 by 2, SM_80;
    f16_col_2_2  f16,  Col, 2 by 2, SM_80;
    // bf16 has instructions of its own.
    bf16_on_sm_90     bf16, Row, 2 by 1, SM_90;
    f32_of_16_subtiles  f32,  Row, 4 by 4, SM_80;
    bf16_of_16_subtiles bf16, Col, 4 by 4, SM_90;
}
