//! Quotients and remainders of integers divided by constants.

use proptest::prelude::*;
use warpwright::{
    prelude::*,
    run::{Device, Simulator},
};

const THREADS: u32 = 32;

/// Defines a function that returns the quotients and remainders that a kernel computes from values, after clearing the bits that are not in
/// `mask`.
macro_rules! divided {
    ($name:ident, $t:ty) => {
        fn $name(values: &[$t], mask: $t, by: $t) -> (Vec<$t>, Vec<$t>) {
            let kernel = Kernel::<(In<$t>, Out<$t>, Out<$t>, u32)>::build(
                "f(x, quotients, remainders, n)",
                Target::SM_80,
                |k, (x, quotients, remainders, n)| {
                    k.block([THREADS]);
                    k.grid([n.tiles(THREADS)]);
                    let at = k.ctaid_x() * THREADS + k.tid_x();
                    let value = k.slice(x, n).at(at).load() & mask;
                    k.slice(quotients, n).at(at).store(value / by);
                    k.slice(remainders, n).at(at).store(value % by);
                },
            );
            let kernel = kernel.unwrap_or_else(|e| panic!("{e}"));
            let device = Simulator::new();
            let x = device.upload(values).expect("memory");
            let mut quotients = device.output::<$t>(values.len()).expect("memory");
            let mut remainders = device.output::<$t>(values.len()).expect("memory");
            let n = values.len() as u32;
            device
                .launch(&kernel, (&x, &mut quotients, &mut remainders, n))
                .unwrap_or_else(|e| panic!("{e}"));
            (device.download(&quotients).expect("results"), device.download(&remainders).expect("results"))
        }
    };
}

divided!(of_u16, u16);
divided!(of_u32, u32);
divided!(of_u64, u64);
divided!(of_i32, i32);

/// Returns dividends at which the quotient changes, the largest ones, and arbitrary ones.
fn dividends(by: u64, most: u64, others: &[u64]) -> Vec<u64> {
    let last = most / by;
    let multiples = [0, 1, 2, last / 2, last].map(|n| by.saturating_mul(n));
    let around = multiples.into_iter().flat_map(|x| [x.saturating_sub(1), x, x.saturating_add(1)]);
    around.chain([most - 1, most]).chain(others.iter().copied()).map(|x| x & most).collect()
}

/// Divisors of at most `bits` bits: small ones, those near powers of two, and others.
fn divisors(bits: u32) -> impl Strategy<Value = u64> {
    let most = u64::MAX >> (64 - bits);
    let near =
        (0..bits, 0..5u64).prop_map(move |(bit, more)| ((1u64 << bit) + more).saturating_sub(2) & most);
    prop_oneof![1..400u64, near, 1..=most].prop_map(|by| by.max(1))
}

macro_rules! results_are_exact {
    ($($test:ident, $divided:ident, $t:ty, $bits:expr;)*) => {
        proptest! {
            #![proptest_config(ProptestConfig::with_cases(120))]
            $(
                #[test]
                fn $test(
                    by in divisors($bits),
                    unused in 0..$bits - 1u32,
                    others in proptest::collection::vec(any::<u64>(), 32),
                ) {
                    let most = u64::MAX >> (64 - $bits + unused);
                    let values: Vec<$t> = dividends(by, most, &others).into_iter().map(|x| x as $t).collect();
                    let (quotients, remainders) = $divided(&values, most as $t, by as $t);
                    for ((x, quotient), remainder) in values.into_iter().zip(quotients).zip(remainders) {
                        prop_assert_eq!((quotient, remainder), (x / by as $t, x % by as $t), "{} by {}", x, by);
                    }
                }
            )*
        }
    };
}

results_are_exact! {
    quotients_of_u16_are_exact, of_u16, u16, 16;
    quotients_of_u32_are_exact, of_u32, u32, 32;
    quotients_of_u64_are_exact, of_u64, u64, 64;
    quotients_of_nonnegative_i32_are_exact, of_i32, i32, 31;
}

/// The bits of an unsigned number that are reused as a signed one, and shifts of a signed number that is natural only in a branch.
#[test]
fn nonnegative_signed_numbers_are_divided_by_shifts() {
    let kernel = Kernel::<(In<u32>, Out<i32>, Out<u32>, u32)>::build(
        "f(x, y, z, n)",
        Target::SM_80,
        |k, (x, y, z, n)| {
            k.block([THREADS]);
            k.grid([1]);
            let (at, branch) = (k.tid_x(), k.var::<i32>(0));
            let x = k.slice(x, n).at(at).load();
            k.slice(y, n).at(at).store((x >> 4).cast::<i32>() / 8);
            let signed = x.bits::<i32>();
            let shifted = signed >> 3;
            k.if_(signed.ge(0), || branch.set(signed / 8));
            k.slice(z, n).at(at).store((shifted.bits::<u32>() >> 2) + branch.get().bits::<u32>());
        },
    );
    let kernel = kernel.unwrap_or_else(|e| panic!("{e}"));
    let values: Vec<u32> = (0..32).map(|i| 0xf000_0000_u32.rotate_left(i) | i).collect();
    let device = Simulator::new();
    let x = device.upload(&values).expect("memory");
    let mut y = device.output::<i32>(32).expect("memory");
    let mut z = device.output::<u32>(32).expect("memory");
    device.launch(&kernel, (&x, &mut y, &mut z, 32)).unwrap_or_else(|e| panic!("{e}"));
    let expected: Vec<_> = values.iter().map(|x| (x >> 7) as i32).collect();
    assert_eq!(device.download(&y).expect("results"), expected);
    let of = |x: u32| {
        let branch = if x as i32 >= 0 { x / 8 } else { 0 };
        ((x as i32 >> 3) as u32 >> 2).wrapping_add(branch)
    };
    let expected: Vec<_> = values.iter().map(|&x| of(x)).collect();
    assert_eq!(device.download(&z).expect("results"), expected);
}

/// ptxas would translate each of these divisions into 15 to 20 instructions.
#[test]
fn divisions_by_constants_are_short() {
    let lines = |by: u32, is_remainder: bool| {
        let kernel = Kernel::<(InOut<u32>, u32)>::build("f(x, n)", Target::SM_80, |k, (x, n)| {
            k.block([THREADS]);
            let x = k.slice(x, n).at(k.tid_x());
            let value = x.load();
            x.store(if is_remainder { value % by } else { value / by });
        });
        let text = kernel.unwrap_or_else(|e| panic!("{e}")).ptx();
        let instructions: Vec<_> = text.lines().map(str::trim).filter(|line| line.ends_with(';')).collect();
        let at = |start: &str| instructions.iter().position(|line| line.contains(start)).expect("an access");
        at("st.global") - at("ld.global") - 1
    };
    assert_eq!([lines(128, false), lines(128, true)], [1, 1]);
    assert_eq!([lines(192, false), lines(192, true)], [2, 4]);
    assert_eq!([lines(10, false), lines(10, true)], [2, 4]);
    // 7 has no exact reciprocal of 32 bits that is rounded up.
    assert_eq!([lines(7, false), lines(7, true)], [3, 5]);
}
