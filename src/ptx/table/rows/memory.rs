//! PTX ISA, "Data Movement and Conversion Instructions", but for `cvt` and asynchronous copies.

use super::{ANY, Form, row};

#[rustfmt::skip]
pub(super) static FORMS: &[Form] = &[
    //   mnemonic                                                                                     operands        PTX     needs PTX ISA  Rust
    row("mov(.pred|.b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64|.f32|.f64)",                          "d:t a:t",      (1, 0), ANY,  "mov").by("Var::get, Var::set"),
    row("mov.b32",                                                                                    "d:t {2}a:b16", (1, 0), ANY,  "mov").by("Val::pack"),
    row("mov.b32",                                                                                    "{2}d:b16 a:t", (1, 0), ANY,  "mov").by("Val::unpack"),
    row("mov.b64",                                                                                    "d:t {2}a:b32", (1, 0), ANY,  "mov").by("Val::pack"),
    row("mov.b64",                                                                                    "{2}d:b32 a:t", (1, 0), ANY,  "mov").by("Val::unpack"),
    row("ld{.const|.global|.local|.param|.shared}(.b8|.b16|.b32|.b64|.u8|.u16|.u32|.u64|.s8|.s16|.s32|.s64|.f32|.f64)",                                "d:t [a]",      (1, 0), ANY,  "ld").by("Ptr::load"),
    row("ld{.global|.local|.shared}(.ca|.cg|.cs|.lu|.cv)(.b8|.b16|.b32|.b64|.u8|.u16|.u32|.u64|.s8|.s16|.s32|.s64|.f32|.f64)",                         "d:t [a]",      (2, 0), ANY,  "ld").by("Ptr::load_with"),
    row("ld.volatile{.global|.local|.shared}(.b8|.b16|.b32|.b64|.u8|.u16|.u32|.u64|.s8|.s16|.s32|.s64|.f32|.f64)",                                     "d:t [a]",      (1, 1), ANY,  "ld").by("Ptr::load_with"),
    row("ld.global.nc(.b8|.b16|.b32|.b64|.u8|.u16|.u32|.u64|.s8|.s16|.s32|.s64|.f32|.f64)",                                                            "d:t [a]",      (3, 1), ANY,  "ld.global.nc").by("Ptr::load_with"),
    row("ld{.const|.global|.local|.param|.shared}.v2(.b8|.b16|.b32|.b64|.u8|.u16|.u32|.u64|.s8|.s16|.s32|.s64|.f32|.f64)",                             "{2}d:t [a]",   (1, 0), ANY,  "ld").by("Ptr::load_vector"),
    row("ld{.const|.global|.local|.param|.shared}.v4(.b8|.b16|.b32|.u8|.u16|.u32|.s8|.s16|.s32|.f32)",                                                 "{4}d:t [a]",   (1, 0), ANY,  "ld").by("Ptr::load_vector"),
    row("st{.global|.local|.shared}(.b8|.b16|.b32|.b64|.u8|.u16|.u32|.u64|.s8|.s16|.s32|.s64|.f32|.f64)",                                              "[a] b:t",      (1, 0), ANY,  "st").by("Ptr::store"),
    row("st{.global|.local|.shared}(.wb|.cg|.cs|.wt)(.b8|.b16|.b32|.b64|.u8|.u16|.u32|.u64|.s8|.s16|.s32|.s64|.f32|.f64)",                             "[a] b:t",      (2, 0), ANY,  "st").by("Ptr::store_with"),
    row("st.volatile{.global|.local|.shared}(.b8|.b16|.b32|.b64|.u8|.u16|.u32|.u64|.s8|.s16|.s32|.s64|.f32|.f64)",                                     "[a] b:t",      (1, 1), ANY,  "st").by("Ptr::store_with"),
    row("st{.global|.local|.shared}.v2(.b8|.b16|.b32|.b64|.u8|.u16|.u32|.u64|.s8|.s16|.s32|.s64|.f32|.f64)",                                           "[a] {2}b:t",   (1, 0), ANY,  "st").by("Ptr::store_vector"),
    row("st{.global|.local|.shared}.v4(.b8|.b16|.b32|.u8|.u16|.u32|.s8|.s16|.s32|.f32)",                                                               "[a] {4}b:t",   (1, 0), ANY,  "st").by("Ptr::store_vector"),
    row("cvta.to(.global|.shared|.local|.const).u64",                                                 "d:t a:t",      (2, 0), ANY,  "cvta").by("kernel parameters"),
    row("cvta(.global|.shared|.local|.const).u64",                                                    "d:t a:t",      (2, 0), ANY,  "cvta").by("Ptr::generic"),
];
