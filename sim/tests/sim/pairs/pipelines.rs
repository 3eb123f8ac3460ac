//! Copies, mbarriers and products of several warps.

use super::{Pair, pair};
use warpwright_sim::FindingKind::{
    AsyncCopyUnwaited, MbarrierMisuse, MissingProxyFence, MissingWgmmaFence, WgmmaInFlight,
};

/// The first warp executes some instructions, releases the memory by an mbarrier, and stores `%r10`; the second warp overwrites the memory
/// by a copy.
macro_rules! given_back {
    ($($first:expr)+, $copied:literal) => {
        concat!(
            "st.shared.u32 [%r2], %r0; fence.proxy.async.shared::cta;
             @%p0 mbarrier.init.shared.b64 [bar], 32; @%p0 mbarrier.init.shared.b64 [s+8192], 1; bar.sync 0; @!%p2 bra P;
             ",
            $($first,)+
            "mbarrier.arrive.shared.b64 %rd9, [bar]; st.global.u32 [%rd3], %r10; bra E;
             P: setp.eq.u32 %p5, %r0, 32; @!%p5 bra E;
             W: mbarrier.try_wait.parity.shared.b64 %p4, [bar], 0; @!%p4 bra W;
             mbarrier.arrive.expect_tx.shared.b64 %rd9, [s+8192], 128;
             cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd1], 128, [s+8192];", $copied, "
             V: mbarrier.try_wait.parity.shared.b64 %p4, [s+8192], 0; @!%p4 bra V;
             E:"
        )
    };
}

/// Repeats a text eight times.
macro_rules! eight {
    ($($text:tt)+) => {
        concat!($($text)+, $($text)+, $($text)+, $($text)+, $($text)+, $($text)+, $($text)+, $($text)+)
    };
}

