//! Folding never changes a value: operations on constants give the results recorded from an H200, and those of the simulator for the
//! instruction that is emitted otherwise, with any of its operands constant.
#![allow(unsafe_code, reason = "one pointer walks over all results")]

mod conversions;
mod elements;
mod floats;
mod integers;

use std::{collections::BTreeMap, env, path::PathBuf};

use proptest::{
    prelude::*,
    sample::select,
    test_runner::{Config, TestRunner},
};
use warpwright::{prelude::*, run::Device};

use crate::{
    devices,
    truth::{self, Entry},
};

/// The operands of one application, as bits; an operation uses as many as it needs.
type Bits = [u64; 4];

/// Threads of a kernel that applies an operation to registers.
const THREADS: usize = 32;

/// An operation that folds.
struct Operation {
    /// As recordings name it: `add_rn_f32`.
    name: &'static str,
    /// How many operands it takes.
    arity: usize,
    /// The operation, its operands and its result as bits.
    apply: for<'k> fn([Val<'k, u64>; 4]) -> Val<'k, u64>,
}

/// A type of operand, stored in the low bits of a word without changes.
trait Word<'k>: Sized {
    fn of(word: Val<'k, u64>) -> Self;
    fn word(self) -> Val<'k, u64>;
}

macro_rules! words {
    ($($t:ty as $bits:ty),*) => {$(
        impl<'k> Word<'k> for Val<'k, $t> {
            fn of(word: Val<'k, u64>) -> Self {
                word.cast::<$bits>().bits()
            }
            fn word(self) -> Val<'k, u64> {
                self.bits::<$bits>().cast()
            }
        }
    )*};
}

words! {
    u16 as u16, i16 as u16, f16 as u16, bf16 as u16,
    u32 as u32, i32 as u32, f32 as u32, f16x2 as u32, bf16x2 as u32, tf32 as u32,
    u64 as u64, i64 as u64, f64 as u64
}

impl<'k> Word<'k> for Val<'k, bool> {
    fn of(word: Val<'k, u64>) -> Self {
        (word & 1).eq(1)
    }
    fn word(self) -> Val<'k, u64> {
        self.select(1, 0)
    }
}

/// A list of operations: name, operands and their types, type of the result, and the expression.
macro_rules! operations {
    ($($name:ident: $($x:ident $t:ty),+ => $u:ty, $body:expr;)*) => {
        pub(super) const OPERATIONS: &[Operation] = &[$(Operation {
            name: stringify!($name),
            arity: [$(stringify!($x)),+].len(),
            apply: |words| {
                let mut words = words.into_iter();
                $(let $x: Val<'_, $t> = Word::of(words.next().unwrap());)+
                let result: Val<'_, $u> = $body;
                result.word()
            },
        },)*];
    };
}
use operations;

fn all() -> impl Iterator<Item = &'static Operation> {
    [integers::OPERATIONS, floats::OPERATIONS, conversions::OPERATIONS, elements::OPERATIONS]
        .into_iter()
        .flatten()
}

impl Operation {
    /// The bits of the result on constants.
    fn fold(&self, operands: Bits) -> u64 {
        let result = (self.apply)(operands.map(Val::from));
        result.as_constant().unwrap_or_else(|| panic!("{} does not fold", self.name))
    }

    /// Which operands are registers, for every choice that leaves at least one.
    fn masks(&self) -> impl Iterator<Item = u32> + use<> {
        1..1 << self.arity
    }
}

/// `registers` where the mask has a bit, `constants` elsewhere.
fn chosen<T: Copy>(mask: u32, registers: [T; 4], constants: [T; 4]) -> [T; 4] {
    std::array::from_fn(|i| if mask >> i & 1 == 1 { registers[i] } else { constants[i] })
}

/// The operations that a target has: all on sm_100a, those without newer instructions below.
fn available(target: Target) -> Vec<&'static Operation> {
    let exists = |operation: &&Operation| {
        let kernel = Kernel::<(In<u64>,)>::build("operation", target, |_, (x,)| {
            let word = unsafe { x.load() };
            let _ = (operation.apply)([word; 4]);
        });
        kernel.is_ok()
    };
    all().filter(exists).collect()
}

