//! PTX ISA, "Comparison and Selection Instructions" and "Half Precision Comparison Instructions".

use super::{ANY, Form, SM_90, row};

#[rustfmt::skip]
pub(super) static FORMS: &[Form] = &[
    //   mnemonic                                                                                                operands              PTX     needs  PTX ISA  Rust
    row("setp(.eq|.ne)(.b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64)",                                           "d:pred a:t b:t",     (1, 0), ANY,   "setp").by("Val::eq, Val::ne"),
    row("setp(.lt|.le|.gt|.ge)(.u16|.u32|.u64|.s16|.s32|.s64)",                                                  "d:pred a:t b:t",     (1, 0), ANY,   "setp").by("Val::lt, le, gt, ge"),
    row("setp(.eq|.ne|.lt|.le|.gt|.ge){.ftz}.f32",                                                               "d:pred a:t b:t",     (1, 0), ANY,   "setp").by("Val::eq, ne, lt, le, gt, ge"),
    row("setp(.eq|.ne|.lt|.le|.gt|.ge).f64",                                                                     "d:pred a:t b:t",     (1, 0), ANY,   "setp").by("Val::eq, ne, lt, le, gt, ge"),
    row("setp(.equ|.neu|.ltu|.leu|.gtu|.geu|.num|.nan){.ftz}.f32",                                               "d:pred a:t b:t",     (1, 0), ANY,   "setp").by("Val::equ, neu, ltu, leu, gtu, geu, num, nan"),
    row("setp(.equ|.neu|.ltu|.leu|.gtu|.geu|.num|.nan).f64",                                                     "d:pred a:t b:t",     (1, 0), ANY,   "setp").by("Val::equ, neu, ltu, leu, gtu, geu, num, nan"),
    row("setp(.eq|.ne|.lt|.le|.gt|.ge){.ftz}.f16",                                                               "d:pred a:t b:t",     (4, 2), ANY,   "setp").by("Val::eq, ne, lt, le, gt, ge"),
    row("setp(.equ|.neu|.ltu|.leu|.gtu|.geu|.num|.nan){.ftz}.f16",                                               "d:pred a:t b:t",     (4, 2), ANY,   "setp").by("Val::equ, neu, ltu, leu, gtu, geu, num, nan"),
    row("setp(.eq|.ne|.lt|.le|.gt|.ge).bf16",                                                                    "d:pred a:t b:t",     (7, 8), SM_90, "setp").by("Val::eq, ne, lt, le, gt, ge"),
    row("setp(.equ|.neu|.ltu|.leu|.gtu|.geu|.num|.nan).bf16",                                                    "d:pred a:t b:t",     (7, 8), SM_90, "setp").by("Val::equ, neu, ltu, leu, gtu, geu, num, nan"),
    row("selp(.b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64|.f32|.f64)",                                          "d:t a:t b:t c:pred", (1, 0), ANY,   "selp").by("Val::select"),
];
