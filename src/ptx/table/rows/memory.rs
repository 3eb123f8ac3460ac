//! PTX ISA, "Data Movement and Conversion Instructions", except `cvt` and asynchronous copies.

use super::{ANY, Form, SM_80, SM_90, row};

/// Types of at most 32 bits, with vectors of up to four elements.
macro_rules! narrow {
    ($($part:literal),*) => { concat!($($part,)* "(.b8|.b16|.b32|.u8|.u16|.u32|.s8|.s16|.s32|.f32)") };
}

/// 64-bit types, with vectors of two elements.
macro_rules! wide {
    ($($part:literal),*) => { concat!($($part,)* "(.b64|.u64|.s64|.f64)") };
}

#[rustfmt::skip]
pub(super) static FORMS: &[Form] = &[
    //   mnemonic                                                                                operands         PTX     needs  PTX ISA  Rust
    row("mov(.pred|.b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64|.f32|.f64)",                     "d:t a:t",       (1, 0), ANY,   "mov").by("Var::get, Var::set, Val::bits"),
    row("mov.b32",                                                                               "d:t {2}a:b16",  (1, 0), ANY,   "mov").by("Val::pack"),
    row("mov.b32",                                                                               "{2}d:b16 a:t",  (1, 0), ANY,   "mov").by("Val::unpack"),
    row("mov.b64",                                                                               "d:t {2}a:b32",  (1, 0), ANY,   "mov").by("Val::pack"),
    row("mov.b64",                                                                               "{2}d:b32 a:t",  (1, 0), ANY,   "mov").by("Val::unpack"),
    row("mov.b128",                                                                              "d:t a:t",       (8, 3), ANY,   "mov").by("Var::get, Var::set"),
    row(narrow!("ld{.const|.global|.local|.param|.shared}{.v2|.v4}"),                            "{v}d:t [a]",    (1, 0), ANY,   "ld").by("Ptr::load, Ptr::load_vector"),
    row(wide!  ("ld{.const|.global|.local|.param|.shared}{.v2}"),                                "{v}d:t [a]",    (1, 0), ANY,   "ld").by("Ptr::load, Ptr::load_vector"),
    row(narrow!("ld{.global|.local|.shared}(.ca|.cg|.cs|.lu|.cv){.v2|.v4}"),                     "{v}d:t [a]",    (2, 0), ANY,   "ld").by("Ptr::load_with, Ptr::load_vector_with"),
    row(wide!  ("ld{.global|.local|.shared}(.ca|.cg|.cs|.lu|.cv){.v2}"),                         "{v}d:t [a]",    (2, 0), ANY,   "ld").by("Ptr::load_with, Ptr::load_vector_with"),
    row(narrow!("ld.volatile{.global|.shared}{.v2|.v4}"),                                        "{v}d:t [a]",    (1, 1), ANY,   "ld").by("Ptr::load_with, Ptr::load_vector_with"),
    row(wide!  ("ld.volatile{.global|.shared}{.v2}"),                                            "{v}d:t [a]",    (1, 1), ANY,   "ld").by("Ptr::load_with, Ptr::load_vector_with"),
    row(narrow!("ld(.relaxed|.acquire)(.cta|.gpu|.sys){.global|.shared}{.v2|.v4}"),              "{v}d:t [a]",    (6, 0), ANY,   "ld").by("Ptr::load_with, Ptr::load_vector_with"),
    row(wide!  ("ld(.relaxed|.acquire)(.cta|.gpu|.sys){.global|.shared}{.v2}"),                  "{v}d:t [a]",    (6, 0), ANY,   "ld").by("Ptr::load_with, Ptr::load_vector_with"),
    row(narrow!("ld(.relaxed|.acquire).cluster{.global|.shared}{.v2|.v4}"),                      "{v}d:t [a]",    (7, 8), SM_90, "ld").by("Ptr::load_with, Ptr::load_vector_with"),
    row(wide!  ("ld(.relaxed|.acquire).cluster{.global|.shared}{.v2}"),                          "{v}d:t [a]",    (7, 8), SM_90, "ld").by("Ptr::load_with, Ptr::load_vector_with"),
    row(narrow!("ld{.volatile}.shared::cluster{.v2|.v4}"),                                       "{v}d:t [a]",    (7, 8), SM_90, "ld").by("Ptr::load, Ptr::load_with, Ptr::load_vector, Ptr::load_vector_with"),
    row(wide!  ("ld{.volatile}.shared::cluster{.v2}"),                                           "{v}d:t [a]",    (7, 8), SM_90, "ld").by("Ptr::load, Ptr::load_with, Ptr::load_vector, Ptr::load_vector_with"),
    row(narrow!("ld(.relaxed|.acquire)(.cta|.cluster|.gpu|.sys).shared::cluster{.v2|.v4}"),      "{v}d:t [a]",    (7, 8), SM_90, "ld").by("Ptr::load_with, Ptr::load_vector_with"),
    row(wide!  ("ld(.relaxed|.acquire)(.cta|.cluster|.gpu|.sys).shared::cluster{.v2}"),          "{v}d:t [a]",    (7, 8), SM_90, "ld").by("Ptr::load_with, Ptr::load_vector_with"),
    row(narrow!("ld.global{.ca|.cg|.cs}.nc{.v2|.v4}"),                                           "{v}d:t [a]",    (3, 1), ANY,   "ld.global.nc").by("Ptr::load_with, Ptr::load_vector_with"),
    row(wide!  ("ld.global{.ca|.cg|.cs}.nc{.v2}"),                                               "{v}d:t [a]",    (3, 1), ANY,   "ld.global.nc").by("Ptr::load_with, Ptr::load_vector_with"),
    row(narrow!("st{.global|.local|.shared}{.v2|.v4}"),                                          "[a] {v}b:t",    (1, 0), ANY,   "st").by("Ptr::store, Ptr::store_vector"),
    row(wide!  ("st{.global|.local|.shared}{.v2}"),                                              "[a] {v}b:t",    (1, 0), ANY,   "st").by("Ptr::store, Ptr::store_vector"),
    row(narrow!("st{.global|.local|.shared}(.wb|.cg|.cs|.wt){.v2|.v4}"),                         "[a] {v}b:t",    (2, 0), ANY,   "st").by("Ptr::store_with, Ptr::store_vector_with"),
    row(wide!  ("st{.global|.local|.shared}(.wb|.cg|.cs|.wt){.v2}"),                             "[a] {v}b:t",    (2, 0), ANY,   "st").by("Ptr::store_with, Ptr::store_vector_with"),
    row(narrow!("st.volatile{.global|.shared}{.v2|.v4}"),                                        "[a] {v}b:t",    (1, 1), ANY,   "st").by("Ptr::store_with, Ptr::store_vector_with"),
    row(wide!  ("st.volatile{.global|.shared}{.v2}"),                                            "[a] {v}b:t",    (1, 1), ANY,   "st").by("Ptr::store_with, Ptr::store_vector_with"),
    row(narrow!("st(.relaxed|.release)(.cta|.gpu|.sys){.global|.shared}{.v2|.v4}"),              "[a] {v}b:t",    (6, 0), ANY,   "st").by("Ptr::store_with, Ptr::store_vector_with"),
    row(wide!  ("st(.relaxed|.release)(.cta|.gpu|.sys){.global|.shared}{.v2}"),                  "[a] {v}b:t",    (6, 0), ANY,   "st").by("Ptr::store_with, Ptr::store_vector_with"),
    row(narrow!("st(.relaxed|.release).cluster{.global|.shared}{.v2|.v4}"),                      "[a] {v}b:t",    (7, 8), SM_90, "st").by("Ptr::store_with, Ptr::store_vector_with"),
    row(wide!  ("st(.relaxed|.release).cluster{.global|.shared}{.v2}"),                          "[a] {v}b:t",    (7, 8), SM_90, "st").by("Ptr::store_with, Ptr::store_vector_with"),
    row(narrow!("st{.volatile}.shared::cluster{.v2|.v4}"),                                       "[a] {v}b:t",    (7, 8), SM_90, "st").by("Ptr::store, Ptr::store_with, Ptr::store_vector, Ptr::store_vector_with"),
    row(wide!  ("st{.volatile}.shared::cluster{.v2}"),                                           "[a] {v}b:t",    (7, 8), SM_90, "st").by("Ptr::store, Ptr::store_with, Ptr::store_vector, Ptr::store_vector_with"),
    row(narrow!("st(.relaxed|.release)(.cta|.cluster|.gpu|.sys).shared::cluster{.v2|.v4}"),      "[a] {v}b:t",    (7, 8), SM_90, "st").by("Ptr::store_with, Ptr::store_vector_with"),
    row(wide!  ("st(.relaxed|.release)(.cta|.cluster|.gpu|.sys).shared::cluster{.v2}"),          "[a] {v}b:t",    (7, 8), SM_90, "st").by("Ptr::store_with, Ptr::store_vector_with"),
    row("prefetch{.global|.local}(.L1|.L2)",                                                     "[a]",           (2, 0), ANY,   "prefetch").by("Ptr::prefetch"),
    row("prefetch.global(.L2::evict_last|.L2::evict_normal)",                                    "[a]",           (7, 4), SM_80, "prefetch").by("Ptr::prefetch"),
    row("isspacep(.const|.global|.local|.shared)",                                               "d:pred a:u64",  (2, 0), ANY,   "isspacep").by("Ptr::is_in"),
    row("isspacep.shared::cluster",                                                              "d:pred a:u64",  (7, 8), SM_90, "isspacep").by("Ptr::is_in"),
    row("cvta(.const|.global|.local|.shared).u64",                                               "d:t a:t",       (2, 0), ANY,   "cvta").by("Ptr::generic"),
    row("cvta.param.u64",                                                                        "d:t a:t",       (7, 7), ANY,   "cvta").by("tensor map parameters"),
    row("cvta.shared::cluster.u64",                                                              "d:t a:t",       (7, 8), SM_90, "cvta").by("Ptr::generic"),
    row("cvta.to(.const|.global|.local|.shared).u64",                                            "d:t a:t",       (2, 0), ANY,   "cvta").by("Ptr::to_space, buffer parameters"),
    row("cvta.to.shared::cluster.u64",                                                           "d:t a:t",       (7, 8), SM_90, "cvta").by("Ptr::to_space"),
    row("createpolicy.fractional(.L2::evict_last|.L2::evict_normal|.L2::evict_first|.L2::evict_unchanged){.L2::evict_first|.L2::evict_unchanged}.b64",          "d:t ?f:f32",        (7, 4), SM_80, "createpolicy").by("Builder::cache_policy, Builder::cache_policy_fraction"),
    row("createpolicy.range{.global}(.L2::evict_last|.L2::evict_normal|.L2::evict_first|.L2::evict_unchanged){.L2::evict_first|.L2::evict_unchanged}.b64",      "d:t [a] n:u32 m:u32", (7, 4), SM_80, "createpolicy").by("Builder::cache_policy_range"),
    row("createpolicy.cvt.L2.b64",                                                               "d:t a:t",       (7, 4), SM_80, "createpolicy").by("Builder::cache_policy_of_access_property"),
    row("discard{.global}.L2",                                                                   "[a] #128",      (7, 4), SM_80, "discard").by("Ptr::discard"),
    row("applypriority{.global}.L2::evict_normal",                                               "[a] #128",      (7, 4), SM_80, "applypriority").by("Ptr::apply_normal_priority"),
];
