//! The execution of lanes, warps and blocks: divergence, waits, calls, printing, order.

use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::support::{bytes, kernel, one_block, parse, run, run_on, words};
use warpwright_sim::{Arg, Checks, FindingKind, Launch, Memory, Sim};

pub(super) const PARAMS: &str = ".param .u64 out, .param .u64 in";

/// Loads both parameters and the thread index; `%rd3` and `%rd4` are the addresses of the thread's words in both buffers.
pub(super) const HEAD: &str = ".reg .b32 %r<32>; .reg .b64 %rd<16>; .reg .pred %p<8>; .reg .f32 %f<8>;
ld.param.u64 %rd0, [out];
ld.param.u64 %rd1, [in];
mov.u32 %r0, %tid.x;
mov.u32 %r30, %ctaid.x;
mov.u32 %r31, %ntid.x;
mad.lo.u32 %r1, %r30, %r31, %r0;
mul.wide.u32 %rd2, %r1, 4;
add.s64 %rd3, %rd0, %rd2;
add.s64 %rd4, %rd1, %rd2;
";

pub(super) fn text(body: &str) -> String {
    kernel(PARAMS, &format!("{HEAD}{body}"))
}

/// Returns the output of one block.
#[track_caller]
fn outputs(body: &str, threads: u32, input: &[u32]) -> Vec<u32> {
    let (out, report) =
        run(&text(body), &one_block(threads), input, threads as usize).unwrap_or_else(|e| panic!("{e}"));
    report.assert_clean();
    out
}

#[test]
fn both_sides_of_a_branch_reconverge() {
    let body = "and.b32 %r2, %r0, 1; setp.eq.u32 %p0, %r2, 0; @%p0 bra EVEN;
        add.u32 %r3, %r0, 100; bra JOIN;
        EVEN: add.u32 %r3, %r0, 200;
        JOIN: activemask.b32 %r4; setp.eq.u32 %p1, %r4, -1; selp.u32 %r3, %r3, 0, %p1; st.global.u32 [%rd3], %r3;";
    let want: Vec<u32> = (0..32).map(|i| if i % 2 == 0 { i + 200 } else { i + 100 }).collect();
    assert_eq!(outputs(body, 32, &[0]), want);
}

/// Lanes of one warp may execute a `.sync` instruction with different masks, as cooperative groups of 16 lanes do.
#[test]
fn halves_of_a_warp_have_separate_masks() {
    let together = "and.b32 %r2, %r0, 16; mov.u32 %r3, 65535; shl.b32 %r3, %r3, %r2;
        bar.warp.sync %r3; shfl.sync.down.b32 %r4, %r0, 8, 4127, %r3; vote.sync.ballot.b32 %r5, 1, %r3;
        add.u32 %r4, %r4, %r5; st.global.u32 [%rd3], %r4;";
    let want: Vec<u32> =
        (0..32u32).map(|i| (if i % 16 < 8 { i + 8 } else { i }).wrapping_add(0xffff << (i & 16))).collect();
    assert_eq!(outputs(together, 32, &[0]), want);

    // The quarters of each half come one after the other, the odd half's first.
    let apart = "and.b32 %r2, %r0, 16; mov.u32 %r3, 65535; shl.b32 %r3, %r3, %r2;
        and.b32 %r6, %r0, 8; setp.eq.u32 %p0, %r6, 0; @%p0 bra LATE;
        add.u32 %r7, %r0, 1; bra JOIN; LATE: add.u32 %r7, %r0, 1;
        JOIN: redux.sync.add.u32 %r4, %r7, %r3; st.global.u32 [%rd3], %r4;";
    let want: Vec<u32> = (0..32).map(|i| if i < 16 { 136 } else { 392 }).collect();
    assert_eq!(outputs(apart, 32, &[0]), want);
}

/// Both sides of a branch may contain a copy of a `.sync` instruction for the whole warp, with different registers.
#[test]
fn lanes_synchronize_at_equal_instructions_of_two_branches() {
    let both = |high: &str, low: &str| {
        let body = format!(
            "setp.lt.u32 %p0, %r0, 16; and.b32 %r4, %r0, 1; setp.eq.u32 %p2, %r4, 1; mov.u32 %r9, -1;
            add.u32 %r5, %r0, 100; add.u32 %r6, %r0, 200; and.b32 %r7, %r0, 3; mov.u32 %r8, %r7;
            @%p0 bra LOW; {high} bra JOIN; LOW: {low}
            JOIN: add.u32 %r3, %r3, %r5; sub.u32 %r3, %r3, %r0; st.global.u32 [%rd3], %r3;"
        );
        outputs(&body, 32, &[0]).iter().map(|sum| sum.wrapping_sub(100)).collect::<Vec<u32>>()
    };
    let all = |f: fn(u32) -> u32| (0..32).map(f).collect::<Vec<u32>>();
    let shuffled =
        both("shfl.sync.bfly.b32 %r3|%p1, %r5, 16, 31, %r9;", "shfl.sync.bfly.b32 %r3, %r6, 16, 31, -1;");
    assert_eq!(shuffled, all(|i| if i < 16 { i + 116 } else { i + 184 }));
    let voted = both("vote.sync.ballot.b32 %r3, %p2, %r9;", "vote.sync.ballot.b32 %r3, !%p2, %r9;");
    assert_eq!(voted, all(|_| 0xaaaa_5555));
    let matched = both("match.any.sync.b32 %r3, %r7, %r9;", "match.any.sync.b32 %r3, %r8, %r9;");
    assert_eq!(matched, all(|i| 0x1111_1111 << (i & 3)));
    let summed = both("redux.sync.add.u32 %r3, %r0, %r9;", "redux.sync.add.u32 %r3, %r6, %r9;");
    assert_eq!(summed, all(|_| 496 + 16 * 200));
    let elected = both("elect.sync %r3|%p1, %r9;", "elect.sync %r3|%p3, %r9;");
    assert_eq!(elected, all(|_| 0));
}

