//! `cp.async` (PTX ISA, "Data Movement and Conversion Instructions: Asynchronous copy").

use super::{Form, SM_80, row};

#[rustfmt::skip]
pub(super) static FORMS: &[Form] = &[
    //   mnemonic                                                                 operands                            PTX     needs  PTX ISA
    row("cp.async.ca.shared.global",                                              "[d:shared] [a:global] #4|8|16 ?u32", (7, 0), SM_80, "cp.async").by("Ptr::copy_async, Ptr::copy_async_zero_fill"),
    row("cp.async.cg.shared.global",                                              "[d:shared] [a:global] #16 ?u32",     (7, 0), SM_80, "cp.async").by("Ptr::copy_async, Ptr::copy_async_zero_fill"),
    row("cp.async.ca.shared.global(.L2::64B|.L2::128B|.L2::256B)",                "[d:shared] [a:global] #4|8|16 ?u32", (7, 4), SM_80, "cp.async").by("Ptr::copy_async_with"),
    row("cp.async.cg.shared.global(.L2::64B|.L2::128B|.L2::256B)",                "[d:shared] [a:global] #16 ?u32",     (7, 4), SM_80, "cp.async").by("Ptr::copy_async_with"),
    row("cp.async.ca.shared.global.L2::cache_hint{.L2::64B|.L2::128B|.L2::256B}", "[d:shared] [a:global] #4|8|16 n:u32 p:b64", (7, 4), SM_80, "cp.async").by("Ptr::copy_async_with"),
    row("cp.async.cg.shared.global.L2::cache_hint{.L2::64B|.L2::128B|.L2::256B}", "[d:shared] [a:global] #16 n:u32 p:b64",     (7, 4), SM_80, "cp.async").by("Ptr::copy_async_with"),
    row("cp.async.commit_group",                                                  "",                                 (7, 0), SM_80, "cp.async.commit_group").by("Builder::cp_async_commit_group"),
    row("cp.async.wait_group",                                                    "#n",                               (7, 0), SM_80, "cp.async.wait_group").by("Builder::cp_async_wait_group"),
    row("cp.async.wait_all",                                                      "",                                 (7, 0), SM_80, "cp.async.wait_group").by("Builder::cp_async_wait_all"),
];
