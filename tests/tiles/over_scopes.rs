//! Reductions, extremes and conditions over all elements of tiles, vectors and shared tiles of a scope, and along the lines that its
//! warps divide.

use std::cell::Cell;

use pretty_assertions::assert_eq;
use warpwright::{
    prelude::*,
    ptx::{Global, Slice, Write, e4m3, traits::Numeric},
    run::Device,
    tiles::{Accumulate, Filled, RegisterLayout, VectorLayout},
};

use super::numbers::Numeral;
use crate::cases::everywhere;

const WARPS: usize = 6;
const BLOCKS: usize = 2;
/// Kernels loop twice: a warp must not overwrite what others still read.
const ITERATIONS: usize = 2;
const COLS: usize = 32;
/// The elements of a warp's tile.
const TILE: usize = 16 * COLS;

/// An element that is larger than all others, and one that is smaller, and their positions.
const HIGHEST: (f64, usize) = (11.0, 3 * WARPS * TILE + 4 * TILE + 77);
const LOWEST: (f64, usize) = (-6.0, WARPS * TILE + TILE + 300);

/// Numbers, most of which occur several times, and factors whose products are exact.
fn number(at: usize) -> f64 {
    match at {
        _ if at == HIGHEST.1 => HIGHEST.0,
        _ if at == LOWEST.1 => LOWEST.0,
        _ => ((at * 37 + at / 64 * 11) % 101 % 16) as f64 - 5.0,
    }
}

fn factor(at: usize) -> f64 {
    match (at % 401, at % 29) {
        (7, _) => 2.0,
        (_, 3) => -1.0,
        _ => 1.0,
    }
}

/// Where a warp stores its results, each as soon as it is computed, so that kernels need few registers.
struct Outputs<'k> {
    k: Builder<'k>,
    tile: Val<'k, u32>,
    all: Slice<'k, f32, Global, Write>,
    rows: Gl<'k, f32, Write>,
    cols: Gl<'k, f32, Write>,
    /// The numbers of results so far.
    counts: [Cell<u32>; 3],
}

impl<'k> Outputs<'k> {
    /// Returns the place of the next result of one kind.
    fn next(&self, kind: usize, count: usize) -> Val<'k, u32> {
        let at = self.counts[kind].replace(self.counts[kind].get() + 1);
        self.tile * count as u32 + at
    }

    fn all<S: Numeric>(&self, result: Val<'k, S>) {
        let k = self.k;
        let at = self.next(0, ALL);
        k.when(k.lane().rank().eq(0), || self.all.at(at).store(result.cast::<f32>()));
    }

    /// An extreme element with its position.
    fn positioned<S: Numeric>(&self, (element, (row, col)): (Val<'k, S>, (Val<'k, u32>, Val<'k, u32>))) {
        self.all(element);
        self.all(row);
        self.all(col);
    }

    fn holds(&self, condition: Val<'k, bool>) {
        self.all(condition.select(1.0f32, 0.0f32));
    }

    fn row<const N: usize, V: VectorLayout>(&self, result: Rv<'k, f32, N, V>) {
        self.rows.row(self.next(1, LINE)).tile(0).store(&result);
    }

    fn col<const N: usize, V: VectorLayout>(&self, result: Rv<'k, f32, N, V>) {
        self.cols.row(self.next(2, LINE)).tile(0).store(&result);
    }
}

fn is_highest<'k, S: Numeral + Numeric>(x: Val<'k, S>) -> Val<'k, bool> {
    x.eq(S::of(HIGHEST.0))
}

fn is_above_lowest<'k, S: Numeral + Numeric>(x: Val<'k, S>) -> Val<'k, bool> {
    x.gt(S::of(LOWEST.0))
}

fn is_ten<'k, S: Numeral + Numeric>(x: Val<'k, S>) -> Val<'k, bool> {
    x.eq(S::of(10.0))
}

fn is_above_minus_five<'k, S: Numeral + Numeric>(x: Val<'k, S>) -> Val<'k, bool> {
    x.gt(S::of(-5.0))
}

