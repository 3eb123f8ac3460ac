//! `malloc` and `free` of kernels.

use pretty_assertions::assert_eq;

use super::support::{kernel, parse};
use warpwright_sim::{Arg, Launch, Leak, Memory, Module, Report, Sim};

const OUTSIDE: &str =
    ".extern .func (.param .b64 r) malloc(.param .b64 n); .extern .func free(.param .b64 p);";

/// `%rd1` is the address of the word that belongs to the thread, by its index in the grid.
const HEAD: &str = ".reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .pred %p<4>;
ld.param.u64 %rd0, [out]; mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mad.lo.u32 %r0, %r1, %r2, %r0;
mul.wide.u32 %rd2, %r0, 8; add.s64 %rd1, %rd0, %rd2;
";

const MALLOC: &str = "{ .param .b64 p; st.param.b64 [p], %rd3;
.param .b64 q; call.uni (q), malloc, (p); ld.param.b64 %rd4, [q]; }";

const FREE: &str = "{ .param .b64 p; st.param.b64 [p], %rd4; call.uni free, (p); }";

fn module(body: &str) -> Module {
    let text = kernel(".param .u64 out", &format!("{HEAD}{body} ret;"));
    parse(&text.replacen(".visible", &format!("{OUTSIDE} .visible"), 1))
}

/// Runs blocks of 32 threads, each with 8 bytes of the buffer `out`.
fn run(sim: &Sim<'_>, body: &str, blocks: u32, memory: &mut Memory, out: u64) -> Report {
    let launch = Launch { grid: [blocks, 1, 1], block: [32, 1, 1], ..Launch::default() };
    let report = sim.launch(&module(body), "k", &launch, &[Arg::from(out)], memory);
    report.unwrap_or_else(|error| panic!("{error}"))
}

fn words(memory: &Memory, address: u64, count: usize) -> Vec<u64> {
    let mut all = vec![0; 8 * count];
    memory.read(address, &mut all).expect("in bounds");
    all.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("8 bytes"))).collect()
}

#[test]
fn malloc_of_a_full_heap_returns_null() {
    let mut memory = Memory::new();
    let out = memory.alloc(8 * 64);
    let body = format!("mov.u64 %rd3, 48; {MALLOC} st.global.u64 [%rd1], %rd4;");
    // Space for 20 blocks of 48 bytes, each with a header of 16 bytes.
    run(&Sim::new().heap(20 * 64 + 63), &body, 2, &mut memory, out);
    let blocks = words(&memory, out, 64);
    let got: Vec<u64> = blocks.iter().copied().filter(|&block| block != 0).collect();
    assert_eq!(got.len(), 20);
    assert!(got.iter().all(|block| block % 16 == 0));
    let mut apart = got.clone();
    apart.sort_unstable();
    assert!(apart.windows(2).all(|pair| pair[1] - pair[0] >= 48));
    // The size of the heap does not change.
    run(&Sim::new(), &body, 1, &mut memory, out);
    assert_eq!(words(&memory, out, 32), [0; 32]);
}

#[test]
fn the_heap_has_8_mib_by_default() {
    let size = |bytes: u64| {
        let mut memory = Memory::new();
        let out = memory.alloc(8 * 32);
        let body = format!(
            "setp.ne.u32 %p1, %r0, 0; @%p1 ret; mov.u64 %rd3, {bytes}; {MALLOC} st.global.u64 [%rd1], %rd4;"
        );
        run(&Sim::new(), &body, 1, &mut memory, out);
        words(&memory, out, 1)[0]
    };
    assert_ne!(size((8 << 20) - 16), 0);
    assert_eq!(size(8 << 20), 0);
    assert_eq!(size(u64::MAX), 0);
}

#[test]
fn blocks_outlive_the_launch_and_are_reported_as_leaks() {
    let mut memory = Memory::new();
    let out = memory.alloc(8 * 64);
    let make = format!("mov.u64 %rd3, 40; {MALLOC} st.global.u64 [%rd1], %rd4; st.u32 [%rd4+36], %r0;");
    let report = run(&Sim::new(), &make, 2, &mut memory, out);
    let call = report.lines.iter().find(|line| line.mnemonic == "call.uni").expect("it ran");
    assert_eq!(report.leaks, [Leak { line: call.line, blocks: 64, bytes: 64 * 40 }]);
    report.assert_clean();
    // The host cannot access the blocks.
    let block = words(&memory, out, 1)[0];
    assert!(memory.read(block, &mut [0; 4]).is_err() && memory.free(block).is_err());
    let take = format!(
        "ld.global.u64 %rd4, [%rd1]; ld.u32 %r3, [%rd4+36]; {FREE} cvt.u64.u32 %rd5, %r3; st.global.u64 [%rd1], %rd5;"
    );
    let report = run(&Sim::new(), &take, 2, &mut memory, out);
    assert_eq!(report.leaks, []);
    assert_eq!(words(&memory, out, 64), (0..64).collect::<Vec<u64>>());
}

#[test]
fn reuse_of_a_block_is_not_a_race() {
    // The heap has space for one block, which is allocated and freed repeatedly.
    let body = format!(
        "and.b32 %r3, %r0, 31; setp.ne.u32 %p1, %r3, 0; @%p1 ret; mov.u32 %r4, 0;
         L: mov.u64 %rd3, 1024; {MALLOC} setp.eq.u64 %p2, %rd4, 0; @%p2 bra N; st.u32 [%rd4], %r0; ld.u32 %r5, [%rd4];
         setp.ne.u32 %p3, %r5, %r0; @%p3 trap; {FREE}
         N: add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, 50; @%p1 bra L;"
    );
    let mut memory = Memory::new();
    let out = memory.alloc(8 * 32 * 4);
    for seed in 0..4 {
        let report = run(&Sim::new().heap(1040).seed(seed).keep_going(10), &body, 4, &mut memory, out);
        report.assert_clean();
        assert_eq!(report.leaks, []);
    }
}

#[test]
fn messages_describe_addresses_in_the_heap() {
    let mut memory = Memory::new();
    let out = memory.alloc(8 * 32);
    let body = format!("mov.u64 %rd3, 40; {MALLOC} {FREE} st.u32 [%rd4+4], %r0;");
    let launch = Launch { block: [32, 1, 1], ..Launch::default() };
    let error = Sim::new()
        .launch(&module(&body), "k", &launch, &[Arg::from(out)], &mut memory)
        .expect_err("it was freed");
    let message = error.to_string();
    assert!(message.contains("offset 4 of the device heap's block of 40 bytes at"), "{message}");
    assert!(message.contains("that was freed"), "{message}");
}
