//! Elementwise operations on shared tiles whose rows do not fit into the registers of a warp: no spills, and each element is processed once.
//! Three warps for two bands of rows, two blocks, poisoned outputs.

use warpwright::{
    prelude::*,
    ptx::{Element as _, e4m3, e5m2},
    run::Device,
    tiles::{Auto, Padded},
};

use super::numbers::Numeral;
use crate::cases::everywhere;

/// A number that is exact in every type, as are its double and its negative.
fn number(at: usize) -> f64 {
    [0.0, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0][(at * 3 + at / 16 * 5 + at / 112) % 7]
}

/// Applies a function to a shared tile of `$t`, and copies the result to one of `$u`.
macro_rules! mapped_and_copied {
    ($($t:ident to $u:ident, $width:literal, $swizzle:ident, $map:ident($f:expr), $reference:expr;)*) => {$({
        const ROWS: u32 = Rt::<$t, 2, $width>::ROWS;
        const COLS: u32 = Rt::<$t, 2, $width>::COLS;
        let name = format!("{} to {}, {} subtiles", <$t>::NAME, <$u>::NAME, $width);
        let kernel = Kernel::<(In<$t>, Out<$u>)>::build("mapped_and_copied(x, y)", Target::SM_90, |k, (x, y)| {
            k.block([96]);
            k.grid([2]);
            let (x, y) = (k.global(x, row_major(2 * ROWS, COLS)), k.global(y, row_major(2 * ROWS, COLS)));
            let tile = k.shared_tile::<St<$t, 2, $width, $swizzle>>().fill(x.tile(k.ctaid_x(), 0)).wait();
            let tile = tile.$map($f).wait();
            let copy = k.shared_tile::<St<$u, 2, $width>>().copy_from(&tile).wait();
            y.tile(k.ctaid_x(), 0).store_shared(&copy);
        })
        .unwrap_or_else(|error| panic!("{name}: {error}"));
        crate::assemble::kernel(&kernel);
        let size = 2 * (ROWS * COLS) as usize;
        let found = everywhere(|device| {
            let x: Vec<$t> = (0..size).map(|at| <$t>::of(number(at))).collect();
            let mut y = device.upload(&vec![<$u>::of(77.0); size]).unwrap();
            device.launch(&kernel, (&device.upload(&x).unwrap(), &mut y)).unwrap();
            device.download(&y).unwrap().into_iter().map(|y| y.number()).collect::<Vec<_>>()
        });
        let reference: fn(f64) -> f64 = $reference;
        let expected: Vec<f64> = (0..size).map(|at| reference(number(at))).collect();
        assert_eq!(found, expected, "{name}");
    })*};
}

#[test]
fn are_mapped_and_copied() {
    mapped_and_copied! {
        f32 to f32, 32, Auto, map(|x| x + x), |x| 2.0 * x;
        bf16 to f32, 25, Padded, map(|pair| pair + pair), |x| 2.0 * x;
        f16 to bf16, 33, Auto, map(|pair| pair + pair), |x| 2.0 * x;
        f64 to f64, 8, Auto, map(|x| x + x), |x| 2.0 * x;
        f64 to f64, 9, Auto, map(|x| x + x), |x| 2.0 * x;
        f64 to f32, 8, Padded, map(|x| x + x), |x| 2.0 * x;
        e4m3 to e5m2, 32, Auto, map_words(|four| four ^ 0x8080_8080), |x| -x;
    }
}

/// Reductions load 16 whole rows.
#[test]
fn are_reduced() {
    macro_rules! reduced {
        ($($t:ident, $width:literal;)*) => {$({
            const COLS: usize = 16 * $width;
            let kernel = Kernel::<(In<$t>, Out<$t>)>::build("reduced(x, y)", Target::SM_90, |k, (x, y)| {
                k.block([64]);
                k.grid([1]);
                let tile = k.shared_tile::<St<$t, 2, $width>>().fill(k.global(x, row_major(32, COLS as u32)).tile(0, 0)).wait();
                let rows = tile.row_sum(k.shared_tile::<Sv<$t, 2>>()).wait();
                let cols = tile.col_max(k.shared_tile::<Sv<$t, $width>>()).wait();
                let (largest, (row, col)) = tile.argmax();
                let at_first = row.eq(0) & col.eq(3) & !tile.has_nan();
                let results = [rows.sum(), cols.sum(), tile.product(), at_first.select(largest, 0.0)];
                let y = k.slice(y, 64 * 4);
                (0u32..).zip(results).for_each(|(i, result)| y.at(k.tid_x() * 4 + i).store(result));
            })
            .unwrap();
            crate::assemble::kernel(&kernel);
            // Every fourth row contains one 2, in another column; all other elements are 1.
            let is_two = |at: usize| at / COLS % 4 == 0 && at % COLS == at / COLS * 5 + 3;
            let found = everywhere(|device| {
                let x: Vec<$t> = (0..32 * COLS).map(|at| if is_two(at) { 2.0 } else { 1.0 }).collect();
                let mut y = device.upload(&[77.0; 64 * 4]).unwrap();
                device.launch(&kernel, (&device.upload(&x).unwrap(), &mut y)).unwrap();
                device.download(&y).unwrap()
            });
            let expected = [(32 * COLS + 8) as $t, (COLS + 8) as $t, 256.0, 2.0].repeat(64);
            assert_eq!(found, expected, "{}", <$t>::NAME);
        })*};
    }
    reduced! { f32, 32; f64, 16; }
}
