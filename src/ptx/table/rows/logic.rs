//! PTX ISA, "Logic and Shift Instructions" and `prmt`.

use super::{ANY, Form, row};

#[rustfmt::skip]
pub(super) static FORMS: &[Form] = &[
    //   mnemonic                                                    operands                                  PTX     needs PTX ISA  Rust
    row("and(.pred|.b16|.b32|.b64)",                                 "d:t a:t b:t",                            (1, 0), ANY,  "and").by("&"),
    row("or(.pred|.b16|.b32|.b64)",                                  "d:t a:t b:t",                            (1, 0), ANY,  "or").by("|"),
    row("xor(.pred|.b16|.b32|.b64)",                                 "d:t a:t b:t",                            (1, 0), ANY,  "xor").by("^"),
    row("not(.pred|.b16|.b32|.b64)",                                 "d:t a:t",                                (1, 0), ANY,  "not").by("!"),
    row("cnot(.b16|.b32|.b64)",                                      "d:t a:t",                                (1, 0), ANY,  "cnot").by("Val::cnot"),
    row("lop3.b32",                                                  "d:t a:t b:t c:t #0x3f",                  (4, 3), ANY,  "lop3").by("Val::lop3"),
    row("lop3(.or|.and).b32",                                        "d:t|pred a:t b:t c:t #0x3f !e:pred",     (8, 2), ANY,  "lop3").by("Val::lop3_or, Val::lop3_and"),
    row("shl(.b16|.b32|.b64)",                                       "d:t a:t b:u32",                          (1, 0), ANY,  "shl").by("<<"),
    row("shr(.b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64)",         "d:t a:t b:u32",                          (1, 0), ANY,  "shr").by(">>"),
    row("shf(.l|.r)(.clamp|.wrap).b32",                              "d:t a:t b:t c:u32",                      (3, 1), ANY,  "shf").by("Val::funnel_left, Val::funnel_right"),
    row("prmt.b32{.f4e|.b4e|.rc8|.ecl|.ecr|.rc16}",                  "d:t a:t b:t c:b32",                      (2, 0), ANY,  "prmt").by("Val::permute, Val::permute_with"),
];
