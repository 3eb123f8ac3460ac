//! Launches that overlap with the preceding kernel: the valid positions of the call, and the instructions of loads.
#![allow(unsafe_code, reason = "a raw line")]

use warpwright::{
    prelude::*,
    ptx::{Builder, Global, Ptr, Read, Write},
};

type Args = (In<f32>, Out<f32>);

fn build(
    body: impl for<'k> FnOnce(Builder<'k>, Ptr<'k, f32, Global, Read>, Ptr<'k, f32, Global, Write>),
) -> Result<Kernel<Args>, BuildError> {
    Kernel::<Args>::build("overlap(x, y)", Target::SM_90A, |k, (x, y)| {
        k.block([128]);
        k.grid([1]);
        body(k, x, y);
    })
}

#[test]
fn accesses_before_the_call_are_rejected() {
    let loaded = build(|k, x, _| {
        let _ = k.global(x, row_major(1, 128)).at(0, k.lane()).load();
        k.programmatic_launch();
    });
    let copied = build(|k, x, _| {
        let _ = k.shared_tile::<St<f32, 1, 1>>().fill(k.global(x, row_major(16, 16)).tile(0, 0));
        k.programmatic_launch();
    });
    let stored = build(|k, _, y| {
        k.global(y, row_major(1, 128)).at(0, k.lane()).store(1.0);
        k.programmatic_launch();
    });
    let raw = build(|k, _, _| {
        unsafe { k.raw("multimem.red.global.add.f32 [0], 1.0;") }.emit();
        k.programmatic_launch();
    });
    let all = [(loaded, "ld.global"), (copied, "cp.async"), (stored, "st.global"), (raw, "multimem.red")];
    for (refused, access) in all {
        let found = refused.expect_err("it is rejected").to_string();
        let expected = "expected no access to global memory before a programmatic launch, found `";
        assert!(found.contains(expected) && found.contains(access), "{found}");
    }
}

#[test]
fn calls_under_a_condition_are_rejected() {
    let found = build(|k, _, _| k.if_(k.lane().rank().eq(0), || k.programmatic_launch()));
    let found = found.expect_err("it is rejected").to_string();
    assert!(found.contains("outside of conditions, loops and roles"), "{found}");
}

#[test]
fn shared_memory_may_be_prepared_before() {
    let kernel = build(|k, x, y| {
        let zeros = k.shared_tile::<St<f32, 1, 1>>().fill_with(0.0);
        k.programmatic_launch();
        let _ = zeros.wait();
        let value = k.global(x, row_major(1, 128)).at(0, k.lane()).load();
        k.global(y, row_major(1, 128)).at(0, k.lane()).store(value);
    });
    let text = kernel.expect("it builds").ptx();
    let (wait, load) = (text.find("griddepcontrol.wait"), text.find("ld.global"));
    assert!(wait.expect("it waits") < load.expect("it loads"), "{text}");
    // The preceding kernel may have written what is loaded.
    assert!(!text.contains(".nc"), "{text}");
}