#[test]
fn different_instructions_do_not_synchronize() {
    let body = "setp.lt.u32 %p0, %r0, 16; @%p0 bra LOW; shfl.sync.bfly.b32 %r3, %r0, 16, 31, -1; bra JOIN;
        LOW: shfl.sync.up.b32 %r3, %r0, 16, 0, -1; JOIN: st.global.u32 [%rd3], %r3;";
    let error = run(&text(body), &one_block(32), &[0], 32).expect_err("they wait for each other");
    assert_eq!(error.kind(), Some(FindingKind::Deadlock));
}

/// A kernel is not stuck if memory does not change for a long time but a register counts.
#[test]
fn long_computations_are_not_deadlocks() {
    let polling =
        "mov.u32 %r2, 0; mov.u32 %r3, 0; L: ld.volatile.global.u32 %r4, [%rd1]; add.u32 %r3, %r3, %r4;
        add.u32 %r2, %r2, 1; setp.lt.u32 %p0, %r2, 200000; @%p0 bra L; st.global.u32 [%rd3], %r3;";
    assert_eq!(outputs(polling, 32, &[3]), [600_000; 32]);
    let in_local_memory = ".local .b32 count; mov.u32 %r2, 0; st.local.u32 [count], %r2;
        L: ld.local.u32 %r2, [count]; add.u32 %r2, %r2, 1; st.local.u32 [count], %r2; setp.lt.u32 %p0, %r2, 20000;
        mov.u32 %r2, 0; @%p0 bra L; ld.local.u32 %r2, [count]; st.global.u32 [%rd3], %r2;";
    assert_eq!(outputs(in_local_memory, 32, &[0]), [20_000; 32]);
    let by_the_clock = "mov.u32 %r2, %clock; L: mov.u32 %r3, %clock; sub.u32 %r3, %r3, %r2;
        setp.lt.u32 %p0, %r3, 100000; mov.u32 %r3, 0; @%p0 bra L; st.global.u32 [%rd3], %r3;";
    assert_eq!(outputs(by_the_clock, 32, &[0]), [0; 32]);
}

/// Such accesses exist since PTX ISA 9.1; nvcc emits them for variables that C++ calls volatile.
/// A block may compute for a long time without a store after it has waited for a long time.
#[test]
fn a_long_computation_after_a_long_wait_is_not_a_deadlock() {
    let body = "setp.ne.u32 %p0, %r30, 0; mov.u32 %r2, 0; @%p0 bra WAIT;
        A: add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 1000000; @%p1 bra A;
        st.global.u32 [%rd0], 7; fence.acq_rel.gpu; st.relaxed.gpu.global.u32 [%rd1], 1; ret;
        WAIT: ld.acquire.gpu.global.u32 %r3, [%rd1]; setp.eq.u32 %p1, %r3, 0; @%p1 bra WAIT;
        B: add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 10000; @%p1 bra B;
        ld.global.u32 %r3, [%rd0]; add.u32 %r3, %r3, 1; st.global.u32 [%rd0+4], %r3;";
    let launch = Launch { grid: [2, 1, 1], ..one_block(1) };
    let (out, report) = run(&text(body), &launch, &[0], 2).unwrap_or_else(|e| panic!("{e}"));
    report.assert_clean();
    assert_eq!(out, [7, 8]);
}

#[test]
fn volatile_accesses_of_local_memory() {
    let body = ".local .b32 kept; st.volatile.local.u32 [kept], 7; ld.volatile.local.u32 %r2, [kept]; st.global.u32 [%rd3], %r2;";
    assert_eq!(outputs(body, 32, &[0]), [7; 32]);
}

