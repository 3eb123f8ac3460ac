//! PTX ISA, "Data Movement and Conversion Instructions: cvt".

use super::{ANY, Form, SM_80, SM_90, row};

#[rustfmt::skip]
pub(super) static FORMS: &[Form] = &[
    //   mnemonic                                                                                        operands         PTX     needs  PTX ISA  Rust
    row("cvt(.u8|.u16|.u32|.u64|.s8|.s16|.s32|.s64)(.u8|.u16|.u32|.u64|.s8|.s16|.s32|.s64)",             "d:t1 a:t",      (1, 0), ANY,   "cvt").by("Val::cast, Val::wrap_to"),
    row("cvt.sat.u8(.u16|.u32|.u64|.s8|.s16|.s32|.s64)",                                                 "d:t1 a:t",      (1, 0), ANY,   "cvt").by("Val::clamp_to"),
    row("cvt.sat.s8(.u8|.u16|.u32|.u64|.s16|.s32|.s64)",                                                 "d:t1 a:t",      (1, 0), ANY,   "cvt").by("Val::clamp_to"),
    row("cvt.sat.u16(.u32|.u64|.s8|.s16|.s32|.s64)",                                                     "d:t1 a:t",      (1, 0), ANY,   "cvt").by("Val::cast_saturating"),
    row("cvt.sat.s16(.u16|.u32|.u64|.s32|.s64)",                                                         "d:t1 a:t",      (1, 0), ANY,   "cvt").by("Val::cast_saturating"),
    row("cvt.sat.u32(.u64|.s8|.s16|.s32|.s64)",                                                          "d:t1 a:t",      (1, 0), ANY,   "cvt").by("Val::cast_saturating"),
    row("cvt.sat.s32(.u32|.u64|.s64)",                                                                   "d:t1 a:t",      (1, 0), ANY,   "cvt").by("Val::cast_saturating"),
    row("cvt.sat.u64(.s8|.s16|.s32|.s64)",                                                               "d:t1 a:t",      (1, 0), ANY,   "cvt").by("Val::cast_saturating"),
    row("cvt.sat.s64.u64",                                                                               "d:t1 a:t",      (1, 0), ANY,   "cvt").by("Val::cast_saturating"),
    row("cvt(.rn|.rz|.rm|.rp){.sat}(.f16|.f32|.f64)(.u8|.u16|.u32|.u64|.s8|.s16|.s32|.s64)",             "d:t1 a:t",      (1, 0), ANY,   "cvt").by("Val::cast, Val::convert, Val::cast_saturating"),
    row("cvt(.rni|.rzi|.rmi|.rpi){.ftz}{.sat}(.u8|.u16|.u32|.u64|.s8|.s16|.s32|.s64).f32",               "d:t1 a:t",      (1, 0), ANY,   "cvt").by("Val::cast, Val::convert"),
    row("cvt(.rni|.rzi|.rmi|.rpi){.sat}(.u8|.u16|.u32|.u64|.s8|.s16|.s32|.s64)(.f16|.f64)",              "d:t1 a:t",      (1, 0), ANY,   "cvt").by("Val::cast, Val::convert"),
    row("cvt.sat(.f16.f16|.f32.f32|.f64.f64)",                                                           "d:t1 a:t",      (1, 0), ANY,   "cvt").by("Val::cast_saturating"),
    row("cvt{.ftz}{.sat}.f32.f16",                                                                       "d:t1 a:t",      (1, 0), ANY,   "cvt").by("Val::cast, Val::cast_saturating"),
    row("cvt{.sat}.f64.f16",                                                                             "d:t1 a:t",      (1, 0), ANY,   "cvt").by("Val::cast, Val::cast_saturating"),
    row("cvt{.ftz}{.sat}.f64.f32",                                                                       "d:t1 a:t",      (1, 0), ANY,   "cvt").by("Val::cast, Val::cast_saturating"),
    row("cvt(.rn|.rz|.rm|.rp){.ftz}{.sat}.f16.f32",                                                      "d:t1 a:t",      (1, 0), ANY,   "cvt").by("Val::cast, Val::convert, Val::cast_saturating"),
    row("cvt(.rn|.rz|.rm|.rp){.sat}.f16.f64",                                                            "d:t1 a:t",      (1, 0), ANY,   "cvt").by("Val::cast, Val::convert, Val::cast_saturating"),
    row("cvt(.rn|.rz|.rm|.rp){.ftz}{.sat}.f32.f64",                                                      "d:t1 a:t",      (1, 0), ANY,   "cvt").by("Val::cast, Val::convert, Val::cast_saturating"),
    row("cvt(.rni|.rzi|.rmi|.rpi){.ftz}{.sat}.f32.f32",                                                  "d:t1 a:t",      (1, 0), ANY,   "cvt").by("Val::round"),
    row("cvt(.rni|.rzi|.rmi|.rpi){.sat}(.f16.f16|.f64.f64)",                                             "d:t1 a:t",      (1, 0), ANY,   "cvt").by("Val::round"),
    row("cvt(.rni|.rzi|.rmi|.rpi).bf16.bf16",                                                            "d:t1 a:t",      (7, 8), SM_90, "cvt").by("Val::round"),
    row("cvt(.rn|.rz|.rm|.rp).bf16.f32",                                                                 "d:t1 a:t",      (7, 0), SM_80, "cvt").by("Val::cast, Val::convert"),
    row("cvt(.rn|.rz).relu(.bf16|.f16).f32",                                                             "d:t1 a:t",      (7, 0), SM_80, "cvt").by("Val::convert_relu"),
    row("cvt(.rn|.rz){.relu}(.f16x2|.bf16x2).f32",                                                       "d:t1 a:t b:t",  (7, 0), SM_80, "cvt").by("Val::pack_f32, Val::pack_f32_relu"),
    row("cvt.rna.tf32.f32",                                                                              "d:b32 a:t",     (7, 0), SM_80, "cvt").by("Val::to_tf32"),
    row("cvt.f32.bf16",                                                                                  "d:t1 a:t",      (7, 1), SM_80, "cvt").by("Builder::raw"),
    row("cvt(.f64.bf16|.bf16.f16|.f16.bf16)",                                                            "d:t1 a:t",      (7, 8), SM_90, "cvt").by("Val::cast"),
    row("cvt(.rn|.rz|.rm|.rp)(.bf16.f16|.bf16.f64|.f16.bf16)",                                           "d:t1 a:t",      (7, 8), SM_90, "cvt").by("Val::cast, Val::convert"),
    row("cvt(.rn|.rz|.rm|.rp).bf16(.u16|.u32|.u64|.s16|.s32|.s64)",                                      "d:t1 a:t",      (7, 8), SM_90, "cvt").by("Val::cast, Val::convert"),
    row("cvt(.rni|.rzi|.rmi|.rpi)(.u16|.u32|.u64|.s16|.s32|.s64).bf16",                                  "d:t1 a:t",      (7, 8), SM_90, "cvt").by("Val::cast, Val::convert"),
];
