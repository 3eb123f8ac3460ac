//! Functions: calls, recursion, the stack.

use pretty_assertions::assert_eq;

use super::{
    execution::{HEAD, PARAMS, text},
    support::{one_block, run},
};
use warpwright_sim::FindingKind;

#[test]
fn functions_without_parameters_return_values() {
    let module = format!(
        ".version 7.0\n.target sm_80\n.address_size 64\n.func (.param .b32 back) seven() {{ st.param.b32 [back], 7; ret; }}
        .visible .entry k({PARAMS}) {{ {HEAD}
        {{ .param .b32 got; call (got), seven, (); ld.param.b32 %r2, [got]; }}
        st.global.u32 [%rd3], %r2; ret; }}"
    );
    let (out, report) = run(&module, &one_block(32), &[0], 32).unwrap_or_else(|e| panic!("{e}"));
    report.assert_clean();
    assert_eq!(out, [7; 32]);
}

#[test]
fn functions_call_functions_and_themselves() {
    let module = ".version 8.0\n.target sm_80\n.address_size 64\n
        .func (.param .b32 r) fib(.param .b32 n) {
            .reg .b32 %a<8>; .reg .pred %q;
            ld.param.u32 %a0, [n];
            setp.lt.u32 %q, %a0, 2;
            @%q bra BASE;
            sub.u32 %a1, %a0, 1;
            { .param .b32 x; .param .b32 y; st.param.b32 [x], %a1; call.uni (y), fib, (x); ld.param.b32 %a2, [y]; }
            sub.u32 %a3, %a0, 2;
            { .param .b32 x; .param .b32 y; st.param.b32 [x], %a3; call.uni (y), fib, (x); ld.param.b32 %a4, [y]; }
            add.u32 %a0, %a2, %a4;
            BASE: st.param.b32 [r], %a0;
            ret;
        }
        .func (.reg .b32 r) twice(.reg .b32 n) { add.u32 r, n, n; ret; }
        .global .align 8 .u64 table[2] = {twice, triple};
        .func (.reg .b32 r) triple(.reg .b32 n) { mad.lo.u32 r, n, 3, 0; ret; }
        .visible .entry k(.param .u64 out, .param .u64 in) {
            .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .pred %p;
            ld.param.u64 %rd0, [out]; mov.u32 %r0, %tid.x; mul.wide.u32 %rd1, %r0, 4; add.u64 %rd1, %rd0, %rd1;
            { .param .b32 x; .param .b32 y; st.param.b32 [x], %r0; call.uni (y), fib, (x); ld.param.b32 %r1, [y]; }
            mov.u64 %rd2, table; and.b32 %r2, %r0, 1; mad.wide.u32 %rd2, %r2, 8, %rd2; ld.global.u64 %rd3, [%rd2];
            P: .callprototype (.reg .b32 _) _ (.reg .b32 _);
            call (%r3), %rd3, (%r1), P;
            st.global.u32 [%rd1], %r3;
            ret;
        }\n";
    let (out, _) = run(module, &one_block(12), &[0], 12).unwrap_or_else(|e| panic!("{e}"));
    let fib = [0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89];
    let want: Vec<u32> = (0..12).map(|i| fib[i] * if i % 2 == 0 { 2 } else { 3 }).collect();
    assert_eq!(out, want);
}

#[test]
fn floating_point_constants_are_passed_to_functions() {
    let text = ".version 7.0\n.target sm_80\n.address_size 64\n
        .func (.reg .f32 r) f(.reg .f32 a, .param .f64 b, .param .f32 c, .param .b32 d) {
            .reg .f64 %fd; .reg .f32 %f<3>; ld.param.f64 %fd, [b]; ld.param.f32 %f1, [c]; ld.param.f32 %f2, [d];
            cvt.rn.f32.f64 %f0, %fd; add.f32 r, a, %f0; add.f32 r, r, %f1; add.f32 r, r, %f2; ret;
        }
        .visible .entry k(.param .u64 out, .param .u64 in) {
            .reg .f32 %f; .reg .b64 %rd; ld.param.u64 %rd, [out];
            call (%f), f, (1.5, 0f40000000, 4.0, 0f41000000); st.global.f32 [%rd], %f; ret;
        }\n";
    let (out, report) = run(text, &one_block(1), &[0], 1).unwrap_or_else(|e| panic!("{e}"));
    report.assert_clean();
    assert_eq!(f32::from_bits(out[0]), 15.5);
}

