//! Facts about values: unnecessary instructions are omitted, and results remain the same.
#![allow(unsafe_code, reason = "plain pointers to results")]

use proptest::prelude::*;
use warpwright::{
    prelude::*,
    run::{Device, Simulator},
};

/// The instructions of a kernel of one block, without the parameters' loads and the last `ret`.
fn instructions(write: impl for<'k> FnOnce(Builder<'k>, Val<'k, u32>, Ptr<'k, u32, Global>)) -> Vec<String> {
    let kernel = Kernel::<(InOut<u32>, u32)>::build("f(y, n)", Target::SM_80, |k, (y, n)| {
        k.block([128]);
        write(k, n, y);
    });
    let text = kernel.unwrap_or_else(|e| panic!("{e}")).ptx();
    let lines = text.lines().filter(|line| line.ends_with(';') && line.starts_with("    ")).map(str::trim);
    let body = lines.skip_while(|line| !line.starts_with("cvta")).skip(1);
    body.skip_while(|line| line.starts_with("ld.param"))
        .filter(|line| *line != "ret;")
        .map(String::from)
        .collect()
}

/// Returns the numbers that a kernel of one thread stores.
fn results(
    count: usize,
    n: u32,
    write: impl for<'k> FnOnce(Builder<'k>, Val<'k, u32>, &mut dyn FnMut(Val<'k, u32>)),
) -> Vec<u32> {
    let kernel = Kernel::<(Out<u32>, u32)>::build("f(y, n)", Target::SM_80, |k, (y, n)| {
        k.block([1]);
        k.grid([1]);
        let mut at = 0;
        write(k, n, &mut |value| {
            unsafe { y.at(at).store(value) };
            at += 1;
        });
    });
    let device = Simulator::new();
    let mut y = device.output::<u32>(count).expect("memory");
    device.launch(&kernel.unwrap_or_else(|e| panic!("{e}")), (&mut y, n)).unwrap_or_else(|e| panic!("{e}"));
    device.download(&y).expect("the result")
}

#[test]
fn chains_of_constants_are_one_instruction() {
    let lines = instructions(|_, n, y| unsafe { y.store(n * 4 * 16 * 64) });
    assert!(lines.len() == 2 && lines[0].ends_with(", 4096;"), "{lines:#?}");
    assert_eq!(instructions(|_, n, y| unsafe { y.store((n + 3) + 5) }).len(), 2);
    assert_eq!(instructions(|_, n, y| unsafe { y.store((n + 3) - 3) }).len(), 1);
    assert_eq!(instructions(|_, n, y| unsafe { y.store(n << 3 << 2) }).len(), 2);
    assert_eq!(instructions(|_, n, y| unsafe { y.store(n >> 3 >> 2) }).len(), 2);
    // The product in between is stored too.
    assert_eq!(
        instructions(|_, n, y| {
            let four = n * 4;
            unsafe { y.store(four) };
            unsafe { y.at(1).store(four * 16) };
        })
        .len(),
        4
    );
}

#[test]
fn operations_on_known_bits_emit_no_instructions() {
    let stored = |lines: Vec<String>| lines.last().expect("a store").rsplit(' ').next().map(String::from);
    assert_eq!(
        stored(instructions(|k, _, y| unsafe { y.store(((k.tid_x() & 3) * 16) >> 6) })).as_deref(),
        Some("0;")
    );
    assert_eq!(
        stored(instructions(|k, _, y| unsafe { y.store((k.tid_x() * 4 + 3) & 3) })).as_deref(),
        Some("3;")
    );
    let masked = instructions(|k, _, y| unsafe { y.store(k.tid_x() & 127) });
    assert_eq!(masked.len(), 2, "{masked:#?}");
    let compared = instructions(|k, _, y| k.if_(k.tid_x().lt(128u32), || unsafe { y.store(1) }));
    assert!(!compared.iter().any(|line| line.contains("setp") || line.contains("bra")), "{compared:#?}");
}

