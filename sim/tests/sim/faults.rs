//! Bugs that stop a run, each with a correct counterpart.

use pretty_assertions::assert_eq;

use super::support::{kernel, one_block, parse, run, run_on};
use warpwright_sim::{Arg, Checks, Finding, FindingKind, Launch, Memory, Sim, SimError};

const PARAMS: &str = ".param .u64 out, .param .u64 in";

/// Loads both parameters and the thread index.
const HEAD: &str = ".reg .b32 %r<16>; .reg .b64 %rd<16>; .reg .pred %p<8>; .reg .b16 %h<4>;
ld.param.u64 %rd0, [out];
ld.param.u64 %rd1, [in];
mov.u32 %r0, %tid.x;
mul.wide.u32 %rd2, %r0, 4;
add.s64 %rd3, %rd0, %rd2;
add.s64 %rd4, %rd1, %rd2;
";

fn text(body: &str) -> String {
    kernel(PARAMS, &format!("{HEAD}{body}"))
}

/// Returns the bug that is found when `body` runs with `threads` threads, an input of 32 words and an output of 32 words.
#[track_caller]
fn finding(body: &str, threads: u32) -> Finding {
    match run(&text(body), &one_block(threads), &[7; 32], 32) {
        Err(SimError::Fault(finding)) => *finding,
        other => panic!("expected a fault, found {other:?}"),
    }
}

#[track_caller]
fn clean(body: &str, threads: u32) -> Vec<u32> {
    let (out, report) = run(&text(body), &one_block(threads), &[7; 32], 32).unwrap_or_else(|e| panic!("{e}"));
    report.assert_clean();
    out
}

#[test]
fn global_out_of_bounds() {
    let fault = finding("ld.global.u32 %r1, [%rd4];\nret;", 33);
    assert_eq!(fault.kind, FindingKind::GlobalOutOfBounds);
    assert_eq!((fault.site.warp, fault.site.lane, fault.site.thread), (1, Some(0), Some([32, 0, 0])));
    assert_eq!((fault.site.line, fault.site.column), (13, 1));
    assert_eq!(fault.site.mnemonic, "ld.global.u32");
    assert!(fault.message.contains("offset 128 of the buffer of 128 bytes"), "{}", fault.message);
    clean("ld.global.u32 %r1, [%rd4];\nret;", 32);
}

#[test]
fn addresses_before_or_far_past_a_buffer_are_out_of_bounds() {
    for offset in ["-4", "1048576", "1073741824", "-2147483648"] {
        let fault = finding(&format!("st.global.u32 [%rd4+{offset}], %r0;"), 1);
        assert_eq!(fault.kind, FindingKind::GlobalOutOfBounds, "at {offset}");
    }
}

/// On sm_75, `ldmatrix` requires valid addresses from lanes that provide no row, too (PTX ISA, "ldmatrix").
#[test]
fn ldmatrix_on_sm_75_requires_valid_addresses_of_all_lanes() {
    let body = |lane: &str| {
        let body = format!(
            ".shared .align 16 .b8 rows[128]; shl.b32 %r1, %r0, 2; mov.u32 %r2, rows; add.u32 %r1, %r2, %r1; st.shared.u32 [%r1], %r0;
             bar.sync 0; {lane} shl.b32 %r3, %r3, 4; add.u32 %r3, %r2, %r3;
             ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%r4}}, [%r3]; st.global.u32 [%rd3], %r4;"
        );
        text(&body)
    };
    let run = |text: String| run(&text, &one_block(32), &[7; 32], 32);
    let on_sm_75 = |text: String| run(text.replace(".target sm_90a", ".target sm_75"));
    let (every, eight) = (body("mov.u32 %r3, %r0;"), body("and.b32 %r3, %r0, 7;"));
    let words: Vec<u32> = (0..32).collect();
    for result in [run(every.clone()), run(eight.clone()), on_sm_75(eight)] {
        assert_eq!(result.unwrap_or_else(|e| panic!("{e}")).0, words);
    }
    let Err(SimError::Fault(fault)) = on_sm_75(every) else { panic!("lanes 8 to 31 are out of bounds") };
    assert_eq!((fault.kind, fault.site.lane), (FindingKind::SharedOutOfBounds, Some(8)));
    assert!(fault.message.contains("on sm_75, of any lane"), "{}", fault.message);
}

