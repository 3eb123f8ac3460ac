//! Every operation on complex register tiles with small whole numbers, for which results are exact: types × shapes × layouts, two blocks,
//! two launches, poisoned outputs. The tiles of the first operand reach past the last row and column of their matrix.

use warpwright::{
    prelude::*,
    ptx::traits::{Divide, Root, Signed},
    run::Device,
    tensor::{Arithmetic, Computed, Length16},
    tiles::{Accumulate, Broadcast, Cgl, ColVec, Complex, Convert, Crt, RegisterLayout, RowVec},
};

use super::{super::numbers::Numeral, conj, pairs, product, sum};
use crate::cases::everywhere;

/// The number that replaces numbers past the edges, and those that masks select.
const FILL: [f64; 2] = [5.0, 2.0];
const MASK: [f64; 2] = [9.0, -8.0];

/// The numbers of a block: matrix 0 and 1 have small whole numbers, matrix 2 powers of 2 times powers of i.
#[derive(Clone, Copy)]
struct Numbers {
    launch: usize,
    block: usize,
    rows: usize,
    cols: usize,
}

impl Numbers {
    fn at(self, matrix: usize, row: usize, col: usize) -> [f64; 2] {
        let row = self.block * self.rows + row;
        let hash = (row * 37 + col * 101 + row * col * 7 + matrix * 19 + self.launch * 5) % 1009;
        let (turns, size) = (hash % 4, f64::from(1u32 << (hash / 4 % 2)));
        match matrix {
            2 => [[size, 0.0], [0.0, size], [-size, 0.0], [0.0, -size]][turns],
            _ => [hash % 7, hash / 7 % 7].map(|part| part as f64 - 3.0),
        }
    }

    fn x(self, row: usize, col: usize) -> [f64; 2] {
        let is_inside = self.block * self.rows + row < 2 * self.rows - 3 && col < self.cols - 2;
        if is_inside { self.at(0, row, col) } else { FILL }
    }

    fn y(self, row: usize, col: usize) -> [f64; 2] {
        self.at(1, row, col)
    }

    fn unit(self, row: usize, col: usize) -> [f64; 2] {
        self.at(2, row, col)
    }

    fn sum(self, rows: impl Iterator<Item = usize>, cols: impl Iterator<Item = usize> + Clone) -> [f64; 2] {
        rows.flat_map(|row| cols.clone().map(move |col| (row, col)))
            .fold([0.0; 2], |all, (row, col)| sum(all, self.x(row, col)))
    }
}

/// The operands of an operation; vectors are the first column and the first row of `y`.
struct Operands<'k, T: Numeral, const H: usize, const W: usize, L: RegisterLayout> {
    k: Builder<'k>,
    x: Crt<'k, T, H, W, L>,
    y: Crt<'k, T, H, W, L>,
    unit: Crt<'k, T, H, W, L>,
    per_row: Complex<ColVec<'k, T, H, L>>,
    per_col: Complex<RowVec<'k, T, W, L>>,
}