/// Blocks that wait for each other's ordinary stores terminate on any machine, although they race.
#[test]
fn blocks_may_communicate_through_ordinary_accesses() {
    for fence in ["membar.gl;", ""] {
        let body = format!(
            "setp.eq.u32 %p0, %r30, 1; @%p0 bra STORE;
            L: {fence} ld.global.u32 %r2, [%rd0]; setp.eq.u32 %p1, %r2, 0; @%p1 bra L; bra END;
            STORE: mov.u32 %r3, 0; D: add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, 50000; @%p1 bra D;
            st.global.u32 [%rd0], 7; {fence} END:"
        );
        let launch = Launch { grid: [2, 1, 1], block: [1, 1, 1], ..Launch::default() };
        let sim = Sim::new().checks(Checks::empty());
        let (out, _) = run_on(&sim, &text(&body), &launch, &[0], 1).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(out, [7], "{fence}");
    }
}

/// `setmaxnreg.inc` waits for registers that other warps return to the pool. `.maxnreg` determines the initial registers of each thread.
#[test]
fn setmaxnreg_waits_for_registers() {
    let module = |give: &str| {
        format!(
            ".version 8.8\n.target sm_90a\n.address_size 64\n.visible .entry k({PARAMS}) .maxnreg 128 {{ {HEAD}
            setp.ge.u32 %p0, %r0, 128; @%p0 bra GIVE; setmaxnreg.inc.sync.aligned.u32 200; bra END;
            GIVE: mov.u32 %r2, 0; L: add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 9000; @%p1 bra L; {give}
            END: st.global.u32 [%rd3], %r0; ret; }}"
        )
    };
    let enough = module("setmaxnreg.dec.sync.aligned.u32 56;");
    let (out, report) = run(&enough, &one_block(256), &[0], 256).unwrap_or_else(|e| panic!("{e}"));
    report.assert_clean();
    assert_eq!(out, (0..256).collect::<Vec<u32>>());
    let short = module("setmaxnreg.dec.sync.aligned.u32 64;");
    let error = run(&short, &one_block(256), &[0], 256).expect_err("8 registers a thread are missing");
    assert_eq!(error.kind(), Some(FindingKind::BudgetExceeded));
    let unwatched = Sim::new().checks(Checks::empty());
    run_on(&unwatched, &short, &one_block(256), &[0], 256).unwrap_or_else(|e| panic!("{e}"));
}

/// A grid barrier as in `grid.sync()` of cooperative groups: the driver passes its address in two registers.
#[test]
fn grid_barriers_of_cooperative_groups_synchronize_all_blocks() {
    let body = "mov.u32 %r2, %envreg2; mov.u32 %r3, %envreg1; mov.b64 %rd5, {%r2, %r3};
        atom.global.add.release.gpu.u32 %r4, [%rd5+4], 1;
        L: ld.global.acquire.gpu.u32 %r4, [%rd5+4]; setp.lt.u32 %p0, %r4, 3; @%p0 bra L;
        st.global.u32 [%rd3], %r4;";
    let launch = Launch { grid: [3, 1, 1], block: [1, 1, 1], ..Launch::default() };
    for _ in 0..2 {
        let (out, report) = run(&text(body), &launch, &[0], 3).unwrap_or_else(|e| panic!("{e}"));
        report.assert_clean();
        assert_eq!(out, [3; 3]);
    }
}

#[test]
fn lanes_have_separate_iteration_counts() {
    let body = "mov.u32 %r2, 0; mov.u32 %r3, 0;
        L: add.u32 %r3, %r3, %r2; add.u32 %r2, %r2, 1; setp.le.u32 %p0, %r2, %r0; @%p0 bra L;
        st.global.u32 [%rd3], %r3;";
    let want: Vec<u32> = (0..70).map(|i| i * (i + 1) / 2).collect();
    assert_eq!(outputs(body, 70, &[0]), want);
}

#[test]
fn a_lane_may_spin_on_a_store_of_its_warp() {
    // Lane 0 waits for a store by lane 31, which is on the other side of the branch.
    for wait in ["ld.volatile.shared.u32 %r2, [flag];", "atom.shared.or.b32 %r2, [flag], 0;"] {
        let body = format!(
            ".shared .u32 flag; setp.eq.u32 %p0, %r0, 0; @%p0 st.shared.u32 [flag], 0; bar.warp.sync -1;
             @!%p0 bra OTHER;
             SPIN: {wait} setp.eq.u32 %p1, %r2, 0; @%p1 bra SPIN; bra DONE;
             OTHER: setp.eq.u32 %p2, %r0, 31; @%p2 atom.shared.exch.b32 %r3, [flag], 7; mov.u32 %r2, %r0;
             DONE: st.global.u32 [%rd3], %r2;"
        );
        let mut want: Vec<u32> = (0..32).collect();
        want[0] = 7;
        assert_eq!(outputs(&body, 32, &[0]), want, "{wait}");
    }
}

#[test]
fn a_lock_passes_through_all_lanes_of_all_warps_of_all_blocks() {
    let body = "L: atom.global.cas.b32 %r2, [%rd0], 0, 1; setp.ne.u32 %p0, %r2, 0; @%p0 bra L;
        membar.gl; ld.volatile.global.u32 %r3, [%rd0+4]; add.u32 %r3, %r3, 1; st.volatile.global.u32 [%rd0+4], %r3;
        membar.gl; atom.global.exch.b32 %r4, [%rd0], 0; ret;";
    let launch = Launch { grid: [3, 1, 1], block: [64, 1, 1], ..Launch::default() };
    let (out, _) = run(&text(body), &launch, &[0], 192).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(out[..2], [0, 192]);
}