#[test]
fn a_vector_that_straddles_the_end() {
    let body = |at: u32| format!("ld.global.v2.u32 {{%r1, %r2}}, [%rd1+{at}];");
    assert_eq!(finding(&body(128), 1).kind, FindingKind::GlobalOutOfBounds);
    clean(&body(120), 1);
}

#[test]
fn freed_memory_is_named() {
    let module = parse(&text("ld.global.u32 %r1, [%rd4];"));
    let mut memory = Memory::new();
    let (out, gone) = (memory.alloc(64), memory.alloc(64));
    memory.free(gone).expect("live");
    let error = Sim::new()
        .launch(&module, "k", &one_block(1), &[Arg::from(out), gone.into()], &mut memory)
        .expect_err("freed");
    assert!(error.to_string().contains("a buffer of 64 bytes that was freed"), "{error}");
    assert!(memory.free(gone).is_err() && memory.read(gone, &mut [0]).is_err());
}

#[test]
fn a_null_pointer() {
    let fault = finding("mov.u64 %rd5, 0; ld.u32 %r1, [%rd5];", 1);
    assert_eq!(fault.kind, FindingKind::GlobalOutOfBounds);
    assert!(fault.message.contains("in no buffer"), "{}", fault.message);
}

#[test]
fn misaligned() {
    for (body, twin) in [
        ("ld.global.u32 %r1, [%rd1+2];", "ld.global.u32 %r1, [%rd1+4];"),
        ("ld.global.v4.u32 {%r1,%r2,%r3,%r4}, [%rd1+8];", "ld.global.v4.u32 {%r1,%r2,%r3,%r4}, [%rd1+16];"),
        ("st.global.u64 [%rd0+4], %rd1;", "st.global.u64 [%rd0+8], %rd1;"),
        (
            ".shared .align 8 .b8 s[64]; st.shared.u16 [s+1], 3;",
            ".shared .align 8 .b8 s[64]; st.shared.u16 [s+2], 3;",
        ),
        (
            ".local .align 8 .b8 l[64]; st.local.u32 [l+2], %r0;",
            ".local .align 8 .b8 l[64]; st.local.u32 [l+4], %r0;",
        ),
        ("atom.global.add.u32 %r1, [%rd0+1], 1;", "atom.global.add.u32 %r1, [%rd0], 1;"),
        (
            ".shared .align 16 .b8 s[64]; cp.async.ca.shared.global [s], [%rd1+4], 8; cp.async.wait_all;",
            ".shared .align 16 .b8 s[64]; cp.async.ca.shared.global [s], [%rd1+8], 8; cp.async.wait_all;",
        ),
    ] {
        assert_eq!(finding(body, 1).kind, FindingKind::MisalignedAccess, "{body}");
        clean(twin, 1);
    }
}

#[test]
fn shared_out_of_bounds() {
    let body = |extra: u32| {
        format!(
            ".shared .b8 s[128]; shl.b32 %r1, %r0, 2; mov.u32 %r2, s; add.u32 %r1, %r1, %r2; st.shared.u32 [%r1+{extra}], %r0;"
        )
    };
    assert_eq!(finding(&body(4), 32).kind, FindingKind::SharedOutOfBounds);
    assert_eq!(finding(&body(4), 32).site.lane, Some(31));
    clean(&body(0), 32);
}

#[test]
fn local_out_of_bounds() {
    let body = |at: u32| format!(".local .b8 l[32]; mov.u64 %rd5, l; st.local.u32 [%rd5+{at}], %r0;");
    assert_eq!(finding(&body(32), 1).kind, FindingKind::LocalOutOfBounds);
    clean(&body(28), 1);
}

#[test]
fn parameters_out_of_bounds_and_read_only() {
    assert_eq!(finding("ld.param.u64 %rd5, [in+8];", 1).kind, FindingKind::ParamOutOfBounds);
    clean("ld.param.u64 %rd5, [out+8];", 1);
    let store = "mov.u64 %rd5, in; cvta.param.u64 %rd5, %rd5; st.u32 [%rd5], 1;";
    assert_eq!(finding(store, 1).kind, FindingKind::ReadOnly);
}

