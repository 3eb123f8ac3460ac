//! Undefined values: the instructions at which they are reported, and copies, which are not reported.

use super::support::{kernel, one_block, parse};
use warpwright_sim::{Arg, Checks, Finding, FindingKind, Memory, Report, Sim};

const HEAD: &str = ".reg .b32 %r<16>; .reg .b16 %rs<8>; .reg .b64 %rd<16>; .reg .f32 %f<8>; .reg .f64 %fd<4>; .reg .pred %p<4>;
.reg .b64 %SP; .reg .b64 %SPL; .local .align 16 .b8 depot[64]; .shared .align 16 .b8 s[256];
mov.u64 %SPL, depot; cvta.local.u64 %SP, %SPL; ld.param.u64 %rd0, [out]; mov.u32 %r0, %tid.x;
mul.wide.u32 %rd1, %r0, 16; add.s64 %rd1, %rd0, %rd1;
";

/// The text before the kernel, on its first line.
const OUTSIDE: &str = ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a); .global .b8 text[3] = {37, 100, 0};";

fn launch(checks: Checks, body: &str) -> Report {
    let text = kernel(".param .u64 out", &format!("{HEAD}{body}"));
    let module = parse(&text.replace(".visible", &format!("{OUTSIDE} .visible")));
    let mut memory = Memory::new();
    let args = [Arg::from(memory.alloc(1024))];
    let sim = Sim::new().checks(checks).keep_going(100);
    sim.launch(&module, "k", &one_block(32), &args, &mut memory).unwrap_or_else(|error| panic!("{error}"))
}

fn findings(body: &str) -> Vec<Finding> {
    launch(Checks::all(), body).findings
}

/// Returns the kind, the line of the use, and the line of the read, counted from the first line of `body`.
fn told(body: &str) -> Vec<(FindingKind, u32, Option<u32>)> {
    let before = kernel("", HEAD).lines().take_while(|line| *line != "}").count() as u32 - 1;
    let line = |site: &warpwright_sim::Site| site.line - before;
    let one = |finding: &Finding| (finding.kind, line(&finding.site), finding.other.as_ref().map(line));
    findings(body).iter().map(one).collect()
}

#[test]
fn findings_of_a_use_name_the_read() {
    use FindingKind::{UninitializedLocalRead as Local, UninitializedRegister as Register};
    let load =
        "ld.local.u32 %r1, [depot+16];\nst.local.u32 [depot+32], %r1;\nld.local.u32 %r2, [depot+32];\n";
    let used = |by: &str| told(&format!("{load}{by}\nret;"));
    assert_eq!(used("add.u32 %r3, %r2, 1; st.global.u32 [%rd1], %r3;"), [(Local, 4, Some(1))]);
    assert_eq!(
        used("mul.wide.u32 %rd2, %r2, 4; add.u64 %rd2, %rd2, %rd0;\nld.global.u32 %r3, [%rd2];")[0],
        (Local, 5, Some(1))
    );
    assert_eq!(used("setp.eq.u32 %p1, %r2, 0;\n@%p1 bra E; E:"), [(Local, 5, Some(1))]);
    assert_eq!(used("atom.global.add.u32 %r3, [%rd0], %r2;"), [(Local, 4, Some(1))]);
    assert_eq!(used("vote.sync.ballot.b32 %r3, %p1, -1;"), [(Register, 4, None)]);
    assert_eq!(used("redux.sync.add.u32 %r3, %r2, -1;"), [(Local, 4, Some(1))]);
    assert_eq!(
        used("st.shared.u32 [s], %r2; bar.sync 0;\natom.shared.add.u32 %r3, [s], 1;"),
        [(Local, 5, Some(1))]
    );
    assert_eq!(used("bar.sync %r2;").first(), Some(&(Local, 4, Some(1))));
    assert_eq!(told("add.u32 %r2, %r1, 1;\nst.global.u32 [%rd1], %r2; ret;"), [(Register, 2, Some(1))]);
    let print = "st.local.u32 [depot+40], %r2; cvta.global.u64 %rd2, text; add.u64 %rd3, %SP, 40;
        { .param .b64 a; .param .b64 b; .param .b32 v; st.param.b64 [a], %rd2; st.param.b64 [b], %rd3;\ncall.uni (v), vprintf, (a, b); }";
    assert_eq!(used(print), [(Local, 6, Some(1))]);
    // Findings that have been reported are not reported again.
    let twice = "st.global.u32 [%rd1], %r2;\nst.global.u32 [%rd1+4], %r2;";
    assert_eq!(used(twice), [(Local, 4, Some(1))]);
}