#[test]
fn a_block_may_wait_for_a_later_one() {
    let body = "setp.eq.u32 %p0, %r30, 0; @!%p0 bra SET;
        W: ld.acquire.gpu.global.u32 %r2, [%rd0+64]; setp.eq.u32 %p1, %r2, 0; @%p1 bra W;
        st.global.u32 [%rd0], %r2; ret;
        SET: setp.eq.u32 %p2, %r30, 5; @%p2 st.release.gpu.global.u32 [%rd0+64], 9; ret;";
    let launch = Launch { grid: [6, 1, 1], block: [1, 1, 1], ..Launch::default() };
    let (out, _) = run(&text(body), &launch, &[0], 32).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(out[0], 9);
}

#[test]
fn a_wait_without_a_store_is_a_deadlock() {
    let body = "W: ld.volatile.global.u32 %r2, [%rd0]; setp.eq.u32 %p1, %r2, 0; @%p1 bra W;";
    let error = run(&text(body), &one_block(32), &[0], 32).expect_err("livelock");
    assert_eq!(error.kind(), Some(FindingKind::Deadlock));
}

#[test]
fn an_mbarrier_with_missing_bytes_never_completes() {
    let body = |bytes: u32| {
        format!(
            ".shared .align 8 .b64 bar; .shared .align 16 .b8 tile[64];
             setp.ne.u32 %p0, %r0, 0; @%p0 bra WAIT;
             mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster;
             mbarrier.arrive.expect_tx.shared.b64 _, [bar], {bytes};
             cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%rd1], 64, [bar];
             WAIT: bar.sync 0;
             W: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0; @!%p1 bra W;
             mov.u32 %r2, tile; mad.lo.u32 %r2, %r0, 4, %r2; ld.shared.u32 %r3, [%r2]; st.global.u32 [%rd3], %r3;"
        )
    };
    let input: Vec<u32> = (0..16).map(|i| i * 3).collect();
    assert_eq!(outputs(&body(64), 16, &input), input);
    let error = run(&text(&body(80)), &one_block(16), &input, 16).expect_err("80 bytes never come");
    let finding = error.finding().expect("a finding");
    assert_eq!(finding.kind, FindingKind::MbarrierNeverCompletes);
    assert!(finding.message.contains("0 more arrivals and 16 more bytes"), "{}", finding.message);
}

#[test]
fn wmma_rounds_f64_as_required() {
    // A and B are 2^-30, so that each of the four products is half of the last bit of C or less.
    let sums = |round: &str, c: f64| {
        let body = format!(
            "mov.f64 %fd0, 0d3E10000000000000; mov.b64 %fd1, {}; wmma.mma.sync.aligned.row.col.m8n8k4{round}.f64.f64.f64.f64
             {{%fd2, %fd3}}, {{%fd0}}, {{%fd0}}, {{%fd1, %fd1}}; mul.wide.u32 %rd5, %r0, 8; add.s64 %rd5, %rd5, %rd0;
             st.global.f64 [%rd5], %fd2;",
            c.to_bits()
        );
        let head = text(&format!(".reg .f64 %fd<4>; {body}"));
        let (out, report) = run(&head, &one_block(32), &[0], 64).unwrap_or_else(|e| panic!("{e}"));
        report.assert_clean();
        f64::from_bits(u64::from(out[0]) | u64::from(out[1]) << 32)
    };
    let up = 1.0 + 4.0 * f64::EPSILON;
    assert_eq!(["", ".rn", ".rz", ".rm", ".rp"].map(|round| sums(round, 1.0)), [1.0, 1.0, 1.0, 1.0, up]);
    assert_eq!([".rz", ".rp"].map(|round| sums(round, -1.0)), [-1.0 + f64::EPSILON * 2.0; 2]);
}

#[test]
fn variables_keep_their_values_between_launches() {
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .global .u32 count = 5;\n
        .const .align 4 .f32 half[2] = {0.5, 0f3F000000};\n.global .u64 at = generic(count)+4;\n
        .visible .entry k() { .reg .b32 %r<4>; .reg .f32 %f<4>; ld.global.u32 %r0, [count]; ld.const.f32 %f0, [half+4];
        cvt.rn.f32.u32 %f1, %r0; fma.rn.f32 %f1, %f0, 0f40800000, %f1; cvt.rzi.u32.f32 %r0, %f1; st.global.u32 [count], %r0; ret; }\n";
    let module = parse(text);
    let mut memory = Memory::new();
    for _ in 0..3 {
        Sim::new()
            .launch(&module, "k", &Launch::default(), &[], &mut memory)
            .unwrap_or_else(|e| panic!("{e}"));
    }
    let address = memory.symbol(&module, "count").expect("a variable");
    let mut value = [0; 4];
    memory.read(address, &mut value).expect("in bounds");
    assert_eq!(u32::from_le_bytes(value), 11);
    let at = memory.symbol(&module, "at").expect("a variable");
    let mut pointer = [0; 8];
    memory.read(at, &mut pointer).expect("in bounds");
    assert_eq!(u64::from_le_bytes(pointer), address + 4);
    assert!(memory.symbol(&module, "nothing").is_err());
}

