//! `st.async` and `red.async` between the blocks of a cluster.

use pretty_assertions::assert_eq;
use warpwright_sim::{FindingKind, Launch, Report, SimError};

use super::support::{kernel, run};

/// Runs two blocks that send data to each other with `send`, wait for them if `waits`, and write what they received.
fn exchange(send: &str, waits: bool) -> Result<(Vec<u32>, Report), SimError> {
    let wait = "AGAIN: mbarrier.try_wait.parity.shared.b64 %p1, [%r5], 0;\n@!%p1 bra AGAIN;";
    let body = format!(
        ".reg .pred %p<3>; .reg .b32 %r<16>; .reg .b64 %rd<6>;
        .shared .align 8 .b64 bar; .shared .align 16 .b32 s[128];
        mov.u32 %r0, %tid.x; mov.u32 %r1, %cluster_ctarank; xor.b32 %r2, %r1, 1;
        mov.u32 %r4, s; mov.u32 %r5, bar;
        mad.lo.u32 %r6, %r0, 16, %r4;
        mov.u32 %r15, 1000; st.shared.v4.u32 [%r6], {{%r15, %r15, %r15, %r15}};
        setp.ne.u32 %p0, %r0, 0;
        @%p0 bra READY;
        mbarrier.init.shared.b64 [%r5], 1;
        fence.mbarrier_init.release.cluster;
        READY: barrier.cluster.arrive; barrier.cluster.wait;
        @!%p0 mbarrier.arrive.expect_tx.shared.b64 _, [%r5], 512;
        mapa.shared::cluster.u32 %r7, %r6, %r2; mapa.shared::cluster.u32 %r8, %r5, %r2;
        mad.lo.u32 %r9, %r1, 100, %r0; add.u32 %r10, %r9, 1; mov.b64 %rd3, {{%r9, %r10}};
        {send}
        {}
        ld.shared.v4.u32 {{%r11, %r12, %r13, %r14}}, [%r6];
        ld.param.u64 %rd0, [out]; mad.lo.u32 %r3, %r1, 32, %r0; mul.wide.u32 %rd1, %r3, 16; add.s64 %rd2, %rd0, %rd1;
        st.global.v4.u32 [%rd2], {{%r11, %r12, %r13, %r14}};
        barrier.cluster.arrive; barrier.cluster.wait;
        ret;",
        if waits { wait } else { "" }
    );
    let text = kernel(".param .u64 out, .param .u64 in", &body);
    let launch = Launch { grid: [2, 1, 1], block: [32, 1, 1], cluster: Some([2, 1, 1]), ..Launch::default() };
    run(&text, &launch, &[0], 256)
}

const STORE: &str =
    "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%r7], {%r9, %r10, %r9, %r10}, [%r8];";

#[test]
fn stores_arrive_at_the_other_block() {
    let (got, report) = exchange(STORE, true).unwrap_or_else(|e| panic!("{e}"));
    report.assert_clean();
    let sent = |i: u32| (1 - i / 32) * 100 + i % 32;
    let expected: Vec<u32> = (0..64).flat_map(|i| [sent(i), sent(i) + 1, sent(i), sent(i) + 1]).collect();
    assert_eq!(got, expected);
}

#[test]
fn wide_values_are_stored_in_pairs() {
    let send =
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b64 [%r7], {%rd3, %rd3}, [%r8];";
    let words = exchange(STORE, true).map(|(words, _)| words);
    assert_eq!(exchange(send, true).map(|(words, _)| words), words);
}

#[test]
fn reductions_add_to_the_stored_value() {
    let add = |offset: u32, value: &str| {
        format!(
            "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r7+{offset}], {value}, [%r8];\n"
        )
    };
    let send = add(0, "%r9") + &add(4, "%r10") + &add(0, "%r9") + &add(8, "5");
    let (got, report) = exchange(&send, true).unwrap_or_else(|e| panic!("{e}"));
    report.assert_clean();
    let expected: Vec<u32> = (0..64)
        .flat_map(|i: u32| {
            let sent = (1 - i / 32) * 100 + i % 32;
            [1000 + 2 * sent, 1000 + sent + 1, 1005, 1000]
        })
        .collect();
    assert_eq!(got, expected);
}

#[test]
fn reads_before_the_stores_complete_are_found() {
    let kind = exchange(STORE, false).expect_err("a finding").kind();
    assert!(matches!(kind, Some(FindingKind::AsyncCopyUnwaited | FindingKind::AsyncProxyRace)), "{kind:?}");
}