/// The operations over a scope of a warp's tile of numbers, which `load` loads again for some of them, and of one of factors.
macro_rules! over_scope {
    ($k:ident, $scope:ty, $load:ident, $factors:ident, $out:ident) => {{
        let t = $load();
        let scope = <$scope>::current($k);
        $out.all(t.sum_over(scope));
        $out.all($factors().product_over(scope));
        $out.all(t.maximum_over(scope));
        $out.all(t.minimum_over(scope));
        $out.holds(t.any_over(scope, is_highest));
        $out.holds(t.all_over(scope, is_above_lowest));
        let t = $load();
        $out.positioned(t.argmax_over(scope));
        $out.positioned(t.argmin_over(scope));
        let t = $load();
        let (most, least) = (t.row_max(), t.col_min());
        $out.all(t.col_max().sum_over(scope));
        $out.all($factors().row_prod().product_over(scope));
        $out.all(most.maximum_over(scope));
        $out.all(most.minimum_over(scope));
        $out.holds(most.any_over(scope, is_highest));
        $out.holds(least.all_over(scope, is_above_lowest));
        for (element, index) in [most.argmax_over(scope), least.argmin_over(scope)] {
            $out.all(element);
            $out.all(index);
        }
        let t = $load();
        for (element, index) in [t.row_argmax_over(scope), t.row_argmin_over(scope)] {
            $out.row(element.convert());
            $out.row(index.convert());
        }
        $out.row(t.row_any_over(scope, is_ten).convert());
        $out.row(t.row_all_over(scope, is_above_minus_five).convert());
        let t = $load();
        for (element, index) in [t.col_argmax_over(scope), t.col_argmin_over(scope)] {
            $out.col(element.convert());
            $out.col(index.convert());
        }
        $out.col(t.col_any_over(scope, is_ten).convert());
        $out.col(t.col_all_over(scope, is_above_minus_five).convert());
    }};
}

/// The first of the greatest elements and its index.
fn argmax(elements: impl Iterator<Item = f64>) -> [f64; 2] {
    let (at, element) =
        elements.enumerate().reduce(|best, other| if other.1 > best.1 { other } else { best }).unwrap();
    [element, at as f64]
}

/// The first of the least elements and its index.
fn argmin(elements: impl Iterator<Item = f64>) -> [f64; 2] {
    let [element, at] = argmax(elements.map(|x| -x));
    [-element, at]
}

fn truth(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}

/// The results for all elements of a scope of `warps` warps, the first of which is at `first`.
fn expected_of_all(first: usize, warps: usize) -> Vec<f64> {
    let all: Vec<f64> = (0..warps * TILE).map(|at| number(first + at)).collect();
    let product: f64 = (0..warps * TILE).map(|at| factor(first + at)).product();
    let tile = |warp: usize, row: usize, col: usize| all[warp * TILE + row * COLS + col];
    let by_col: f64 = (0..warps)
        .flat_map(|w| (0..COLS).map(move |col| (w, col)))
        .map(|(w, col)| argmax((0..16).map(|row| tile(w, row, col)))[0])
        .sum();
    let row_max: Vec<f64> = all.chunks(COLS).map(|row| argmax(row.iter().copied())[0]).collect();
    let col_min = (0..warps).flat_map(|w| (0..COLS).map(move |col| (w, col)));
    let col_min: Vec<f64> = col_min.map(|(w, col)| argmin((0..16).map(|row| tile(w, row, col)))[0]).collect();
    let (most, least) = (argmax(all.iter().copied()), argmin(all.iter().copied()));
    let any = truth(all.contains(&HIGHEST.0));
    let every = truth(all.iter().all(|&x| x > LOWEST.0));
    let at = |index: f64| [(index / COLS as f64).floor(), index % COLS as f64];
    let mut results = vec![all.iter().sum(), product, most[0], least[0], any, every];
    results.extend([[most[0]].as_slice(), &at(most[1]), &[least[0]], &at(least[1])].concat());
    results.extend([by_col, product, most[0], argmin(row_max.iter().copied())[0], any, every]);
    results.extend(argmax(row_max.into_iter()));
    results.extend(argmin(col_min.into_iter()));
    results
}

/// The results for a line of a scope.
fn expected_of_line(line: &[f64]) -> Vec<f64> {
    let mut results = [argmax(line.iter().copied()), argmin(line.iter().copied())].concat();
    results.extend([truth(line.contains(&10.0)), truth(line.iter().all(|&x| x > -5.0))]);
    results
}

/// Operations of one warp in its scope.
type Over<T, const W: usize, L> = dyn for<'k> Fn(
    Builder<'k>,
    &dyn Fn() -> Rt<'k, T, 1, W, L>,
    &dyn Fn() -> Rt<'k, T, 1, W, L>,
    &Outputs<'k>,
);