#[test]
fn generic_addresses_reach_every_space() {
    let body = ".shared .u32 s[32]; .local .u32 l;
        mov.u32 %r2, s; mad.lo.u32 %r2, %r0, 4, %r2; cvt.u64.u32 %rd5, %r2; cvta.shared.u64 %rd5, %rd5;
        mov.u64 %rd6, l; cvta.local.u64 %rd6, %rd6;
        and.b32 %r3, %r0, 1; setp.eq.u32 %p0, %r3, 0; selp.b64 %rd7, %rd5, %rd6, %p0; setp.gt.u32 %p1, %r0, 15;
        selp.b64 %rd7, %rd3, %rd7, %p1;
        st.u32 [%rd7], %r0; ld.u32 %r4, [%rd7];
        isspacep.shared %p2, %rd7; isspacep.local %p3, %rd7; isspacep.global %p4, %rd7;
        selp.u32 %r5, 100, 0, %p2; @%p3 add.u32 %r5, %r5, 200; @%p4 add.u32 %r5, %r5, 300;
        add.u32 %r4, %r4, %r5; st.global.u32 [%rd3], %r4;";
    let want: Vec<u32> = (0..32)
        .map(|i| {
            i + if i > 15 {
                300
            } else if i % 2 == 0 {
                100
            } else {
                200
            }
        })
        .collect();
    assert_eq!(outputs(body, 32, &[0]), want);
}

/// A constant is not in global space (PTX ISA, "Generic Addressing").
#[test]
fn isspacep_distinguishes_constants() {
    let module = format!(
        ".version 8.8\n.target sm_90a\n.address_size 64\n.const .u32 c[2] = {{5, 6}}; .global .u32 g;
        .visible .entry k({PARAMS}) {{ {HEAD}
        mov.u64 %rd5, c; cvta.const.u64 %rd5, %rd5; add.u64 %rd5, %rd5, 4;
        mov.u64 %rd6, g; cvta.global.u64 %rd6, %rd6;
        setp.eq.u32 %p0, %r0, 0; selp.b64 %rd7, %rd5, %rd6, %p0;
        setp.eq.u32 %p1, %r0, 2; selp.b64 %rd7, %rd3, %rd7, %p1; setp.eq.u32 %p1, %r0, 3; selp.b64 %rd7, 8, %rd7, %p1;
        isspacep.const %p2, %rd7; isspacep.global %p3, %rd7;
        selp.u32 %r2, 1, 0, %p2; @%p3 add.u32 %r2, %r2, 10; @%p0 ld.u32 %r3, [%rd5]; @%p0 mad.lo.u32 %r2, %r3, 100, %r2;
        st.global.u32 [%rd3], %r2; ret; }}\n"
    );
    let (out, report) = run(&module, &one_block(4), &[0], 4).unwrap_or_else(|e| panic!("{e}"));
    report.assert_clean();
    assert_eq!(out, [601, 10, 10, 0]);
}

/// All elements are read before the results are written.
#[test]
fn an_atomic_may_return_into_its_operands() {
    let body = "mov.f32 %f1, 0f3F800000; mov.f32 %f2, 0f40000000; add.s64 %rd5, %rd0, 8;
        atom.global.add.v2.f32 {%f1, %f2}, [%rd5], {%f2, %f1}; st.global.v2.f32 [%rd0], {%f1, %f2};";
    let body = format!(
        "mov.f32 %f3, 0f41200000; mov.f32 %f4, 0f41A00000; st.global.v2.f32 [%rd0+8], {{%f3, %f4}}; {body}"
    );
    let (out, _) = run(&text(&body), &one_block(1), &[0], 4).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(out.iter().map(|&bits| f32::from_bits(bits)).collect::<Vec<_>>(), [10.0, 20.0, 12.0, 21.0]);
}

#[test]
fn barriers_reduce() {
    let body = "setp.lt.u32 %p0, %r0, 40; bar.red.popc.u32 %r2, 1, %p0; bar.red.and.pred %p1, 1, %p0;
        bar.red.or.pred %p2, 1, %p0; selp.u32 %r3, 1000, 0, %p1; selp.u32 %r4, 2000, 0, %p2;
        add.u32 %r2, %r2, %r3; add.u32 %r2, %r2, %r4; st.global.u32 [%rd3], %r2;";
    assert_eq!(outputs(body, 64, &[0]), vec![2040; 64]);
}

