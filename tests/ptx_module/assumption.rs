//! Assumed divisors, and where they hold.
#![allow(unsafe_code, reason = "the alignment of pointers")]

use warpwright::{prelude::*, ptx::BuildErrorKind};

use super::built::{built, refused};

#[test]
fn an_assumption_about_a_register_holds_in_its_branch() {
    built::<(InOut<f32>, u32)>("f(p, n)", |k, (p, n)| {
        let i = n * k.tid_x();
        k.if_(i.lt(8), || {
            let by_four = unsafe { i.assume_multiple_of(4) };
            k.if_(i.lt(4), || unsafe { p.at(by_four).store_vector(p.at(i).load_vector::<4>()) });
            unsafe { p.at(i).store_vector(p.at(i).load_vector::<4>()) };
        });
    });
    let after = refused::<(InOut<f32>, u32)>(|k, (p, n)| {
        let i = n * k.tid_x();
        k.if_(i.lt(8), || {
            unsafe { i.assume_multiple_of(4) };
        });
        unsafe { p.at(i).load_vector::<4>() };
    });
    assert!(matches!(after, BuildErrorKind::Misaligned { .. }), "{after}");
}

#[test]
fn an_assumption_about_a_parameter_holds_everywhere() {
    built::<(InOut<f32>, u32)>("f(p, n)", |k, (p, n)| {
        k.if_(n.lt(8), || {
            n.multiple_of(4);
        });
        unsafe { p.at(n).store_vector(p.at(n).load_vector::<4>()) };
    });
}

#[test]
fn assumptions_about_computed_registers_are_rejected() {
    let refused = refused::<(InOut<f32>, u32)>(|k, (_, n)| {
        (n * k.tid_x()).multiple_of(4);
    });
    assert!(matches!(refused, BuildErrorKind::UnknownMultiple { divisor: 4 }), "{refused}");
    built::<(InOut<f32>, u32)>("f(p, n)", |k, (_, n)| {
        (n * 12u32 + (k.tid_x() << 2u32)).multiple_of(4);
    });
}