/// The number of results for all elements, and for each line.
const ALL: usize = 22;
const LINE: usize = 6;

fn over<T, const W: usize, L>(name: &str, group: usize, operations: &Over<T, W, L>)
where
    T: Numeral + Accumulate,
    L: RegisterLayout,
{
    let tiles = (BLOCKS * ITERATIONS * WARPS) as u32;
    type Args<T> = (In<T>, In<T>, Out<f32>, Out<f32>, Out<f32>);
    let kernel = Kernel::<Args<T>>::build(
        "over(x, factors, all, rows, cols)",
        Target::SM_89,
        |k, (x, factors, all, rows, cols)| {
            k.block([32 * WARPS as u32]);
            k.grid([BLOCKS as u32]);
            let matrix = row_major(tiles * 16, COLS as u32);
            let (x, factors) = (k.global(x, matrix), k.global(factors, matrix));
            let all = k.slice(all, tiles * ALL as u32);
            let rows = k.global(rows, row_major(tiles * LINE as u32, 16));
            let cols = k.global(cols, row_major(tiles * LINE as u32, COLS as u32));
            k.for_(ITERATIONS as u32, |i| {
                let tile = (k.ctaid_x() * ITERATIONS as u32 + i) * WARPS as u32 + k.warp().rank();
                let outputs = Outputs { k, tile, all, rows, cols, counts: Default::default() };
                operations(k, &|| x.tile(tile, 0).load(), &|| factors.tile(tile, 0).load(), &outputs);
                let counts = outputs.counts.map(|count| count.get() as usize);
                assert_eq!(counts, [ALL, LINE, LINE]);
            });
        },
    )
    .unwrap_or_else(|error| panic!("{name}: {error}"));
    crate::assemble::kernel(&kernel);
    let tiles = tiles as usize;
    let found = everywhere(|device| {
        let numbers = |of: fn(usize) -> f64| (0..tiles * TILE).map(|at| T::of(of(at))).collect::<Vec<_>>();
        let (x, factors) =
            (device.upload(&numbers(number)).unwrap(), device.upload(&numbers(factor)).unwrap());
        let output = |count: usize| device.upload(&vec![f32::NAN; count]).unwrap();
        let mut outputs = [output(tiles * ALL), output(tiles * LINE * 16), output(tiles * LINE * COLS)];
        let [all, rows, cols] = &mut outputs;
        device.launch(&kernel, (&x, &factors, all, rows, cols)).unwrap();
        outputs.map(|output| device.download(&output).unwrap())
    });
    for tile in 0..tiles {
        let first = tile / group * group;
        let expected: Vec<f32> = expected_of_all(first * TILE, group).into_iter().map(|x| x as f32).collect();
        assert_eq!(found[0][tile * ALL..][..ALL], expected, "{name} of {}, tile {tile}", T::NAME);
        let element = |tile: usize, row: usize, col: usize| number(tile * TILE + row * COLS + col);
        let lines = |count: usize, of: &dyn Fn(usize) -> Vec<f64>| -> Vec<f32> {
            let lines: Vec<_> = (0..count).map(|at| expected_of_line(&of(at))).collect();
            (0..LINE).flat_map(|result| lines.iter().map(move |line| line[result] as f32)).collect()
        };
        let rows = lines(16, &|row| {
            (first..first + group)
                .flat_map(|tile| (0..COLS).map(move |col| element(tile, row, col)))
                .collect()
        });
        assert_eq!(
            found[1][tile * LINE * 16..][..LINE * 16],
            rows,
            "{name} of {}, rows of tile {tile}",
            T::NAME
        );
        let cols = lines(COLS, &|col| {
            (first..first + group).flat_map(|tile| (0..16).map(move |row| element(tile, row, col))).collect()
        });
        assert_eq!(
            found[2][tile * LINE * COLS..][..LINE * COLS],
            cols,
            "{name} of {}, columns of tile {tile}",
            T::NAME
        );
    }
}

macro_rules! over {
    ($t:ty, $w:literal, $l:ty: $($group:literal $scope:ty),*) => {$(
        over::<$t, $w, $l>(stringify!($scope), $group, &|k, load, factors, out| over_scope!(k, $scope, load, factors, out));
    )*};
}

