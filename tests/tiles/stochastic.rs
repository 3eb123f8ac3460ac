//! Stochastic rounding, which only sm_100a has: the simulator of its arithmetic runs the kernels.

use std::ops::Range;

use pretty_assertions::assert_eq;
use warpwright::{
    prelude::*,
    run::{Device, Simulator},
    sim::Arch,
    tensor::TensorElement,
    tiles::{Aligned, Length16, Length32, Naive, Orthogonal, StochasticElement},
};

use super::numbers::Numeral;

/// The row of the matrix of which each block rounds vectors: one with bit 3 set, one without.
fn row_of(block: usize) -> usize {
    block * 16 + 5 + 8 * block
}

/// A type: its instruction, the number of bits after the point, and exponents of normal numbers.
type Rounded = (&'static str, i32, Range<i32>);

/// The element of a type at a place, and the distance to the next larger one; those of adjacent places differ.
fn neighbors((_, bits, exponents): &Rounded, at: usize) -> (f64, f64) {
    let (mixed, steps) = (at / 32 * 37 + at % 32, 1 << bits);
    let exponent = 2.0_f64.powi(exponents.start + (mixed / steps % exponents.len()) as i32);
    (exponent * (1.0 + (mixed % steps) as f64 / steps as f64), exponent / steps as f64)
}

/// Converts a tile to 16 and to 8 bits, and one of its rows as vectors, of which the aligned one has the pairs of the tile.
fn check<H, B>([half, byte]: [Rounded; 2])
where
    H: Numeral + StochasticElement + TensorElement<Length = Length16>,
    B: Numeral + StochasticElement + TensorElement<Length = Length32>,
{
    type Args<H, B> = (In<f32>, Out<H>, Out<B>, Out<H>);
    let kernel = Kernel::<Args<H, B>>::build("random(x, y, z, v)", Target::SM_100A, |k, (x, y, z, v)| {
        k.block([32]);
        k.grid([2]);
        let b = k.ctaid_x();
        let (x, v) = (k.global(x, row_major(32, 32)), k.global(v, row_major(6, 32)));
        let t: Rt<f32, 1, 2> = x.tile(b, 0).load();
        let random = k.random(1, 2);
        k.global(y, row_major(32, 32)).tile(b, 0).store(&t.convert_stochastic::<H>(&random.tile(b, 0)));
        let narrow: Rt<B, 1, 1> = t.narrow_stochastic(&random.tile(b, 0));
        k.global(z, row_major(32, 32)).tile(b, 0).store(&narrow);
        let row = b * 16 + 5 + b * 8;
        macro_rules! rounded {
            ($at:literal $layout:ty) => {
                let vector: Rv<f32, 2, $layout> = x.row(row).tile(0).load();
                v.row(b * 3 + $at).tile(0).store(&vector.convert_stochastic::<H>(&random.tile(row, 0)));
            };
        }
        rounded!(0 Aligned);
        rounded!(1 Orthogonal);
        rounded!(2 Naive);
    })
    .unwrap();
    crate::assemble::kernel(&kernel);
    let count = |what: &str| kernel.ptx().lines().filter(|line| line.trim().starts_with(what)).count();
    // 8 registers of the tile, and 4, 2 and 2 of the vectors.
    assert_eq!((count(half.0), count(byte.0)), (8 + 4 + 2 + 2, 4));
    let device = Simulator::new().arch(Arch::Sm100);
    // A quarter of the way to the next number of 16 bits, and three quarters to the next of 8 bits.
    for (ty, up) in [(half, 0.25), (byte, 0.75)] {
        let between = |at| {
            let (low, distance) = neighbors(&ty, at);
            (low + distance * up) as f32
        };
        let x = device.upload(&(0..32 * 32).map(between).collect::<Vec<_>>()).unwrap();
        let (mut y, mut z) = (device.output::<H>(1024).unwrap(), device.output::<B>(1024).unwrap());
        let mut v = device.output::<H>(6 * 32).unwrap();
        device.launch(&kernel, (&x, &mut y, &mut z, &mut v)).unwrap_or_else(|e| panic!("{e}"));
        let y: Vec<f64> = device.download(&y).unwrap().into_iter().map(H::number).collect();
        let v: Vec<f64> = device.download(&v).unwrap().into_iter().map(H::number).collect();
        for block in 0..2 {
            let of_tile = &y[row_of(block) * 32..][..32];
            assert_eq!(v[block * 96..][..32], *of_tile, "the aligned vector of block {block}");
        }
        // The results with the places of their elements in the tile.
        let results: Vec<(usize, f64)> = match up {
            0.25 => {
                let row = |band: usize| (0..32).map(move |col| row_of(band / 3) * 32 + col);
                y.into_iter().enumerate().chain((0..6).flat_map(row).zip(v)).collect()
            }
            _ => device.download(&z).unwrap().into_iter().map(B::number).enumerate().collect(),
        };
        let is_up = |&(at, y): &(usize, f64)| {
            let (low, distance) = neighbors(&ty, at);
            assert!(y == low || y == low + distance, "element {at}: {y}, expected {low} or {distance} more");
            y > low
        };
        let found = results.iter().filter(|result| is_up(result)).count() as f64 / results.len() as f64;
        // 1,024 draws have a standard deviation of 0.014.
        assert!((found - up).abs() < 0.06, "{}: numbers are rounded up in {found} of all cases", ty.0);
    }
}

/// Stochastic rounding gives one of the two neighbors, and the number on average.
#[test]
fn stochastic_rounding_is_unbiased() {
    let (bf16s, f16s) = (("cvt.rs.bf16x2.f32", 7, -6..6), ("cvt.rs.f16x2.f32", 10, -6..6));
    check::<bf16, e4m3>([bf16s.clone(), ("cvt.rs.satfinite.e4m3x4.f32", 3, -6..6)]);
    check::<f16, e5m2>([f16s.clone(), ("cvt.rs.satfinite.e5m2x4.f32", 2, -6..6)]);
    check::<bf16, e3m2>([bf16s, ("cvt.rs.satfinite.e3m2x4.f32", 2, -2..4)]);
    check::<f16, e2m3>([f16s, ("cvt.rs.satfinite.e2m3x4.f32", 3, 0..2)]);
}