/// An operation on tiles.
type Operation<'a, T, const H: usize, const W: usize, L> =
    &'a dyn for<'k> Fn(Operands<'k, T, H, W, L>) -> Crt<'k, T, H, W, L>;

/// An element of its result.
type Reference<'a> = &'a dyn Fn(Numbers, usize, usize) -> [f64; 2];

fn of<T: Numeral>([re, im]: [f64; 2]) -> Complex<T> {
    Complex { re: T::of(re), im: T::of(im) }
}

fn power_of_i([re, im]: [f64; 2], unit: [f64; 2]) -> [f64; 2] {
    let [c, d] = unit;
    product([re, im], conj(unit)).map(|part| part / (c * c + d * d))
}

fn check<T, const H: usize, const W: usize, L: RegisterLayout>()
where
    T: Numeral
        + Arithmetic<Length = Length16>
        + Accumulate<Sum: Signed + Divide + Root + Convert<T>>
        + Computed<In: Signed + Divide>
        + Convert<<T as Accumulate>::Sum>,
    L::PerRow<Length16>: Broadcast<L, H, W, H, Length16>,
    L::PerCol<Length16>: Broadcast<L, H, W, W, Length16>,
{
    let [nine, eight] = MASK.map(T::of);
    let masked = |is_masked: fn(usize, usize) -> bool| {
        move |n: Numbers, row, col| if is_masked(row, col) { MASK } else { n.x(row, col) }
    };
    let both =
        |f: fn([f64; 2], [f64; 2]) -> [f64; 2]| move |n: Numbers, row, col| f(n.x(row, col), n.y(row, col));
    let own = |f: fn([f64; 2]) -> [f64; 2]| move |n: Numbers, row, col| f(n.x(row, col));
    let minus = |[a, b]: [f64; 2], [c, d]: [f64; 2]| [a - c, b - d];
    let quotient = |n: Numbers, row, col| power_of_i(n.x(row, col), n.unit(row, col));
    let product_and_sum = |n: Numbers, row, col| sum(product(n.x(row, col), n.y(row, col)), n.unit(row, col));
    #[rustfmt::skip]
    let operations: &[(&str, Operation<'_, T, H, W, L>, Reference<'_>)] = &[
        ("x + y", &|Operands { x, y, .. }| &x + &y, &both(sum)),
        ("x - y", &|Operands { x, y, .. }| x - &y, &both(minus)),
        ("x * y", &|Operands { x, y, .. }| &x * &y, &both(product)),
        ("x * y by value", &|Operands { x, y, .. }| x * y, &both(product)),
        ("x / unit", &|Operands { x, unit, .. }| &x / &unit, &quotient),
        ("x += y", &|Operands { mut x, y, .. }| { x += &y; x }, &both(sum)),
        ("x -= y", &|Operands { mut x, y, .. }| { x -= &y; x }, &both(minus)),
        ("x *= y", &|Operands { mut x, y, .. }| { x *= &y; x }, &both(product)),
        ("x /= unit", &|Operands { mut x, unit, .. }| { x /= &unit; x }, &quotient),
        ("x * number", &|Operands { x, .. }| &x * of::<T>([2.0, -1.0]), &own(|x| product(x, [2.0, -1.0]))),
        ("x - number", &|Operands { x, .. }| x - of::<T>([2.0, -1.0]), &own(|[re, im]| [re - 2.0, im + 1.0])),
        ("x + number in registers", &|Operands { k, x, .. }| {
            x + of::<T>([1.0, 3.0]).map_parts(|part| k.copy_of(Val::from(part)))
        }, &own(|x| sum(x, [1.0, 3.0]))),
        ("x * per row", &|Operands { x, per_row, .. }| &x * &per_row, &|n, row, col| product(n.x(row, col), n.y(row, 0))),
        ("x -= per column", &|Operands { mut x, per_col, .. }| { x -= &per_col; x }, &|n, row, col| minus(n.x(row, col), n.y(0, col))),
        ("broadcast", &|Operands { per_col, .. }| Crt::broadcast(&per_col), &|n, _, col| n.y(0, col)),
        ("-x", &|Operands { x, .. }| -x, &own(|x| x.map(|part| -part))),
        ("conj", &|Operands { x, .. }| x.conj(), &own(conj)),
        ("scale", &|Operands { x, .. }| x.scale(T::of(3.0)), &own(|x| x.map(|part| 3.0 * part))),
        ("scale per row", &|Operands { x, per_row, .. }| x.scale(&per_row.re), &|n, row, col| n.x(row, col).map(|part| part * n.y(row, 0)[0])),
        ("mul_add", &|Operands { x, y, unit, .. }| x.mul_add(&y, &unit), &product_and_sum),
        ("add_product", &|Operands { x, y, unit, .. }| unit.add_product(&x, &y), &product_and_sum),
        ("recip", &|Operands { unit, .. }| unit.recip(), &|n, row, col| power_of_i([1.0, 0.0], n.unit(row, col))),
        ("abs_squared", &|Operands { x, y, .. }| Complex { re: x.abs_squared(), im: y.im }, &|n, row, col| {
            let [re, im] = n.x(row, col);
            [re * re + im * im, n.y(row, col)[1]]
        }),
        ("abs", &|Operands { unit, y, .. }| Complex { re: (unit * of::<T>([3.0, 4.0])).abs(), im: y.im }, &|n, row, col| {
            let [re, im] = n.unit(row, col);
            [5.0 * (re + im).abs(), n.y(row, col)[1]]
        }),
        ("map", &|Operands { x, .. }| x.map(|z| Complex { re: -z.im, im: z.re }), &own(|[re, im]| [-im, re])),
        ("zip", &|Operands { x, y, .. }| x.zip(&y, |z, w| Complex { re: z.re - w.im, im: w.re }), &both(|x, y| [x[0] - y[1], y[0]])),
        ("map_indexed", &|Operands { x, .. }| x.map_indexed(|_, (row, col), z| Complex { re: row.lt(col).select(z.im, z.re), im: z.re }),
            &|n, row, col| { let [re, im] = n.x(row, col); [if row < col { im } else { re }, re] }),
        ("tril", &|Operands { x, .. }| x.tril(3, nine, eight), &masked(|row, col| col > row + 3)),
        ("triu", &|Operands { k, x, .. }| x.triu(k.var(-5).get(), nine, eight), &masked(|row, col| col + 5 < row)),
        ("causal", &|Operands { x, .. }| x.causal(nine, eight), &masked(|row, col| col > row)),
        ("causal_transposed", &|Operands { x, .. }| x.causal_transposed(nine, eight), &masked(|row, col| col < row)),
        ("right_fill", &|Operands { x, .. }| x.right_fill(11, nine, eight), &masked(|_, col| col >= 11)),
        ("left_fill", &|Operands { x, .. }| x.left_fill(7, nine, eight), &masked(|_, col| col < 7)),
        ("upper_fill", &|Operands { x, .. }| x.upper_fill(9, nine, eight), &masked(|row, _| row < 9)),
        ("lower_fill", &|Operands { x, .. }| x.lower_fill(13, nine, eight), &masked(|row, _| row >= 13)),
        ("upper_right_fill", &|Operands { x, .. }| x.upper_right_fill(10, 5, nine, eight), &masked(|row, col| row < 10 && col >= 5)),
        ("fill_where", &|Operands { x, .. }| x.fill_where(nine, eight, |row, col| row.eq(col)), &masked(|row, col| row == col)),
        ("gather_cols", &|Operands { x, .. }| x.gather_cols(|col| col ^ 2), &|n, row, col| n.x(row, col ^ 2)),
        ("update_subtile", &|Operands { x, .. }| x.update_subtile(H - 1, W - 1, |part: Crt<T, 1, 1, L>| -part.conj()), &|n, row, col| {
            let [re, im] = n.x(row, col);
            if row >= 16 * (H - 1) && col >= 16 * (W - 1) { [-re, im] } else { [re, im] }
        }),
        ("row_sum", &|Operands { x, .. }| Crt::broadcast(&x.row_sum().convert::<T>()), &|n, row, _| n.sum(row..=row, 0..16 * W)),
        ("col_sum", &|Operands { x, .. }| Crt::broadcast(&x.col_sum().convert::<T>()), &|n, _, col| n.sum(0..16 * H, col..=col)),
        ("row_sum_with", &|Operands { x, per_row, .. }| Crt::broadcast(&x.row_sum_with(per_row.convert()).convert::<T>()),
            &|n, row, _| sum(n.sum(row..=row, 0..16 * W), n.y(row, 0))),
        ("col_sum_with", &|Operands { x, per_col, .. }| Crt::broadcast(&x.col_sum_with(per_col.convert()).convert::<T>()),
            &|n, _, col| sum(n.sum(0..16 * H, col..=col), n.y(0, col))),
        ("sum", &|Operands { k, x, .. }| {
            // A sum of all rows would not be exact in bf16.
            (Crt::<T::Sum, H, W, L>::zeros(k) + x.lower_fill(4, T::of(0.0), T::of(0.0)).sum()).convert()
        }, &|n, _, _| n.sum(0..4, 0..16 * W)),
        ("row_scan", &|Operands { x, .. }| x.row_scan().convert(), &|n, row, col| n.sum(row..=row, 0..=col)),
        ("col_scan", &|Operands { x, .. }| x.col_scan().convert(), &|n, row, col| n.sum(0..=row, col..=col)),
    ];
    // In a single kernel, operations that share subexpressions would need too many registers.
    operations.chunks(3).for_each(|operations| check_some(operations));
}

fn check_some<T, const H: usize, const W: usize, L: RegisterLayout>(
    operations: &[(&str, Operation<'_, T, H, W, L>, Reference<'_>)],
) where
    T: Numeral + Convert<T>,
{
    type Args<T> = (In<T>, In<T>, Out<T>, Out<T>);
    let [rows, cols] = [16 * H as u32, 16 * W as u32];
    let count = operations.len() as u32;
    let kernel =
        Kernel::<Args<T>>::build("complex(xre, xim, yre, yim)", Target::SM_80, |k, (xre, xim, yre, yim)| {
            k.block([32]);
            k.grid([2]);
            let of_x = contiguous([3, 2 * rows, cols]);
            let of_y = row_major(2 * rows * count, cols);
            let x = Cgl { re: k.global(xre, of_x), im: k.global(xim, of_x) };
            let y = Cgl { re: k.global(yre, of_y), im: k.global(yim, of_y) };
            let own = [0, 1, 2].map(|matrix| x.batch(matrix));
            for (i, (_, operation, _)) in (0..count).zip(operations) {
                let b = k.ctaid_x();
                let vectors = own[1].skip(b * rows, 0);
                let operands = Operands {
                    k,
                    x: own[0]
                        .sub_matrix((0, 0), (2 * rows - 3, cols - 2))
                        .tile(b, 0)
                        .load_or::<T, H, W, L>(T::of(FILL[0]), T::of(FILL[1])),
                    y: own[1].tile(b, 0).load::<T, H, W, L>(),
                    unit: own[2].tile_at(b * rows, 0).load::<T, H, W, L>(),
                    per_row: vectors.col(0).tile(0).load::<T, H, _>(),
                    per_col: vectors.row(0).tile(0).load::<T, W, _>(),
                };
                y.tile(b * count + i, 0).store(&operation(operands));
            }
        })
        .unwrap_or_else(|error| panic!("{}: {error}", T::NAME));
    crate::assemble::kernel(&kernel);
    let [rows, cols] = [rows, cols].map(|extent| extent as usize);
    let numbers = |launch, block| Numbers { launch, block, rows, cols };
    let found = everywhere(|device| {
        let poison = vec![T::of(f64::NAN); 2 * rows * cols * operations.len()];
        let [mut yre, mut yim] = [(); 2].map(|()| device.upload(&poison).unwrap());
        [0, 1].map(|launch| {
            let [xre, xim] = [0, 1].map(|part| {
                let at = |at: usize| {
                    numbers(launch, 0).at(at / (2 * rows * cols), at / cols % (2 * rows), at % cols)
                };
                let x: Vec<_> = (0..3 * 2 * rows * cols).map(|i| T::of(at(i)[part])).collect();
                device.upload(&x).unwrap()
            });
            device.launch(&kernel, (&xre, &xim, &mut yre, &mut yim)).unwrap();
            pairs(&[device.download(&yre).unwrap(), device.download(&yim).unwrap()])
        })
    });
    for (launch, found) in found.iter().enumerate() {
        for (band, found) in found.chunks(rows * cols).enumerate() {
            let (name, _, reference) = &operations[band % operations.len()];
            let n = numbers(launch, band / operations.len());
            for (at, found) in found.iter().enumerate() {
                let (row, col) = (at / cols, at % cols);
                let expected = reference(n, row, col);
                assert_eq!(*found, expected, "{name} of {} {H}×{W} {:?}, ({row}, {col})", T::NAME, L::LAYOUT);
            }
        }
    }
}

macro_rules! tests {
    ($($test:ident: $t:ty, $($h:literal $w:literal $layout:ident)*;)*) => {$(
        #[test]
        fn $test() {
            $( check::<$t, $h, $w, $layout>(); )*
        }
    )*};
}

tests! {
    operations_on_f32:  f32,  1 1 Row  1 1 Col  2 1 Row  1 2 Col  1 3 Row;
    operations_on_bf16: bf16, 1 1 Row  1 1 Col  2 1 Row  1 2 Col;
    operations_on_f16:  f16,  1 1 Row  1 1 Col  2 1 Row  1 2 Col  1 3 Row;
    operations_on_f64:  f64,  1 1 Row  1 1 Col;
}
