//! Counts, findings beyond the first, and orders of execution.

use pretty_assertions::assert_eq;

use super::support::{kernel, one_block, parse, run, run_on};
use warpwright_sim::{Arg, Checks, FindingKind, InstructionClass, Launch, Memory, Report, Sim};

const PARAMS: &str = ".param .u64 out, .param .u64 in";

const HEAD: &str = ".reg .b32 %r<16>; .reg .b64 %rd<16>; .reg .pred %p<8>; .shared .align 16 .b8 s[8192];
ld.param.u64 %rd0, [out]; ld.param.u64 %rd1, [in]; mov.u32 %r0, %tid.x; mov.u32 %r2, s; mov.u32 %r1, %ctaid.x;
";

fn text(body: &str) -> String {
    kernel(PARAMS, &format!("{HEAD}{body}\nret;"))
}

#[track_caller]
fn report(body: &str) -> Report {
    let (_, report) = run(&text(body), &one_block(32), &[7; 2048], 2048).unwrap_or_else(|e| panic!("{e}"));
    report
}

#[test]
fn bank_conflicts_follow_the_stride() {
    for (stride, conflicts) in [(4, 0), (8, 1), (128, 31), (132, 0), (0, 0)] {
        let report = report(
            &format!("mad.lo.u32 %r3, %r0, {stride}, %r2; ld.volatile.shared.u32 %r4, [s];")
                .replace("ld.volatile.shared.u32 %r4, [s];", "st.shared.u32 [%r3], 1;"),
        );
        assert_eq!(report.bank_conflicts(), conflicts, "stride {stride}");
        assert_eq!(report.counts.shared_requests, 1);
        assert_eq!(report.counts.bytes.shared_written, 128);
    }
}

#[test]
fn sectors_follow_the_stride() {
    for (stride, sectors) in [(4, 4), (8, 8), (32, 32), (64, 32), (0, 1)] {
        let report = report(&format!(
            "mul.wide.u32 %rd2, %r0, {stride}; add.u64 %rd2, %rd1, %rd2; ld.global.u32 %r4, [%rd2];"
        ));
        assert_eq!(
            (report.counts.global_requests, report.counts.global_sectors),
            (1, sectors),
            "stride {stride}"
        );
        assert_eq!(report.sectors_per_request(), sectors as f64);
    }
}

#[test]
fn work_is_counted_by_line_and_class() {
    let report = report(
        "setp.lt.u32 %p0, %r0, 8; @%p0 bra E;
         add.u32 %r3, %r0, 1; E:
         mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r4, %r5}, {%r0, %r0}, {%r0}, {%r0, %r0};",
    );
    assert_eq!((report.counts.branches, report.counts.divergent_branches), (1, 1));
    assert_eq!(report.counts.tensor_flops, 2 * 16 * 8 * 8);
    assert_eq!(report.instructions(InstructionClass::Tensor), 1);
    let add = report.lines.iter().find(|line| line.mnemonic == "add.u32").expect("it ran");
    assert_eq!((add.line, add.counts.warp_instructions, add.counts.thread_instructions), (9, 1, 24));
    let total: u64 = report.lines.iter().map(|line| line.counts.warp_instructions).sum();
    assert_eq!(total, report.counts.warp_instructions);
}

#[test]
fn without_counts_no_line_is_counted() {
    let sim = Sim::new().checks(Checks::all() - Checks::COUNTS);
    let (_, report) = run_on(&sim, &text("add.u32 %r3, %r0, 1;"), &one_block(32), &[0], 1).expect("it runs");
    assert!(report.lines.is_empty());
    assert_eq!(report.counts.thread_instructions, 0);
    assert!(report.counts.warp_instructions > 0);
}

/// Uses of three uninitialized values, and a store outside every buffer.
const THREE: &str = "ld.shared.u32 %r3, [s]; ld.shared.u32 %r4, [s+64]; ld.local.u32 %r5, [a];
    st.global.u32 [%rd1], %r3; st.global.u32 [%rd1], %r4; st.global.u32 [%rd1], %r5; st.global.u32 [%rd1+100000000], %r0; add.u32 %r3, %r0, 1;";

#[test]
fn a_run_continues_up_to_the_limit_of_findings() {
    let body = format!(".local .b32 a; {THREE}");
    let launch = |limit: usize| {
        let sim = Sim::new().checks(Checks::all() - Checks::SHARED_RACES).keep_going(limit);
        run_on(&sim, &text(&body), &one_block(32), &[0], 1).expect("findings are no error").1
    };
    let all = launch(100);
    let kinds: Vec<FindingKind> = all.findings.iter().map(|finding| finding.kind).collect();
    let want = [
        FindingKind::UninitializedSharedRead,
        FindingKind::UninitializedSharedRead,
        FindingKind::UninitializedLocalRead,
        FindingKind::GlobalOutOfBounds,
    ];
    assert_eq!(kinds, want);
    assert!(all.stopped && !all.is_clean());
    assert_eq!(launch(2).findings, all.findings[..2]);
}

#[test]
fn a_seed_determines_the_order() {
    let body = "atom.global.add.u32 %r3, [%rd0], 1; shl.b32 %r3, %r3, 2; cvt.u64.u32 %rd2, %r3; add.u64 %rd2, %rd2, %rd0;
        mad.lo.u32 %r4, %r1, 256, %r0; st.global.u32 [%rd2+4], %r4;";
    let module = parse(&text(body));
    let run = |sim: Sim<'_>| {
        let mut memory = Memory::new();
        let out = memory.alloc(4 * 1025);
        let launch = Launch { grid: [4, 1, 1], block: [256, 1, 1], ..Launch::default() };
        let report = sim
            .launch(&module, "k", &launch, &[Arg::from(out), Arg::from(out)], &mut memory)
            .expect("it runs");
        report.assert_clean();
        let mut bytes = vec![0; 4 * 1025];
        memory.read(out, &mut bytes).expect("in bounds");
        bytes
    };
    assert_eq!(run(Sim::new().seed(1)), run(Sim::new().seed(1)));
    assert_ne!(run(Sim::new().seed(1)), run(Sim::new().seed(2)));
    assert_eq!(run(Sim::new()), run(Sim::new()));
}

#[test]
#[should_panic(expected = "uninitialized shared memory")]
fn assert_clean_panics_on_findings() {
    let sim = Sim::new().keep_going(1);
    let (_, report) =
        run_on(&sim, &text("ld.shared.u32 %r3, [s]; st.global.u32 [%rd1], %r3;"), &one_block(32), &[0], 1)
            .expect("it runs");
    report.assert_clean();
}
