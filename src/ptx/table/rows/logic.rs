//! PTX ISA, "Logic and Shift Instructions".

use super::{ANY, Form, row};

#[rustfmt::skip]
pub(super) static FORMS: &[Form] = &[
    //   mnemonic                                                                operands                    PTX     needs PTX ISA  Rust
    row("and(.pred|.b16|.b32|.b64)",                                             "d:t a:t b:t",              (1, 0), ANY,  "and").by("&"),
    row("or(.pred|.b16|.b32|.b64)",                                              "d:t a:t b:t",              (1, 0), ANY,  "or").by("|"),
    row("xor(.pred|.b16|.b32|.b64)",                                             "d:t a:t b:t",              (1, 0), ANY,  "xor").by("^"),
    row("not(.pred|.b16|.b32|.b64)",                                             "d:t a:t",                  (1, 0), ANY,  "not").by("!"),
    row("shl(.b16|.b32|.b64)",                                                   "d:t a:t b:u32",            (1, 0), ANY,  "shl").by("<<"),
    row("shr(.b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64)",                     "d:t a:t b:u32",            (1, 0), ANY,  "shr").by(">>"),
];