#[test]
fn uninitialized_shared_memory() {
    let body = |stored: u32| {
        format!(
            ".shared .align 8 .b8 s[256]; mov.u32 %r1, s; mad.lo.u32 %r1, %r0, 4, %r1;
             setp.lt.u32 %p0, %r0, {stored}; @%p0 st.shared.u32 [%r1], %r0; bar.sync 0; ld.shared.u32 %r2, [%r1];
             mad.wide.u32 %rd5, %r0, 2, %rd0; st.global.u16 [%rd5], %r2;"
        )
    };
    let fault = finding(&body(40), 64);
    assert_eq!((fault.kind, fault.site.thread), (FindingKind::UninitializedSharedRead, Some([40, 0, 0])));
    assert_eq!(
        fault.message,
        "uninitialized shared memory: `%r2` comes from 0xa0, which no thread has written"
    );
    let used = fault.other.as_ref().map(|site| (site.mnemonic.as_str(), site.line - fault.site.line));
    assert_eq!((fault.site.mnemonic.as_str(), used), ("ld.shared.u32", Some(("st.global.u16", 1))));
    clean(&body(64), 64);
    // Single bytes are tracked too.
    assert_eq!(
        finding(
            ".shared .b8 s[4]; st.shared.u8 [s], %r0; ld.shared.u16 %h0, [s]; st.global.u16 [%rd3], %h0;",
            1
        )
        .kind,
        FindingKind::UninitializedSharedRead
    );
    clean(".shared .b8 s[4]; st.shared.u8 [s], %r0; st.shared.u8 [s+1], %r0; ld.shared.u16 %h0, [s];", 1);
}

#[test]
fn unchecked_runs_read_uninitialized_memory() {
    let sim = Sim::new().checks(Checks::empty());
    let text = text(".shared .b8 s[4]; ld.shared.u32 %r1, [s]; st.global.u32 [%rd3], %r1;");
    let (out, _) = run_on(&sim, &text, &one_block(1), &[1], 1).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(out, [0]);
}

#[test]
fn an_unwaited_copy_is_incomplete() {
    let body = |wait: &str| {
        format!(
            ".shared .align 16 .b8 s[16]; st.shared.u32 [s], 1; cp.async.ca.shared.global [s], [%rd1], 4;
             cp.async.commit_group; {wait} ld.shared.u32 %r1, [s]; st.global.u32 [%rd0], %r1; cp.async.wait_all;"
        )
    };
    // With checks, this is a finding; without them, the load returns the old value.
    for wait in ["", "cp.async.wait_group 1;"] {
        let fault = finding(&body(wait), 1);
        assert_eq!(fault.kind, FindingKind::AsyncCopyUnwaited);
        assert_eq!(fault.other.map(|site| site.mnemonic), Some("cp.async.ca.shared.global".to_string()));
        let sim = Sim::new().checks(Checks::empty());
        let (out, _) =
            run_on(&sim, &text(&body(wait)), &one_block(1), &[7; 32], 32).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(out[0], 1);
    }
    assert_eq!(clean(&body("cp.async.wait_group 0;"), 1)[0], 7);
    assert_eq!(clean(&body("cp.async.wait_all;"), 1)[0], 7);
}

#[test]
fn barriers_that_some_threads_miss() {
    let divergent = "setp.lt.u32 %p0, %r0, 16; @%p0 bra A; ret; A: bar.sync 0; ret;";
    // Half of the warp has exited: the other half is all that remains of the warp, but not all threads of the block.
    let (_, report) =
        run_on(&Sim::new(), &text(divergent), &one_block(32), &[0; 32], 32).unwrap_or_else(|e| panic!("{e}"));
    let [note] = &report.notes[..] else { panic!("expected one note, found {:?}", report.notes) };
    assert_eq!(note.kind, FindingKind::ExitedBeforeBarrier);
    assert!(
        note.message.contains("16 threads wait at barrier 0, 16 of the block have ended"),
        "{}",
        note.message
    );
    clean("bar.sync 0; ret;", 32);
    let inside = "setp.lt.u32 %p0, %r0, 16; @%p0 bra A; bar.sync 0; ret; A: bar.sync 1; ret;";
    let fault = finding(inside, 32);
    assert_eq!(fault.kind, FindingKind::DivergentBarrier);
    assert_eq!(fault.notes.len(), 2, "{:?}", fault.notes);
}

