//! Branches that return state, and facts that hold in them.
#![allow(unsafe_code, reason = "plain pointers to results")]

use pretty_assertions::assert_eq;
use warpwright::{
    prelude::*,
    ptx::{BuildErrorKind, Uniformity},
    run::{Device, Simulator},
};

#[test]
fn branches_return_the_values_of_the_taken_branch() {
    let kernel = Kernel::<(Out<u32>, u32)>::build("f(y, n)", Target::SM_80, |k, (y, n)| {
        let block = k.block([64]);
        k.grid([1]);
        let t = block.thread();
        let (a, b) = k.if_else_with(t.lt(n), || (t * 2, Val::from(7u32)), || (Val::from(5u32), t + n));
        unsafe { y.at(t).store(a * 1000 + b) };
        // Carried on through a loop, and exchanged.
        let (a, b) = k.fold(2, (a, b), |_, (a, b)| k.if_else_with(t.lt(32), || (b, a), || (a, b + 1)));
        unsafe { y.at(t + 64).store(a * 1000 + b) };
        let known = k.if_else_with(true, || Val::from(1u32), || t);
        assert_eq!(known.as_constant(), Some(1), "a constant condition writes one branch");
    })
    .unwrap_or_else(|e| panic!("{e}"));
    let device = Simulator::new();
    let mut y = device.output::<u32>(128).unwrap();
    device.launch(&kernel, (&mut y, 40)).unwrap_or_else(|e| panic!("{e}"));
    let pair = |t: u32| if t < 40 { (t * 2, 7) } else { (5, t + 40) };
    let first = (0..64).map(|t| pair(t).0 * 1000 + pair(t).1);
    let second = (0..64).map(|t| {
        let (a, b) = pair(t);
        let b = if t < 32 { b } else { b + 2 };
        a * 1000 + b
    });
    assert_eq!(device.download(&y).unwrap(), first.chain(second).collect::<Vec<_>>());
}

#[test]
fn results_of_branches_are_as_uniform_as_condition_and_values() {
    let kernel = Kernel::<(u32,)>::build("f(n)", Target::SM_80, |k, (n,)| {
        let block = k.block([128]);
        let warp = k.warp();
        let level = |value: Val<'_, u32>| value.uniformity();
        assert_eq!(level(k.if_else_with(n.eq(0), || n, || Val::from(1))), Uniformity::Grid);
        assert_eq!(level(k.if_else_with(warp.rank().eq(0), || n, || Val::from(1))), Uniformity::WARP);
        assert_eq!(level(k.if_else_with(n.eq(0), || n, || block.thread())), Uniformity::NONE);
        assert_eq!(level(k.if_else_with(n.eq(0), || block.thread(), || n)), Uniformity::NONE);
    });
    kernel.unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn branches_of_different_shapes() {
    let line = line!() + 2;
    let kernel = Kernel::<(u32,)>::build("f(n)", Target::SM_80, |k, (n,)| {
        let _ = k.if_else_with(n.eq(0), || vec![n], || vec![n, n]);
    });
    let error = kernel.unwrap_err();
    assert_eq!(error.kind(), &BuildErrorKind::StateShape { expected: 1, found: 2 });
    assert_eq!(error.location().line(), line);
}

#[test]
fn a_divisor_assumed_in_a_branch_is_not_a_precondition_of_the_launch() {
    let kernel = Kernel::<(u32,)>::build("f(n)", Target::SM_80, |k, (n,)| {
        k.if_((n & 7).eq(0), || assert!(unsafe { n.assume_multiple_of(8) }.is_multiple_of(8)));
        assert!(!n.is_multiple_of(2));
    })
    .unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(kernel.entry().assumed_divisor(0), 1);
}

#[test]
fn a_handle_to_a_register_that_is_written_in_place_is_refused() {
    let line = line!() + 6;
    let kernel = Kernel::<(Out<f32>,)>::build("f(y)", Target::SM_80, |k, (y,)| {
        let tile = k.filled::<Rt<f32, 1, 1>>(1.0);
        let old = tile.registers()[0];
        let fragment = tile.into_fragment();
        fragment.set(0, 2.0);
        unsafe { y.store(old) };
    });
    let error = kernel.unwrap_err();
    assert!(matches!(error.kind(), BuildErrorKind::Overwritten { .. }), "{error}");
    assert_eq!(error.location().line(), line);
    // The fragment itself reads what it wrote.
    let kernel = Kernel::<(Out<f32>,)>::build("f(y)", Target::SM_80, |k, (y,)| {
        let fragment = k.filled::<Rt<f32, 1, 1>>(1.0).into_fragment();
        fragment.set(0, 2.0);
        unsafe { y.store(fragment.get(0)) };
    });
    kernel.unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn break_and_continue_after_the_end_of_a_loop_are_refused() {
    type Leave = for<'k> fn(warpwright::ptx::Loop<'k>, Val<'k, bool>);
    let ways: [Leave; 4] = [
        |l, _| l.break_(),
        |l, condition| l.break_if(condition),
        |l, _| l.continue_(),
        |l, condition| l.continue_if(condition),
    ];
    for leave in ways {
        let build = |late: bool| {
            Kernel::<(u32,)>::build("f(n)", Target::SM_80, |k, (n,)| {
                let mut ended = None;
                k.loop_(|l| {
                    if !late {
                        leave(l, n.gt(3));
                    }
                    l.break_if(n.eq(0));
                    ended = Some(l);
                });
                if late && let Some(ended) = ended {
                    leave(ended, n.gt(3));
                }
            })
        };
        build(false).unwrap_or_else(|error| panic!("{error}"));
        let error = build(true).expect_err("the loop has ended").to_string();
        assert!(
            error.contains("expected a loop whose body is under construction, found one that has ended"),
            "{error}"
        );
    }
}