#[test]
fn over_every_scope() {
    over!(f32, 2, Row: 1 Warp, 2 Warps<2>, 3 Warps<3>, 6 Block);
    over!(f32, 2, Col: 3 Warps<3>);
}

#[test]
fn over_every_width() {
    over!(bf16, 2, Col: 6 Block);
    over!(e4m3, 1, Row: 2 Warps<2>);
    over!(i8, 1, Row: 6 Block);
    over!(i32, 2, Row: 3 Warps<3>);
    over!(f64, 2, Row: 2 Warps<2>);
}

/// The height of shared tiles in subtiles; no scope of several warps divides it.
const HEIGHT: usize = 5;

/// Operations on a filled tile of numbers and one of factors.
type OfShared<T, const W: usize> =
    dyn for<'k> Fn(&Filled<St<'k, T, HEIGHT, W>>, &Filled<St<'k, T, HEIGHT, W>>) -> Vec<Val<'k, f32>>;

/// Returns the index of the scope in its block, and two tiles of the scope.
type Allocate<T, const W: usize> = dyn for<'k> Fn(Builder<'k>) -> (Val<'k, u32>, [St<'k, T, HEIGHT, W>; 2]);

/// Compares the results of the shared tiles of every scope of `group` warps, filled twice in a loop.
fn of_shared<T, const W: usize>(
    name: &str,
    group: usize,
    allocate: &Allocate<T, W>,
    operations: &OfShared<T, W>,
) where
    T: Numeral + Accumulate,
{
    const RESULTS: usize = 10;
    let scopes = WARPS / group;
    let tiles = BLOCKS * ITERATIONS * scopes;
    let rows = (tiles * HEIGHT * 16) as u32;
    let kernel = Kernel::<(In<T>, In<T>, Out<f32>)>::build(
        "shared(x, factors, y)",
        Target::SM_90A,
        |k, (x, factors, y)| {
            k.block([32 * WARPS as u32]);
            k.grid([BLOCKS as u32]);
            let matrix = row_major(rows, COLS as u32);
            let (x, factors) = (k.global(x, matrix), k.global(factors, matrix));
            let y = k.slice(y, (tiles * group * RESULTS) as u32);
            k.for_(ITERATIONS as u32, |i| {
                let (rank, [numbers, powers]) = allocate(k);
                let tile = (k.ctaid_x() * ITERATIONS as u32 + i) * scopes as u32 + rank;
                let numbers = numbers.fill(x.tile(tile, 0)).wait();
                let powers = powers.fill(factors.tile(tile, 0)).wait();
                let results = operations(&numbers, &powers);
                assert_eq!(results.len(), RESULTS);
                let first =
                    ((k.ctaid_x() * ITERATIONS as u32 + i) * WARPS as u32 + k.warp().rank()) * RESULTS as u32;
                for (at, result) in (0u32..).zip(results) {
                    k.when(k.lane().rank().eq(at), || y.at(first + at).store(result));
                }
                let _ = (numbers.release(), powers.release());
            });
        },
    )
    .unwrap_or_else(|error| panic!("{name}: {error}"));
    crate::assemble::kernel(&kernel);
    let elements = HEIGHT * TILE;
    let found = everywhere(|device| {
        let numbers =
            |of: fn(usize) -> f64| (0..tiles * elements).map(|at| T::of(of(at))).collect::<Vec<_>>();
        let (x, factors) =
            (device.upload(&numbers(number)).unwrap(), device.upload(&numbers(factor)).unwrap());
        let mut y = device.upload(&vec![f32::NAN; tiles * group * RESULTS]).unwrap();
        device.launch(&kernel, (&x, &factors, &mut y)).unwrap();
        device.download(&y).unwrap()
    });
    for (at, found) in found.chunks(RESULTS).enumerate() {
        let first = at / group * elements;
        let all: Vec<f64> = (first..first + elements).map(number).collect();
        let product: f64 = (first..first + elements).map(factor).product();
        let (most, least) = (argmax(all.iter().copied()), argmin(all.iter().copied()));
        let at_row = |index: f64| [(index / COLS as f64).floor(), index % COLS as f64];
        let mut expected = vec![all.iter().sum(), product, most[0], least[0]];
        expected.extend([[most[0]].as_slice(), &at_row(most[1]), &[least[0]], &at_row(least[1])].concat());
        let expected: Vec<f32> = expected.into_iter().map(|x| x as f32).collect();
        assert_eq!(found, expected, "{name} of {}, warp {at}", T::NAME);
    }
}