#[test]
fn endless_recursion_overflows_the_stack() {
    let module = ".version 8.0\n.target sm_80\n.address_size 64\n
        .func f(.param .b32 n) { .reg .b32 %a; .local .b8 room[256]; ld.param.u32 %a, [n]; st.local.u32 [room], %a;
            { .param .b32 x; st.param.b32 [x], %a; call.uni f, (x); } ret; }
        .visible .entry k(.param .u64 out, .param .u64 in) { { .param .b32 x; st.param.b32 [x], 1; call.uni f, (x); } ret; }\n";
    let error = run(module, &one_block(1), &[0], 1).expect_err("overflow");
    assert_eq!(error.kind(), Some(FindingKind::LocalOutOfBounds));
    assert!(error.to_string().contains("the stack overflows in `f`"), "{error}");
}

/// The registers that an activation saves occupy its stack, as those that ptxas spills.
#[test]
fn recursive_functions_save_registers_on_the_stack() {
    let all = |instruction: fn(u32) -> String| (0..64).map(instruction).collect::<String>();
    let set = all(|i| format!("mov.u64 %d{i}, 7; "));
    let add = all(|i| format!("cvt.u32.u64 %t, %d{i}; add.u32 r, r, %t; "));
    let recursive = |end: &str| {
        let module = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n
            .func (.reg .b32 r) f(.reg .b32 n) {{ .reg .b64 %d<64>; .reg .b32 %s; .reg .b32 %t; .reg .pred %p; {set} mov.u32 r, n;
                setp.eq.u32 %p, n, {end}; @%p ret; add.u32 %s, n, 1; call.uni (%s), f, (%s);
                mov.u32 r, %s; {add} ret; }}
            .visible .entry k({PARAMS}) {{ {HEAD} call.uni (%r2), f, (%r0); st.global.u32 [%rd3], %r2; ret; }}\n"
        );
        run(&module, &one_block(1), &[0], 1)
    };
    let (out, _) = recursive("900").unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(out, [900 + 64 * 7 * 900]);
    let error = recursive("-1").expect_err("overflow");
    assert_eq!(error.kind(), Some(FindingKind::LocalOutOfBounds));
    let error = error.to_string();
    let depth = error.split_once("the stack overflows in `f`, ").and_then(|(_, rest)| rest.split_once(' '));
    let depth: u32 = depth.and_then(|(depth, _)| depth.parse().ok()).expect("the depth of the calls");
    // 512 KiB divided by at least 64 registers of 8 bytes.
    assert!(depth <= 1024, "{error}");
}

#[test]
fn alloca_grows_the_frame_and_frames_of_calls_follow_it() {
    let text = format!(
        ".version 8.8\n.target sm_90a\n.address_size 64\n
        .func (.param .b32 sum) f(.param .b32 n) {{
        .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p;
        ld.param.b32 %r1, [n]; mul.lo.u32 %r2, %r1, 4; cvt.u64.u32 %d1, %r2;
        stacksave.u64 %d5; alloca.u64 %d2, %d1, 64; and.b64 %d3, %d2, 63; cvt.u32.u64 %r4, %d3;
        st.local.u32 [%d2], %r1; mov.u32 %r3, 0; setp.eq.u32 %p, %r1, 1; @%p bra END;
        {{ .param .b32 a; .param .b32 b; sub.u32 %r5, %r1, 1; st.param.b32 [a], %r5; call (b), f, (a); ld.param.b32 %r3, [b]; }}
        END: ld.local.u32 %r6, [%d2]; add.u32 %r3, %r3, %r6; add.u32 %r3, %r3, %r4; stackrestore.u64 %d5;
        st.param.b32 [sum], %r3; ret; }}
        {}",
        text(
            "add.u32 %r5, %r0, 1; { .param .b32 a; .param .b32 b; st.param.b32 [a], %r5; call (b), f, (a);
             ld.param.b32 %r6, [b]; } st.global.u32 [%rd3], %r6; ret;"
        )
        .split_once(".visible")
        .map_or(String::new(), |(_, kernel)| format!(".visible{kernel}"))
    );
    let (out, report) = run(&text, &one_block(8), &[0], 8).unwrap_or_else(|e| panic!("{e}"));
    report.assert_clean();
    assert_eq!(out, [1, 3, 6, 10, 15, 21, 28, 36]);
    let past = "mov.u64 %rd5, 8; alloca.u64 %rd6, %rd5; st.local.u32 [%rd6+8], 1;";
    let error = run(&self::text(past), &one_block(1), &[0], 1).expect_err("past the end");
    assert_eq!(error.kind(), Some(FindingKind::LocalOutOfBounds));
    let huge = "mov.u64 %rd5, -8; alloca.u64 %rd6, %rd5;";
    let error = run(&self::text(huge), &one_block(1), &[0], 1).expect_err("too much");
    assert_eq!(error.kind(), Some(FindingKind::LocalOutOfBounds));
}
