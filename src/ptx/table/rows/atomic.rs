//! PTX ISA, "Parallel Synchronization and Communication Instructions: atom, red, red.async", and "st.async".

use super::{ANY, Form, SM_90, row};

/// `atom` with the orderings, scopes and state spaces that all targets support, or with those of clusters (`shared`: the space
/// `.shared::cluster`; `cluster`: the scope `.cluster`).
macro_rules! atom {
    ($operation:literal) => {
        concat!("atom{.relaxed|.acquire|.release|.acq_rel}{.cta|.gpu|.sys}{.global|.shared}", $operation)
    };
    (shared $operation:literal) => {
        concat!(
            "atom{.relaxed|.acquire|.release|.acq_rel}{.cta|.cluster|.gpu|.sys}.shared::cluster",
            $operation
        )
    };
    (cluster $operation:literal) => {
        concat!("atom{.relaxed|.acquire|.release|.acq_rel}.cluster{.global|.shared}", $operation)
    };
}

/// `red`, with the same variants as `atom`.
macro_rules! red {
    ($operation:literal) => {
        concat!("red{.relaxed|.release}{.cta|.gpu|.sys}{.global|.shared}", $operation)
    };
    (shared $operation:literal) => {
        concat!("red{.relaxed|.release}{.cta|.cluster|.gpu|.sys}.shared::cluster", $operation)
    };
    (cluster $operation:literal) => {
        concat!("red{.relaxed|.release}.cluster{.global|.shared}", $operation)
    };
}

/// `red.async`.
macro_rules! red_async {
    ($operation:literal) => {
        concat!("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes", $operation)
    };
}

