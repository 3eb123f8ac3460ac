//! Tiles and vectors of 8-bit elements: reductions along the sides of 32 elements, of several tiles, over the warps of a block and of
//! shared tiles; and vectors whose lanes own half a register.

use pretty_assertions::assert_eq;
use warpwright::{
    prelude::*,
    ptx::e4m3,
    run::Device,
    tiles::{Accumulate, Aligned, Length32, Naive, Orthogonal, VectorLayout},
};

use super::numbers::Numeral;
use crate::cases::everywhere;

/// An element between 0 and 15: exact in every 8-bit type with three bits of fraction.
fn number(at: usize) -> f64 {
    ((at * 37 + at / 64 * 11) % 101 % 16) as f64
}

const COLS: usize = 64;
const ROWS: usize = 48;

/// The sums and maxima of each column of a matrix of 40×64 elements, of which a tile reaches past the edge: by a loop of one warp, by the
/// warps of a block, and from shared memory.
fn columns<T>()
where
    T: Numeral + Accumulate<Sum: Numeral, Length = Length32>,
{
    type Sums<'k, T> = RowVec<'k, <T as Accumulate>::Sum, 2, Row, Length32>;
    type Args<T> = (In<T>, Out<<T as Accumulate>::Sum>, u32);
    let rows = 40;
    let kernel = Kernel::<Args<T>>::build("columns(x, y, m)", Target::SM_89, |k, (x, y, m)| {
        let block = k.block([96]);
        k.grid([2]);
        let b = k.ctaid_x();
        let x = k.global(x, row_major(m, COLS as u32));
        let y = k.global(y, row_major(8, COLS as u32));
        let start = (k.zeros::<Sums<'_, T>>(), k.zeros::<Sums<'_, T>>());
        let (sums, most) = k.fold(3u32, start, |i, (sums, most)| {
            let t: Rt<T, 1, 2> = x.tile(i, 0).load();
            (t.col_sum_with(sums), t.col_max_with(most))
        });
        let own: Rt<T, 1, 2> = x.tile_of(block, 0, 0).load();
        let over_block = own.col_sum_over(block);
        let tile = k.shared_tile::<St<T, 3, 2>>().fill(x.tile(0, 0)).wait();
        let shared = tile.col_max(k.shared_tile::<Sv<T::Sum, 4>>()).wait();
        k.when_warp(1, |_| {
            y.row(b * 4).tile(0).store(&sums);
            y.row(b * 4 + 1).tile(0).store(&most.to_vector::<4, Orthogonal>());
            y.row(b * 4 + 2).tile(0).store(&over_block);
            y.row(b * 4 + 3).tile(0).store(&shared.load::<Naive>());
        });
    })
    .unwrap();
    crate::assemble::kernel(&kernel);
    let found = everywhere(|device| {
        let x: Vec<T> = (0..rows * COLS).map(|at| T::of(number(at))).collect();
        let mut y = device.upload(&[T::Sum::of(77.0); 8 * COLS]).unwrap();
        device.launch(&kernel, (&device.upload(&x).unwrap(), &mut y, rows as u32)).unwrap();
        device.download(&y).unwrap().into_iter().map(Numeral::number).collect::<Vec<_>>()
    });
    let column = |col: usize| (0..rows).map(move |row| number(row * COLS + col));
    let sums: Vec<f64> = (0..COLS).map(|col| column(col).sum()).collect();
    let most: Vec<f64> = (0..COLS).map(|col| column(col).fold(0.0, f64::max)).collect();
    assert!(rows < ROWS, "the third tile reaches past the edge");
    assert_eq!(found, [&sums[..], &most, &sums, &most].concat().repeat(2), "{}", T::NAME);
}

#[test]
fn columns_of_several_tiles() {
    columns::<e4m3>();
    columns::<i8>();
}

