//! Conversions between all element types: of tiles while they are stored, and of vectors in registers. The numbers include infinities,
//! numbers that are too large, and numbers between or exactly halfway between those of the other type; two blocks, poisoned outputs.

use warpwright::{
    prelude::*,
    ptx::{Element as _, Write},
    run::Device,
    tiles::{Convert, Naive},
};

use super::numbers::Numeral;
use crate::cases::everywhere;

/// An element type to which numbers are rounded to nearest even, integers and 8-bit types with saturation.
trait Rounded: Numeral {
    /// Whether conversions from and to it, if the other type is one of these as well, are a single instruction; otherwise, they go
    /// through f32.
    const DIRECT: bool;

    fn rounded(number: f64) -> Self;
}

macro_rules! rounded {
    ($($direct:literal: $($t:ty, $round:expr;)*)*) => {$($(
        impl Rounded for $t {
            const DIRECT: bool = $direct;

            fn rounded(number: f64) -> Self {
                let round: fn(f64) -> f64 = $round;
                Self::of(round(number))
            }
        }
    )*)*};
}

rounded! {
    false:
    bf16, |x| x; f16, |x| x; f32, |x| x; tf32, |x| x; e4m3, |x| x; e5m2, |x| x;
    i8, f64::round_ties_even; u8, f64::round_ties_even;
    true:
    f64, |x| x;
    i32, f64::round_ties_even; u32, f64::round_ties_even; i64, f64::round_ties_even; u64, f64::round_ties_even;
}

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
fn store<'k, T: Rounded + Convert<U>, U: Rounded, const WT: usize>(
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
fn compare<T: Rounded, U: Rounded>(x: &[T], found: &[u64]) {
    for (what, found) in ["tile", "vector"].into_iter().zip(found.chunks(BLOCKS * SIZE)) {
        for (x, found) in x.iter().zip(found) {
            let (number, found) = (x.number(), U::from_mem_bits(*found).number());
            let through = if T::DIRECT && U::DIRECT { number } else { f64::from(number as f32) };
            let expected = U::rounded(through).number();
            assert!(
                found == expected || found.is_nan() && expected.is_nan(),
                "{number} of a {what} of {} as {}: found {found}, expected {expected}",
                T::NAME,
                U::NAME
            );
        }
    }
}

macro_rules! conversions {
    ($($test:ident: $t:ty, $w:literal => $($u:ident)*;)*) => {$(
        #[test]
        fn $test() {
            type Args = (In<$t>, $(Out<$u>),*);
            let kernel = Kernel::<Args>::build("converted", Target::SM_89, |k, (x, $($u),*)| {
                k.block([32]);
                k.grid([BLOCKS as u32]);
                // By itself, ptxas uses 168, and spills.
                k.max_registers(255);
                let b = k.ctaid_x();
                let tile = k.global(x, row_major(ROWS * BLOCKS as u32, 32)).tile(b, 0).load::<$t, 1, $w, Row>();
                let vector = k.global(x, row_major(BLOCKS as u32, SIZE as u32)).row(b).tile(0).load();
                $(store::<$t, $u, $w>(k, (&tile, &vector), $u);)*
            })
            .unwrap();
            crate::assemble::kernel(&kernel);
            let x: Vec<$t> = (0..BLOCKS * SIZE).map(|at| <$t>::of(numbers(at))).collect();
            let found = everywhere(|device| {
                $(let mut $u = device.upload(&vec![<$u as Numeral>::of(77.0); 2 * BLOCKS * SIZE]).unwrap();)*
                device.launch(&kernel, (&device.upload(&x).unwrap(), $(&mut $u),*)).unwrap();
                [$(device.download(&$u).unwrap().into_iter().map(<$u>::to_mem_bits).collect::<Vec<_>>()),*]
            });
            let mut found = found.iter();
            $(compare::<$t, $u>(&x, found.next().unwrap());)*
        }
    )*};
}

conversions! {
    from_e4m3: e4m3, 1 =>      e5m2 bf16 f16 tf32 f32 f64 i32 u32 i64 u64 i8 u8;
    from_e5m2: e5m2, 1 => e4m3      bf16 f16 tf32 f32 f64 i32 u32 i64 u64 i8 u8;
    from_bf16: bf16, 2 => e4m3 e5m2      f16 tf32 f32 f64 i32 u32 i64 u64 i8 u8;
    from_f16:  f16,  2 => e4m3 e5m2 bf16     tf32 f32 f64 i32 u32 i64 u64 i8 u8;
    from_tf32: tf32, 2 => e4m3 e5m2 bf16 f16      f32 f64 i32 u32 i64 u64 i8 u8;
    from_f32:  f32,  2 => e4m3 e5m2 bf16 f16 tf32     f64 i32 u32 i64 u64 i8 u8;
    from_f64:  f64,  2 => e4m3 e5m2 bf16 f16 tf32 f32     i32 u32 i64 u64 i8 u8;
    from_i32:  i32,  2 => e4m3 e5m2 bf16 f16 tf32 f32 f64     u32 i64 u64 i8 u8;
    from_u32:  u32,  2 => e4m3 e5m2 bf16 f16 tf32 f32 f64 i32     i64 u64 i8 u8;
    from_i64:  i64,  2 => e4m3 e5m2 bf16 f16 tf32 f32 f64 i32 u32     u64 i8 u8;
    from_u64:  u64,  2 => e4m3 e5m2 bf16 f16 tf32 f32 f64 i32 u32 i64     i8 u8;
    from_i8:   i8,   1 => e4m3 e5m2 bf16 f16 tf32 f32 f64 i32 u32 i64 u64    u8;
    from_u8:   u8,   1 => e4m3 e5m2 bf16 f16 tf32 f32 f64 i32 u32 i64 u64 i8   ;
}