/// Whether a later block runs alongside the one that fails depends on the timing of host threads; the report does not.
#[test]
fn notes_of_blocks_after_a_failure_are_omitted() {
    let text = text(
        "mov.u32 %r1, %ctaid.x; setp.ne.u32 %p1, %r1, 0; @%p1 bra B; mov.u64 %rd4, 16; st.global.u32 [%rd4], 1; ret;
        B: setp.lt.u32 %p0, %r0, 16; @%p0 bra A; ret; A: bar.sync 0; ret;",
    );
    let shape = Launch { grid: [8, 1, 1], ..one_block(32) };
    for _ in 0..20 {
        let (_, report) =
            run_on(&Sim::new().keep_going(9), &text, &shape, &[0; 32], 32).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!((report.stopped, report.findings.len(), report.notes), (true, 1, vec![]));
    }
}

#[test]
fn a_run_continues_after_threads_exited_before_a_barrier() {
    let text =
        text("setp.lt.u32 %p0, %r0, 32; @%p0 bra A; ret; A: bar.sync 0; st.global.u32 [%rd3], 1; ret;");
    for sim in [Sim::new(), Sim::new().keep_going(1)] {
        let (out, report) =
            run_on(&sim, &text, &one_block(64), &[0; 64], 64).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(out[..33], [&[1; 32][..], &[0]].concat());
        let kinds: Vec<_> = report.notes.iter().map(|note| note.kind).collect();
        assert_eq!(
            (kinds, report.findings, report.stopped),
            (vec![FindingKind::ExitedBeforeBarrier], vec![], false)
        );
    }
}

#[test]
fn without_checks_exited_threads_do_not_block_barriers() {
    let sim = Sim::new().checks(Checks::all() - Checks::BARRIERS);
    let text =
        text("setp.lt.u32 %p0, %r0, 32; @%p0 bra A; ret; A: bar.sync 0; st.global.u32 [%rd3], 1; ret;");
    let (out, _) = run_on(&sim, &text, &one_block(64), &[0; 64], 64).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(out[..33], [&[1; 32][..], &[0]].concat());
}

#[test]
fn a_deadlock_names_the_position_of_every_warp() {
    let body = "shr.u32 %r1, %r0, 5; setp.eq.u32 %p0, %r1, 0; @%p0 bra A; bar.sync 2, 64; ret; A: bar.sync 1, 64; ret;";
    let fault = finding(body, 64);
    assert_eq!(fault.kind, FindingKind::Deadlock);
    assert_eq!(fault.notes.len(), 2);
    assert!(
        fault.notes[1].contains("block (0, 0, 0), warp 1, lanes 0xffffffff waits at kernel.ptx:"),
        "{:?}",
        fault.notes
    );
    clean("bar.sync 1, 64; ret;", 64);
}

#[test]
fn different_and_invalid_thread_counts() {
    let body = "shr.u32 %r1, %r0, 5; setp.eq.u32 %p0, %r1, 0; @%p0 bra A; bar.sync 1, 96; ret; A: bar.sync 1, 64; ret;";
    assert_eq!(finding(body, 64).kind, FindingKind::DivergentBarrier);
    assert_eq!(finding("mov.u32 %r1, 33; bar.sync 1, %r1;", 64).kind, FindingKind::InvalidOperand);
    assert_eq!(finding("mov.u32 %r1, 16; bar.sync %r1;", 64).kind, FindingKind::InvalidOperand);
}

#[test]
fn endless_loops_are_stopped() {
    let sim = Sim::new().step_limit(100_000);
    let cases = [
        ("L: bra L;", FindingKind::Deadlock),
        ("L: ld.global.u32 %r2, [%rd0]; setp.eq.u32 %p0, %r2, 0; @%p0 bra L;", FindingKind::Deadlock),
        // A register counts, so the loop might end.
        ("L: add.u32 %r2, %r2, 1; bra L;", FindingKind::StepLimit),
    ];
    for (body, kind) in cases {
        let error = run_on(&sim, &text(body), &one_block(64), &[0], 64).expect_err("endless");
        assert_eq!(error.kind(), Some(kind), "{body}: {error}");
        assert_eq!(error.finding().expect("a finding").notes.len(), 2, "{body}");
    }
}

#[test]
fn masks_without_the_executing_lane() {
    let fault = finding("shfl.sync.idx.b32 %r1, %r0, 0, 31, 0xffff;", 32);
    assert_eq!((fault.kind, fault.site.lane), (FindingKind::SyncMask, Some(16)));
    clean("setp.lt.u32 %p0, %r0, 16; @%p0 shfl.sync.idx.b32 %r1, %r0, 0, 31, 0xffff;", 32);
}

