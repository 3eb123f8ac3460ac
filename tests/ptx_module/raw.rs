//! Raw lines: the emitted text, and rejected lines.
#![allow(unsafe_code, reason = "raw lines")]

use pretty_assertions::assert_eq;
use warpwright::{
    prelude::*,
    ptx::{BuildErrorKind, Features, Version},
};

use super::built::{built, lines, refused};

#[test]
fn every_kind_of_operand() {
    let ptx = built::<(InOut<u32>, u32, f32, f16)>("f(p, n, x, h)", |k, (p, n, x, h)| {
        let loaded = unsafe { k.raw("ld.global.u32 {d}, {p};") }.out::<u32>("d").input("p", p.at(3)).emit();
        let (sum, carry) = unsafe { k.raw("{ add.cc.u32 {s}, {a}, {b};\n addc.u32 {c}, 0, 0; }") }
            .out::<u32>("s")
            .out::<u32>("c")
            .input("a", loaded)
            .input("b", 7u32)
            .emit();
        let count = k.var::<u32>(0u32);
        unsafe { k.raw("@{p} add.u32 {v}, {v}, {by};") }
            .input("p", n.lt(sum))
            .input("v", count)
            .input("by", carry)
            .emit();
        let halves: [Val<'_, f16>; 2] =
            unsafe { k.raw("mov.b32 {h}, {x};") }.out_vector("h").input("x", x).emit();
        unsafe { k.raw("mul.f16x2 {x}, {x}, {x}; // square") }
            .input(
                "x",
                unsafe { k.raw("mov.b32 {d}, {h};") }.out::<f16x2>("d").input("h", [halves[0], h]).emit(),
            )
            .emit();
        unsafe { p.store(count.get()) };
        unsafe { k.raw("membar.gl;") }.emit();
    });
    assert_eq!(
        lines(&ptx, &["// raw"]),
        [
            "ld.global.u32 %r1, [%rd1+12]; // raw",
            "{ add.cc.u32 %r2, %r1, 7; // raw",
            "addc.u32 %r3, 0, 0; } // raw",
            "@%p0 add.u32 %r4, %r4, %r3; // raw",
            "mov.b32 {%h1, %h2}, %f0; // raw",
            "mov.b32 %r5, {%h1, %h0}; // raw",
            "mul.f16x2 %r5, %r5, %r5; // square // raw",
            "membar.gl; // raw",
        ]
    );
}

#[test]
fn a_guard_applies_to_one_instruction() {
    let ptx = built::<(Out<u32>, u32)>("guarded(p, n)", |k, (p, n)| {
        k.when(n.gt(3u32), || unsafe { k.raw("st.global.u32 {p}, {x};") }.input("p", p).input("x", n).emit());
    });
    assert_eq!(lines(&ptx, &["// raw"]), ["@%p0 st.global.u32 [%rd1], %r0; // raw"]);

    let ptx = built::<(Out<u32>, u32)>("wrapped(p, n)", |k, (p, n)| {
        k.when(n.gt(3u32), || {
            unsafe { k.raw("// before\nst.global.u32\n  {p}, {x};\n// after") }
                .input("p", p)
                .input("x", n)
                .emit();
        });
        unsafe { p.store(n) };
    });
    assert_eq!(
        lines(&ptx, &["// raw", "st."]),
        [
            "// before // raw",
            "@%p0 st.global.u32 // raw",
            "[%rd1], %r0; // raw",
            "// after // raw",
            "st.global.u32 [%rd1], %r0;"
        ]
    );
}

#[test]
fn instructions_are_counted() {
    let count = |raw: &str| {
        let kernel = Kernel::<()>::build("count", Target::SM_80, |k, ()| {
            unsafe { k.raw(raw) }.emit();
        });
        kernel.expect("it builds").entry().instructions - 1 // `ret`
    };
    assert_eq!(count("membar.gl;"), 1);
    assert_eq!(count("{ .reg .b32 t;\n  mov.u32 t, 1;\n  add.u32 t,\n    t, 1;\n}"), 2);
    assert_eq!(count("top: @!p bra top;"), 1);
}

#[test]
fn known_instructions_set_version_and_are_checked() {
    let version = |target, raw: &str| {
        Kernel::<(u32,)>::build("f(x)", target, |k, (x,)| {
            unsafe { k.raw(raw) }.input("x", x).emit();
        })
        .map(|kernel| kernel.entry().version)
    };
    assert_eq!(version(Target::SM_80, "nanosleep.u32 {x};"), Ok(Version::new(7, 0)));
    let moved = "{ .reg .b32 t; movmatrix.sync.aligned.m8n8.trans.b16 t, {x}; }";
    assert_eq!(version(Target::SM_80, moved), Ok(Version::new(7, 8)));
    let stored = "stmatrix.sync.aligned.m8n8.x1.shared.b16 [{x}], {{x}};";
    let refused = version(Target::SM_80, stored).expect_err("sm_90 has it");
    assert!(
        matches!(
            refused.kind(),
            BuildErrorKind::Unsupported { lowest: Target::SM_90, target: Target::SM_80, .. }
        ),
        "{refused}"
    );
}

#[test]
fn the_caller_states_requirements_of_unknown_instructions() {
    let build = |target| {
        Kernel::<()>::build("f", target, |k, ()| {
            unsafe { k.raw("griddepcontrol.wait;") }.needs(Version::new(7, 9), Features::HOPPER).emit();
        })
    };
    assert_eq!(build(Target::SM_90).expect("it builds").entry().version, Version::new(7, 9));
    let refused = build(Target::SM_80).expect_err("it needs sm_90");
    assert!(
        matches!(refused.kind(), BuildErrorKind::Unsupported { mnemonic, .. } if mnemonic == "griddepcontrol.wait")
    );
}

/// Returns the problem with a raw line.
fn problem(write: impl for<'k> FnOnce(Builder<'k>, Val<'k, u32>)) -> String {
    match refused::<(u32,)>(|k, (x,)| write(k, x)) {
        BuildErrorKind::BadRaw { problem, .. } => problem,
        other => panic!("{other}"),
    }
}

#[test]
fn holes_and_bindings_must_match() {
    assert_eq!(
        problem(|k, x| unsafe { k.raw("add.u32 {d}, {d}, 1;") }.input("x", x).emit()),
        "expected a value for the placeholder `{d}`, found none"
    );
    assert_eq!(
        problem(|k, x| unsafe { k.raw("membar.gl;") }.input("x", x).emit()),
        "expected a placeholder `{x}`, found none"
    );
    assert_eq!(
        problem(|k, x| unsafe { k.raw("prefetch.global.L1 [{x}];") }.input("x", x).input("x", x).emit()),
        "`x` is bound twice"
    );
    assert_eq!(
        problem(|k, x| unsafe { k.raw("add.u32 {x}, {x}, 1") }.input("x", x).emit()),
        "it does not end a statement: `;` is missing"
    );
    let guarded = "under a guard, expected a single instruction without its own guard or label";
    assert_eq!(problem(|k, x| k.when(x.eq(1u32), || unsafe { k.raw("ret; ret;") }.emit())), guarded);
    assert_eq!(problem(|k, x| k.when(x.eq(1u32), || unsafe { k.raw("@%p0 ret;") }.emit())), guarded);
    assert!(problem(|k, _| unsafe { k.raw("ret; // \u{b5}") }.emit()).contains("ASCII"));
}

#[test]
fn operands_must_be_defined_before_their_use() {
    let kind = refused::<(u32,)>(|k, (x,)| {
        let mut escaped = None;
        k.if_(x.eq(1u32), || escaped = Some(x + 1u32));
        unsafe { k.raw("add.u32 {x}, {x}, 1;") }.input("x", escaped.expect("set")).emit();
    });
    assert!(matches!(kind, BuildErrorKind::NotDominated { .. }), "{kind}");
}