/// Returns the simulator's results of operations on `registers`, one set per thread, and `constants`: for each operation, set of
/// constants and choice of the operands that are registers, the results of all threads.
fn simulate(target: Target, operations: &[&Operation], registers: &[Bits], constants: &[Bits]) -> Vec<u64> {
    let rows: usize = operations.iter().map(|operation| constants.len() * operation.masks().count()).sum();
    let kernel = Kernel::<(In<u64>, Out<u64>)>::build("operations(x, out)", target, |k, (x, out)| {
        k.block([THREADS as u32]);
        k.grid([1]);
        let lane = k.tid_x();
        let words: [Val<'_, u64>; 4] = std::array::from_fn(|i| unsafe { x.at(lane * 4).at(i as u32).load() });
        let mut out = out.at(lane);
        for operation in operations {
            for (constants, mask) in
                constants.iter().flat_map(|c| operation.masks().map(move |mask| (c, mask)))
            {
                unsafe { out.store((operation.apply)(chosen(mask, words, constants.map(Val::from)))) };
                out = out.at(THREADS as u32);
            }
        }
    })
    .unwrap_or_else(|e| panic!("{e}"));
    let device = devices::simulator_of(target);
    let x = device.upload(registers.as_flattened()).unwrap();
    let mut out = device.output::<u64>(rows * THREADS).unwrap();
    device.launch(&kernel, (&x, &mut out)).unwrap_or_else(|e| panic!("{e}"));
    device.download(&out).unwrap()
}

#[test]
fn constants_fold_to_the_result_of_the_device() {
    let folder = env::var_os("WARPWRIGHT_TRUTH").map_or_else(
        || [env!("CARGO_MANIFEST_DIR"), "..", "sim", "tests", "data", "truth"].iter().collect(),
        PathBuf::from,
    );
    let recorded: BTreeMap<String, Entry> =
        truth::index(&folder).into_iter().map(|e| (e.name.clone(), e)).collect();
    let mut found = 0;
    let mut wrong = Vec::new();
    for operation in all() {
        let Some(entry) = recorded.get(operation.name) else { continue };
        found += 1;
        let cases = entry.load(&folder).expect("the recording");
        let take = |words: &[u32], wide: bool| {
            u64::from(words[0]) | if wide { u64::from(words[1]) << 32 } else { 0 }
        };
        let words_in: usize = entry.inputs.iter().map(truth::Operand::words).sum();
        let words_out = entry.outputs[0].words();
        for case in 0..cases.count {
            let mut input = &cases.regs_in[case * words_in..];
            let mut operands = Bits::default();
            for (operand, slot) in entry.inputs.iter().zip(&mut operands) {
                *slot = take(input, operand.words() == 2);
                input = &input[operand.words()..];
            }
            let result = take(&cases.regs_out[case * words_out..], words_out == 2);
            let folded = operation.fold(operands);
            if folded != result {
                wrong
                    .push(format!("{}: {operands:x?} gives {result:x}, folds to {folded:x}", operation.name));
                break;
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(found > 250, "only {found} operations are in the recording");
}

/// Results of an H200 at the smallest normal number (`sim/tests/sim_arith/hardware.rs` has them for the simulator): a
/// result is flushed only if it is still subnormal when rounded with all digits of a normal number.
#[test]
fn flushing_applies_to_the_rounded_result() {
    let fold = |name: &str, operands| {
        let operation = all().find(|operation| operation.name == name).expect("an operation that folds");
        operation.fold(operands)
    };
    assert_eq!(fold("fma_rn_ftz_f16", [0x0400, 0x0400, 0x8400, 0]), 0x8400);
    assert_eq!(fold("fma_rn_ftz_f16", [0x0400, 0x8400, 0x0400, 0]), 0x0400);
    // (1 + 2⁻²³)(1 − 2⁻²³) rounds to 1, whereas 1 − 2⁻²⁴ has the digits of a normal number and stays below.
    assert_eq!(fold("mul_rn_ftz_f32", [0x0080_0001, 0x3f7f_fffe, 0, 0]), 0x0080_0000);
    assert_eq!(fold("mul_rn_ftz_f32", [0x0080_0000, 0x3f7f_ffff, 0, 0]), 0);
    assert_eq!(fold("mul_rz_ftz_f32", [0x0080_0001, 0x3f7f_fffe, 0, 0]), 0);
}

/// A target that supports at least this many of the operations.
fn folding_gives_what_the_instruction_gives(target: Target, at_least: usize) {
    let operations = available(target);
    assert!(operations.len() >= at_least, "{target} has only {} operations", operations.len());
    let mut runner = TestRunner::new(Config {
        cases: 2,
        max_shrink_iters: 0,
        failure_persistence: None,
        ..Config::default()
    });
    let registers = proptest::collection::vec(bits(), THREADS);
    // In addition to arbitrary constants, those that identities recognize: 0, 1 and all ones, 1.0 and −0.0 of f32, a width.
    let constants = proptest::collection::vec(bits(), 4).prop_map(|mut constants| {
        constants.extend([0, 1, u64::MAX, 0x3f80_0000, 0x8000_0000, 32].map(|bits| [bits; 4]));
        constants
    });
    let property = |(registers, constants): (Vec<Bits>, Vec<Bits>)| {
        let results = simulate(target, &operations, &registers, &constants);
        let mut rows = results.chunks(THREADS);
        let mut wrong = Vec::new();
        for operation in &operations {
            for (constants, mask) in
                constants.iter().flat_map(|c| operation.masks().map(move |mask| (c, mask)))
            {
                let row = rows.next().expect("a row for each choice");
                let folded =
                    registers.iter().map(|registers| operation.fold(chosen(mask, *registers, *constants)));
                if let Some(lane) = folded.zip(row).position(|(folded, result)| folded != *result) {
                    let operands = chosen(mask, registers[lane], *constants);
                    let (folded, result) = (operation.fold(operands), row[lane]);
                    wrong.push(format!(
                        "{} of {operands:x?}, of which registers {mask:b}: folds to {folded:x}, runs to {result:x}",
                        operation.name
                    ));
                }
            }
        }
        prop_assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        Ok(())
    };
    runner.run(&(registers, constants), property).unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn folding_matches_sm_100a() {
    folding_gives_what_the_instruction_gives(Target::SM_100A, all().count());
}

#[test]
fn folding_matches_sm_90() {
    folding_gives_what_the_instruction_gives(Target::SM_90, 850);
}

#[test]
fn folding_matches_sm_80() {
    folding_gives_what_the_instruction_gives(Target::SM_80, 750);
}

#[test]
fn folding_matches_sm_75() {
    folding_gives_what_the_instruction_gives(Target::SM_75, 650);
}

/// Operands: arbitrary bits, special values of each type, and floats near 1.
fn bits() -> impl Strategy<Value = Bits> {
    #[rustfmt::skip]
    let edges = vec![
        0, 1, 2, 3, 7, 8, 15, 16, 31, 32, 33, 63, 64, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fff_ffff, 0x8000_0000,
        0xffff_fffe, 0xffff_ffff, i64::MAX as u64, i64::MIN as u64, u64::MAX - 1, u64::MAX,
        // f16 and bf16 in pairs: ±0, ±1, ±∞, NaN, subnormals, the largest.
        0x3c00_8000, 0xbc00_7c00, 0x7e00_fc00, 0x0001_03ff, 0x7bff_fbff,
        0x3f80_8000, 0xbf80_7f80, 0x7fc0_ff80, 0x0001_007f, 0x7f7f_ff7f,
        // The smallest normal numbers of f16 and f32, and their neighbors, where flushing begins.
        0x0400_8400, 0x0401_83ff, 0x0080_0000, 0x8080_0001,
        // f32: ½, ±1, 1.5, 2.5, ±∞, NaN, subnormals, the largest, 2^31.
        0x3f00_0000, 0x3f80_0000, 0xbf80_0000, 0x3fc0_0000, 0x4020_0000, 0x7f80_0000, 0xff80_0000, 0x7fc0_0000,
        0xffc0_0001, 0x007f_ffff, 0x7f7f_ffff, 0x4f00_0000, 0xcf00_0001, 0x3fff_ffff,
        // f64 likewise, and 2^−149, the smallest f32, and one between the largest f32 and 2^128.
        0x3fe0_0000_0000_0000, 0x3ff0_0000_0000_0000, 0xbff0_0000_0000_0000, 0x7ff0_0000_0000_0000,
        0xfff0_0000_0000_0000, 0x7ff8_0000_0000_0000, 0xfff0_0000_0000_0001, 0x000f_ffff_ffff_ffff,
        0x7fef_ffff_ffff_ffff, 0x43e0_0000_0000_0000, 0x36a0_0000_0000_0000, 0x47ef_ffff_f000_0000,
    ];
    let near_one = (0..4, any::<u64>()).prop_map(|(kind, x)| match kind {
        0 => 0x3c00_3c00 ^ x & 0x83ff_83ff,
        1 => 0x3f80_0000 ^ x & 0x80ff_ffff,
        2 => 0x3ff0_0000_0000_0000 ^ x & 0x801f_ffff_ffff_ffff,
        _ => x & 0xff,
    });
    let one = prop_oneof![any::<u64>(), select(edges), near_one];
    [one.clone(), one.clone(), one.clone(), one]
}
