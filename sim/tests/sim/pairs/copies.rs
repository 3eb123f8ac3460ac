//! Asynchronous copies and mbarriers.

use super::{Pair, pair};
use warpwright_sim::FindingKind::{
    AsyncCopyUnwaited, AsyncGroupLeaked, AsyncProxyRace, InvalidDescriptor, MbarrierMisuse,
    MbarrierNeverCompletes, TensorCoordinateMisaligned,
};

pub(super) const PAIRS: &[Pair] = &[
    pair(
        "a copy that is read before the wait",
        AsyncCopyUnwaited,
        32,
        "cp.async.ca.shared.global [%r2], [%rd4], 4; // HERE
         cp.async.commit_group;
         ld.shared.u32 %r9, [%r2]; // HERE
         cp.async.wait_group 0;",
        "cp.async.ca.shared.global [%r2], [%rd4], 4; cp.async.commit_group; cp.async.wait_group 0;
         ld.shared.u32 %r9, [%r2];",
    ),
    pair(
        "a wait for one group too few",
        AsyncCopyUnwaited,
        32,
        "cp.async.ca.shared.global [%r2], [%rd4], 4; cp.async.commit_group;
         cp.async.ca.shared.global [%r2+128], [%rd4], 4; // HERE
         cp.async.commit_group; cp.async.wait_group 1; ld.shared.u32 %r9, [%r2];
         ld.shared.u32 %r9, [%r2+128]; // HERE
         cp.async.wait_all;",
        "cp.async.ca.shared.global [%r2], [%rd4], 4; cp.async.commit_group;
         cp.async.ca.shared.global [%r2+128], [%rd4], 4; cp.async.commit_group; cp.async.wait_group 1;
         ld.shared.u32 %r9, [%r2]; cp.async.wait_group 0; ld.shared.u32 %r9, [%r2+128];",
    ),
    pair(
        "a bulk copy without a wait at its mbarrier",
        AsyncCopyUnwaited,
        1,
        "mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster;
         mbarrier.arrive.expect_tx.shared.b64 %rd9, [bar], 128;
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd1], 128, [bar]; // HERE
         ld.shared.u32 %r9, [s]; // HERE
         W: mbarrier.try_wait.parity.shared.b64 %p4, [bar], 0; @!%p4 bra W;",
        "mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster;
         mbarrier.arrive.expect_tx.shared.b64 %rd9, [bar], 128;
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd1], 128, [bar];
         W: mbarrier.try_wait.parity.shared.b64 %p4, [bar], 0; @!%p4 bra W; ld.shared.u32 %r9, [s];",
    ),
    pair(
        "a store to the destination of a bulk copy",
        AsyncProxyRace,
        1,
        "mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster;
         mbarrier.arrive.expect_tx.shared.b64 %rd9, [bar], 128;
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd1], 128, [bar]; // HERE
         st.shared.u32 [s], 5; // HERE
         W: mbarrier.try_wait.parity.shared.b64 %p4, [bar], 0; @!%p4 bra W;",
        "mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster;
         mbarrier.arrive.expect_tx.shared.b64 %rd9, [bar], 128;
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd1], 128, [bar];
         W: mbarrier.try_wait.parity.shared.b64 %p4, [bar], 0; @!%p4 bra W; st.shared.u32 [s], 5;",
    ),
    pair(
        "an mbarrier that expects more threads than arrive",
        MbarrierNeverCompletes,
        32,
        "@%p0 mbarrier.init.shared.b64 [bar], 33; bar.sync 0; mbarrier.arrive.shared.b64 %rd9, [bar];
         W: mbarrier.test_wait.shared.b64 %p4, [bar], %rd9; // HERE
         @!%p4 bra W;",
        "@%p0 mbarrier.init.shared.b64 [bar], 32; bar.sync 0; mbarrier.arrive.shared.b64 %rd9, [bar];
         W: mbarrier.test_wait.shared.b64 %p4, [bar], %rd9; @!%p4 bra W;",
    ),
    pair(
        "more bytes expected than are copied",
        MbarrierNeverCompletes,
        1,
        "mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster;
         mbarrier.arrive.expect_tx.shared.b64 %rd9, [bar], 256;
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd1], 128, [bar];
         W: mbarrier.try_wait.parity.shared.b64 %p4, [bar], 0; // HERE
         @!%p4 bra W;",
        "mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster;
         mbarrier.arrive.expect_tx.shared.b64 %rd9, [bar], 128;
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd1], 128, [bar];
         W: mbarrier.try_wait.parity.shared.b64 %p4, [bar], 0; @!%p4 bra W;",
    ),
    pair(
        "a wait for the phase after the one that completes",
        MbarrierNeverCompletes,
        32,
        "@%p0 mbarrier.init.shared.b64 [bar], 32; bar.sync 0; mbarrier.arrive.shared.b64 %rd9, [bar];
         W: mbarrier.test_wait.parity.shared.b64 %p4, [bar], 0; @!%p4 bra W;
         V: mbarrier.test_wait.parity.shared.b64 %p4, [bar], 1; // HERE
         @!%p4 bra V;",
        "@%p0 mbarrier.init.shared.b64 [bar], 32; bar.sync 0; mbarrier.arrive.shared.b64 %rd9, [bar];
         W: mbarrier.test_wait.parity.shared.b64 %p4, [bar], 0; @!%p4 bra W;
         mbarrier.arrive.shared.b64 %rd9, [bar];
         V: mbarrier.test_wait.parity.shared.b64 %p4, [bar], 1; @!%p4 bra V;",
    ),
    pair(
        "an mbarrier that was not initialized",
        MbarrierMisuse,
        32,
        "@%p0 st.shared.u64 [bar], 0; bar.sync 0;
         mbarrier.arrive.shared.b64 %rd9, [bar]; // HERE",
        "@%p0 mbarrier.init.shared.b64 [bar], 32; bar.sync 0; mbarrier.arrive.shared.b64 %rd9, [bar];",
    ),
    pair(
        "more arrivals than the phase expects",
        MbarrierMisuse,
        32,
        "@%p0 mbarrier.init.shared.b64 [bar], 33; bar.sync 0;
         mbarrier.arrive.shared.b64 %rd9, [bar], 2; // HERE",
        "@%p0 mbarrier.init.shared.b64 [bar], 64; bar.sync 0; mbarrier.arrive.shared.b64 %rd9, [bar], 2;",
    ),
    pair(
        "an mbarrier overwritten during a phase",
        MbarrierMisuse,
        32,
        "@!%p0 bra E; mbarrier.init.shared.b64 [bar], 2; mbarrier.arrive.shared.b64 %rd9, [bar];
         st.shared.u32 [bar], 0; // HERE
         E:",
        "@!%p0 bra E; mbarrier.init.shared.b64 [bar], 1; mbarrier.arrive.shared.b64 %rd9, [bar];
         mbarrier.inval.shared.b64 [bar]; st.shared.u32 [bar], 0; E:",
    ),
    pair(
        "a thread that ends before its copy has arrived",
        AsyncGroupLeaked,
        32,
        "cp.async.ca.shared.global [%r2], [%rd4], 4; // HERE
         cp.async.commit_group;",
        "cp.async.ca.shared.global [%r2], [%rd4], 4; cp.async.commit_group; cp.async.wait_all;",
    ),
    pair(
        "a thread that ends while a bulk copy reads shared memory",
        AsyncGroupLeaked,
        32,
        "st.shared.u32 [%r2], %r0; fence.proxy.async; bar.sync 0; @!%p0 bra E;
         cp.async.bulk.global.shared::cta.bulk_group [%rd0], [s], 128; // HERE
         cp.async.bulk.commit_group; E:",
        "st.shared.u32 [%r2], %r0; fence.proxy.async; bar.sync 0; @!%p0 bra E;
         cp.async.bulk.global.shared::cta.bulk_group [%rd0], [s], 128;
         cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0; E:",
    ),
    pair(
        "a tile that starts inside a unit of 16 bytes",
        TensorCoordinateMisaligned,
        1,
        "mov.u64 %rd9, map; cvta.param.u64 %rd9, %rd9; mbarrier.init.shared.b64 [bar], 1; fence.proxy.async;
         mbarrier.arrive.expect_tx.shared.b64 %rd10, [bar], 256; mov.u32 %r9, 2;
         cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd9, {%r9, %r1}], [bar]; // HERE
         W: mbarrier.try_wait.parity.shared.b64 %p4, [bar], 0; @!%p4 bra W;",
        "mov.u64 %rd9, map; cvta.param.u64 %rd9, %rd9; mbarrier.init.shared.b64 [bar], 1; fence.proxy.async;
         mbarrier.arrive.expect_tx.shared.b64 %rd10, [bar], 256; mov.u32 %r9, 4;
         cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd9, {%r9, %r1}], [bar];
         W: mbarrier.try_wait.parity.shared.b64 %p4, [bar], 0; @!%p4 bra W;",
    ),
    pair(
        "a buffer passed as a tensor map",
        InvalidDescriptor,
        1,
        "mov.u64 %rd9, %rd1; mbarrier.init.shared.b64 [bar], 1; fence.proxy.async;
         mbarrier.arrive.expect_tx.shared.b64 %rd10, [bar], 256;
         cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd9, {%r1, %r1}], [bar]; // HERE
         W: mbarrier.try_wait.parity.shared.b64 %p4, [bar], 0; @!%p4 bra W;",
        "mov.u64 %rd9, map; cvta.param.u64 %rd9, %rd9; mbarrier.init.shared.b64 [bar], 1; fence.proxy.async;
         mbarrier.arrive.expect_tx.shared.b64 %rd10, [bar], 256;
         cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd9, {%r1, %r1}], [bar];
         W: mbarrier.try_wait.parity.shared.b64 %p4, [bar], 0; @!%p4 bra W;",
    ),
];