/// In a branch where `n` is 1, `n + 1` is 2, but a value that leaves the branch is still rejected.
#[test]
fn assumptions_in_a_branch_end_with_it() {
    let refused = |escape: for<'k> fn(Val<'k, u32>) -> Val<'k, u32>| {
        let built = Kernel::<(Out<u32>, u32)>::build("f(y, n)", Target::SM_80, |k, (y, n)| {
            let mut escaped = None;
            k.if_(n.eq(1), || escaped = Some(escape(n)));
            unsafe { y.store(escaped.expect("set")) };
        });
        matches!(built.expect_err("an escape").kind(), warpwright::ptx::BuildErrorKind::NotDominated { .. })
    };
    assert!(refused(|n| n + 1) && refused(|n| n & 7) && refused(|n| n.min(5)) && refused(|n| (n ^ 3) >> 1));
    assert!(
        refused(|n| n % 4)
            && refused(|n| n.lt(4).select(7u32, n))
            && refused(|n| n.cast::<u64>().cast::<u32>() * 3)
    );
}

#[test]
fn no_predicate_is_negated_for_a_branch() {
    let lines = instructions(|k, n, y| {
        let i = k.var(0u32);
        k.while_(|| i.get().lt(n), |_| i.update(|i| i + 1));
        k.if_(!(n.lt(3) & n.gt(1)), || unsafe { y.store(i.get()) });
        k.when(!n.eq(4), || unsafe { y.at(1).store(5) });
    });
    assert!(!lines.iter().any(|line| line.starts_with("not")), "{lines:#?}");
    assert_eq!(lines.iter().filter(|line| line.starts_with("setp")).count(), 4, "{lines:#?}");
    let found = results(1, 10, |k, n, out| {
        let i = k.var(0u32);
        k.while_(|| i.get().lt(n), |_| i.update(|i| i + 3));
        out(i.get());
    });
    assert_eq!(found, [12]);
}

#[test]
fn quotients_are_rounded_up_without_wrapping_around() {
    for n in [0, 1, 63, 64, 65, 1 << 31, u32::MAX - 63, u32::MAX - 62, u32::MAX] {
        let by = [1u32, 2, 64, 1 << 31, 3, 48, u32::MAX];
        let found = results(3 * by.len() + 4, n, |_, n, out| {
            for by in by {
                out(n.ceil_div(by));
                out(n.cast::<u64>().ceil_div(u64::from(by)).cast());
                // Half of the numbers are bounded.
                out((n >> 1).ceil_div(by));
            }
            let wide = n.cast::<u64>() << 32 | n.cast::<u64>();
            out((wide.ceil_div(64u64) >> 32).cast());
            let signed = n.cast::<i32>();
            out(signed.ceil_div(64).cast());
            out(signed.ceil_div(7).cast());
            out(n.ceil_div(n | 1));
        });
        let up = |x: i64, by: i64| (x.div_euclid(by) + i64::from(x.rem_euclid(by) > 0)) as u32;
        let mut expected = Vec::new();
        for by in by {
            expected.extend([n.div_ceil(by), n.div_ceil(by), (n >> 1).div_ceil(by)]);
        }
        let wide = u64::from(n) << 32 | u64::from(n);
        let signed = i64::from(n as i32);
        expected.extend([(wide.div_ceil(64) >> 32) as u32, up(signed, 64), up(signed, 7), n.div_ceil(n | 1)]);
        assert_eq!(found, expected, "{n}");
    }
}

/// Returns the number of iterations of a loop.
fn count<'k>(k: Builder<'k>, steps: Steps<'k, u32>) -> Val<'k, u32> {
    let count = k.var(0u32);
    k.for_(steps, |_| count.update(|count| count + 1));
    count.get()
}

#[test]
fn loops_near_the_largest_integer_end() {
    for n in [0, 1, 100, u32::MAX - 5, u32::MAX - 1, u32::MAX] {
        let start = n.saturating_sub(20);
        let found = results(4, n, |k, n, out| {
            let first = n - n.min(20);
            out(count(k, Steps::new(first, n).by(7)));
            out(count(k, Steps::new(first, n).by(k.var(3u32).get())));
            let signed = k.var(0u32);
            let end = (n >> 1).cast::<i32>();
            k.for_(Steps::new(end - 5, end).by(4), |_| signed.update(|count| count + 1));
            out(signed.get());
            let constant = k.var(0u32);
            k.for_(Steps::new(u32::MAX - 9, u32::MAX).by(4), |_| constant.update(|count| count + 1));
            out(constant.get());
        });
        assert_eq!(found, [(n - start).div_ceil(7), (n - start).div_ceil(3), 2, 3], "{n}");
    }
}