/// An extreme element with its position.
fn positioned<'k, S: Numeric>(
    (element, (row, col)): (Val<'k, S>, (Val<'k, u32>, Val<'k, u32>)),
) -> [Val<'k, f32>; 3] {
    [element.cast(), row.cast(), col.cast()]
}

macro_rules! shared {
    ($t:ty, $w:literal: $($group:literal $scope:ty),*) => {$(
        of_shared::<$t, $w>(
            stringify!($scope),
            $group,
            &|k| {
                let scope = <$scope>::current(k);
                let rank = if $group == WARPS { 0.into() } else { scope.rank() };
                (rank, [k.shared_tile_of(scope), k.shared_tile_of(scope)])
            },
            &|numbers, factors| {
                let all = [numbers.sum().cast(), factors.product().cast(), numbers.maximum().cast(), numbers.minimum().cast()];
                let extremes = [positioned(numbers.argmax()), positioned(numbers.argmin())].concat();
                [&all[..], &extremes].concat()
            },
        );
    )*};
}

#[test]
fn of_shared_tiles_of_every_scope() {
    shared!(f32, 2: 1 Warp, 2 Warps<2>, 3 Warps<3>, 6 Block);
    shared!(bf16, 2: 6 Block);
    shared!(e4m3, 1: 2 Warps<2>);
    shared!(i8, 1: 6 Block);
    shared!(f64, 2: 3 Warps<3>);
}

/// An operation that is the only one in a loop, so that no barrier of another separates its iterations.
type Alone = dyn for<'k> Fn(Block<'k>, &Rt<'k, f32, 1, 2>) -> Val<'k, f32>;

fn alone(name: &str, operation: &Alone, expected: fn(&[f64]) -> f64) {
    let kernel = Kernel::<(In<f32>, Out<f32>)>::build("alone(x, y)", Target::SM_80, |k, (x, y)| {
        let block = k.block([32 * WARPS as u32]);
        k.grid([1]);
        let x = k.global(x, row_major((ITERATIONS * WARPS * 16) as u32, COLS as u32));
        let y = k.slice(y, (ITERATIONS * WARPS * 32) as u32);
        k.for_(ITERATIONS as u32, |i| {
            let tile = x.tile(i * WARPS as u32 + k.warp().rank(), 0).load();
            y.at(i * block.size() + block.thread()).store(operation(block, &tile));
        });
    })
    .unwrap_or_else(|error| panic!("{name}: {error}"));
    let x: Vec<f32> = (0..ITERATIONS * WARPS * TILE).map(|at| number(at) as f32).collect();
    let found = everywhere(|device| {
        let mut y = device.upload(&vec![f32::NAN; ITERATIONS * WARPS * 32]).unwrap();
        device.launch(&kernel, (&device.upload(&x).unwrap(), &mut y)).unwrap();
        device.download(&y).unwrap()
    });
    for (iteration, found) in found.chunks(WARPS * 32).enumerate() {
        let of_block: Vec<f64> = (0..WARPS * TILE).map(|at| number(iteration * WARPS * TILE + at)).collect();
        assert_eq!(found, [expected(&of_block) as f32; WARPS * 32], "{name}, iteration {iteration}");
    }
}

#[test]
fn alone_in_a_loop() {
    alone("sum_over", &|block, t| t.sum_over(block), |all| all.iter().sum());
    alone("argmax_over", &|block, t| t.argmax_over(block).1.0.cast(), |all| {
        (argmax(all.iter().copied())[1] / COLS as f64).floor()
    });
    alone("any_over", &|block, t| t.any_over(block, is_highest).select(1.0f32, 0.0f32), |all| {
        truth(all.contains(&HIGHEST.0))
    });
    alone("row_argmax_over", &|block, t| t.row_argmax_over(block).0.maximum(), |all| {
        argmax(all.iter().copied())[0]
    });
    alone("col_argmin_over", &|block, t| t.col_argmin_over(block).0.minimum(), |all| {
        argmin(all.iter().copied())[0]
    });
    alone("row_any_over", &|block, t| t.row_any_over(block, is_ten).maximum().cast(), |all| {
        truth(all.contains(&10.0))
    });
}
