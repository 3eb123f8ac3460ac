//! PTX ISA, "Control Flow Instructions", "Miscellaneous Instructions" and directives that need a version.

use super::{ANY, Form, SM_90, row};

#[rustfmt::skip]
pub(super) static FLOW: &[Form] = &[
    //   mnemonic                 operands  PTX     needs  PTX ISA  Rust
    row("bra{.uni}",              "label",  (1, 0), ANY,   "bra").by("K::if_, K::for_, …"),
    row("ret{.uni}",              "",       (1, 0), ANY,   "ret").by("K::return_"),
    row("exit",                   "",       (1, 0), ANY,   "exit").by("K::exit"),
];

#[rustfmt::skip]
pub(super) static MISCELLANEOUS: &[Form] = &[
    row("trap",                   "",       (1, 0), ANY,   "trap").by("K::trap"),
];

#[rustfmt::skip]
pub(super) static DIRECTIVES: &[Form] = &[
    row(".reqnctapercluster",     "",       (7, 8), SM_90, ".reqnctapercluster").by("K::cluster"),
];
