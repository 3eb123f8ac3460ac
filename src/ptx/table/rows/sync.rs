//! PTX ISA, "Parallel Synchronization and Communication Instructions".

use super::{ANY, Form, row};

#[rustfmt::skip]
pub(super) static FORMS: &[Form] = &[
    //   mnemonic                                operands              PTX     needs PTX ISA  Rust
    row("bar.sync",                              "a:u32 ?b:u32",       (1, 0), ANY,  "bar").by("K::sync_threads, K::bar_sync"),
    row("bar.arrive",                            "a:u32 b:u32",        (2, 0), ANY,  "bar").by("K::bar_arrive"),
    row("bar.warp.sync",                         "mask:b32",           (6, 0), ANY,  "bar.warp.sync").by("K::sync_warp"),
];
