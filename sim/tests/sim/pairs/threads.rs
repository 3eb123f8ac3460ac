//! Races in global memory between threads of one block or cluster.

use super::{Pair, blocks, pair};
use warpwright_sim::FindingKind::GlobalRace;

pub(super) const PAIRS: &[Pair] = &[
    pair(
        "two warps that double one tile in place",
        GlobalRace,
        64,
        "and.b32 %r9, %r0, 31; mul.wide.u32 %rd5, %r9, 4; add.s64 %rd5, %rd1, %rd5;
         ld.global.u32 %r10, [%rd5]; // HERE
         add.u32 %r10, %r10, %r10;
         st.global.u32 [%rd5], %r10; // HERE",
        "ld.global.u32 %r10, [%rd4]; add.u32 %r10, %r10, %r10; st.global.u32 [%rd4], %r10;",
    ),
    blocks(
        "two warps of each block that double one tile of 16-byte vectors",
        GlobalRace,
        (3, 64),
        "and.b32 %r9, %r0, 31; mad.lo.u32 %r9, %r1, 32, %r9; mul.wide.u32 %rd5, %r9, 16; add.s64 %rd5, %rd1, %rd5;
         ld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%rd5]; // HERE
         add.u32 %r10, %r10, %r10;
         st.global.v4.u32 [%rd5], {%r10, %r11, %r12, %r13}; // HERE",
        // Writes of equal values are harmless.
        "and.b32 %r9, %r0, 31; mad.lo.u32 %r9, %r1, 32, %r9; mul.wide.u32 %rd5, %r9, 16; add.s64 %rd6, %rd0, %rd5;
         add.s64 %rd5, %rd1, %rd5; ld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%rd5]; add.u32 %r10, %r10, %r10;
         st.global.v4.u32 [%rd6], {%r10, %r11, %r12, %r13};",
    ),
    pair(
        "each warp overwrites what the one before it still reads",
        GlobalRace,
        96,
        "ld.global.u32 %r10, [%rd4+128]; // HERE
         st.global.u32 [%rd4], %r10; // HERE",
        "ld.global.u32 %r10, [%rd4+128]; bar.sync 0; st.global.u32 [%rd4], %r10;",
    ),
    pair(
        "one warp overwrites what all have read",
        GlobalRace,
        256,
        "ld.global.u32 %r10, [%rd1]; // HERE
         @%p0 st.global.u32 [%rd1], %r4; // HERE",
        "ld.global.u32 %r10, [%rd1]; bar.sync 0; @%p0 st.global.u32 [%rd1], %r4;",
    ),
    pair(
        "the last warp overwrites what all have read",
        GlobalRace,
        256,
        "setp.eq.u32 %p4, %r0, 255; ld.global.u32 %r10, [%rd1]; // HERE
         @%p4 st.global.u32 [%rd1], %r4; // HERE",
        "setp.eq.u32 %p4, %r0, 255; ld.global.u32 %r10, [%rd1]; bar.sync 0; @%p4 st.global.u32 [%rd1], %r4;",
    ),
    pair(
        "the warps of a block write one word",
        GlobalRace,
        96,
        "shr.u32 %r9, %r0, 5;
         st.global.u32 [%rd0], %r9; // HERE",
        "st.global.u32 [%rd0], %r4;",
    ),
    pair(
        "a flag that some warps set and others read",
        GlobalRace,
        96,
        "@%p2 st.global.u32 [%rd0], 1; // HERE
         ld.global.u32 %r9, [%rd0]; // HERE
         ",
        // Each thread reads the value that it wrote itself.
        "st.global.u32 [%rd0], 1; ld.global.u32 %r9, [%rd0]; st.global.u32 [%rd0], 1; ld.global.u32 %r9, [%rd0];",
    ),
    pair(
        "lanes that exchange through global memory",
        GlobalRace,
        32,
        "xor.b32 %r9, %r8, 1; mul.wide.u32 %rd5, %r9, 4; add.s64 %rd5, %rd0, %rd5;
         st.global.u32 [%rd3], %r8; // HERE
         ld.global.u32 %r10, [%rd5]; // HERE
         ",
        "xor.b32 %r9, %r8, 1; mul.wide.u32 %rd5, %r9, 4; add.s64 %rd5, %rd0, %rd5;
         st.global.u32 [%rd3], %r8; bar.warp.sync -1; ld.global.u32 %r10, [%rd5];",
    ),
    pair(
        "bytes that neighbors read as a word",
        GlobalRace,
        64,
        "cvt.u64.u32 %rd5, %r0; add.s64 %rd5, %rd5, %rd0; and.b64 %rd6, %rd5, -64; xor.b64 %rd6, %rd6, 32;
         st.global.u8 [%rd5], %r0; // HERE
         add.s64 %rd6, %rd6, 28; ld.global.u32 %r9, [%rd6]; // HERE
         ",
        "cvt.u64.u32 %rd5, %r0; add.s64 %rd5, %rd5, %rd0; and.b64 %rd6, %rd5, -64; xor.b64 %rd6, %rd6, 32;
         st.global.u8 [%rd5], %r0; bar.sync 0; add.s64 %rd6, %rd6, 28; ld.global.u32 %r9, [%rd6];",
    ),
    pair(
        "a message between warps without a fence",
        GlobalRace,
        64,
        "@!%p2 bra W;
         st.global.u32 [%rd3+256], 7; // HERE
         bar.warp.sync -1; @%p0 st.volatile.global.u32 [%rd0], 1; bra E;
         W: ld.volatile.global.u32 %r9, [%rd0]; setp.eq.u32 %p4, %r9, 0; @%p4 bra W;
         ld.global.u32 %r10, [%rd3+128]; // HERE
         E:",
        "@!%p2 bra W; st.global.u32 [%rd3+256], 7; membar.cta; bar.warp.sync -1; @%p0 st.volatile.global.u32 [%rd0], 1; bra E;
         W: ld.volatile.global.u32 %r9, [%rd0]; setp.eq.u32 %p4, %r9, 0; @%p4 bra W;
         membar.cta; ld.global.u32 %r10, [%rd3+128]; E:",
    ),
    pair(
        "a counter cleared while warps count",
        GlobalRace,
        64,
        "@%p0 st.global.u32 [%rd0], 0; // HERE
         red.global.add.u32 [%rd0], 1; // HERE
         ",
        "@%p0 st.global.u32 [%rd0], 0; bar.sync 0; red.global.add.u32 [%rd0], 1;",
    ),
    pair(
        "warps that add to a word of their block without atomics",
        GlobalRace,
        96,
        "ld.global.u32 %r10, [%rd1]; // HERE
         add.u32 %r10, %r10, 1;
         st.global.u32 [%rd1], %r10; // HERE
         ",
        "atom.relaxed.cta.global.add.u32 %r10, [%rd1], 1;",
    ),
    blocks(
        "blocks of several warps that wait for each other and share a word",
        GlobalRace,
        (2, 64),
        "atom.global.add.u32 %r9, [%rd0], 1; mul.wide.u32 %rd5, %r1, 4; add.s64 %rd5, %rd5, %rd1;
         shr.u32 %r10, %r0, 5;
         st.global.u32 [%rd5], %r10; // HERE",
        "atom.global.add.u32 %r9, [%rd0], 1; mul.wide.u32 %rd5, %r1, 4; add.s64 %rd5, %rd5, %rd1;
         shr.u32 %r10, %r0, 5; @%p2 st.global.u32 [%rd5], %r10; bar.sync 0; @!%p2 st.global.u32 [%rd5], %r10;",
    ),
    Pair {
        cluster: 2,
        ..blocks(
            "the blocks of a cluster exchange without its barrier",
            GlobalRace,
            (2, 32),
            "xor.b32 %r9, %r8, 32; mul.wide.u32 %rd5, %r9, 4; add.s64 %rd5, %rd0, %rd5;
             st.global.u32 [%rd3], %r8; // HERE
             ld.global.u32 %r10, [%rd5]; // HERE
             ",
            "xor.b32 %r9, %r8, 32; mul.wide.u32 %rd5, %r9, 4; add.s64 %rd5, %rd0, %rd5; st.global.u32 [%rd3], %r8;
             barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; ld.global.u32 %r10, [%rd5];",
        )
    },
    pair(
        "a bulk store that another warp reads",
        GlobalRace,
        64,
        "st.shared.u32 [%r2], %r0; fence.proxy.async.shared::cta; bar.sync 0; @!%p2 bra N; @!%p0 bra E;
         cp.async.bulk.global.shared::cta.bulk_group [%rd0], [s], 128; // HERE
         cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; bra E;
         N: ld.global.u32 %r9, [%rd3+-128]; // HERE
         E:",
        "st.shared.u32 [%r2], %r0; fence.proxy.async.shared::cta; bar.sync 0; @!%p0 bra N;
         cp.async.bulk.global.shared::cta.bulk_group [%rd0], [s], 128;
         cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
         N: bar.sync 0; @!%p2 ld.global.u32 %r9, [%rd3+-128];",
    ),
    pair(
        "a warp that overwrites what a bulk copy still reads",
        GlobalRace,
        64,
        "@%p0 mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster; bar.sync 0; @!%p2 bra N;
         @%p0 mbarrier.arrive.expect_tx.shared.b64 %rd9, [bar], 128;
         @%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd1], 128, [bar]; // HERE
         W: mbarrier.try_wait.parity.shared.b64 %p4, [bar], 0; @!%p4 bra W; bra E;
         N: st.global.u32 [%rd4+-128], %r0; // HERE
         E:",
        "@%p0 mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster; bar.sync 0; @!%p2 bra N;
         @%p0 mbarrier.arrive.expect_tx.shared.b64 %rd9, [bar], 128;
         @%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd1], 128, [bar]; bra E;
         N: mbarrier.try_wait.parity.shared.b64 %p4, [bar], 0; @!%p4 bra N;
         st.global.u32 [%rd4+-128], %r0; E:",
    ),
    pair(
        "a thread that overwrites what its own bulk copy still reads",
        GlobalRace,
        2,
        "@!%p0 bra E; mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster;
         mbarrier.arrive.expect_tx.shared.b64 %rd9, [bar], 128;
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd1], 128, [bar]; // HERE
         st.global.u32 [%rd1], %r0; // HERE
         W: mbarrier.try_wait.parity.shared.b64 %p4, [bar], 0; @!%p4 bra W; E:",
        "@!%p0 bra E; mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster; st.global.u32 [%rd1], %r0;
         mbarrier.arrive.expect_tx.shared.b64 %rd9, [bar], 128;
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd1], 128, [bar];
         W: mbarrier.try_wait.parity.shared.b64 %p4, [bar], 0; @!%p4 bra W; st.global.u32 [%rd1], %r0; E:",
    ),
];
