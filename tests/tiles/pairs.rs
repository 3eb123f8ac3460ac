//! Operations on elements of two tiles of different widths, and conditions on the rows and columns of several tiles.

use pretty_assertions::assert_eq;
use warpwright::{
    prelude::*,
    run::Device,
    tiles::{Aligned, RegisterLayout},
};

use super::numbers::{Numeral, Random};
use crate::cases::everywhere;

/// x where bit 0 of the corresponding number is set, otherwise −1, for tiles and for vectors of them.
fn selected<T: Numeral, U: Numeral, L: RegisterLayout>(bit: fn(Val<'_, U::Reg>) -> Val<'_, bool>) {
    type Args<T, U> = (In<T>, In<U>, Out<T>, Out<T>);
    let (rows, cols) = (Rt::<T, 2, 1, L>::ROWS, Rt::<T, 2, 1, L>::COLS);
    let minus = T::of(-1.0).to_mem_bits();
    let kernel = Kernel::<Args<T, U>>::build("selected(x, u, y, z)", Target::SM_89, |k, (x, u, y, z)| {
        k.block([32]);
        k.grid([2]);
        let b = k.ctaid_x();
        let shape = row_major(2 * rows, cols);
        let (x, u) = (k.global(x, shape), k.global(u, shape));
        let otherwise = <T::Reg as warpwright::ptx::Scalar>::from_bits(minus);
        let choose = |x, u| bit(u).select(x, otherwise);
        let (t, bits): (Rt<T, 2, 1, L>, Rt<U, 2, 1, L>) = (x.tile(b, 0).load(), u.tile(b, 0).load());
        k.global(y, shape).tile(b, 0).store(&t.zip_elements(&bits, choose));
        let (v, bits): (Rv<T, 1, Aligned>, Rv<U, 1, Aligned>) =
            (x.row(b).tile(0).load(), u.row(b).tile(0).load());
        k.global(z, row_major(2, 16)).row(b).tile(0).store(&v.zip_elements(&bits, choose));
    })
    .unwrap();
    crate::assemble::kernel(&kernel);
    let count = (2 * rows * cols) as usize;
    let (mut random, special) = (Random(3), [f64::INFINITY, f64::NAN, -0.0]);
    let x: Vec<T> = (0..count)
        .map(|i| special.get(i % 97).map_or_else(|| T::small(&mut random), |&x| T::of(x)))
        .collect();
    let u: Vec<U> = (0..count).map(|_| U::of((random.next() % 4) as f64)).collect();
    let [y, z] = everywhere(|device| {
        let (x, u) = (device.upload(&x).unwrap(), device.upload(&u).unwrap());
        let mut y = device.upload(&vec![T::of(-77.0); count]).unwrap();
        let mut z = device.upload(&[T::of(-77.0); 32]).unwrap();
        for _ in 0..2 {
            device.launch(&kernel, (&x, &u, &mut y, &mut z)).unwrap();
        }
        [y, z].map(|y| device.download(&y).unwrap().into_iter().map(T::to_mem_bits).collect::<Vec<_>>())
    });
    let expected = |at: usize| {
        let is_odd = u[at].number() as u32 % 2 == 1;
        if is_odd { x[at].to_mem_bits() } else { minus }
    };
    assert_eq!(y, (0..count).map(expected).collect::<Vec<_>>(), "{} and {}", T::NAME, U::NAME);
    let rows_of_vectors = (0..32).map(|i| expected(i / 16 * cols as usize + i % 16));
    assert_eq!(z, rows_of_vectors.collect::<Vec<_>>(), "{} and {}", T::NAME, U::NAME);
}

#[test]
fn elements_of_other_widths() {
    selected::<bf16, i32, Row>(|bits| (bits & 1).ne(0));
    selected::<f64, f16, Col>(|x| (x.cast::<f32>().cast::<i32>() & 1).ne(0));
    selected::<f32, f64, Row>(|x| (x.cast::<i32>() & 1).ne(0));
}

fn positive(x: Val<'_, f32>) -> Val<'_, bool> {
    x.gt(0.0)
}

/// Whether any or all elements of the lines of a band of tiles are positive, tile by tile.
#[test]
fn conditions_over_several_tiles() {
    type Args = (In<bf16>, Out<u32>, Out<u32>, u32, u32);
    let kernel =
        Kernel::<Args>::build("lines(x, rows, cols, m, n)", Target::SM_80, |k, (x, rows, cols, m, n)| {
            k.block([32]);
            k.grid([m.tiles(16)]);
            let x = k.global(x, row_major(m, n));
            let b = k.ctaid_x();
            let start = (k.filled::<ColVec<u32, 1>>(0), k.filled::<ColVec<u32, 1>>(1));
            let (any, all) = k.fold(n.ceil_div(32), start, |j, (any, all)| {
                // Elements past the edge are positive or not, whichever does not change the result.
                let low: Rt<bf16, 1, 2> = x.tile(b, j).load_or(bf16::from_f32(-1.0));
                let high: Rt<bf16, 1, 2> = x.tile(b, j).load_or(bf16::from_f32(1.0));
                (low.row_any_with(any, positive), high.row_all_with(all, positive))
            });
            let rows = k.global(rows, row_major(2, m));
            rows.row(0).tile(b).store(&any);
            rows.row(1).tile(b).store(&all);
            let start = (k.filled::<RowVec<u32, 2>>(0), k.filled::<RowVec<u32, 2>>(1));
            let (any, all) = k.fold(m.ceil_div(16), start, |i, (any, all)| {
                let low: Rt<bf16, 1, 2> = x.tile(i, b).load_or(bf16::from_f32(-1.0));
                let high: Rt<bf16, 1, 2> = x.tile(i, b).load_or(bf16::from_f32(1.0));
                (low.col_any_with(any, positive), high.col_all_with(all, positive))
            });
            let cols = k.global(cols, row_major(2, n));
            cols.row(0).tile(b).store(&any);
            cols.row(1).tile(b).store(&all);
        })
        .unwrap();
    crate::assemble::kernel(&kernel);
    let (m, n) = (45usize, 75usize);
    // Lines without positive elements, with only such, and others; NaN is not positive.
    let number = |row: usize, col: usize| match (row % 9, col % 11) {
        (2, _) | (_, 4) => -1.0,
        (5, 7) => f32::NAN,
        (7, _) => 2.0,
        _ if (row * 5 + col * 3).is_multiple_of(17) => 0.0,
        _ => 1.0,
    };
    let x: Vec<bf16> = (0..m * n).map(|i| bf16::from_f32(number(i / n, i % n))).collect();
    let [rows, cols] = everywhere(|device| {
        let x = device.upload(&x).unwrap();
        let (mut rows, mut cols) =
            (device.upload(&vec![9u32; 2 * m]).unwrap(), device.upload(&vec![9u32; 2 * n]).unwrap());
        device.launch(&kernel, (&x, &mut rows, &mut cols, m as u32, n as u32)).unwrap();
        [rows, cols].map(|y| device.download(&y).unwrap())
    });
    let row = |row: usize| (0..n).map(move |col| number(row, col) > 0.0);
    let col = |col: usize| (0..m).map(move |row| number(row, col) > 0.0);
    let any = (0..m).map(|at| row(at).any(|x| x)).chain((0..m).map(|at| row(at).all(|x| x)));
    assert_eq!(rows, any.map(u32::from).collect::<Vec<_>>());
    let any = (0..n).map(|at| col(at).any(|x| x)).chain((0..n).map(|at| col(at).all(|x| x)));
    assert_eq!(cols, any.map(u32::from).collect::<Vec<_>>());
}