/// A loop whose end is known to be far from the largest number, or to be a multiple of the step, is as short as a loop with step 1.
#[test]
fn steps_that_cannot_overflow_emit_no_check() {
    let count = |steps: &dyn for<'k> Fn(Val<'k, u32>) -> Steps<'k, u32>| {
        instructions(|k, n, y| k.for_(steps(n), |i| unsafe { y.at(i).store(i) })).len()
    };
    let by_ones = count(&|n| n.into());
    assert_eq!(count(&|n| Steps::new(0, n.multiple_of(4)).by(4)), by_ones);
    assert_eq!(count(&|n| Steps::new(0, n).by(4)), by_ones + 2);
}

#[test]
fn grid_rules_use_parameters_directly() {
    let kernel =
        Kernel::<(Out<u32>, u32, u32)>::build("f(y, rows, cols)", Target::SM_80, |k, (y, rows, cols)| {
            k.block([1]);
            k.grid((rows, cols.tiles(64)));
            unsafe { y.at(k.ctaid_x() + k.ctaid_y() * rows).store(1) };
        });
    let kernel = kernel.expect("the kernel is right");
    let device = Simulator::new();
    let mut y = device.output::<u32>(6).expect("memory");
    device.launch(&kernel, (&mut y, 2, 129)).expect("it runs");
    assert_eq!(device.download(&y).expect("the result"), [1; 6]);
    // Blocks past the grid rule would make unchecked accesses.
    let beyond =
        device.launch_grid(&kernel, [2, 4, 1], (&mut y, 2, 129)).expect_err("more blocks than the rule");
    assert_eq!(
        beyond.to_string(),
        "kernel `f`: expected a grid of at most [2, 3, 1] blocks, found [2, 4, 1]"
    );
    device.launch_grid(&kernel, [2, 1, 1], (&mut y, 2, 129)).expect("fewer blocks");
    for rule in 0..3 {
        Kernel::<(u32, u64)>::build("f(m, n)", Target::SM_80, |k, (m, n)| match rule {
            0 => k.grid([m]),
            1 => k.grid([n]),
            _ => k.grid((m, 4, n.tiles(2) * m)),
        })
        .expect("a rule");
    }
    Kernel::<(u32,)>::build("f(m)", Target::SM_80, |k, (m,)| k.grid([m ^ 1])).expect_err("no rule");
}

/// An operation of a random expression.
#[derive(Clone, Copy, Debug)]
enum Operation {
    Add(u32),
    Sub(u32),
    Mul(u32),
    And(u32),
    Or(u32),
    Xor(u32),
    Shl(u32),
    Shr(u32),
    Div(u32),
    Rem(u32),
    Min(u32),
    Max(u32),
    CeilDiv(u32),
    AddTo,
    MulBy,
    SubFrom,
    AndWith,
    OrWith,
    MadWith(u32),
    SignedShr(u32),
    Below(u32),
    Wide(u32),
}

fn operation() -> impl Strategy<Value = Operation> {
    let constant = || {
        prop_oneof![
            0..9u32,
            prop::sample::select(vec![12, 16, 31, 64, 255, 256, 1 << 31, u32::MAX]),
            any::<u32>()
        ]
    };
    (0..22usize, constant()).prop_map(|(which, c)| match which {
        0 => Operation::Add(c),
        1 => Operation::Sub(c),
        2 => Operation::Mul(c),
        3 => Operation::And(c),
        4 => Operation::Or(c),
        5 => Operation::Xor(c),
        6 => Operation::Shl(c % 34),
        7 => Operation::Shr(c % 34),
        8 => Operation::Div(c.max(1)),
        9 => Operation::Rem(c.max(1)),
        10 => Operation::Min(c),
        11 => Operation::Max(c),
        12 => Operation::CeilDiv(c.max(1)),
        13 => Operation::AddTo,
        14 => Operation::MulBy,
        15 => Operation::SubFrom,
        16 => Operation::AndWith,
        17 => Operation::OrWith,
        18 => Operation::MadWith(c),
        19 => Operation::SignedShr(c % 34),
        20 => Operation::Below(c),
        _ => Operation::Wide(c),
    })
}

