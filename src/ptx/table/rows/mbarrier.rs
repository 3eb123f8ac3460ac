//! `mbarrier` (PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier").
//!
//! An arrival with a count requires a later version and target than an arrival without one. To distinguish the two, the rows with a count
//! (except `noComplete` and `expect_tx`) spell the state space `.shared::cta`.

use super::{Form, SM_80, SM_90, row};

const BY_ARRIVE: &str = "Mbarrier::arrive, Mbarrier::arrive_drop";
const BY_COUNT: &str = "Mbarrier::arrive_count, Mbarrier::arrive_drop_count";
const BY_EXPECT: &str = "Mbarrier::arrive_expect_tx, Mbarrier::arrive_drop_expect_tx";
const BY_NO_COMPLETE: &str = "Mbarrier::arrive_no_complete, Mbarrier::arrive_drop_no_complete";
const BY_REMOTE: &str = "Mbarrier::arrive, arrive_count, arrive_drop, arrive_drop_count";
const BY_TX: &str = "Mbarrier::expect_tx, Mbarrier::complete_tx";
const BY_TEST: &str = "Mbarrier::test_wait, Mbarrier::test_wait_parity";
const BY_TRY: &str = "Mbarrier::try_wait, try_wait_for, try_wait_parity, try_wait_parity_for, wait";

