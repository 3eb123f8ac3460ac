//! Conversions between all element types: of tiles while they are stored, and of vectors in registers. The numbers include infinities,
//! numbers that are too large, and numbers between or exactly halfway between those of the other type; two blocks, poisoned outputs.

use std::collections::BTreeSet;

use warpwright::{
    prelude::*,
    ptx::{Element as _, Write},
    run::Device,
    tiles::{Convert, Naive},
};

use super::numbers::{Numeral, element_types};
use crate::cases::everywhere_of;

/// A type of a conversion.
trait Converted: Numeral {
    /// Whether conversions between this type and others of which this is true are a single instruction; all others pass through f32.
    const DIRECT: bool;
}

macro_rules! converted {
    (through f32: $($narrow:ident)*; directly: $($wide:ident)*;) => {
        $( impl Converted for $narrow { const DIRECT: bool = false; } )*
        $( impl Converted for $wide { const DIRECT: bool = true; } )*
    };
}

element_types! { converted, converted }

/// Numbers of every size and sign, and infinities; those that a type does not have become its nearest.
fn numbers(at: usize) -> f64 {
    const SOME: [f64; 24] = [
        0.0,
        0.5,
        1.5,
        2.5,
        -0.5,
        -1.5,
        126.5,
        127.5,
        254.5,
        255.5,
        -128.5,
        -129.0,
        448.0,
        464.0,
        1000.0,
        61_440.0,
        65_504.0,
        1e5,
        -1e6,
        3e9,
        -3e9,
        1e-4,
        f64::INFINITY,
        f64::NEG_INFINITY,
    ];
    let mixed = (at * 37 % 1009) as f64 - 500.0;
    if at.is_multiple_of(3) { SOME[at / 3 % SOME.len()] } else { mixed * [0.03125, 0.25, 1.0, 7.0][at % 4] }
}

const BLOCKS: usize = 2;
/// A tile has 16×32 elements.
const ROWS: u32 = 16;
const SIZE: usize = 512;

/// Stores a tile and a vector of `T` as `U`, one below the other.
fn store<'k, T: Converted + Convert<U>, U: Converted, const WT: usize>(
    k: Builder<'k>,
    (tile, vector): (&Rt<'k, T, 1, WT>, &Rv<'k, T, 32, Naive>),
    y: Ptr<'k, U, Global, Write>,
) {
    let b = k.ctaid_x();
    k.global(y, row_major(2 * ROWS * BLOCKS as u32, 32)).tile(b, 0).store(tile);
    k.global(y, row_major(2 * BLOCKS as u32, SIZE as u32))
        .row(b + BLOCKS as u32)
        .tile(0)
        .store(&vector.convert::<U>());
}

/// Compares what was stored, in bits, with the elements `x` as `U`.
fn compare<T: Converted, U: Converted>(x: &[T], found: &[u64]) {
    for (what, found) in ["tile", "vector"].into_iter().zip(found.chunks(BLOCKS * SIZE)) {
        for (x, found) in x.iter().zip(found) {
            let (number, found) = (x.number(), U::from_mem_bits(*found).number());
            let through = if T::DIRECT && U::DIRECT { number } else { f64::from(number as f32) };
            let expected = U::nearest(through).number();
            assert!(
                found == expected || found.is_nan() && expected.is_nan(),
                "{number} of a {what} of {} as {}: found {found}, expected {expected}",
                T::NAME,
                U::NAME
            );
        }
    }
}

/// Elements of 16×32 tiles, in subtiles along a row.
const fn width<T: Numeral>() -> usize {
    32 / T::SUBTILE_LENGTH as usize
}

/// The lowest target that converts between two types.
fn lowest_target<T: Converted, U: Converted>() -> Target {
    T::TARGET.max(U::TARGET)
}

/// Converts a type to those of the others for which this target is the lowest one.
macro_rules! conversions {
    ($target:ident, $t:ident => $($u:ident)*) => {{
        const WIDTH: usize = width::<$t>();
        type Args = (In<$t>, $(Out<$u>),*);
        let kernel = Kernel::<Args>::build("converted", $target, |k, (x, $($u),*)| {
            k.block([32]);
            k.grid([BLOCKS as u32]);
            // Without this limit, ptxas uses 168 registers, and spills.
            k.max_registers(255);
            let b = k.ctaid_x();
            let tile = k.global(x, row_major(ROWS * BLOCKS as u32, 32)).tile(b, 0).load::<$t, 1, WIDTH, Row>();
            let vector = k.global(x, row_major(BLOCKS as u32, SIZE as u32)).row(b).tile(0).load();
            $(if lowest_target::<$t, $u>() == $target {
                store::<$t, $u, WIDTH>(k, (&tile, &vector), $u);
            })*
        })
        .unwrap();
        crate::assemble::kernel(&kernel);
        let x: Vec<$t> = (0..BLOCKS * SIZE).map(|at| <$t>::of(numbers(at))).collect();
        let found = everywhere_of($target, |device| {
            $(let mut $u = device.upload(&vec![<$u as Numeral>::of(77.0); 2 * BLOCKS * SIZE]).unwrap();)*
            device.launch(&kernel, (&device.upload(&x).unwrap(), $(&mut $u),*)).unwrap();
            [$(device.download(&$u).unwrap().into_iter().map(<$u>::to_mem_bits).collect::<Vec<_>>()),*]
        });
        let mut found = found.iter();
        $({
            let found = found.next().unwrap();
            if lowest_target::<$t, $u>() == $target {
                compare::<$t, $u>(&x, found);
            }
        })*
    }};
}

/// Conversions of each type to all others.
macro_rules! all_conversions {
    (through f32: $($narrow:ident)*; directly: $($wide:ident)*;) => {
        all_conversions! { @ => $($narrow)* $($wide)* }
    };
    (@ $($before:ident)* => $t:ident $($after:ident)*) => {
        // Each once.
        let targets = BTreeSet::from([$(lowest_target::<$t, $before>(),)* $(lowest_target::<$t, $after>()),*]);
        for target in targets {
            conversions!(target, $t => $($before)* $($after)*);
        }
        all_conversions! { @ $($before)* $t => $($after)* }
    };
    (@ $($before:ident)* =>) => {};
}

#[test]
fn every_type_to_every_other() {
    element_types! { converted, all_conversions }
}