#[test]
fn each_check_has_its_own_kind() {
    let body = "ld.local.u32 %r1, [depot]; st.global.u32 [%rd1], %r1; st.global.u32 [%rd1+4], %r2; ret;";
    let kinds = |checks: Checks| -> Vec<FindingKind> {
        launch(checks, body).findings.iter().map(|finding| finding.kind).collect()
    };
    let (local, register) = (Checks::UNINITIALIZED_LOCAL, Checks::UNINITIALIZED_REGISTERS);
    assert_eq!(kinds(local), [FindingKind::UninitializedLocalRead]);
    assert_eq!(kinds(register), [FindingKind::UninitializedRegister]);
    assert_eq!(kinds(local | register).len(), 2);
    assert_eq!(kinds(Checks::all() - local - register), []);
}

#[test]
fn copies_of_unset_members_are_not_findings() {
    let clean = |body: &str| {
        let found = findings(body);
        assert!(found.is_empty(), "{}", found[0]);
    };
    // Words, halves and bytes in one piece and in parts.
    clean(
        "ld.local.v4.u32 {%r1, %r2, %r3, %r4}, [depot]; mov.b64 %rd2, {%r1, %r2}; mov.b64 {%r5, %r6}, %rd2;
         st.local.v2.u32 [depot+16], {%r5, %r6}; mov.b32 {%rs1, %rs2}, %r3; st.local.u16 [depot+24], %rs2;
         ld.local.u8 %rs3, [depot+25]; st.local.u8 [depot+32], %rs3; cvt.u32.u16 %r7, %rs3; cvt.u16.u32 %rs4, %r7;
         st.local.u8 [depot+33], %rs4; ld.local.f64 %fd1, [depot+40]; st.local.f64 [depot+48], %fd1;
         shfl.sync.idx.b32 %r8, %r1, 0, 31, -1; st.local.u32 [depot+48], %r8; st.shared.u32 [s], %r8; ret;",
    );
    // A double, an int and four bytes between this structure and the next, as nvcc -G moves it: through shared memory to global.
    clean(
        "cvt.rn.f64.u32 %fd1, %r0; st.f64 [%SP+0], %fd1; st.u32 [%SP+8], %r0; and.b32 %r10, %r0, 15; cvt.u64.u32 %rd2, %r10;
         mov.u32 %r1, s; { .reg .b64 %tmp; cvt.u64.u32 %tmp, %r1; cvta.shared.u64 %rd3, %tmp; } shl.b64 %rd4, %rd2, 4;
         add.s64 %rd5, %rd3, %rd4; ld.u32 %r2, [%SP+0]; ld.u32 %r3, [%SP+4]; add.u64 %rd6, %SP, 0; add.s64 %rd7, %rd6, 8;
         ld.u32 %r4, [%rd7+4]; ld.u32 %r5, [%SP+8]; setp.lt.u32 %p1, %r0, 16; @!%p1 bra E;
         st.u32 [%rd5+4], %r3; st.u32 [%rd5], %r2; add.s64 %rd8, %rd5, 8; st.u32 [%rd8+4], %r4; st.u32 [%rd5+8], %r5;
         E: bar.sync 0; ld.u32 %r6, [%rd5]; ld.u32 %r7, [%rd5+4]; add.s64 %rd9, %rd5, 8; ld.u32 %r8, [%rd5+8];
         ld.u32 %r9, [%rd9+4]; st.u32 [%rd1+4], %r7; st.u32 [%rd1], %r6; st.u32 [%rd1+8], %r8; st.u32 [%rd1+12], %r9; ret;",
    );
    // An object of an empty class occupies a byte that is never written; a lambda that contains one is copied and called.
    clean(
        "st.u8 [%SP+16], %rs7; mov.f32 %f1, 0f3F800000; st.f32 [%SP+20], %f1; ld.u8 %rs1, [%SP+16]; ld.u8 %rs2, [%SP+17];
         ld.u8 %rs3, [%SP+18]; ld.u8 %rs4, [%SP+19]; ld.u32 %r1, [%SP+20]; st.u8 [%SP+32], %rs1; st.u8 [%SP+33], %rs2;
         st.u8 [%SP+34], %rs3; st.u8 [%SP+35], %rs4; st.u32 [%SP+36], %r1; ld.u64 %rd2, [%SP+32];
         { .param .align 4 .b8 p[8]; .param .b32 v; st.param.b64 [p], %rd2; call.uni (v), f, (p); ld.param.f32 %f2, [v]; }
         st.global.f32 [%rd1], %f2; ret; } .func (.param .b32 v) f(.param .align 4 .b8 p[8]) { .reg .f32 %x; .reg .b32 %y;
         .reg .b64 %sp; .local .align 4 .b8 l[8]; mov.u64 %sp, l; cvta.local.u64 %sp, %sp; ld.param.u32 %y, [p];
         st.u32 [%sp], %y; ld.param.f32 %x, [p+4]; st.f32 [%sp+4], %x; ld.f32 %x, [%sp+4]; st.param.f32 [v], %x; ret;",
    );
    // The bit fields of cooperative_groups: each is set in a word that contains the others.
    clean(
        "add.u64 %rd2, %SP, 8; { .param .b64 p; st.param.b64 [p], %rd2; call.uni f, (p); } ld.u64 %rd3, [%SP+8]; ld.u64 %rd4, [%SP+16];
         st.u64 [%SP+32], %rd3; st.u64 [%SP+40], %rd4; ld.u32 %r1, [%SP+32]; bfe.u32 %r2, %r1, 1, 7; setp.ne.u32 %p1, %r2, 6;
         @%p1 trap; ld.u8 %rs1, [%SP+32]; and.b16 %rs1, %rs1, 1; setp.eq.b16 %p2, %rs1, 1; @%p2 trap; st.u32 [%rd1], %r1; ret; }
         .func f(.param .b64 p) { .reg .b32 %a<8>; .reg .b64 %b<4>; .local .align 8 .b8 d[8]; .reg .b64 %sp; mov.u64 %sp, d;
         cvta.local.u64 %sp, %sp; ld.param.u64 %b1, [p]; st.u64 [%sp], %b1; ld.u64 %b2, [%sp]; mov.u32 %a0, 6; and.b32 %a1, %a0, 127;
         ld.u32 %a2, [%b2]; and.b32 %a3, %a2, -255; shl.b32 %a4, %a1, 1; or.b32 %a5, %a3, %a4; st.u32 [%b2], %a5;
         ld.u64 %b3, [%sp]; ld.u32 %a6, [%b3]; and.b32 %a7, %a6, -2; st.u32 [%b3], %a7; ret;",
    );
}

#[test]
fn registers_of_a_recursive_function_are_the_activations_own() {
    // The inner call copies a value that was never set, through a register that the outer call has set.
    let found = findings(
        "{ .param .b32 q; .param .b32 v; st.param.b32 [q], 1; call.uni (v), f, (q); ld.param.b32 %r1, [v]; }
         st.global.u32 [%rd1], %r1; ret; } .func (.param .b32 v) f(.param .b32 q) { .reg .b32 %a<5>; .reg .pred %p;
         .local .align 8 .b8 l[8]; ld.param.b32 %a0, [q]; setp.eq.u32 %p, %a0, 0; mov.u32 %a1, 5;
         @%p ld.local.u32 %a1, [l]; @%p st.local.u32 [l+4], %a1; @%p bra E; sub.u32 %a2, %a0, 1;
         { .param .b32 q1; .param .b32 v1; st.param.b32 [q1], %a2; call.uni (v1), f, (q1); ld.param.b32 %a3, [v1]; }
         E: add.u32 %a4, %a1, 1; @!%p st.param.b32 [v], %a4; @%p st.param.b32 [v], 3; ret;",
    );
    assert!(found.is_empty(), "{}", found[0]);
}
