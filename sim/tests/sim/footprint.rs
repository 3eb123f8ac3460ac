//! The bytes of global memory that launches access, and reads of bytes that were never written.
#![allow(clippy::single_range_in_vec_init, reason = "lists of ranges may have one")]

use std::ops::Range;

use super::support::{kernel, one_block, parse};
use warpwright_sim::{Arg, Checks, FindingKind, Footprint, Memory, Report, Sim};

const PARAMS: &str = ".param .u64 out, .param .u64 in";

/// `%r0` is the thread index, `%rd0` and `%rd1` are the buffers, and `%rd3` and `%rd4` the addresses of the thread's words in them.
const HEAD: &str = ".reg .b32 %r<16>; .reg .b64 %rd<16>; .reg .pred %p<4>; .reg .b16 %h<4>;
.shared .align 128 .b8 s[1024]; .shared .align 8 .b64 bar;
ld.param.u64 %rd0, [out]; ld.param.u64 %rd1, [in]; mov.u32 %r0, %tid.x; mul.wide.u32 %rd2, %r0, 4;
add.s64 %rd3, %rd0, %rd2; add.s64 %rd4, %rd1, %rd2; setp.eq.u32 %p0, %r0, 0; mov.u32 %r1, s; mad.lo.u32 %r2, %r0, 4, %r1;
";

/// The size of each of the two buffers in bytes, and the offset up to which the kernel's second buffer is written.
const BYTES: usize = 256;
const WRITTEN: usize = 128;

/// Runs a kernel of 32 threads, and returns its report with the memory and the addresses of the buffers.
fn run(sim: &Sim<'_>, body: &str) -> (Report, Memory, [u64; 2]) {
    let module = parse(&kernel(PARAMS, &format!("{HEAD}{body}\nret;")));
    let mut memory = Memory::new().record_writes();
    let [out, input] = [(); 2].map(|()| memory.alloc(BYTES));
    memory.write(input, &[7; WRITTEN]).expect("in bounds");
    let args = [Arg::from(out), Arg::from(input)];
    let report =
        sim.launch(&module, "k", &one_block(32), &args, &mut memory).unwrap_or_else(|e| panic!("{e}"));
    (report, memory, [out, input])
}

/// Reads of uninitialized memory, at the line with the comment `HERE`, each with its correct counterpart.
const PAIRS: &[(&str, &str)] = &[
    ("ld.global.u32 %r3, [%rd4+4]; // HERE", "ld.global.u32 %r3, [%rd4];"),
    ("ld.global.u32 %r3, [%rd3]; // HERE", "st.global.u32 [%rd3], %r0; ld.global.u32 %r3, [%rd3];"),
    (
        "atom.global.add.u32 %r3, [%rd0], 1; // HERE",
        "@%p0 st.global.u32 [%rd0], %r0; bar.sync 0; atom.global.add.u32 %r3, [%rd0], 1;",
    ),
    (
        "cp.async.ca.shared.global [%r2], [%rd3], 4; // HERE
         cp.async.wait_all;",
        "cp.async.ca.shared.global [%r2], [%rd4], 4; cp.async.wait_all;",
    ),
    (
        "ld.global.v4.u32 {%r3, %r4, %r5, %r6}, [%rd1+128]; // HERE",
        // The first half of the 16 bytes was written: the rest may be padding.
        "@%p0 st.global.v2.u32 [%rd1+128], {%r0, %r0}; bar.sync 0; ld.global.v4.u32 {%r3, %r4, %r5, %r6}, [%rd1+128];",
    ),
];