#[test]
fn producers_arrive_and_consumers_wait() {
    let body = ".shared .u32 s[32]; setp.ge.u32 %p0, %r0, 32; @%p0 bra CONSUME;
        mov.u32 %r2, s; mad.lo.u32 %r2, %r0, 4, %r2; mul.lo.u32 %r3, %r0, 5; st.shared.u32 [%r2], %r3;
        bar.arrive 3, 64; st.global.u32 [%rd3], 1; ret;
        CONSUME: bar.sync 3, 64; mov.u32 %r2, s; sub.u32 %r3, 63, %r0; mad.lo.u32 %r2, %r3, 4, %r2;
        ld.shared.u32 %r4, [%r2]; st.global.u32 [%rd3], %r4;";
    let want: Vec<u32> = (0..64).map(|i| if i < 32 { 1 } else { (63 - i) * 5 }).collect();
    assert_eq!(outputs(body, 64, &[0]), want);
}

#[test]
fn blocks_of_a_cluster_read_each_other() {
    let body = ".shared .u32 s; mov.u32 %r2, %cluster_ctarank; add.u32 %r3, %r2, 70; st.shared.u32 [s], %r3;
        barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
        add.u32 %r4, %r2, 1; mov.u32 %r5, %cluster_nctarank; rem.u32 %r4, %r4, %r5;
        mov.u32 %r6, s; mapa.shared::cluster.u32 %r7, %r6, %r4; ld.shared::cluster.u32 %r8, [%r7];
        getctarank.shared::cluster.u32 %r9, %r7; mad.lo.u32 %r8, %r9, 1000, %r8;
        barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; st.global.u32 [%rd3], %r8;";
    let launch = Launch { grid: [8, 1, 1], cluster: Some([4, 1, 1]), ..Launch::default() };
    let (out, _) = run(&text(body), &launch, &[0], 8).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(out, [1071, 2072, 3073, 70, 1071, 2072, 3073, 70]);
}

#[test]
fn vectors_and_narrow_elements_keep_their_order() {
    let body = ".reg .b16 %h<8>; ld.global.v4.u8 {%h0, %h1, %h2, %h3}, [%rd4]; ld.global.s8 %r2, [%rd4+1];
        cvt.u32.u16 %r3, %h3; st.global.v2.u8 [%rd3], {%h3, %h0}; st.global.s8 [%rd3+2], %r2; st.global.u8 [%rd3+3], %h2;";
    let input: Vec<u32> = (0..32).map(|i| 0x8040_2010 + i).collect();
    let want: Vec<u32> = (0..32u32).map(|i| 0x40_20_00_80 | (0x10 + i) << 8).collect();
    assert_eq!(outputs(body, 32, &input), want);
}

#[test]
fn special_registers_have_the_indices_of_threads() {
    let body = "mov.u32 %r2, %tid.y; mov.u32 %r3, %ctaid.y; mov.u32 %r4, %laneid; mov.u32 %r5, %warpid;
        mad.lo.u32 %r6, %r2, 100, %r4; mad.lo.u32 %r6, %r5, 10000, %r6; mad.lo.u32 %r6, %r3, 1000000, %r6;
        mov.u32 %r7, %ntid.x; mad.lo.u32 %r8, %r2, %r7, %r0; mad.lo.u32 %r8, %r3, 40, %r8;
        mul.wide.u32 %rd5, %r8, 4; add.u64 %rd5, %rd0, %rd5; st.global.u32 [%rd5], %r6;";
    let launch = Launch { grid: [1, 2, 1], block: [10, 4, 1], ..Launch::default() };
    let (out, _) = run(&text(body), &launch, &[0], 80).unwrap_or_else(|e| panic!("{e}"));
    let want: Vec<u32> = (0..80)
        .map(|i| {
            let (block, thread) = (i / 40, i % 40);
            thread % 32 + thread / 10 * 100 + thread / 32 * 10_000 + block * 1_000_000
        })
        .collect();
    assert_eq!(out, want);
}

#[test]
fn clocks_are_monotonic() {
    let body = "mov.u64 %rd5, %clock64; mov.u64 %rd6, %globaltimer; add.u32 %r2, %r0, 1; mov.u64 %rd7, %clock64;
        mov.u64 %rd8, %globaltimer; setp.lt.u64 %p0, %rd5, %rd7; setp.le.u64 %p1, %rd6, %rd8; and.pred %p0, %p0, %p1;
        selp.u32 %r3, 1, 0, %p0; st.global.u32 [%rd3], %r3;";
    assert_eq!(outputs(body, 32, &[0]), vec![1; 32]);
}

#[test]
fn progress_is_reported() {
    let module = parse(&kernel("", "ret;"));
    let seen = std::sync::Mutex::new(vec![]);
    let launch = Launch { grid: [5, 1, 1], ..Launch::default() };
    let sim = Sim::new().on_progress(|done, all| seen.lock().expect("unpoisoned").push((done, all)));
    let report = sim.launch(&module, "k", &launch, &[], &mut Memory::new()).unwrap_or_else(|e| panic!("{e}"));
    drop(sim);
    let mut seen = seen.into_inner().expect("unpoisoned");
    seen.sort_unstable();
    assert_eq!(seen, (1..=5).map(|i| (i, 5)).collect::<Vec<_>>());
    assert_eq!(report.counts.warp_instructions, 5);
    assert_eq!(report.counts.thread_instructions, 5);
}

