//! Calls and the instructions for their arguments (PTX ISA, "Control Flow Instructions: call", "Parameter State Space").

use super::{ANY, Form, row};

#[rustfmt::skip]
pub(super) static FORMS: &[Form] = &[
    //   mnemonic          operands    PTX     needs  PTX ISA  Rust
    row("call{.uni}",      "call",     (2, 0), ANY,   "call").by("Builder::print"),
    row("st.param.b64",    "[a] b:t",  (2, 0), ANY,   "st").by("Builder::print"),
];