#[test]
fn reads_of_uninitialized_memory() {
    for (bug, twin) in PAIRS {
        let (report, ..) = run(&Sim::new().keep_going(10), bug);
        let [finding] = &report.findings[..] else { panic!("{bug}: {:?}", report.findings) };
        assert_eq!(finding.kind, FindingKind::UninitializedGlobalRead, "{bug}: {finding}");
        let text = kernel(PARAMS, &format!("{HEAD}{bug}"));
        let marked = text.lines().position(|line| line.contains("HERE")).expect("a line is marked");
        assert_eq!(finding.site.line as usize, marked + 1, "{bug}: {finding}");
        run(&Sim::new().keep_going(10), twin).0.assert_clean();
        let others = Checks::all() - Checks::UNINITIALIZED_GLOBAL;
        run(&Sim::new().keep_going(10).checks(others), bug).0.assert_clean();
    }
}

fn ranges(memory: &Memory, address: u64, bytes: u64) -> Vec<Range<u64>> {
    let found = memory.unwritten(address, bytes).expect("in bounds");
    found.into_iter().map(|run| run.start - address..run.end - address).collect()
}

#[test]
fn copies_keep_bytes_unwritten() {
    let (_, mut memory, [out, input]) = run(&Sim::new(), "@%p0 st.global.u32 [%rd0+8], %r0;");
    assert_eq!(ranges(&memory, out, 32), [0..8, 12..32]);
    memory.copy(input + 64, out, 32).expect("in bounds");
    assert_eq!(ranges(&memory, input, 256), [64..72, 76..96, 128..256]);
    memory.copy(input + 1, input + 65, 8).expect("in bounds");
    assert_eq!(ranges(&memory, input, 32), [1..8]);
    memory.fill(out, 0).expect("in bounds");
    assert_eq!(ranges(&memory, out, BYTES as u64), []);
    assert!(memory.unwritten(out, 1 + BYTES as u64).is_err());
    let mut plain = Memory::new();
    let address = plain.alloc(8);
    assert_eq!(plain.unwritten(address, 8), Ok(vec![]));
}

/// Returns the footprint of a kernel: its ordinary accesses and its strong accesses, as offsets in both buffers.
fn footprint(body: &str, checks: Checks) -> [Vec<Range<u64>>; 4] {
    let (report, _, [out, input]) = run(&Sim::new().checks(checks).footprint(true), body);
    let offset = |address: u64| if address >= input { 1000 + address - input } else { address - out };
    let Footprint { read, written, strongly_read, strongly_written } = report.footprint;
    let relative = |runs: Vec<Range<u64>>| {
        runs.into_iter().map(|run| offset(run.start)..offset(run.end - 1) + 1).collect()
    };
    [read, written, strongly_read, strongly_written].map(relative)
}

#[test]
fn footprints_by_manner() {
    let body = "ld.global.u32 %r3, [%rd4]; @%p0 st.global.u8 [%rd0+5], %h0; @%p0 st.global.u32 [%rd0+8], %r3;
                ld.volatile.global.u32 %r3, [%rd1+64]; atom.global.add.u32 %r3, [%rd1+4], 1; st.volatile.global.u32 [%rd3+128], %r0;";
    for checks in [Checks::all() - Checks::UNINITIALIZED_REGISTERS, Checks::empty()] {
        let expected = [vec![1000..1128], vec![5..6, 8..12], vec![1064..1068], vec![128..256, 1004..1008]];
        assert_eq!(footprint(body, checks), expected, "{checks:?}");
    }
}

#[test]
fn footprints_of_bulk_copies() {
    let body = "@!%p0 bra END; mbarrier.init.shared.b64 [bar], 1; mbarrier.arrive.expect_tx.shared.b64 %rd5, [bar], 48;
                cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd1+16], 48, [bar];
                WAIT: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0; @!%p1 bra WAIT;
                cp.async.bulk.global.shared::cta.bulk_group [%rd0+32], [s], 48; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
                END:";
    assert_eq!(footprint(body, Checks::all()), [vec![1016..1064], vec![32..80], vec![], vec![]]);
    let unasked = run(&Sim::new(), body).0;
    assert_eq!(unasked.footprint, Footprint::default());
}
