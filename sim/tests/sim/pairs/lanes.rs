//! Lanes and warps that do not reach the same barrier or instruction.

use super::{Pair, pair};
use warpwright_sim::FindingKind::{
    AlignedDivergence, Deadlock, DivergentBarrier, ExitedBeforeBarrier, NotUniform, SharedRace,
    ShflInactiveLane, SyncMask,
};

pub(super) const PAIRS: &[Pair] = &[
    pair(
        "a value that is assumed to be uniform in the warp",
        NotUniform,
        64,
        "shr.u32 %r9, %r0, 4;
         .pragma \"warpwright.uniform %r9 32\"; // HERE
         ",
        "shr.u32 %r9, %r0, 5; .pragma \"warpwright.uniform %r9 32\";",
    ),
    pair(
        "a value that is assumed to be uniform in the block, in the third iteration",
        NotUniform,
        96,
        "shr.u32 %r9, %r0, 5; mov.u32 %r10, 0;
         L: setp.eq.u32 %p4, %r10, 2; selp.u32 %r11, %r9, %r10, %p4;
         .pragma \"warpwright.uniform %r11 block\"; // HERE
         add.u32 %r10, %r10, 1; setp.lt.u32 %p4, %r10, 4; @%p4 bra L;",
        "mov.u32 %r10, 0;
         L: .pragma \"warpwright.uniform %r10 block\";
         add.u32 %r10, %r10, 1; setp.lt.u32 %p4, %r10, 4; @%p4 bra L;",
    ),
    pair(
        "a predicate that is assumed to be uniform where another predicate is true",
        NotUniform,
        32,
        ".pragma \"warpwright.uniform %p0 32 @%p1\"; // HERE
         ",
        ".pragma \"warpwright.uniform %p0 32 @!%p1\", \"nounroll\";",
    ),
    pair(
        "a barrier in half a warp",
        DivergentBarrier,
        32,
        "@!%p1 bra E;
         bar.sync 0; // HERE
         E: bar.sync 1;",
        "bar.sync 0; bar.sync 1;",
    ),
    pair(
        "a warp that ends before the barrier",
        ExitedBeforeBarrier,
        64,
        "@%p2 exit; // HERE
         bar.sync 0; // HERE",
        "bar.sync 0; @%p2 exit;",
    ),
    pair(
        "words exchanged by lanes that do not take part in a shuffle in two branches",
        SharedRace,
        32,
        // Lanes 0 and 1 synchronize in the two branches, which does not order lanes 2 and 3.
        "mov.u32 %r9, s; mad.lo.u32 %r9, %r0, 4, %r9; setp.gt.u32 %p4, %r0, 1; setp.eq.u32 %p5, %r0, 0;
         @!%p4 bra B; setp.gt.u32 %p6, %r0, 3; @%p6 bra E; setp.eq.u32 %p6, %r0, 3; @%p6 bra E;
         st.shared.u32 [%r9], %r0; // HERE
         bra E;
         B: @%p5 bra A; shfl.sync.idx.b32 %r10, %r0, 0, 31, 3; bra E; A: shfl.sync.idx.b32 %r10, %r0, 1, 31, 3;
         E: setp.ne.u32 %p6, %r0, 3; @%p6 bra F;
         ld.shared.u32 %r10, [s+8]; // HERE
         F:",
        "mov.u32 %r9, s; mad.lo.u32 %r9, %r0, 4, %r9; setp.gt.u32 %p4, %r0, 1; setp.eq.u32 %p5, %r0, 0;
         @!%p4 bra B; setp.gt.u32 %p6, %r0, 3; @%p6 bra E; setp.eq.u32 %p6, %r0, 3; @%p6 bra E;
         st.shared.u32 [%r9], %r0;
         bra E;
         B: @%p5 bra A; shfl.sync.idx.b32 %r10, %r0, 0, 31, 3; bra E; A: shfl.sync.idx.b32 %r10, %r0, 1, 31, 3;
         E: bar.warp.sync -1; setp.ne.u32 %p6, %r0, 3; @%p6 bra F;
         ld.shared.u32 %r10, [s+8];
         F:",
    ),
    pair(
        "a barrier for more threads than arrive",
        Deadlock,
        64,
        "bar.sync 1, 96; // HERE",
        "bar.sync 1, 64;",
    ),
    pair(
        "two counts for one barrier",
        DivergentBarrier,
        64,
        "@%p2 bra A;
         bar.sync 1, 64; // HERE
         bra E; A:
         bar.sync 1, 96; // HERE
         E:",
        "@%p2 bra A; bar.sync 1, 64; bra E; A: bar.sync 1, 64; E:",
    ),
    pair(
        "two barriers in two orders",
        Deadlock,
        64,
        "@%p2 bra A;
         bar.sync 1, 64; // HERE
         bar.sync 2, 64; bra E; A:
         bar.sync 2, 64; // HERE
         bar.sync 1, 64; E:",
        "@%p2 bra A; bar.sync 1, 64; bar.sync 2, 64; bra E; A: bar.sync 1, 64; bar.sync 2, 64; E:",
    ),
    pair(
        "a leader that polls a flag while the others wait at the barrier",
        Deadlock,
        64,
        "@!%p0 bra J;
         L: ld.volatile.global.u32 %r9, [%rd1]; // HERE
         setp.eq.u32 %p4, %r9, 0; @%p4 bra L;
         J: bar.sync 0;",
        "@!%p0 bra J;
         L: ld.volatile.global.u32 %r9, [%rd1+4]; setp.eq.u32 %p4, %r9, 0; @%p4 bra L;
         J: bar.sync 0;",
    ),
    Pair {
        grid: 3,
        ..pair(
            "a barrier of the grid that counts one block too many",
            Deadlock,
            64,
            "@!%p0 bra J; atom.global.add.u32 %r9, [%rd0], 1;
             L: atom.global.add.u32 %r9, [%rd0], 0; // HERE
             setp.lt.u32 %p4, %r9, 4; @%p4 bra L;
             J: bar.sync 0;",
            "@!%p0 bra J; atom.global.add.u32 %r9, [%rd0], 1;
             L: atom.global.add.u32 %r9, [%rd0], 0; setp.lt.u32 %p4, %r9, 3; @%p4 bra L;
             J: bar.sync 0;",
        )
    },
    pair(
        "a loop around an ordinary load",
        Deadlock,
        32,
        "L: ld.global.u32 %r9, [%rd0]; // HERE
         setp.eq.u32 %p4, %r9, 0; @%p4 bra L;",
        "L: ld.global.u32 %r9, [%rd1+4]; setp.eq.u32 %p4, %r9, 0; @%p4 bra L;",
    ),
    pair(
        "a lock that no thread releases",
        Deadlock,
        32,
        "@%p0 st.shared.u32 [%r5], 1; bar.sync 0;
         L: atom.shared.cas.b32 %r9, [%r5], 0, 1; // HERE
         setp.ne.u32 %p4, %r9, 0; // HERE
         @%p4 bra L; // HERE",
        "@%p0 st.shared.u32 [%r5], 0; bar.sync 0;
         L: atom.shared.cas.b32 %r9, [%r5], 0, 1; setp.ne.u32 %p4, %r9, 0; @%p4 bra L;
         atom.shared.exch.b32 %r9, [%r5], 0;",
    ),
    pair(
        "a shuffle from inactive lanes",
        ShflInactiveLane,
        32,
        "@!%p1 bra E; mov.u32 %r9, 0xffff;
         shfl.sync.bfly.b32 %r10, %r0, 16, 31, %r9; // HERE
         E:",
        "shfl.sync.bfly.b32 %r10, %r0, 16, 31, 0xffffffff;",
    ),
    pair(
        "a vote whose mask omits executing lanes",
        SyncMask,
        32,
        "vote.sync.ballot.b32 %r9, %p1, 0xffff; // HERE",
        "@!%p1 bra E; vote.sync.ballot.b32 %r9, %p1, 0xffff; E:",
    ),
    pair(
        "a matrix product in half a warp",
        AlignedDivergence,
        32,
        "mov.u32 %r9, 0; mov.u32 %r10, 0; mov.u32 %r11, 0; @!%p1 bra E;
         mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r12, %r13}, {%r9, %r10}, {%r11}, {%r9, %r10}; // HERE
         E: bar.sync 0;",
        "mov.u32 %r9, 0; mov.u32 %r10, 0; mov.u32 %r11, 0;
         mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r12, %r13}, {%r9, %r10}, {%r11}, {%r9, %r10}; bar.sync 0;",
    ),
];
