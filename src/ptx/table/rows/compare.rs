//! PTX ISA, "Comparison and Selection Instructions" and "Half Precision Comparison Instructions".

use super::{ANY, Form, SM_90, row};

/// Comparisons that are false if either operand is NaN, comparisons that are true in that case, and tests for NaN.
macro_rules! float {
    ($head:literal, $tail:literal) => {
        concat!($head, "(.eq|.ne|.lt|.le|.gt|.ge|.equ|.neu|.ltu|.leu|.gtu|.geu|.num|.nan)", $tail)
    };
}

#[rustfmt::skip]
pub(super) static FORMS: &[Form] = &[
    //   mnemonic                                                                                operands               PTX     needs  PTX ISA  Rust
    row("set(.eq|.ne|.lt|.le|.gt|.ge)(.u32|.s32|.f32)(.u16|.u32|.u64|.s16|.s32|.s64)",           "d:t1 a:t b:t",        (1, 0), ANY,   "set").by("Val::compare_mask"),
    row(float!("set", "{.ftz}(.u32|.s32|.f32).f32"),                                             "d:t1 a:t b:t",        (1, 0), ANY,   "set").by("Val::compare_mask"),
    row(float!("set", "(.u32|.s32|.f32).f64"),                                                   "d:t1 a:t b:t",        (1, 0), ANY,   "set").by("Val::compare_mask"),
    row(float!("set", "{.ftz}.f16.f16"),                                                         "d:t1 a:t b:t",        (4, 2), ANY,   "set").by("Val::compare_unit"),
    row(float!("set", "{.ftz}.f16x2.f16x2"),                                                     "d:t1 a:t b:t",        (4, 2), ANY,   "set").by("Val::compare_unit"),
    row(float!("set", "{.ftz}(.u16|.s16|.u32|.s32).f16"),                                        "d:t1 a:t b:t",        (6, 5), ANY,   "set").by("Val::compare_mask"),
    row(float!("set", "(.bf16.bf16|.bf16x2.bf16x2)"),                                            "d:t1 a:t b:t",        (7, 8), SM_90, "set").by("Val::compare_unit"),
    row(float!("set", "(.u16|.s16|.u32|.s32).bf16"),                                             "d:t1 a:t b:t",        (7, 8), SM_90, "set").by("Val::compare_mask"),
    row("setp(.eq|.ne)(.b16|.b32|.b64)",                                                         "d:pred a:t b:t",      (1, 0), ANY,   "setp").by("Val::eq, ne"),
    row("setp(.eq|.ne|.lt|.le|.gt|.ge)(.u16|.u32|.u64|.s16|.s32|.s64)",                          "d:pred a:t b:t",      (1, 0), ANY,   "setp").by("Val::eq, ne, lt, le, gt, ge"),
    row(float!("setp", "{.ftz}.f32"),                                                            "d:pred a:t b:t",      (1, 0), ANY,   "setp").by("Val::eq, …, nan, Val::compare"),
    row(float!("setp", ".f64"),                                                                  "d:pred a:t b:t",      (1, 0), ANY,   "setp").by("Val::eq, …, nan, Val::compare"),
    row(float!("setp", "{.ftz}.f16"),                                                            "d:pred a:t b:t",      (4, 2), ANY,   "setp").by("Val::eq, …, nan, Val::compare"),
    row(float!("setp", "{.ftz}.f16x2"),                                                          "d:pred|pred a:t b:t", (4, 2), ANY,   "setp").by("Val::compare_each"),
    row(float!("setp", ".bf16"),                                                                 "d:pred a:t b:t",      (7, 8), SM_90, "setp").by("Val::eq, …, nan, Val::compare"),
    row(float!("setp", ".bf16x2"),                                                               "d:pred|pred a:t b:t", (7, 8), SM_90, "setp").by("Val::compare_each"),
    row("selp(.b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64|.f32|.f64)",                          "d:t a:t b:t c:pred",  (1, 0), ANY,   "selp").by("Val::select"),
    row("slct(.b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64|.f32|.f64).s32",                      "d:t1 a:t1 b:t1 c:t",  (1, 0), ANY,   "slct").by("Val::select_by_sign"),
    row("slct{.ftz}(.b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64|.f32|.f64).f32",                "d:t1 a:t1 b:t1 c:t",  (1, 0), ANY,   "slct").by("Val::select_by_sign"),
];