#[test]
fn public_types_are_send() {
    fn send<T: Send>() {}
    send::<Sim<'_>>();
    send::<Memory>();
    send::<warpwright_sim::Module>();
    send::<warpwright_sim::Report>();
    send::<warpwright_sim::SimError>();
}

/// A tensor map describes a tile of a matrix: 8 rows of 32 words, from column `x` and row `y`.
#[test]
fn a_tensor_copy_fills_elements_out_of_bounds_with_zeros() {
    use warpwright_sim::{TensorMap, TensorSwizzle, TensorType};
    let body = ".shared .align 8 .b64 bar; .shared .align 1024 .b8 tile[1024]; .reg .b64 %m;
        mov.u64 %m, map; cvta.param.u64 %m, %m;
        setp.ne.u32 %p0, %r0, 0; @%p0 bra WAIT;
        mbarrier.init.shared.b64 [bar], 1; fence.proxy.async;
        mbarrier.arrive.expect_tx.shared.b64 _, [bar], 1024;
        ld.global.v2.u32 {%r2, %r3}, [%rd1];
        cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [tile], [%m, {%r2, %r3}], [bar];
        WAIT: bar.sync 0; W: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0; @!%p1 bra W;
        mov.u32 %r4, tile; mad.lo.u32 %r4, %r0, 4, %r4; ld.shared.u32 %r5, [%r4]; st.global.u32 [%rd3], %r5;";
    let text = kernel(&format!("{PARAMS}, .param .align 64 .b8 map[128]"), &format!("{HEAD}{body}"));
    let module = parse(&text);
    let (columns, rows) = (40, 12);
    for (swizzle, x, y) in
        [(TensorSwizzle::None, 4, 2), (TensorSwizzle::None, -4, -3), (TensorSwizzle::B128, 12, 9)]
    {
        let mut memory = Memory::new();
        let (out, at, tensor) = (memory.alloc(1024), memory.alloc(8), memory.alloc(4 * columns * rows));
        let values: Vec<u32> = (1..=(columns * rows) as u32).collect();
        memory.write(tensor, &bytes(&values)).expect("in bounds");
        memory.write(at, &bytes(&[x as u32, y as u32])).expect("in bounds");
        let map = TensorMap {
            ty: TensorType::U32,
            address: tensor,
            dims: vec![columns as u64, rows as u64],
            strides: vec![4 * columns as u64],
            tile: vec![32, 8],
            element_strides: vec![1, 1],
            swizzle,
            nan_fill: false,
        };
        let args = [Arg::from(out), at.into(), Arg::try_from(&map).expect("a valid map")];
        let report = Sim::new()
            .launch(&module, "k", &one_block(256), &args, &mut memory)
            .unwrap_or_else(|e| panic!("{e}"));
        report.assert_clean();
        let mut got = vec![0; 1024];
        memory.read(out, &mut got).expect("in bounds");
        let want: Vec<u32> = (0..256usize)
            .map(|i| {
                // With the 128-byte swizzle, 16-byte units of row r are exchanged by the bits of r.
                let (row, unit, within) = (i / 32, i % 32 / 4, i % 4);
                let unit = if swizzle == TensorSwizzle::B128 { unit ^ row } else { unit };
                let (column, row) = (x + (4 * unit + within) as i32, y + row as i32);
                let inside = (0..columns as i32).contains(&column) && (0..rows as i32).contains(&row);
                if inside { (row * columns as i32 + column) as u32 + 1 } else { 0 }
            })
            .collect();
        assert_eq!(words(&got), want, "at ({x}, {y})");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// A block-wide sum of products in shared memory matches the host's result, for any distribution of blocks.
    #[test]
    fn block_sums_agree_with_the_host(warps in 1u32..5, blocks in 1u32..9, seed in any::<u32>()) {
        let threads = 32 * warps;
        let body = ".shared .u32 s[128]; ld.global.u32 %r2, [%rd4]; mov.u32 %r3, s; mad.lo.u32 %r4, %r0, 4, %r3;
            st.shared.u32 [%r4], %r2; bar.sync 0; setp.ne.u32 %p0, %r0, 0; @%p0 bra E;
            mov.u32 %r5, 0; mov.u32 %r6, 0;
            L: ld.shared.u32 %r7, [%r3]; mad.lo.u32 %r6, %r7, %r7, %r6; add.u32 %r3, %r3, 4; add.u32 %r5, %r5, 1;
            setp.lt.u32 %p1, %r5, %r31; @%p1 bra L;
            mul.wide.u32 %rd5, %r30, 4; add.u64 %rd5, %rd0, %rd5; st.global.u32 [%rd5], %r6;
            E: ret;";
        let input: Vec<u32> = (0..threads * blocks).map(|i| i.wrapping_mul(2_654_435_761) ^ seed).collect();
        let launch = Launch { grid: [blocks, 1, 1], block: [threads, 1, 1], ..Launch::default() };
        for checks in [Checks::all(), Checks::empty()] {
            let sim = Sim::new().checks(checks);
            let (out, _) = run_on(&sim, &text(body), &launch, &input, blocks as usize).expect("runs");
            let want: Vec<u32> = input
                .chunks(threads as usize)
                .map(|c| c.iter().fold(0u32, |sum, x| sum.wrapping_add(x.wrapping_mul(*x))))
                .collect();
            prop_assert_eq!(out, want);
        }
    }
}

#[test]
fn rare_forms_are_computed() {
    // The value of `%r2` after `body`, which starts with the carry flag set.
    let one = |body: &str| {
        let body = format!(
            ".reg .b16 %h<4>; .reg .f64 %fd<8>; mov.u32 %r3, -1; add.cc.u32 %r3, %r3, 1; {body} st.global.u32 [%rd3], %r2;"
        );
        outputs(&body, 1, &[0])[0]
    };
    assert_eq!(one("madc.hi.sat.s32 %r2, 0x40000000, 4, 0x7fffffff;"), 0x7fff_ffff);
    assert_eq!(one("madc.hi.sat.s32 %r2, 0x40000000, 8, -5;"), -2i32 as u32);
    assert_eq!(
        one("mov.u16 %h1, 0xffff; mov.u16 %h2, 2; madc.lo.u16 %h3, %h1, %h2, %h2; cvt.u32.u16 %r2, %h3;"),
        1
    );
    assert_eq!(one("cvt.pack.sat.s4.s32.b32 %r2, -9, 100, 0xab;"), 0xab87);
    assert_eq!(one("cvt.pack.sat.u2.s32.b32 %r2, -1, 7, 5;"), 0x53);
    assert_eq!(one("mov.v4.u32 {%r4, %r5, _, %r2}, %ntid;"), 0);
    assert_eq!(one("mov.v4.u32 {%r2, %r5, %r6, %r7}, %ntid;"), 1);
    assert_eq!(one("lop3.b32 %r2, 0xf0, 0xcc, 0xaa, 0x180;"), 0x80);
    assert_eq!(one("mov.u64 %rd5, 18446744073709551623; cvt.u32.u64 %r2, %rd5;"), 7);
    assert_eq!(one("mov.f32 %f1, 1.E+1; cvt.rni.u32.f32 %r2, %f1;"), 10);
    let third = |round: &str| {
        let body = format!(
            "mov.f64 %fd1, 0d3FD5555555555555; mov.f64 %fd2, 0d0000000000000000; mov.f64 %fd3, 0d3FF0000000000000;
             mma.sync.aligned.m8n8k4.row.col{round}.f64.f64.f64.f64 {{%fd4, %fd5}}, {{%fd1}}, {{%fd1}}, {{%fd3, %fd3}};
             mov.b64 {{%r2, %r4}}, %fd4;"
        );
        let body = format!(".reg .f64 %fd<8>; {body} st.global.u32 [%rd3], %r2;");
        outputs(&body, 32, &[0])[0]
    };
    assert_eq!(third(".rn"), third(""));
    assert!(third(".rm") < third(".rp"));
}

/// A tensor of 3 rows of 8 words; the fourth row of the box is out of bounds.
#[test]
fn a_tensor_map_made_on_the_device() {
    let body = ".global .align 64 .b8 map[128]; .shared .align 128 .b8 s[256]; .shared .align 8 .b64 bar;
        setp.ne.u32 %p0, %r0, 0; mov.u32 %r2, s; shl.b32 %r3, %r0, 2; add.u32 %r3, %r3, %r2; st.shared.u32 [%r3], 0;
        bar.warp.sync -1; @%p0 bra MADE;
        tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%r2], %rd1;
        tensormap.replace.tile.rank.shared::cta.b1024.b32 [%r2], 1;
        tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r2], 0, 8;
        tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r2], 1, 4;
        tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r2], 0, 8;
        tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r2], 1, 3;
        tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%r2], 0, 32;
        tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%r2], 0, 1;
        tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%r2], 1, 1;
        tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%r2], 2;
        tensormap.replace.tile.interleave_layout.shared::cta.b1024.b32 [%r2], 0;
        tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%r2], 0;
        tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [%r2], 0;
        mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster;
        MADE: bar.warp.sync -1; mov.u64 %rd5, map;
        tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd5], [%r2], 128;
        fence.proxy.tensormap::generic.acquire.gpu [%rd5], 128;
        @%p0 bra WAIT; mov.u32 %r4, 0; mbarrier.arrive.expect_tx.shared.b64 _, [bar], 128;
        cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [s+128], [%rd5, {%r4, %r4}], [bar];
        WAIT: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0; @!%p1 bra WAIT;
        ld.shared.u32 %r5, [%r3+128]; st.global.u32 [%rd3], %r5;";
    let input: Vec<u32> = (1..=24).collect();
    let want: Vec<u32> = (1..=24).chain([0; 8]).collect();
    assert_eq!(outputs(body, 32, &input), want);
}