#[test]
fn shuffles_from_inactive_lanes() {
    let fault = finding("setp.lt.u32 %p0, %r0, 16; @%p0 shfl.sync.idx.b32 %r1, %r0, 20, 31, 0xffff;", 32);
    assert_eq!(fault.kind, FindingKind::ShflInactiveLane);
    clean("setp.lt.u32 %p0, %r0, 16; @%p0 shfl.sync.idx.b32 %r1, %r0, 3, 31, 0xffff;", 32);
}

#[test]
fn aligned_instructions_under_divergence() {
    let mma = "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r0,%r0}, {%r0}, {%f0,%f1,%f2,%f3};";
    let zeros =
        ".reg .f32 %f<4>; mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0;";
    let body = format!("{zeros} setp.lt.u32 %p0, %r0, 16; @!%p0 bra E; {mma} E: bar.warp.sync -1; ret;");
    assert_eq!(finding(&body, 32).kind, FindingKind::AlignedDivergence);
    clean(&format!("{zeros} {mma}"), 32);
}

#[test]
fn traps() {
    let fault = finding("setp.eq.u32 %p0, %r0, 5; @%p0 trap; ret;", 32);
    assert_eq!((fault.kind, fault.site.thread), (FindingKind::Trap, Some([5, 0, 0])));
    clean("setp.eq.u32 %p0, %r0, 50; @%p0 trap; ret;", 32);
}

#[test]
fn the_text_of_a_report() {
    let text = kernel(PARAMS, &format!("{HEAD}.loc 1 42 7\nld.global.u32 %r1, [%rd4+4];\nret;"))
        .replace(".address_size 64", ".address_size 64\n.file 1 \"src/kernels/copy.rs\"");
    let launch = Launch { grid: [1, 2, 1], block: [16, 2, 1], ..Launch::default() };
    let error = run(&text, &launch, &[7; 16], 64).expect_err("out of bounds");
    let want = "\
global memory out of bounds: a load of 4 bytes at 0x2000000040, offset 64 of the buffer of 64 bytes at 0x2000000000
  in kernel `k`, block (0, 0, 0), thread (15, 0, 0)
  --> kernel.ptx:15:1
   |
15 | ld.global.u32 %r1, [%rd4+4];
   | ^^^^^^^^^^^^^
  from src/kernels/copy.rs:42:7";
    assert_eq!(error.to_string(), want);
}

#[test]
fn the_first_failing_block_is_reported() {
    let body = "mov.u32 %r1, %ctaid.x; setp.lt.u32 %p0, %r1, 11; @%p0 bra E; ld.global.u32 %r2, [%rd1+4096]; E: ret;";
    let launch = Launch { grid: [64, 1, 1], block: [32, 1, 1], ..Launch::default() };
    for _ in 0..20 {
        let error = run(&text(body), &launch, &[0], 32).expect_err("out of bounds");
        assert_eq!(error.finding().map(|f| f.site.block), Some([11, 0, 0]));
    }
}

#[test]
fn launches_with_other_arguments_and_shapes() {
    let module =
        parse(&kernel(".param .u64 out, .param .f32 x", ".reg .b32 %r;").replace("\n{", "\n.reqntid 32\n{"));
    let mut memory = Memory::new();
    let mut launch = |launch: &Launch, args: &[Arg]| {
        Sim::new().launch(&module, "k", launch, args, &mut memory).expect_err("refused").to_string()
    };
    let good = [Arg::from(0u64), Arg::from(1f32)];
    assert_eq!(launch(&one_block(32), &good[..1]), "kernel `k`: expected 2 arguments, found 1");
    assert_eq!(
        launch(&one_block(32), &[good[0].clone(), Arg::from(1f64)]),
        "argument 1 of kernel `k`: parameter `x` of type .f32 takes 4 bytes, found 8"
    );
    assert_eq!(
        launch(&one_block(64), &good),
        "kernel `k`: invalid launch: its .reqntid is (32, 1, 1), the block is (64, 1, 1)"
    );
    let huge = Launch { grid: [1, 70_000, 1], ..one_block(32) };
    assert!(launch(&huge, &good).contains("a grid of (1, 70000, 1) blocks"));
    let greedy = Launch { dynamic_shared_bytes: 300_000, ..one_block(32) };
    assert!(launch(&greedy, &good).contains("shared memory budget exceeded"));
    let unknown = Sim::new().launch(&module, "q", &one_block(32), &good, &mut memory).expect_err("unknown");
    assert_eq!(unknown.to_string(), "the module has no kernel `q`; it has `k`");
}
