//! Races in shared and global memory, and the proxies.

use super::{Pair, blocks, pair};
use warpwright_sim::FindingKind::{AsyncProxyRace, GlobalRace, MissingProxyFence, SharedRace, VolatileRace};

pub(super) const PAIRS: &[Pair] = &[
    pair(
        "a neighbor's word without a barrier",
        SharedRace,
        64,
        "xor.b32 %r9, %r6, 128; add.u32 %r9, %r9, %r5; st.shared.u32 [%r2], %r0;
         ld.shared.u32 %r10, [%r9]; // HERE
         st.global.u32 [%rd3], %r10;",
        "xor.b32 %r9, %r6, 128; add.u32 %r9, %r9, %r5; st.shared.u32 [%r2], %r0; bar.sync 0;
         ld.shared.u32 %r10, [%r9]; st.global.u32 [%rd3], %r10;",
    ),
    pair(
        "a tile overwritten while others still read it",
        SharedRace,
        64,
        "xor.b32 %r9, %r6, 128; add.u32 %r9, %r9, %r5; st.shared.u32 [%r2], %r0; bar.sync 0;
         ld.shared.u32 %r10, [%r9]; // HERE
         st.shared.u32 [%r2], %r10; // HERE",
        "xor.b32 %r9, %r6, 128; add.u32 %r9, %r9, %r5; st.shared.u32 [%r2], %r0; bar.sync 0;
         ld.shared.u32 %r10, [%r9]; bar.sync 0; st.shared.u32 [%r2], %r10;",
    ),
    pair(
        "lanes that exchange without bar.warp.sync",
        SharedRace,
        32,
        "st.shared.u32 [%r2], %r0;
         ld.shared.u32 %r10, [%r3]; // HERE",
        "st.shared.u32 [%r2], %r0; bar.warp.sync 0xffffffff; ld.shared.u32 %r10, [%r3];",
    ),
    pair(
        "a bar.warp.sync of one half, and lanes of the other",
        SharedRace,
        32,
        "st.shared.u32 [%r2], %r0; bar.warp.sync 0xffffffff; @!%p1 bra A; st.shared.u32 [%r2], %r4; bar.warp.sync 0xffff;
         A: xor.b32 %r9, %r6, 64; add.u32 %r9, %r9, %r5;
         ld.shared.u32 %r10, [%r9]; // HERE
         ",
        "st.shared.u32 [%r2], %r0; bar.warp.sync 0xffffffff; @!%p1 bra A; st.shared.u32 [%r2], %r4; bar.warp.sync 0xffff;
         ld.shared.u32 %r10, [%r3]; bar.warp.sync 0xffff; st.shared.u32 [%r2], %r0; A:",
    ),
    pair(
        "ldmatrix of stores by other lanes without bar.warp.sync",
        SharedRace,
        32,
        "shl.b32 %r9, %r0, 4; add.u32 %r9, %r9, %r5; st.shared.v4.b32 [%r9], {%r0, %r0, %r0, %r0};
         xor.b32 %r14, %r9, 16;
         ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10, %r11, %r12, %r13}, [%r14]; // HERE",
        "shl.b32 %r9, %r0, 4; add.u32 %r9, %r9, %r5; st.shared.v4.b32 [%r9], {%r0, %r0, %r0, %r0};
         bar.warp.sync 0xffffffff;
         xor.b32 %r14, %r9, 16; ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10, %r11, %r12, %r13}, [%r14];",
    ),
    pair(
        "each warp waits at a barrier of its own",
        SharedRace,
        64,
        "xor.b32 %r9, %r6, 128; add.u32 %r9, %r9, %r5; st.shared.u32 [%r2], %r0;
         shr.u32 %r11, %r0, 5; add.u32 %r11, %r11, 1; bar.sync %r11, 32;
         ld.shared.u32 %r10, [%r9]; // HERE",
        "xor.b32 %r9, %r6, 128; add.u32 %r9, %r9, %r5; st.shared.u32 [%r2], %r0; bar.sync 1, 64;
         ld.shared.u32 %r10, [%r9];",
    ),
    pair(
        "a counter that only some threads update atomically",
        SharedRace,
        64,
        "@%p0 st.shared.u32 [%r5], 0; bar.sync 0; @%p2 bra A;
         ld.shared.u32 %r10, [%r5]; add.u32 %r10, %r10, 1;
         st.shared.u32 [%r5], %r10; // HERE
         bra E; A:
         red.shared.add.u32 [%r5], 1; // HERE
         E:",
        "@%p0 st.shared.u32 [%r5], 0; bar.sync 0; @%p2 bra A; red.shared.add.u32 [%r5], 1; bra E;
         A: red.shared.add.u32 [%r5], 1; E:",
    ),
    pair(
        "the last round of a sum without a barrier",
        SharedRace,
        64,
        "st.shared.u32 [%r2], %r0; bar.sync 0; mov.u32 %r9, 128;
         L: setp.lt.u32 %p4, %r6, %r9; add.u32 %r10, %r2, %r9;
         @%p4 ld.shared.u32 %r11, [%r10]; // HERE
         @%p4 ld.shared.u32 %r12, [%r2]; @%p4 add.u32 %r11, %r11, %r12; @%p4 st.shared.u32 [%r2], %r11;
         shr.u32 %r9, %r9, 1; setp.ge.u32 %p5, %r9, 4; @%p5 bra L;",
        "st.shared.u32 [%r2], %r0; bar.sync 0; mov.u32 %r9, 128;
         L: setp.lt.u32 %p4, %r6, %r9; add.u32 %r10, %r2, %r9;
         @%p4 ld.shared.u32 %r11, [%r10]; @%p4 ld.shared.u32 %r12, [%r2]; @%p4 add.u32 %r11, %r11, %r12;
         @%p4 st.shared.u32 [%r2], %r11; bar.sync 0;
         shr.u32 %r9, %r9, 1; setp.ge.u32 %p5, %r9, 4; @%p5 bra L;",
    ),
    blocks(
        "a block reads what its neighbor writes",
        GlobalRace,
        (4, 32),
        "xor.b32 %r9, %r8, 32; mul.wide.u32 %rd5, %r9, 4; add.s64 %rd5, %rd0, %rd5;
              st.global.u32 [%rd3], %r8; // HERE
              ld.global.u32 %r10, [%rd5];",
        "st.global.u32 [%rd3], %r8; ld.global.u32 %r10, [%rd3];",
    ),
    blocks(
        "all blocks write one word",
        GlobalRace,
        (4, 32),
        "@%p0 st.global.u32 [%rd0], %r1; // HERE",
        // Writes of equal values are harmless.
        "@%p0 st.global.u32 [%rd0], %r4;",
    ),
    blocks(
        "a counter of the grid without atomics",
        GlobalRace,
        (4, 32),
        "@!%p0 bra E; ld.global.u32 %r10, [%rd0]; add.u32 %r10, %r10, 1;
              st.global.u32 [%rd0], %r10; // HERE
              E:",
        "@%p0 red.global.add.u32 [%rd0], 1;",
    ),
    blocks(
        "a message without a fence",
        GlobalRace,
        (2, 1),
        "@!%p3 bra W;
              st.global.u32 [%rd0], 7; // HERE
              st.volatile.global.u32 [%rd0+4], 1; bra E;
              W: ld.volatile.global.u32 %r9, [%rd0+4]; setp.eq.u32 %p4, %r9, 0; @%p4 bra W;
              ld.global.u32 %r10, [%rd0]; // HERE
              E:",
        "@!%p3 bra W; st.global.u32 [%rd0], 7; membar.gl; st.volatile.global.u32 [%rd0+4], 1; bra E;
              W: ld.volatile.global.u32 %r9, [%rd0+4]; setp.eq.u32 %p4, %r9, 0; @%p4 bra W;
              ld.global.u32 %r10, [%rd0]; E:",
    ),
    blocks(
        "a release for the block only",
        GlobalRace,
        (2, 1),
        "@!%p3 bra W;
              st.global.u32 [%rd0], 7; // HERE
              membar.cta; atom.relaxed.gpu.global.exch.b32 %r9, [%rd0+4], 1; bra E;
              W: ld.acquire.gpu.global.u32 %r9, [%rd0+4]; setp.eq.u32 %p4, %r9, 0; @%p4 bra W;
              ld.global.u32 %r10, [%rd0]; // HERE
              E:",
        "@!%p3 bra W; st.global.u32 [%rd0], 7;
              atom.release.gpu.global.exch.b32 %r9, [%rd0+4], 1; bra E;
              W: ld.acquire.gpu.global.u32 %r9, [%rd0+4]; setp.eq.u32 %p4, %r9, 0; @%p4 bra W;
              ld.global.u32 %r10, [%rd0]; E:",
    ),
    blocks(
        "a flag read by blocks that did not set it",
        GlobalRace,
        (4, 64),
        "and.b32 %r9, %r1, 1; setp.eq.u32 %p4, %r9, 0; @%p4 bra R;
              st.global.u32 [%rd0], 1; // HERE
              bra E; R:
              ld.global.u32 %r9, [%rd0]; // HERE
              E:",
        // Each block reads the value that it wrote itself.
        "st.global.u32 [%rd0], 1; bar.sync 0; ld.global.u32 %r9, [%rd0];",
    ),
    blocks(
        "the first and the last block write one value, the one between another",
        GlobalRace,
        (3, 1),
        "and.b32 %r9, %r1, 1;
              st.global.u32 [%rd0], %r9; // HERE",
        "st.global.u32 [%rd0], 1;",
    ),
    blocks(
        "a counter cleared by the block that then counts first",
        GlobalRace,
        (4, 64),
        "setp.ne.u32 %p4, %r8, 0; @%p4 bra A;
              st.global.u32 [%rd0], 0; // HERE
              A: bar.sync 0;
              atom.global.add.u32 %r9, [%rd0], 1; // HERE",
        "atom.global.add.u32 %r9, [%rd0], 1;",
    ),
    blocks(
        "a counter cleared by the last block",
        GlobalRace,
        (4, 64),
        "setp.ne.u32 %p4, %r1, 3; @%p4 bra A;
              @%p0 st.global.u32 [%rd0], 0; // HERE
              A: bar.sync 0;
              atom.global.add.u32 %r9, [%rd0], 1; // HERE",
        "setp.ne.u32 %p4, %r1, 3; @%p4 bra A; @%p0 st.volatile.global.u32 [%rd0+4], 0;
              A: bar.sync 0; atom.global.add.u32 %r9, [%rd0], 1;",
    ),
    blocks(
        "a counter of the grid with atomics of the block",
        GlobalRace,
        (4, 32),
        "atom.relaxed.cta.global.add.u32 %r9, [%rd0], 1; // HERE",
        "mul.wide.u32 %rd5, %r1, 4; add.s64 %rd5, %rd5, %rd0;
              atom.relaxed.cta.global.add.u32 %r9, [%rd5], 1;",
    ),
    blocks(
        "a message released and acquired in the block only",
        GlobalRace,
        (2, 1),
        "@!%p3 bra W; st.global.u32 [%rd0], 7;
              st.release.cta.global.u32 [%rd0+4], 1; // HERE
              bra E; W:
              ld.acquire.cta.global.u32 %r9, [%rd0+4]; // HERE
              setp.eq.u32 %p4, %r9, 0; @%p4 bra W; ld.global.u32 %r10, [%rd0]; E:",
        "@!%p3 bra W; st.global.u32 [%rd0], 7; st.release.gpu.global.u32 [%rd0+4], 1; bra E;
              W: ld.acquire.gpu.global.u32 %r9, [%rd0+4]; setp.eq.u32 %p4, %r9, 0; @%p4 bra W;
              ld.global.u32 %r10, [%rd0]; E:",
    ),
    blocks(
        "a relaxed load that acquires nothing",
        GlobalRace,
        (2, 1),
        "@!%p3 bra W;
              st.global.u32 [%rd0], 7; // HERE
              st.release.gpu.global.u32 [%rd0+4], 1; bra E;
              W: ld.relaxed.gpu.global.u32 %r9, [%rd0+4]; setp.eq.u32 %p4, %r9, 0; @%p4 bra W;
              ld.global.u32 %r10, [%rd0]; // HERE
              E:",
        "@!%p3 bra W; st.global.u32 [%rd0], 7; st.release.gpu.global.u32 [%rd0+4], 1; bra E;
              W: ld.relaxed.gpu.global.u32 %r9, [%rd0+4]; setp.eq.u32 %p4, %r9, 0; @%p4 bra W;
              fence.acq_rel.gpu; ld.global.u32 %r10, [%rd0]; E:",
    ),
    blocks(
        "additions that the arrival of their block does not wait for",
        GlobalRace,
        (3, 64),
        "add.s64 %rd5, %rd0, 64; mul.wide.u32 %rd6, %r0, 4; add.s64 %rd5, %rd5, %rd6;
         red.global.add.u32 [%rd5], 1; // HERE
         @!%p0 bra W; membar.gl; atom.global.inc.u32 %r9, [%rd0], 2; st.shared.u32 [%r5], %r9;
         W: bar.sync 0; ld.shared.u32 %r9, [%r5]; setp.ne.u32 %p4, %r9, 2; @%p4 bra E; membar.gl;
         ld.global.u32 %r10, [%rd5]; // HERE
         st.global.u32 [%rd0+1024], %r10; E:",
        "add.s64 %rd5, %rd0, 64; mul.wide.u32 %rd6, %r0, 4; add.s64 %rd5, %rd5, %rd6; red.global.add.u32 [%rd5], 1;
         bar.sync 0; @!%p0 bra W; membar.gl; atom.global.inc.u32 %r9, [%rd0], 2; st.shared.u32 [%r5], %r9;
         W: bar.sync 0; ld.shared.u32 %r9, [%r5]; setp.ne.u32 %p4, %r9, 2; @%p4 bra E; membar.gl;
         ld.global.u32 %r10, [%rd5]; st.global.u32 [%rd0+1024], %r10; E:",
    ),
    blocks(
        "stores that the arrival of their block does not wait for",
        GlobalRace,
        (3, 64),
        "add.s64 %rd5, %rd3, 64;
         st.global.u32 [%rd5], 1; // HERE
         @!%p0 bra W; membar.gl; atom.global.inc.u32 %r9, [%rd0], 2; st.shared.u32 [%r5], %r9;
         W: bar.sync 0; ld.shared.u32 %r9, [%r5]; setp.ne.u32 %p4, %r9, 2; @%p4 bra E; membar.gl;
         mul.wide.u32 %rd6, %r0, 4; add.s64 %rd6, %rd6, %rd0; ld.global.u32 %r10, [%rd6+64]; // HERE
         ld.global.u32 %r10, [%rd6+320]; // HERE
         E:",
        // Each thread has a fence before the barrier; another counterpart has it after the barrier, in one thread.
        "add.s64 %rd5, %rd3, 64; st.global.u32 [%rd5], 1; membar.gl; bar.sync 0;
         @!%p0 bra W; atom.global.inc.u32 %r9, [%rd0], 2; st.shared.u32 [%r5], %r9;
         W: bar.sync 0; ld.shared.u32 %r9, [%r5]; setp.ne.u32 %p4, %r9, 2; @%p4 bra E; membar.gl;
         mul.wide.u32 %rd6, %r0, 4; add.s64 %rd6, %rd6, %rd0; ld.global.u32 %r10, [%rd6+64]; ld.global.u32 %r10, [%rd6+320]; E:",
    ),
    blocks(
        "a sum that is read before all blocks have added to it",
        GlobalRace,
        (3, 32),
        "@!%p0 bra E; membar.gl; atom.global.add.u32 %r9, [%rd0], 1;
         red.global.add.u32 [%rd0+64], 1; // HERE
         L: ld.volatile.global.u32 %r9, [%rd0]; setp.lt.u32 %p4, %r9, 3; @%p4 bra L;
         ld.global.u32 %r10, [%rd0+64]; // HERE
         E:",
        // The first guess of a loop with `atom.cas` may be any value.
        "@!%p0 bra E; membar.gl; atom.global.add.u32 %r9, [%rd0], 1;
         L: ld.volatile.global.u32 %r9, [%rd0]; setp.lt.u32 %p4, %r9, 3; @%p4 bra L; ld.global.u32 %r10, [%rd0+64];
         M: mov.u32 %r11, %r10; add.u32 %r12, %r10, 1; atom.global.cas.b32 %r10, [%rd0+64], %r11, %r12;
         setp.ne.u32 %p4, %r10, %r11; @%p4 bra M; E:",
    ),
    pair(
        "a sum of a warp that relies on lockstep",
        VolatileRace,
        32,
        "st.volatile.shared.u32 [%r2], %r0; // HERE
         ld.volatile.shared.u32 %r9, [%r3]; // HERE
         add.u32 %r9, %r9, %r0;",
        "st.volatile.shared.u32 [%r2], %r0; bar.warp.sync -1; ld.volatile.shared.u32 %r9, [%r3]; add.u32 %r9, %r9, %r0;",
    ),
    pair(
        "an exchange in a warp that relies on lockstep",
        VolatileRace,
        32,
        "st.shared.u32 [%r2], %r0; bar.sync 0;
         ld.volatile.shared.u32 %r9, [%r3]; // HERE
         st.volatile.shared.u32 [%r2], %r9; // HERE
         ",
        "st.shared.u32 [%r2], %r0; bar.sync 0; ld.volatile.shared.u32 %r9, [%r3]; bar.warp.sync -1;
         st.volatile.shared.u32 [%r2], %r9; ld.volatile.shared.u32 %r10, [%r2];",
    ),
    pair(
        "a bulk store of stored words without a proxy fence",
        MissingProxyFence,
        32,
        "st.shared.u32 [%r2], %r0; // HERE
         bar.sync 0; @!%p0 bra E;
         cp.async.bulk.global.shared::cta.bulk_group [%rd0], [s], 128; // HERE
         cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; E:",
        "st.shared.u32 [%r2], %r0; fence.proxy.async.shared::cta; bar.sync 0; @!%p0 bra E;
         cp.async.bulk.global.shared::cta.bulk_group [%rd0], [s], 128; cp.async.bulk.commit_group;
         cp.async.bulk.wait_group 0; E:",
    ),
    pair(
        "a store to what a bulk copy still reads",
        AsyncProxyRace,
        32,
        "st.shared.u32 [%r2], %r0; fence.proxy.async.shared::cta; bar.sync 0; @!%p0 bra E;
         cp.async.bulk.global.shared::cta.bulk_group [%rd0], [s], 128; // HERE
         cp.async.bulk.commit_group;
         st.shared.u32 [s], 5; // HERE
         cp.async.bulk.wait_group.read 0; E:",
        "st.shared.u32 [%r2], %r0; fence.proxy.async.shared::cta; bar.sync 0; @!%p0 bra E;
         cp.async.bulk.global.shared::cta.bulk_group [%rd0], [s], 128; cp.async.bulk.commit_group;
         cp.async.bulk.wait_group.read 0; st.shared.u32 [s], 5; E:",
    ),
    blocks(
        "a message between clusters with fences of the cluster",
        GlobalRace,
        (2, 32),
        "@!%p3 bra W;
              @%p0 st.global.u32 [%rd1], 7; // HERE
              fence.acq_rel.cluster; @%p0 st.relaxed.gpu.global.u32 [%rd0], 1; bra E;
              W: ld.relaxed.gpu.global.u32 %r9, [%rd0]; setp.eq.u32 %p4, %r9, 0; @%p4 bra W;
              fence.acq_rel.cluster;
              ld.global.u32 %r10, [%rd1]; // HERE
              E:",
        "@!%p3 bra W; @%p0 st.global.u32 [%rd1], 7;
              fence.acq_rel.gpu; @%p0 st.relaxed.gpu.global.u32 [%rd0], 1; bra E;
              W: ld.relaxed.gpu.global.u32 %r9, [%rd0]; setp.eq.u32 %p4, %r9, 0; @%p4 bra W;
              fence.acq_rel.gpu; ld.global.u32 %r10, [%rd1]; E:",
    ),
    blocks(
        "a vector of flags, one of which is set without a release",
        GlobalRace,
        (2, 1),
        "@!%p3 bra W;
              st.global.u32 [%rd1], 7; // HERE
              st.relaxed.gpu.global.u32 [%rd0+4], 1; bra E;
              W: ld.acquire.gpu.global.v2.u32 {%r9, %r10}, [%rd0]; setp.eq.u32 %p4, %r10, 0; @%p4 bra W;
              ld.global.u32 %r10, [%rd1]; // HERE
              E:",
        "@!%p3 bra W; st.global.u32 [%rd1], 7; st.release.gpu.global.u32 [%rd0+4], 1; bra E;
              W: ld.acquire.gpu.global.v2.u32 {%r9, %r10}, [%rd0]; setp.eq.u32 %p4, %r10, 0; @%p4 bra W;
              ld.global.u32 %r10, [%rd1]; E:",
    ),
    blocks(
        "blocks that communicate and write one word",
        GlobalRace,
        (4, 32),
        "@%p0 red.global.add.u32 [%rd0+4], 1;
              @%p0 st.global.u32 [%rd0], %r1; // HERE
              ",
        // Each block reads the value that it wrote itself.
        "@!%p0 bra E; red.global.add.u32 [%rd0+4], 1; st.global.u32 [%rd0], 5; ld.global.u32 %r9, [%rd0];
              nanosleep.u32 1; ld.global.u32 %r9, [%rd0]; st.global.u32 [%rd0], 5; E:",
    ),
    blocks(
        "a flag that all blocks but one set, which communicate",
        GlobalRace,
        (3, 1),
        "red.global.add.u32 [%rd0+4], 1; @%p3 bra R;
              st.global.u32 [%rd0], 5; // HERE
              bra E; R: ld.global.u32 %r9, [%rd0]; // HERE
              E:",
        "red.global.add.u32 [%rd0+4], 1; st.global.u32 [%rd0], 5; ld.global.u32 %r9, [%rd0];",
    ),
    blocks(
        "a block that reads a word before it writes what others write",
        GlobalRace,
        (2, 1),
        "red.global.add.u32 [%rd0+4], 1; ld.global.u32 %r9, [%rd0]; // HERE
              st.global.u32 [%rd0], 5; // HERE
              ",
        "red.global.add.u32 [%rd0+4], 1; st.global.u32 [%rd0], 5; ld.global.u32 %r9, [%rd0];",
    ),
    blocks(
        "a block that overwrites what the copy engine of another reads",
        GlobalRace,
        (2, 64),
        "@!%p3 bra C; @%p0 mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster; bar.sync 0;
              @!%p2 bra F; @%p0 mbarrier.arrive.expect_tx.shared.b64 %rd9, [bar], 128;
              @%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd1], 128, [bar]; // HERE
              V: mbarrier.try_wait.parity.shared.b64 %p4, [bar], 0; @!%p4 bra V; bra E;
              F: fence.acq_rel.gpu; setp.eq.u32 %p5, %r0, 32; @%p5 st.relaxed.gpu.global.u32 [%rd0], 1; bra E;
              C: ld.acquire.gpu.global.u32 %r9, [%rd0]; setp.eq.u32 %p4, %r9, 0; @%p4 bra C;
              @%p0 st.global.u32 [%rd1], 9; // HERE
              E:",
        "@!%p3 bra C; @%p0 mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster; bar.sync 0;
              @!%p2 bra F; @%p0 mbarrier.arrive.expect_tx.shared.b64 %rd9, [bar], 128;
              @%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd1], 128, [bar]; bra E;
              F: mbarrier.try_wait.parity.shared.b64 %p4, [bar], 0; @!%p4 bra F;
              fence.acq_rel.gpu; setp.eq.u32 %p5, %r0, 32; @%p5 st.relaxed.gpu.global.u32 [%rd0], 1; bra E;
              C: ld.acquire.gpu.global.u32 %r9, [%rd0]; setp.eq.u32 %p4, %r9, 0; @%p4 bra C;
              @%p0 st.global.u32 [%rd1], 9; E:",
    ),
    pair(
        "a wait for a flag other than that of the store",
        SharedRace,
        96,
        "@%p0 st.shared.v2.u32 [s+8192], {0, 0}; @%p0 st.shared.u32 [s], 0; bar.sync 0; @!%p2 bra N;
              @%p0 st.shared.u32 [s], 7; // HERE
              membar.cta; @%p0 st.volatile.shared.u32 [s+8192], 1; bra E;
              N: setp.lt.u32 %p5, %r0, 64; @!%p5 bra M;
              W: ld.volatile.shared.u32 %r9, [s+8196]; setp.eq.u32 %p4, %r9, 0; @%p4 bra W; membar.cta;
              ld.shared.u32 %r10, [s]; // HERE
              bra E; M: membar.cta; setp.eq.u32 %p6, %r0, 64; @%p6 st.volatile.shared.u32 [s+8196], 1; E:",
        "@%p0 st.shared.v2.u32 [s+8192], {0, 0}; @%p0 st.shared.u32 [s], 0; bar.sync 0; @!%p2 bra N;
              @%p0 st.shared.u32 [s], 7; membar.cta; @%p0 st.volatile.shared.u32 [s+8192], 1; bra E;
              N: setp.lt.u32 %p5, %r0, 64; @!%p5 bra M;
              W: ld.volatile.shared.v2.u32 {%r9, %r11}, [s+8192]; setp.eq.u32 %p4, %r9, 0; @%p4 bra W; membar.cta;
              ld.shared.u32 %r10, [s];
              bra E; M: membar.cta; setp.eq.u32 %p6, %r0, 64; @%p6 st.volatile.shared.u32 [s+8196], 1; E:",
    ),
];