impl Operation {
    /// `x`, or a function of it and of `other`.
    fn evaluate(self, x: u32, other: u32) -> u32 {
        match self {
            Self::Add(c) => x.wrapping_add(c),
            Self::Sub(c) => x.wrapping_sub(c),
            Self::Mul(c) => x.wrapping_mul(c),
            Self::And(c) => x & c,
            Self::Or(c) => x | c,
            Self::Xor(c) => x ^ c,
            Self::Shl(c) => x.checked_shl(c).unwrap_or(0),
            Self::Shr(c) => x.checked_shr(c).unwrap_or(0),
            Self::Div(c) => x / c,
            Self::Rem(c) => x % c,
            Self::Min(c) => x.min(c),
            Self::Max(c) => x.max(c),
            Self::CeilDiv(c) => x.div_ceil(c),
            Self::AddTo => x.wrapping_add(other),
            Self::MulBy => x.wrapping_mul(other),
            Self::SubFrom => other.wrapping_sub(x),
            Self::AndWith => x & other,
            Self::OrWith => x | other,
            Self::MadWith(c) => x.wrapping_mul(c).wrapping_add(other),
            Self::SignedShr(c) => (x as i32 >> c.min(31)) as u32,
            Self::Below(c) => {
                if x < c {
                    other
                } else {
                    x
                }
            }
            Self::Wide(c) => ((u64::from(x) * u64::from(c) + u64::from(other)) >> 7) as u32,
        }
    }

    fn emit<'k>(self, x: Val<'k, u32>, other: Val<'k, u32>) -> Val<'k, u32> {
        match self {
            Self::Add(c) => x + c,
            Self::Sub(c) => x - c,
            Self::Mul(c) => x * c,
            Self::And(c) => x & c,
            Self::Or(c) => x | c,
            Self::Xor(c) => x ^ c,
            Self::Shl(c) => x << c,
            Self::Shr(c) => x >> c,
            Self::Div(c) => x / c,
            Self::Rem(c) => x % c,
            Self::Min(c) => x.min(c),
            Self::Max(c) => x.max(c),
            Self::CeilDiv(c) => x.ceil_div(c),
            Self::AddTo => x + other,
            Self::MulBy => x * other,
            Self::SubFrom => other - x,
            Self::AndWith => x & other,
            Self::OrWith => x | other,
            Self::MadWith(c) => x.mad(c, other),
            Self::SignedShr(c) => (x.cast::<i32>() >> c).cast(),
            Self::Below(c) => x.lt(c).select(other, x),
            Self::Wide(c) => (x.mad_wide(c, other.cast::<u64>()) >> 7).cast(),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Compares every value of a random program, in many threads, with and without folding, with the host's results.
    #[test]
    fn folding_changes_no_result(
        program in proptest::collection::vec((operation(), any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..12),
        n in prop_oneof![0..300u32, any::<u32>()],
    ) {
        let rows = program.len() + 2;
        let kernel = Kernel::<(Out<u32>, u32)>::build("f(y, n)", Target::SM_80, |k, (y, n)| {
            k.block([64]);
            k.grid([1]);
            let mut values = vec![k.tid_x(), n];
            for (operation, x, other) in &program {
                let next = operation.emit(*x.get(&values), *other.get(&values));
                values.push(next);
            }
            for (row, &value) in values.iter().enumerate() {
                unsafe { y.at(k.tid_x()).at(64 * row as u32).store(value) };
                for divisor in [2, 3, 4, 5, 8, 12, 64] {
                    if value.is_multiple_of(divisor) {
                        k.if_((value % k.var(divisor).get()).ne(0), || unsafe { y.at(k.tid_x()).store(0xbad) });
                    }
                }
            }
        });
        let device = Simulator::new();
        let mut y = device.output::<u32>(64 * rows).expect("memory");
        device.launch(&kernel.expect("the kernel is right"), (&mut y, n)).expect("it runs");
        let found = device.download(&y).expect("the result");
        for thread in 0..64u32 {
            let mut values = vec![thread, n];
            for (operation, x, other) in &program {
                let next = operation.evaluate(*x.get(&values), *other.get(&values));
                values.push(next);
            }
            let of_thread: Vec<u32> = (0..rows).map(|row| found[64 * row + thread as usize]).collect();
            prop_assert_eq!(of_thread, values, "thread {}", thread);
        }
    }
}
