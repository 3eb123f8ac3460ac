//! PTX ISA, "Extended-Precision Integer Arithmetic Instructions".

use super::{ANY, Form, row};

#[rustfmt::skip]
pub(super) static FORMS: &[Form] = &[
    //   mnemonic                            operands            PTX     needs PTX ISA     Rust
    row("add.cc(.u32|.s32)",                 "d:t a:t b:t",      (1, 2), ANY,  "add.cc").by("Builder::add_words"),
    row("add.cc(.u64|.s64)",                 "d:t a:t b:t",      (4, 3), ANY,  "add.cc").by("Builder::add_words"),
    row("addc{.cc}(.u32|.s32)",              "d:t a:t b:t",      (1, 2), ANY,  "addc").by("Builder::add_words"),
    row("addc{.cc}(.u64|.s64)",              "d:t a:t b:t",      (4, 3), ANY,  "addc").by("Builder::add_words"),
    row("sub.cc(.u32|.s32)",                 "d:t a:t b:t",      (1, 2), ANY,  "sub.cc").by("Builder::sub_words"),
    row("sub.cc(.u64|.s64)",                 "d:t a:t b:t",      (4, 3), ANY,  "sub.cc").by("Builder::sub_words"),
    row("subc{.cc}(.u32|.s32)",              "d:t a:t b:t",      (1, 2), ANY,  "subc").by("Builder::sub_words"),
    row("subc{.cc}(.u64|.s64)",              "d:t a:t b:t",      (4, 3), ANY,  "subc").by("Builder::sub_words"),
    row("mad(.lo|.hi).cc(.u32|.s32)",        "d:t a:t b:t c:t",  (3, 0), ANY,  "mad.cc").by("Builder::mad_words"),
    row("mad(.lo|.hi).cc(.u64|.s64)",        "d:t a:t b:t c:t",  (4, 3), ANY,  "mad.cc").by("Builder::mad_words"),
    row("madc(.lo|.hi){.cc}(.u32|.s32)",     "d:t a:t b:t c:t",  (3, 0), ANY,  "madc").by("Builder::mad_words"),
    row("madc(.lo|.hi){.cc}(.u64|.s64)",     "d:t a:t b:t c:t",  (4, 3), ANY,  "madc").by("Builder::mad_words"),
];
