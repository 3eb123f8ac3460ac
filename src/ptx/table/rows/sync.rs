//! PTX ISA, "Parallel Synchronization and Communication Instructions", but for atomics.

use super::{ANY, Form, SM_80, SM_90, row};

#[rustfmt::skip]
pub(super) static FORMS: &[Form] = &[
    //   mnemonic                                        operands                                PTX     needs  PTX ISA          Rust
    row("bar.sync",                                      "a:u32 ?b:u32",                         (1, 0), ANY,   "bar").by("Builder::sync_threads, Builder::bar_sync"),
    row("bar.arrive",                                    "a:u32 b:u32",                          (2, 0), ANY,   "bar").by("Builder::bar_arrive"),
    row("bar.red.popc.u32",                              "d:u32 a:u32 !c:pred",                  (2, 0), ANY,   "bar").by("Builder::sync_threads_count"),
    row("bar.red.popc.u32",                              "d:u32 a:u32 b:u32 !c:pred",            (2, 0), ANY,   "bar").by("Builder::bar_red_popc"),
    row("bar.red(.and|.or).pred",                        "d:pred a:u32 !c:pred",                 (2, 0), ANY,   "bar").by("Builder::sync_threads_and, Builder::sync_threads_or"),
    row("bar.red(.and|.or).pred",                        "d:pred a:u32 b:u32 !c:pred",           (2, 0), ANY,   "bar").by("Builder::bar_red_and, Builder::bar_red_or"),
    row("barrier.sync",                                  "a:u32 ?b:u32",                         (6, 0), ANY,   "barrier").by("Builder::barrier_sync"),
    row("barrier.arrive",                                "a:u32 b:u32",                          (6, 0), ANY,   "barrier").by("Builder::barrier_arrive"),
    row("barrier.cluster.arrive{.aligned}",                  "",                                     (7, 8), SM_90, "barrier.cluster").by("Cluster::sync"),
    row("barrier.cluster.wait{.aligned}",                    "",                                     (7, 8), SM_90, "barrier.cluster").by("Cluster::sync"),
    row("bar.warp.sync",                                 "mask:b32",                             (6, 0), ANY,   "bar.warp.sync").by("Builder::sync_warp"),
    row("membar(.cta|.gl|.sys)",                         "",                                     (1, 4), ANY,   "membar").by("Builder::membar"),
    row("fence(.sc|.acq_rel)(.cta|.gpu|.sys)",           "",                                     (6, 0), ANY,   "fence").by("Builder::fence, Builder::fence_sc"),
    row("fence(.sc|.acq_rel).cluster",                   "",                                     (7, 8), SM_90, "fence").by("Builder::fence, Builder::fence_sc"),
    row("shfl.sync(.up|.down|.bfly|.idx).b32",           "d:t a:t b:b32 c:b32 mask:b32",         (6, 0), ANY,   "shfl.sync").by("Builder::shfl_up, shfl_down, shfl_bfly, shfl_idx"),
    row("shfl.sync(.up|.down|.bfly|.idx).b32",           "d:t|pred a:t b:b32 c:b32 mask:b32",    (6, 0), ANY,   "shfl.sync").by("Builder::shfl_with"),
    row("vote.sync(.all|.any|.uni).pred",                "d:t !a:t mask:b32",                    (6, 0), ANY,   "vote.sync").by("Builder::vote_all, vote_any, vote_uni"),
    row("vote.sync.ballot.b32",                          "d:t !a:pred mask:b32",                 (6, 0), ANY,   "vote.sync").by("Builder::vote_ballot"),
    row("match.any.sync(.b32|.b64)",                     "d:b32 a:t mask:b32",                   (6, 0), ANY,   "match.sync").by("Builder::match_any"),
    row("match.all.sync(.b32|.b64)",                     "d:b32|pred a:t mask:b32",              (6, 0), ANY,   "match.sync").by("Builder::match_all"),
    row("activemask.b32",                                "d:t",                                  (6, 2), ANY,   "activemask").by("Builder::activemask"),
    row("redux.sync(.add|.min|.max)(.u32|.s32)",         "d:t a:t mask:b32",                     (7, 0), SM_80, "redux.sync").by("Builder::redux_add, redux_min, redux_max"),
    row("redux.sync(.and|.or|.xor).b32",                 "d:t a:t mask:b32",                     (7, 0), SM_80, "redux.sync").by("Builder::redux_and, redux_or, redux_xor"),
    row("elect.sync",                                    "d:b32|pred mask:b32",                  (8, 0), SM_90, "elect.sync").by("Builder::elect"),
];
