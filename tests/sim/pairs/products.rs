//! Asynchronous products: wgmma.

use super::{Pair, pair};
use warpwright::sim::FindingKind::{AsyncGroupLeaked, InvalidDescriptor, MissingWgmmaFence, WgmmaInFlight};

/// Fills 4 KB of shared memory and describes it: %rd10 is a K-major tile without swizzle.
macro_rules! tile {
    ($($body:literal)*) => {
        concat!(
            "mov.u32 %r9, 0; mad.lo.u32 %r10, %r0, 32, %r5; mov.u32 %r20, 0; mov.u32 %r21, 0; mov.u32 %r22, 0; mov.u32 %r23, 0;
             st.shared.v4.u32 [%r10], {%r9, %r9, %r9, %r9}; st.shared.v4.u32 [%r10+16], {%r9, %r9, %r9, %r9};
             fence.proxy.async.shared::cta; bar.sync 0;
             shr.u32 %r11, %r5, 4; cvt.u64.u32 %rd10, %r11; or.b64 %rd10, %rd10, 0x0000000800080000;
             mov.f32 %f0, 0f00000000; mov.f32 %f1, 0f00000000; mov.f32 %f2, 0f00000000; mov.f32 %f3, 0f00000000;
             ",
            $($body),*
        )
    };
}

pub(super) const PAIRS: &[Pair] = &[
    pair(
        "accumulators read before the wait",
        WgmmaInFlight,
        128,
        tile!(
            "wgmma.fence.sync.aligned;
             wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, %rd10, %rd10, 1, 1, 1, 0, 0; // HERE
             wgmma.commit_group.sync.aligned;
             st.global.f32 [%rd3], %f0; // HERE
             wgmma.wait_group.sync.aligned 0;"
        ),
        tile!(
            "wgmma.fence.sync.aligned;
             wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, %rd10, %rd10, 1, 1, 1, 0, 0;
             wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; st.global.f32 [%rd3], %f0;"
        ),
    ),
    pair(
        "a wait that lets the last group go on",
        WgmmaInFlight,
        128,
        tile!(
            "wgmma.fence.sync.aligned;
             wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, %rd10, %rd10, 1, 1, 1, 0, 0; // HERE
             wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 1;
             mul.f32 %f0, %f0, %f0; // HERE
             wgmma.wait_group.sync.aligned 0;"
        ),
        tile!(
            "wgmma.fence.sync.aligned;
             wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, %rd10, %rd10, 1, 1, 1, 0, 0;
             wgmma.commit_group.sync.aligned; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 1;
             mul.f32 %f0, %f0, %f0;"
        ),
    ),
    pair(
        "a tile overwritten while it is multiplied",
        WgmmaInFlight,
        128,
        tile!(
            "wgmma.fence.sync.aligned;
             wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, %rd10, %rd10, 1, 1, 1, 0, 0; // HERE
             wgmma.commit_group.sync.aligned;
             st.shared.u32 [%r2], %r0; // HERE
             wgmma.wait_group.sync.aligned 0;"
        ),
        tile!(
            "wgmma.fence.sync.aligned;
             wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, %rd10, %rd10, 1, 1, 1, 0, 0;
             wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; bar.sync 0; st.shared.u32 [%r2], %r0;"
        ),
    ),
    pair(
        "registers of A overwritten while they are multiplied",
        WgmmaInFlight,
        128,
        tile!(
            "wgmma.fence.sync.aligned;
             wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, {%r20, %r21, %r22, %r23}, %rd10, 1, 1, 1, 0; // HERE
             wgmma.commit_group.sync.aligned;
             add.u32 %r21, %r0, 1; // HERE
             wgmma.wait_group.sync.aligned 0;"
        ),
        tile!(
            "wgmma.fence.sync.aligned;
             wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, {%r20, %r21, %r22, %r23}, %rd10, 1, 1, 1, 0;
             wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; add.u32 %r21, %r0, 1;"
        ),
    ),
    pair(
        "registers of A written after the fence",
        MissingWgmmaFence,
        128,
        tile!(
            "wgmma.fence.sync.aligned; add.u32 %r21, %r0, 1;
             wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, {%r20, %r21, %r22, %r23}, %rd10, 1, 1, 1, 0; // HERE
             wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"
        ),
        tile!(
            "add.u32 %r21, %r0, 1; wgmma.fence.sync.aligned;
             wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, {%r20, %r21, %r22, %r23}, %rd10, 1, 1, 1, 0;
             wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"
        ),
    ),
    pair(
        "a descriptor with bits that must be zero",
        InvalidDescriptor,
        128,
        tile!(
            "or.b64 %rd10, %rd10, 0x4000; wgmma.fence.sync.aligned;
             wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, %rd10, %rd10, 1, 1, 1, 0, 0; // HERE
             wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"
        ),
        tile!(
            "wgmma.fence.sync.aligned;
             wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, %rd10, %rd10, 1, 1, 1, 0, 0;
             wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"
        ),
    ),
    pair(
        "a warp that ends before its product",
        AsyncGroupLeaked,
        128,
        tile!(
            "wgmma.fence.sync.aligned;
             wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, %rd10, %rd10, 1, 1, 1, 0, 0; // HERE
             wgmma.commit_group.sync.aligned;"
        ),
        tile!(
            "wgmma.fence.sync.aligned;
             wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, %rd10, %rd10, 1, 1, 1, 0, 0;
             wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"
        ),
    ),
];
