//! Asynchronous products: `wgmma`.

use super::{Pair, pair};
use warpwright_sim::FindingKind::{AsyncGroupLeaked, InvalidDescriptor, MissingWgmmaFence, WgmmaInFlight};

pub(super) const PAIRS: &[Pair] = &[
    pair(
        "accumulators read before the wait",
        WgmmaInFlight,
        128,
        super::tile!(
            "wgmma.fence.sync.aligned;
             wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, %rd10, %rd10, 1, 1, 1, 0, 0; // HERE
             wgmma.commit_group.sync.aligned;
             st.global.f32 [%rd3], %f0; // HERE
             wgmma.wait_group.sync.aligned 0;"
        ),
        super::tile!(
            "wgmma.fence.sync.aligned;
             wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, %rd10, %rd10, 1, 1, 1, 0, 0;
             wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; st.global.f32 [%rd3], %f0;"
        ),
    ),
    pair(
        "a wait that leaves the last group pending",
        WgmmaInFlight,
        128,
        super::tile!(
            "wgmma.fence.sync.aligned;
             wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, %rd10, %rd10, 1, 1, 1, 0, 0; // HERE
             wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 1;
             mul.f32 %f0, %f0, %f0; // HERE
             wgmma.wait_group.sync.aligned 0;"
        ),
        super::tile!(
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
        super::tile!(
            "wgmma.fence.sync.aligned;
             wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, %rd10, %rd10, 1, 1, 1, 0, 0; // HERE
             wgmma.commit_group.sync.aligned;
             st.shared.u32 [%r2], %r0; // HERE
             wgmma.wait_group.sync.aligned 0;"
        ),
        super::tile!(
            "wgmma.fence.sync.aligned;
             wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, %rd10, %rd10, 1, 1, 1, 0, 0;
             wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; bar.sync 0; st.shared.u32 [%r2], %r0;"
        ),
    ),
    pair(
        "registers of A overwritten while they are multiplied",
        WgmmaInFlight,
        128,
        super::tile!(
            "wgmma.fence.sync.aligned;
             wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, {%r20, %r21, %r22, %r23}, %rd10, 1, 1, 1, 0; // HERE
             wgmma.commit_group.sync.aligned;
             add.u32 %r21, %r0, 1; // HERE
             wgmma.wait_group.sync.aligned 0;"
        ),
        super::tile!(
            "wgmma.fence.sync.aligned;
             wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, {%r20, %r21, %r22, %r23}, %rd10, 1, 1, 1, 0;
             wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; add.u32 %r21, %r0, 1;"
        ),
    ),
    pair(
        "registers of A written after the fence",
        MissingWgmmaFence,
        128,
        super::tile!(
            "wgmma.fence.sync.aligned; add.u32 %r21, %r0, 1;
             wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, {%r20, %r21, %r22, %r23}, %rd10, 1, 1, 1, 0; // HERE
             wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"
        ),
        super::tile!(
            "add.u32 %r21, %r0, 1; wgmma.fence.sync.aligned;
             wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, {%r20, %r21, %r22, %r23}, %rd10, 1, 1, 1, 0;
             wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"
        ),
    ),
    pair(
        "a descriptor with bits that must be zero",
        InvalidDescriptor,
        128,
        super::tile!(
            "or.b64 %rd10, %rd10, 0x4000; wgmma.fence.sync.aligned;
             wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, %rd10, %rd10, 1, 1, 1, 0, 0; // HERE
             wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"
        ),
        super::tile!(
            "wgmma.fence.sync.aligned;
             wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, %rd10, %rd10, 1, 1, 1, 0, 0;
             wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"
        ),
    ),
    pair(
        "a warp that ends before its product",
        AsyncGroupLeaked,
        128,
        super::tile!(
            "wgmma.fence.sync.aligned;
             wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, %rd10, %rd10, 1, 1, 1, 0, 0; // HERE
             wgmma.commit_group.sync.aligned;"
        ),
        super::tile!(
            "wgmma.fence.sync.aligned;
             wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, %rd10, %rd10, 1, 1, 1, 0, 0;
             wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"
        ),
    ),
];