/// The prefix sums, the sum, the maximum and its position, and predicates of a vector; and its elements at odd indices where the
/// corresponding element of an f32 vector is positive, otherwise 1.
fn reduced<const N: usize, V: VectorLayout>() {
    let length = Rv::<e4m3, N, V>::LENGTH;
    type Args = (In<e4m3>, In<f32>, Out<f32>, Out<e4m3>);
    let kernel = Kernel::<Args>::build("reduced(x, other, y, z)", Target::SM_89, |k, (x, other, y, z)| {
        k.block([32]);
        k.grid([2]);
        let b = k.ctaid_x();
        let v: Rv<e4m3, N, V> = k.global(x, vector(2 * length)).tile(b).load();
        let other: Rv<f32, N, V> = k.global(other, vector(2 * length)).tile(b).load();
        let (best, at) = v.argmax();
        let (any, all) = (v.any(|x| x.gt(14.0)), v.all(|x| x.lt(15.0)));
        let scalars = [v.sum(), best, at.cast(), any.select(1.0f32, 0.0), all.select(1.0f32, 0.0)];
        let sums = v.scan();
        let y = k.global(y, vector(2 * (length + 16)));
        let row = b * (length + 16);
        y.tile_at(row).store(&sums);
        let scalars = (0u32..).zip(scalars).fold(k.zeros::<Rv<f32, 1>>(), |all, (i, scalar)| {
            all.map_indexed(|_, index, x| index.eq(i).select(scalar, x))
        });
        y.tile_at(row + length).store(&scalars);
        let z = k.global(z, vector(2 * length));
        let one = super::masks::value(e4m3::from_f32(1.0));
        let chosen = v.zip_elements(&other, |x, other| other.gt(0.0).select(x, one));
        z.tile(b).store(&chosen.map_indexed(|_, index, x| (index & 1).ne(0).select(x, one)));
    })
    .unwrap();
    crate::assemble::kernel(&kernel);
    let length = length as usize;
    let found = everywhere(|device| {
        let x: Vec<e4m3> = (0..2 * length).map(|at| e4m3::of(number(at))).collect();
        let other: Vec<f32> = (0..2 * length).map(|at| (at % 3) as f32 - 1.0).collect();
        let mut y = device.upload(&vec![f32::NAN; 2 * (length + 16)]).unwrap();
        let mut z = device.upload(&vec![e4m3::of(77.0); 2 * length]).unwrap();
        let (x, other) = (device.upload(&x).unwrap(), device.upload(&other).unwrap());
        device.launch(&kernel, (&x, &other, &mut y, &mut z)).unwrap();
        let z = device.download(&z).unwrap().into_iter().map(Numeral::number).collect::<Vec<_>>();
        (device.download(&y).unwrap().into_iter().map(f64::from).collect::<Vec<_>>(), z)
    });
    let of_block = |block: usize| {
        let x: Vec<f64> = (0..length).map(|at| number(block * length + at)).collect();
        let best = x.iter().copied().fold(0.0, f64::max);
        let at = x.iter().position(|x| *x == best).unwrap_or_default();
        let flags =
            [x.iter().any(|x| *x > 14.0), x.iter().all(|x| *x < 15.0)].map(|flag| f64::from(u8::from(flag)));
        let mut results: Vec<f64> = (1..=length).map(|end| x[..end].iter().sum()).collect();
        results.extend([x.iter().sum(), best, at as f64, flags[0], flags[1]]);
        results.resize(length + 16, 0.0);
        results
    };
    let chosen = |at: usize| {
        let is_kept = at % 3 == 2 && at % length % 2 == 1;
        if is_kept { number(at) } else { 1.0 }
    };
    let expected = ([of_block(0), of_block(1)].concat(), (0..2 * length).map(chosen).collect());
    assert_eq!(found, expected, "{N} {}", V::NAME);
}

#[test]
fn vectors_are_reduced() {
    reduced::<1, Orthogonal>();
    reduced::<3, Orthogonal>();
    reduced::<2, Aligned<Length32>>();
    reduced::<1, Naive<Length32>>();
}
