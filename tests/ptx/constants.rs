//! Constant operands that an instruction does not have.

use warpwright::{
    prelude::*,
    ptx::{Eviction, Mbarrier},
};

/// Returns why a kernel is refused.
fn refused(write: impl for<'k> Fn(Builder<'k>, Ptr<'k, u32, Global>)) -> String {
    let kernel = Kernel::<(InOut<u32>,)>::build("constants(x)", Target::SM_90A, |k, (x,)| {
        k.block([128]);
        write(k, x);
    });
    kernel.expect_err("a constant that does not exist").to_string()
}

fn of_barrier(write: impl for<'k> Fn(Mbarrier<'k>)) -> String {
    refused(|k, _| write(k.mbarriers(1)))
}

#[test]
fn barriers_have_two_parities() {
    let expected = "mbarrier: expected a parity of 0 or 1, found 2";
    assert!(of_barrier(|full| full.wait(2)).contains(expected));
    assert!(
        of_barrier(|full| {
            full.test_wait_parity(2);
        })
        .contains(expected)
    );
    assert!(
        of_barrier(|full| {
            full.try_wait_parity(2);
        })
        .contains(expected)
    );
}

#[test]
fn barriers_count_1_to_1048575_arrivals() {
    let expected = "mbarrier: expected 1 to 1048575 arrivals, found";
    assert!(of_barrier(|full| full.init(0)).contains(expected));
    assert!(of_barrier(|full| full.init(1 << 20)).contains(expected));
    assert!(
        of_barrier(|full| {
            full.arrive_count(0);
        })
        .contains(expected)
    );
    assert!(
        of_barrier(|full| {
            full.arrive_drop_count(0);
        })
        .contains(expected)
    );
}

#[test]
fn fractions_and_ranges_of_cache_policies_are_checked() {
    for fraction in [0.0, -1.0, 1.5, f32::NAN] {
        let why = refused(|k, _| {
            k.cache_policy_fraction(Eviction::Last, fraction, Eviction::Unchanged);
        });
        assert!(why.contains("expected a fraction greater than 0 and at most 1"), "{why}");
    }
    let why = refused(|k, x| {
        k.cache_policy_range(x, (Eviction::Last, 4096), (Eviction::First, 1024));
    });
    assert!(why.contains("expected at most the 1024 bytes of the window, found 4096"), "{why}");
}

#[test]
fn declarations_have_limits() {
    for registers in [0, 23, 256] {
        let why = refused(|k, _| k.max_registers(registers));
        assert!(why.contains("expected 24 to 255 registers per thread"), "{why}");
    }
    for blocks in [0, 33] {
        assert!(refused(|k, _| k.min_blocks(blocks)).contains("expected 1 to 32 resident blocks"));
    }
}
