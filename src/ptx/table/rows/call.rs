//! `call`, and what moves its arguments (PTX ISA, "Control Flow Instructions: call").

use super::{ANY, Form, row};

#[rustfmt::skip]
pub(super) static FORMS: &[Form] = &[
    //   mnemonic                                                   operands         PTX     needs  PTX ISA
    row("call{.uni}",                                               "call",          (1, 0), ANY,   "call"),
    row("st.param(.b64)",                                           "[a] b:t",       (2, 0), ANY,   "st"),
    row("ld.param(.b32)",                                           "d:t [a]",       (2, 0), ANY,   "ld"),
    row("cvta(.global|.local).u64",                                 "d:t a:t",       (2, 0), ANY,   "cvta"),
    row("ld(.local|.const)(.u8|.s8|.u16|.s16|.b16|.u32|.s32|.b32|.u64|.s64|.f32|.f64)", "d:t [a]", (1, 0), ANY,   "ld"),
    row("st.local(.u8|.s8|.u16|.s16|.b16|.u32|.s32|.b32|.u64|.s64|.f32|.f64)",          "[a] b:t", (1, 0), ANY,   "st"),
    row("cvt(.f64.f32|.f32.f16|.u32.u16|.s32.s16)",                 "d:t a:t",       (1, 0), ANY,   "cvt"),
    row("selp.u32",                                                 "d:t a:t b:t c:pred", (1, 0), ANY,   "selp"),
];