#[rustfmt::skip]
pub(super) static FORMS: &[Form] = &[
    //   mnemonic                                                        operands             PTX     needs  PTX ISA  Rust
    row(atom!(".add(.u32|.s32|.u64|.f32|.f64)"),                         "d:t [a] b:t",       (6, 0), ANY,   "atom").by("Atomic::add"),
    row(atom!(".add.noftz(.f16|.f16x2)"),                                "d:t [a] b:t",       (6, 3), ANY,   "atom").by("Atomic::add"),
    row(atom!(".add.noftz(.bf16|.bf16x2)"),                              "d:t [a] b:t",       (7, 8), SM_90, "atom").by("Atomic::add"),
    row(atom!("(.min|.max)(.u32|.s32|.u64|.s64)"),                       "d:t [a] b:t",       (6, 0), ANY,   "atom").by("Atomic::min, Atomic::max"),
    row(atom!("(.and|.or|.xor)(.b32|.b64)"),                             "d:t [a] b:t",       (6, 0), ANY,   "atom").by("Atomic::and, or, xor"),
    row(atom!("(.inc|.dec).u32"),                                        "d:t [a] b:t",       (6, 0), ANY,   "atom").by("Atomic::inc, Atomic::dec"),
    row(atom!(".exch(.b32|.b64)"),                                       "d:t [a] b:t",       (6, 0), ANY,   "atom").by("Atomic::exchange"),
    row(atom!(".cas(.b16|.b32|.b64)"),                                   "d:t [a] b:t c:t",   (6, 3), ANY,   "atom").by("Atomic::compare_exchange"),
    row(atom!(cluster ".add(.u32|.s32|.u64|.f32|.f64)"),                 "d:t [a] b:t",       (7, 8), SM_90, "atom").by("Atomic::add"),
    row(atom!(cluster ".add.noftz(.f16|.f16x2|.bf16|.bf16x2)"),          "d:t [a] b:t",       (7, 8), SM_90, "atom").by("Atomic::add"),
    row(atom!(cluster "(.min|.max)(.u32|.s32|.u64|.s64)"),               "d:t [a] b:t",       (7, 8), SM_90, "atom").by("Atomic::min, Atomic::max"),
    row(atom!(cluster "(.and|.or|.xor)(.b32|.b64)"),                     "d:t [a] b:t",       (7, 8), SM_90, "atom").by("Atomic::and, or, xor"),
    row(atom!(cluster "(.inc|.dec).u32"),                                "d:t [a] b:t",       (7, 8), SM_90, "atom").by("Atomic::inc, Atomic::dec"),
    row(atom!(cluster ".exch(.b32|.b64)"),                               "d:t [a] b:t",       (7, 8), SM_90, "atom").by("Atomic::exchange"),
    row(atom!(cluster ".cas(.b16|.b32|.b64)"),                           "d:t [a] b:t c:t",   (7, 8), SM_90, "atom").by("Atomic::compare_exchange"),
    row(atom!(shared ".add(.u32|.s32|.u64|.f32|.f64)"),                  "d:t [a] b:t",       (7, 8), SM_90, "atom").by("Atomic::add"),
    row(atom!(shared ".add.noftz(.f16|.f16x2|.bf16|.bf16x2)"),           "d:t [a] b:t",       (7, 8), SM_90, "atom").by("Atomic::add"),
    row(atom!(shared "(.min|.max)(.u32|.s32|.u64|.s64)"),                "d:t [a] b:t",       (7, 8), SM_90, "atom").by("Atomic::min, Atomic::max"),
    row(atom!(shared "(.and|.or|.xor)(.b32|.b64)"),                      "d:t [a] b:t",       (7, 8), SM_90, "atom").by("Atomic::and, or, xor"),
    row(atom!(shared "(.inc|.dec).u32"),                                 "d:t [a] b:t",       (7, 8), SM_90, "atom").by("Atomic::inc, Atomic::dec"),
    row(atom!(shared ".exch(.b32|.b64)"),                                "d:t [a] b:t",       (7, 8), SM_90, "atom").by("Atomic::exchange"),
    row(atom!(shared ".cas(.b16|.b32|.b64)"),                            "d:t [a] b:t c:t",   (7, 8), SM_90, "atom").by("Atomic::compare_exchange"),
    row(red!(".add(.u32|.s32|.u64|.f32|.f64)"),                          "[a] b:t",           (6, 0), ANY,   "red").by("Reduction::add"),
    row(red!(".add.noftz(.f16|.f16x2)"),                                 "[a] b:t",           (6, 3), ANY,   "red").by("Reduction::add"),
    row(red!(".add.noftz(.bf16|.bf16x2)"),                               "[a] b:t",           (7, 8), SM_90, "red").by("Reduction::add"),
    row(red!("(.min|.max)(.u32|.s32|.u64|.s64)"),                        "[a] b:t",           (6, 0), ANY,   "red").by("Reduction::min, Reduction::max"),
    row(red!("(.and|.or|.xor)(.b32|.b64)"),                              "[a] b:t",           (6, 0), ANY,   "red").by("Reduction::and, or, xor"),
    row(red!("(.inc|.dec).u32"),                                         "[a] b:t",           (6, 0), ANY,   "red").by("Reduction::inc, Reduction::dec"),
    row(red!(cluster ".add(.u32|.s32|.u64|.f32|.f64)"),                  "[a] b:t",           (7, 8), SM_90, "red").by("Reduction::add"),
    row(red!(cluster ".add.noftz(.f16|.f16x2|.bf16|.bf16x2)"),           "[a] b:t",           (7, 8), SM_90, "red").by("Reduction::add"),
    row(red!(cluster "(.min|.max)(.u32|.s32|.u64|.s64)"),                "[a] b:t",           (7, 8), SM_90, "red").by("Reduction::min, Reduction::max"),
    row(red!(cluster "(.and|.or|.xor)(.b32|.b64)"),                      "[a] b:t",           (7, 8), SM_90, "red").by("Reduction::and, or, xor"),
    row(red!(cluster "(.inc|.dec).u32"),                                 "[a] b:t",           (7, 8), SM_90, "red").by("Reduction::inc, Reduction::dec"),
    row(red!(shared ".add(.u32|.s32|.u64|.f32|.f64)"),                   "[a] b:t",           (7, 8), SM_90, "red").by("Reduction::add"),
    row(red!(shared ".add.noftz(.f16|.f16x2|.bf16|.bf16x2)"),            "[a] b:t",           (7, 8), SM_90, "red").by("Reduction::add"),
    row(red!(shared "(.min|.max)(.u32|.s32|.u64|.s64)"),                 "[a] b:t",           (7, 8), SM_90, "red").by("Reduction::min, Reduction::max"),
    row(red!(shared "(.and|.or|.xor)(.b32|.b64)"),                       "[a] b:t",           (7, 8), SM_90, "red").by("Reduction::and, or, xor"),
    row(red!(shared "(.inc|.dec).u32"),                                  "[a] b:t",           (7, 8), SM_90, "red").by("Reduction::inc, Reduction::dec"),
    row("red{.relaxed}{.cta|.cluster|.gpu|.sys}.global.add(.v2|.v4).f32",                     "[a] {v}b:t",  (8, 1), SM_90, "red").by("Reduction::add_vector"),
    row("red{.relaxed}{.cta|.cluster|.gpu|.sys}.global.add.noftz(.v2|.v4)(.f16|.bf16|.f16x2|.bf16x2)", "[a] {v}b:t", (8, 1), SM_90, "red").by("Reduction::add_vector"),
    row("red{.relaxed}{.cta|.cluster|.gpu|.sys}.global.add.noftz.v8(.f16|.bf16)",             "[a] {v}b:t",  (8, 1), SM_90, "red").by("Reduction::add_vector"),
    row("st.async.shared::cluster.mbarrier::complete_tx::bytes{.v2|.v4}(.b32|.u32|.s32|.f32)", "[a:shared] {v}b:t [m:shared]", (8, 1), SM_90, "st.async").by("Ptr::store_async, Ptr::store_vector_async"),
    row("st.async.shared::cluster.mbarrier::complete_tx::bytes{.v2}(.b64|.u64|.s64|.f64)",     "[a:shared] {v}b:t [m:shared]", (8, 1), SM_90, "st.async").by("Ptr::store_async, Ptr::store_vector_async"),
    row(red_async!(".add(.u32|.s32|.u64)"),                              "[a:shared] b:t [m:shared]", (8, 1), SM_90, "red.async").by("Ptr::reduce_async"),
    row(red_async!("(.min|.max)(.u32|.s32)"),                            "[a:shared] b:t [m:shared]", (8, 1), SM_90, "red.async").by("Ptr::reduce_async"),
    row(red_async!("(.inc|.dec).u32"),                                   "[a:shared] b:t [m:shared]", (8, 1), SM_90, "red.async").by("Ptr::reduce_async"),
    row(red_async!("(.and|.or|.xor).b32"),                               "[a:shared] b:t [m:shared]", (8, 1), SM_90, "red.async").by("Ptr::reduce_async"),
];