pub(super) const PAIRS: &[Pair] = &[
    pair(
        "a bulk copy after a barrier, with a barrier instead of the wait",
        AsyncCopyUnwaited,
        128,
        "@%p0 mbarrier.init.shared.b64 [bar], 1; bar.sync 0; @!%p0 bra A;
         mbarrier.arrive.expect_tx.shared.b64 %rd9, [bar], 512;
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd1], 512, [bar]; // HERE
         A: bar.sync 0;
         ld.shared.u32 %r9, [%r3]; // HERE
         ",
        "@%p0 mbarrier.init.shared.b64 [bar], 1; bar.sync 0; @!%p0 bra A;
         mbarrier.arrive.expect_tx.shared.b64 %rd9, [bar], 512;
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd1], 512, [bar];
         A: @!%p2 bra B;
         W: mbarrier.try_wait.parity.shared.b64 %p4, [bar], 0; @!%p4 bra W;
         B: bar.sync 0; ld.shared.u32 %r9, [%r3];",
    ),
    pair(
        "copies that an mbarrier counts, with a barrier instead of the wait",
        AsyncCopyUnwaited,
        64,
        "@%p0 mbarrier.init.shared.b64 [bar], 64; bar.sync 0;
         cp.async.ca.shared.global [%r2], [%rd4], 4; // HERE
         cp.async.mbarrier.arrive.noinc.shared.b64 [bar]; bar.sync 0;
         ld.shared.u32 %r9, [%r3]; // HERE
         ",
        "@%p0 mbarrier.init.shared.b64 [bar], 64; bar.sync 0; cp.async.ca.shared.global [%r2], [%rd4], 4;
         cp.async.mbarrier.arrive.noinc.shared.b64 [bar];
         W: mbarrier.try_wait.parity.shared.b64 %p4, [bar], 0; @!%p4 bra W; ld.shared.u32 %r9, [%r3];",
    ),
    pair(
        "a copy that an mbarrier counts, read by its thread",
        AsyncCopyUnwaited,
        64,
        "@%p0 mbarrier.init.shared.b64 [bar], 64; bar.sync 0;
         cp.async.ca.shared.global [%r2], [%rd4], 4; // HERE
         cp.async.mbarrier.arrive.noinc.shared.b64 [bar];
         ld.shared.u32 %r9, [%r2]; // HERE
         ",
        // A thread that waits for its own copies does not have to wait for the mbarrier.
        "@%p0 mbarrier.init.shared.b64 [bar], 64; bar.sync 0; cp.async.ca.shared.global [%r2], [%rd4], 4;
         cp.async.mbarrier.arrive.noinc.shared.b64 [bar]; cp.async.wait_all; bar.sync 0; ld.shared.u32 %r9, [%r3];",
    ),
    pair(
        "an mbarrier without a barrier after its initialization",
        MbarrierMisuse,
        64,
        "@%p0 mbarrier.init.shared.b64 [bar], 64; // HERE
         mbarrier.arrive.shared.b64 %rd9, [bar]; // HERE
         ",
        "@%p0 mbarrier.init.shared.b64 [bar], 64; bar.sync 0; mbarrier.arrive.shared.b64 %rd9, [bar];",
    ),
    pair(
        "a bulk copy over ordinary stores without a proxy fence",
        MissingProxyFence,
        64,
        "st.shared.u32 [%r2], %r0; // HERE
         @%p0 mbarrier.init.shared.b64 [bar], 1; bar.sync 0; @!%p0 bra W;
         mbarrier.arrive.expect_tx.shared.b64 %rd9, [bar], 256;
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd1], 256, [bar]; // HERE
         W: mbarrier.try_wait.parity.shared.b64 %p4, [bar], 0; @!%p4 bra W;",
        // Data that are only read before a barrier of the block do not require a fence.
        "st.shared.u32 [%r2], %r0; fence.proxy.async.shared::cta;
         @%p0 mbarrier.init.shared.b64 [bar], 1; bar.sync 0; ld.shared.u32 %r9, [%r3]; bar.sync 0; @!%p0 bra W;
         mbarrier.arrive.expect_tx.shared.b64 %rd9, [bar], 256;
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd1], 256, [bar];
         W: mbarrier.try_wait.parity.shared.b64 %p4, [bar], 0; @!%p4 bra W;",
    ),
    pair(
        "a bulk copy over a load whose value is used after its thread has released the memory",
        MissingProxyFence,
        64,
        "st.shared.u32 [%r2], %r0; fence.proxy.async.shared::cta;
         @%p0 mbarrier.init.shared.b64 [bar], 32; @%p0 mbarrier.init.shared.b64 [s+8192], 1; bar.sync 0; @!%p2 bra P;
         ld.shared.u32 %r9, [%r3]; // HERE
         mov.u32 %r10, %r9;
         mbarrier.arrive.shared.b64 %rd9, [bar]; st.global.u32 [%rd3], %r10; bra E;
         P: setp.eq.u32 %p5, %r0, 32; @!%p5 bra E;
         W: mbarrier.try_wait.parity.shared.b64 %p4, [bar], 0; @!%p4 bra W;
         mbarrier.arrive.expect_tx.shared.b64 %rd9, [s+8192], 128;
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd1], 128, [s+8192]; // HERE
         V: mbarrier.try_wait.parity.shared.b64 %p4, [s+8192], 0; @!%p4 bra V;
         E:",
        // The first value is used before the arrival; the second load is followed by a fence.
        "st.shared.u32 [%r2], %r0; fence.proxy.async.shared::cta;
         @%p0 mbarrier.init.shared.b64 [bar], 32; @%p0 mbarrier.init.shared.b64 [s+8192], 1; bar.sync 0; @!%p2 bra P;
         ld.shared.u32 %r9, [%r3]; add.u32 %r9, %r9, 1;
         @%p1 ld.shared.u32 %r10, [%r3]; @%p1 fence.proxy.async.shared::cta;
         mbarrier.arrive.shared.b64 %rd9, [bar]; st.global.u32 [%rd3], %r9; @%p1 st.global.u32 [%rd3], %r10; bra E;
         P: setp.eq.u32 %p5, %r0, 32; @!%p5 bra E;
         W: mbarrier.try_wait.parity.shared.b64 %p4, [bar], 0; @!%p4 bra W;
         mbarrier.arrive.expect_tx.shared.b64 %rd9, [s+8192], 128;
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd1], 128, [s+8192];
         V: mbarrier.try_wait.parity.shared.b64 %p4, [s+8192], 0; @!%p4 bra V;
         E:",
    ),
    pair(
        "a bulk copy over a load whose register is overwritten while a copy of it has the value",
        MissingProxyFence,
        64,
        given_back!(
            "ld.shared.u32 %r9, [%r3]; // HERE
             mov.u32 %r10, %r9; mov.u32 %r9, 7; add.u32 %r11, %r9, 1;",
            " // HERE"
        ),
        given_back!(
            "ld.shared.u32 %r9, [%r3]; mov.u32 %r10, %r9; mov.u32 %r9, 7; add.u32 %r11, %r10, 1;",
            ""
        ),
    ),
    pair(
        "a bulk copy over a load whose value is used after hundreds of other instructions",
        MissingProxyFence,
        64,
        given_back!(
            "ld.shared.u32 %r10, [%r3]; // HERE
             " eight!(eight!(eight!("add.u32 %r11, %r0, 1; "))),
            " // HERE"
        ),
        given_back!(
            "ld.shared.u32 %r10, [%r3]; " eight!(eight!(eight!("add.u32 %r11, %r0, 1; "))) "add.u32 %r11, %r10, 1;",
            ""
        ),
    ),
    pair(
        "a bulk copy over a load whose thread has arrived at a barrier and does not wait",
        MissingProxyFence,
        64,
        "st.shared.u32 [%r2], %r0; fence.proxy.async.shared::cta;
         @%p0 mbarrier.init.shared.b64 [s+8192], 1; bar.sync 0; @!%p2 bra P;
         ld.shared.u32 %r9, [%r3]; // HERE
         bar.arrive 1, 64; st.global.u32 [%rd3], %r9; bra E;
         P: bar.sync 1, 64; setp.eq.u32 %p5, %r0, 32; @!%p5 bra E;
         mbarrier.arrive.expect_tx.shared.b64 %rd9, [s+8192], 128;
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd1], 128, [s+8192]; // HERE
         V: mbarrier.try_wait.parity.shared.b64 %p4, [s+8192], 0; @!%p4 bra V;
         E:",
        "st.shared.u32 [%r2], %r0; fence.proxy.async.shared::cta;
         @%p0 mbarrier.init.shared.b64 [s+8192], 1; bar.sync 0; @!%p2 bra P;
         ld.shared.u32 %r9, [%r3]; st.global.u32 [%rd3], %r9; bar.arrive 1, 64; bra E;
         P: bar.sync 1, 64; setp.eq.u32 %p5, %r0, 32; @!%p5 bra E;
         mbarrier.arrive.expect_tx.shared.b64 %rd9, [s+8192], 128;
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd1], 128, [s+8192];
         V: mbarrier.try_wait.parity.shared.b64 %p4, [s+8192], 0; @!%p4 bra V;
         E:",
    ),
    pair(
        "a tile released before the warpgroup has waited for its product",
        WgmmaInFlight,
        160,
        super::tile!(
            "@%p0 mbarrier.init.shared.b64 [bar], 1; @%p0 mbarrier.init.shared.b64 [s+8192], 1; bar.sync 0;
             setp.lt.u32 %p4, %r0, 128; @!%p4 bra P; wgmma.fence.sync.aligned;
             wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, %rd10, %rd10, 1, 1, 1, 0, 0; // HERE
             wgmma.commit_group.sync.aligned; bar.sync 1, 128;
             @%p0 mbarrier.arrive.shared.b64 %rd9, [bar];
             wgmma.wait_group.sync.aligned 0; bra E;
             P: setp.eq.u32 %p5, %r0, 128; @!%p5 bra E;
             W: mbarrier.try_wait.parity.shared.b64 %p4, [bar], 0; @!%p4 bra W;
             mbarrier.arrive.expect_tx.shared.b64 %rd9, [s+8192], 4096;
             cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd1], 4096, [s+8192]; // HERE
             V: mbarrier.try_wait.parity.shared.b64 %p4, [s+8192], 0; @!%p4 bra V;
             E:"
        ),
        // One thread of a warpgroup that has waited may arrive for all four warps.
        super::tile!(
            "@%p0 mbarrier.init.shared.b64 [bar], 1; @%p0 mbarrier.init.shared.b64 [s+8192], 1; bar.sync 0;
             setp.lt.u32 %p4, %r0, 128; @!%p4 bra P; wgmma.fence.sync.aligned;
             wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, %rd10, %rd10, 1, 1, 1, 0, 0;
             wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;
             @%p0 mbarrier.arrive.shared.b64 %rd9, [bar]; bra E;
             P: setp.eq.u32 %p5, %r0, 128; @!%p5 bra E;
             W: mbarrier.try_wait.parity.shared.b64 %p4, [bar], 0; @!%p4 bra W;
             mbarrier.arrive.expect_tx.shared.b64 %rd9, [s+8192], 4096;
             cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd1], 4096, [s+8192];
             V: mbarrier.try_wait.parity.shared.b64 %p4, [s+8192], 0; @!%p4 bra V;
             E:"
        ),
    ),
    pair(
        "accumulators set without any wgmma.fence",
        MissingWgmmaFence,
        128,
        super::tile!(
            "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, %rd10, %rd10, 1, 1, 1, 0, 0; // HERE
             wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"
        ),
        // Compilers may move the initialization of accumulators past the fence; a chain of products requires only one fence.
        super::tile!(
            "wgmma.fence.sync.aligned; mov.f32 %f0, 0f00000000;
             wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, %rd10, %rd10, 1, 1, 1, 0, 0;
             wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, %rd10, %rd10, 1, 1, 1, 0, 0;
             wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"
        ),
    ),
    pair(
        "accumulators scaled after the fence",
        MissingWgmmaFence,
        128,
        super::tile!(
            "wgmma.fence.sync.aligned; mul.f32 %f0, %f0, %f0;
             wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, %rd10, %rd10, 1, 1, 1, 0, 0; // HERE
             wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"
        ),
        super::tile!(
            "mul.f32 %f0, %f0, %f0; wgmma.fence.sync.aligned;
             wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, %rd10, %rd10, 1, 1, 1, 0, 0;
             wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"
        ),
    ),
    pair(
        "a proxy fence for global memory",
        MissingProxyFence,
        32,
        "st.shared.u32 [%r2], %r0; // HERE
         fence.proxy.async.global; bar.sync 0; @!%p0 bra E;
         cp.async.bulk.global.shared::cta.bulk_group [%rd0], [s], 128; // HERE
         cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; E:",
        "st.shared.u32 [%r2], %r0; fence.proxy.async.shared::cta; bar.sync 0; @!%p0 bra E;
         cp.async.bulk.global.shared::cta.bulk_group [%rd0], [s], 128;
         cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; E:",
    ),
    pair(
        "a proxy fence of a third warp that is not ordered before the copy",
        MissingProxyFence,
        96,
        "st.shared.u32 [%r2], %r0; // HERE
         bar.sync 0; setp.ge.u32 %p4, %r0, 64; @%p4 fence.proxy.async.shared::cta; @!%p0 bra E;
         cp.async.bulk.global.shared::cta.bulk_group [%rd0], [s+128], 128; // HERE
         cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; E:",
        "st.shared.u32 [%r2], %r0; bar.sync 0; setp.ge.u32 %p4, %r0, 64;
         @%p4 fence.proxy.async.shared::cta; bar.sync 0; @!%p0 bra E;
         cp.async.bulk.global.shared::cta.bulk_group [%rd0], [s+128], 128;
         cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; E:",
    ),
    pair(
        "a proxy fence before the barrier that orders the store",
        MissingProxyFence,
        64,
        "@!%p2 st.shared.u32 [%r2], %r0; // HERE
         @%p2 fence.proxy.async.shared::cta; bar.sync 0; @!%p0 bra E;
         cp.async.bulk.global.shared::cta.bulk_group [%rd0], [s+128], 128; // HERE
         cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; E:",
        "@!%p2 st.shared.u32 [%r2], %r0; bar.sync 0; @!%p0 bra E; fence.proxy.async.shared::cta;
         cp.async.bulk.global.shared::cta.bulk_group [%rd0], [s+128], 128;
         cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; E:",
    ),
];
