//! Two blocks of a cluster that access each other's shared memory.

use super::{Pair, pair};
use warpwright_sim::FindingKind::{self, MbarrierMisuse, SharedRace};

/// Returns a pair of one cluster.
const fn cluster(name: &'static str, kind: FindingKind, bug: &'static str, twin: &'static str) -> Pair {
    Pair { grid: 2, cluster: 2, ..pair(name, kind, 32, bug, twin) }
}

/// Each block stores a word for each thread; `%r10` is then the other block's word.
macro_rules! words {
    ($($body:literal)*) => {
        concat!(
            "st.shared.u32 [%r2], %r0; xor.b32 %r9, %r1, 1; mapa.shared::cluster.u32 %r10, %r2, %r9;
             ",
            $($body),*
        )
    };
}

pub(super) const PAIRS: &[Pair] = &[
    cluster(
        "a block that ends while another reads its shared memory",
        SharedRace,
        words!(
            "barrier.cluster.arrive; barrier.cluster.wait;
             ld.shared::cluster.u32 %r11, [%r10]; // HERE
             "
        ),
        words!(
            "barrier.cluster.arrive; barrier.cluster.wait; ld.shared::cluster.u32 %r11, [%r10];
             barrier.cluster.arrive; barrier.cluster.wait;"
        ),
    ),
    cluster(
        "an arrival of the cluster that releases nothing",
        SharedRace,
        words!(
            "barrier.cluster.arrive.relaxed; barrier.cluster.wait;
             ld.shared::cluster.u32 %r11, [%r10]; // HERE
             barrier.cluster.arrive; barrier.cluster.wait;"
        ),
        words!(
            "fence.acq_rel.cluster; barrier.cluster.arrive.relaxed; barrier.cluster.wait;
             ld.shared::cluster.u32 %r11, [%r10]; barrier.cluster.arrive; barrier.cluster.wait;"
        ),
    ),
    cluster(
        "another block's mbarrier before the barrier of the cluster",
        MbarrierMisuse,
        "@%p0 mbarrier.init.shared.b64 [bar], 1; // HERE
         fence.mbarrier_init.release.cluster; bar.sync 0;
         mov.u32 %r9, bar; xor.b32 %r10, %r1, 1; mapa.shared::cluster.u32 %r9, %r9, %r10;
         @%p0 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r9]; // HERE
         W: mbarrier.try_wait.parity.shared.b64 %p4, [bar], 0; @!%p4 bra W;",
        "@%p0 mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster;
         barrier.cluster.arrive.relaxed; barrier.cluster.wait;
         mov.u32 %r9, bar; xor.b32 %r10, %r1, 1; mapa.shared::cluster.u32 %r9, %r9, %r10;
         @%p0 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r9];
         W: mbarrier.try_wait.parity.shared.b64 %p4, [bar], 0; @!%p4 bra W;",
    ),
];