#[rustfmt::skip]
pub(super) static FORMS: &[Form] = &[
    //   mnemonic                                                                               operands                    PTX     needs  PTX ISA  Rust
    row("mbarrier.init.shared.b64",                                                             "[a:shared] n:u32",         (7, 0), SM_80, "mbarrier.init").by("Mbarrier::init"),
    row("mbarrier.inval.shared.b64",                                                            "[a:shared]",               (7, 0), SM_80, "mbarrier.inval").by("Mbarrier::invalidate"),
    row("mbarrier(.expect_tx|.complete_tx){.relaxed.cta|.relaxed.cluster}.shared{::cluster}.b64", "[a:shared] n:u32",       (8, 0), SM_90, "mbarrier.expect_tx, mbarrier.complete_tx").by(BY_TX),
    row("mbarrier(.arrive|.arrive_drop).shared.b64",                                            "d:b64 [a:shared]",         (7, 0), SM_80, "mbarrier.arrive").by(BY_ARRIVE),
    row("mbarrier(.arrive|.arrive_drop).release.cta.shared.b64",                                "d:b64 [a:shared]",         (8, 0), SM_80, "mbarrier.arrive").by(BY_ARRIVE),
    row("mbarrier(.arrive|.arrive_drop).release.cluster.shared.b64",                            "d:b64 [a:shared]",         (8, 0), SM_90, "mbarrier.arrive").by(BY_ARRIVE),
    row("mbarrier(.arrive|.arrive_drop).relaxed(.cta|.cluster).shared.b64",                     "d:b64 [a:shared]",         (8, 6), SM_90, "mbarrier.arrive").by(BY_ARRIVE),
    row("mbarrier(.arrive|.arrive_drop).shared::cta.b64",                                       "d:b64 [a:shared] n:u32",   (7, 8), SM_90, "mbarrier.arrive").by(BY_COUNT),
    row("mbarrier(.arrive|.arrive_drop).release(.cta|.cluster).shared::cta.b64",                "d:b64 [a:shared] n:u32",   (8, 0), SM_90, "mbarrier.arrive").by(BY_COUNT),
    row("mbarrier(.arrive|.arrive_drop).relaxed(.cta|.cluster).shared::cta.b64",                "d:b64 [a:shared] n:u32",   (8, 6), SM_90, "mbarrier.arrive").by(BY_COUNT),
    row("mbarrier(.arrive|.arrive_drop).noComplete.shared.b64",                                 "d:b64 [a:shared] n:u32",   (7, 0), SM_80, "mbarrier.arrive").by(BY_NO_COMPLETE),
    row("mbarrier(.arrive|.arrive_drop).noComplete.release.cta.shared.b64",                     "d:b64 [a:shared] n:u32",   (8, 0), SM_80, "mbarrier.arrive").by(BY_NO_COMPLETE),
    row("mbarrier(.arrive|.arrive_drop).expect_tx{.release.cta|.release.cluster}.shared.b64",   "d:b64 [a:shared] n:u32",   (8, 0), SM_90, "mbarrier.arrive").by(BY_EXPECT),
    row("mbarrier(.arrive|.arrive_drop).expect_tx.relaxed(.cta|.cluster).shared.b64",           "d:b64 [a:shared] n:u32",   (8, 6), SM_90, "mbarrier.arrive").by(BY_EXPECT),
    row("mbarrier(.arrive|.arrive_drop){.release.cta|.release.cluster}.shared::cluster.b64",    "_ [a:shared] ?n:u32",      (8, 0), SM_90, "mbarrier.arrive").by(BY_REMOTE),
    row("mbarrier(.arrive|.arrive_drop).relaxed(.cta|.cluster).shared::cluster.b64",            "_ [a:shared] ?n:u32",      (8, 6), SM_90, "mbarrier.arrive").by(BY_REMOTE),
    row("mbarrier(.arrive|.arrive_drop).expect_tx{.release.cta|.release.cluster}.shared::cluster.b64", "_ [a:shared] n:u32", (8, 0), SM_90, "mbarrier.arrive").by(BY_EXPECT),
    row("mbarrier(.arrive|.arrive_drop).expect_tx.relaxed(.cta|.cluster).shared::cluster.b64",  "_ [a:shared] n:u32",       (8, 6), SM_90, "mbarrier.arrive").by(BY_EXPECT),
    row("mbarrier.test_wait.shared.b64",                                                        "d:pred [a:shared] s:b64",  (7, 0), SM_80, "mbarrier.test_wait").by(BY_TEST),
    row("mbarrier.test_wait.acquire.cta.shared.b64",                                            "d:pred [a:shared] s:b64",  (8, 0), SM_80, "mbarrier.test_wait").by(BY_TEST),
    row("mbarrier.test_wait.acquire.cluster.shared.b64",                                        "d:pred [a:shared] s:b64",  (8, 0), SM_90, "mbarrier.test_wait").by(BY_TEST),
    row("mbarrier.test_wait.relaxed(.cta|.cluster).shared.b64",                                 "d:pred [a:shared] s:b64",  (8, 6), SM_90, "mbarrier.test_wait").by(BY_TEST),
    row("mbarrier.test_wait.parity.shared.b64",                                                 "d:pred [a:shared] p:u32",  (7, 1), SM_80, "mbarrier.test_wait").by(BY_TEST),
    row("mbarrier.test_wait.parity.acquire.cta.shared.b64",                                     "d:pred [a:shared] p:u32",  (8, 0), SM_80, "mbarrier.test_wait").by(BY_TEST),
    row("mbarrier.test_wait.parity.acquire.cluster.shared.b64",                                 "d:pred [a:shared] p:u32",  (8, 0), SM_90, "mbarrier.test_wait").by(BY_TEST),
    row("mbarrier.test_wait.parity.relaxed(.cta|.cluster).shared.b64",                          "d:pred [a:shared] p:u32",  (8, 6), SM_90, "mbarrier.test_wait").by(BY_TEST),
    row("mbarrier.try_wait.shared.b64",                                                         "d:pred [a:shared] s:b64 ?t:u32", (7, 8), SM_90, "mbarrier.try_wait").by(BY_TRY),
    row("mbarrier.try_wait.acquire(.cta|.cluster).shared.b64",                                  "d:pred [a:shared] s:b64 ?t:u32", (8, 0), SM_90, "mbarrier.try_wait").by(BY_TRY),
    row("mbarrier.try_wait.relaxed(.cta|.cluster).shared.b64",                                  "d:pred [a:shared] s:b64 ?t:u32", (8, 6), SM_90, "mbarrier.try_wait").by(BY_TRY),
    row("mbarrier.try_wait.parity.shared.b64",                                                  "d:pred [a:shared] p:u32 ?t:u32", (7, 8), SM_90, "mbarrier.try_wait").by(BY_TRY),
    row("mbarrier.try_wait.parity.acquire(.cta|.cluster).shared.b64",                           "d:pred [a:shared] p:u32 ?t:u32", (8, 0), SM_90, "mbarrier.try_wait").by(BY_TRY),
    row("mbarrier.try_wait.parity.relaxed(.cta|.cluster).shared.b64",                           "d:pred [a:shared] p:u32 ?t:u32", (8, 6), SM_90, "mbarrier.try_wait").by(BY_TRY),
    row("mbarrier.pending_count.b64",                                                           "d:u32 s:b64",              (7, 0), SM_80, "mbarrier.pending_count").by("Builder::mbarrier_pending_count"),
    row("cp.async.mbarrier.arrive{.noinc}.shared.b64",                                          "[a:shared]",               (7, 0), SM_80, "cp.async.mbarrier.arrive").by("Mbarrier::arrive_after_copies, Mbarrier::arrive_after_copies_counted"),
];
