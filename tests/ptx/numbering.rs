//! Equal computations are emitted once, but never where their results may differ.
#![allow(unsafe_code, reason = "plain pointers to results")]

use warpwright::{
    prelude::*,
    run::{Device, Simulator},
};

/// The instructions of a kernel over one block of 32 threads, without the parameters' loads.
fn instructions(write: impl for<'k> FnOnce(Builder<'k>, Val<'k, u32>, Ptr<'k, u32, Global>)) -> Vec<String> {
    let kernel = Kernel::<(InOut<u32>, u32)>::build("f(y, n)", Target::SM_80, |k, (y, n)| {
        k.block([32]);
        write(k, n, y);
    });
    let text = kernel.expect("the kernel is right").ptx();
    let lines = text.lines().filter(|line| line.ends_with(';') && line.starts_with("    ")).map(str::trim);
    lines
        .skip_while(|line| !line.starts_with("cvta"))
        .skip(1)
        .filter(|line| line.contains('%'))
        .map(String::from)
        .collect()
}

fn count(lines: &[String], mnemonic: &str) -> usize {
    lines.iter().filter(|line| line.starts_with(mnemonic)).count()
}

/// Returns the number that one thread of a kernel stores in the simulator.
fn result(n: u32, write: impl for<'k> FnOnce(Builder<'k>, Val<'k, u32>) -> Val<'k, u32>) -> u32 {
    let kernel = Kernel::<(Out<u32>, u32)>::build("f(y, n)", Target::SM_80, |k, (y, n)| {
        k.block([1]);
        unsafe { y.store(write(k, n)) };
    });
    let device = Simulator::new();
    let mut y = device.output::<u32>(1).expect("memory");
    device.launch_grid(&kernel.expect("the kernel is right"), [1, 1, 1], (&mut y, n)).expect("it runs");
    device.download(&y).expect("the result")[0]
}

#[test]
fn an_expression_is_computed_once() {
    let lines = instructions(|k, n, y| {
        let once = (k.tid_x() + n) * 3;
        let again = (n + k.tid_x()) * 3;
        assert!(once.is_same(&again));
        unsafe { y.at(once ^ again).store(1) };
    });
    assert_eq!(
        (count(&lines, "mov.u32"), count(&lines, "add.u32"), count(&lines, "mul.lo.u32")),
        (1, 1, 1),
        "{lines:#?}"
    );
}

#[test]
fn a_difference_is_not_commutative() {
    assert_eq!(
        result(5, |k, n| {
            let one = k.var(1u32).get();
            (n - one) * 100 + (one - n)
        }),
        400u32.wrapping_sub(4)
    );
}

#[test]
fn clocks_and_loads_are_read_each_time() {
    let lines = instructions(|k, _, y| {
        let clocks = k.clock() - k.clock();
        unsafe { y.store(clocks + y.load() + y.load()) };
    });
    assert_eq!((count(&lines, "mov.u32"), count(&lines, "ld.global")), (2, 2), "{lines:#?}");
}

#[test]
fn values_of_a_branch_are_not_reused_after_it() {
    let found = result(7, |k, n| {
        let y = k.var(0u32);
        k.if_(n.gt(10), || y.set(n * 3));
        y.get() + n * 3
    });
    assert_eq!(found, 21);
    let found = result(7, |k, n| {
        let y = k.var(0u32);
        k.when(n.gt(10), || y.set(n * 3));
        y.get() + n * 3
    });
    assert_eq!(found, 21);
}

#[test]
fn an_updated_variable_has_a_new_value() {
    let found = result(7, |k, n| {
        let x = k.var(n);
        let before = x.get() * 5;
        k.for_(3, |_| x.update(|x| x * 5));
        before + x.get() * 5
    });
    assert_eq!(found, 7 * 5 + 7 * 5u32.pow(4));
}

#[test]
fn a_loops_state_is_another_value_in_each_iteration() {
    let found = result(7, |k, n| {
        let before = n * 5;
        let (a, b) = k.fold(4, (n, n), |_, (a, b)| (a * 5 + b * 5, a * 5));
        before + a * 5 + b
    });
    let (mut a, mut b) = (7u32, 7u32);
    for _ in 0..4 {
        (a, b) = (a * 5 + b * 5, a * 5);
    }
    assert_eq!(found, 35 + a * 5 + b);
}

/// The counter is compared with the end after each increment, regardless of earlier comparisons.
#[test]
fn comparisons_of_a_counter_are_not_reused() {
    let found = result(5, |k, n| {
        let sum = k.var(0u32);
        k.for_(n, |i| sum.update(|sum| sum + i.lt(n).select(1u32, 0u32)));
        sum.get()
    });
    assert_eq!(found, 5);
}

/// Two tiles of the same expression, each accumulated into in place.
#[test]
fn shared_values_are_not_accumulated_into() {
    let lines = |twice: bool| {
        let kernel =
            Kernel::<(In<bf16>, Out<f32>, f32)>::build("f(x, y, c)", Target::SM_80, |k, (x, y, c)| {
                k.block([32]);
                let x = k.global(x, row_major(16, 16));
                let y = k.global(y, row_major(16, 32));
                let (a, b): (Rt<bf16, 1, 1>, Rt<bf16, 1, 1, Col>) =
                    (Rt::load(x.tile(0, 0)), Rt::load(x.tile(0, 0)));
                let zeros = k.zeros::<Rt<f32, 1, 1>>();
                let (mut one, mut two) = (zeros.map(|z| z + c), zeros.map(|z| z + c));
                one = one.mma_ab(&a, &b);
                if twice {
                    two = two.mma_ab(&a, &b);
                }
                y.tile(0, 0).store(&one);
                y.tile(0, 1).store(&two);
            });
        kernel.expect("the kernel is right")
    };
    let device = Simulator::new();
    let x: Vec<bf16> = (0..256).map(|i| bf16::from_f32((i % 7) as f32)).collect();
    let product = |r: usize, c: usize| -> f32 {
        (0..16).map(|k| x[16 * r + k].to_f32() * x[16 * k + c].to_f32()).sum()
    };
    for twice in [false, true] {
        let (x, mut y) = (device.upload(&x).expect("memory"), device.output::<f32>(512).expect("memory"));
        device.launch_grid(&lines(twice), [1, 1, 1], (&x, &mut y, 1.0)).expect("it runs");
        let y = device.download(&y).expect("the result");
        for (r, c) in (0..16).flat_map(|r| (0..16).map(move |c| (r, c))) {
            assert_eq!(y[32 * r + c], 1.0 + product(r, c));
            assert_eq!(y[32 * r + 16 + c], if twice { 1.0 + product(r, c) } else { 1.0 });
        }
    }
}

/// Facts about a value no longer hold after a predicated load that may replace it.
#[test]
fn a_replaced_value_has_no_facts_of_the_old_one() {
    let kernel = Kernel::<(In<u32>, Out<u32>, u32)>::build("f(x, y, n)", Target::SM_80, |_, (x, y, n)| {
        let index = unsafe { x.when(n.gt(3)) }.load();
        assert!(!index.is_multiple_of(4));
        unsafe { y.store(index) };
    });
    kernel.expect("the kernel is right");
}
