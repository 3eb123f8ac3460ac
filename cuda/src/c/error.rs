//! Functions of the section "Error Handling".

use super::pointers::{Out, StaticText};
use crate::c::{Entry, call};
use crate::code::Code;

/// Stores a string for a result code. For an unknown code, stores null and returns an error.
fn text(
    name: &'static str,
    code: Code,
    out: Out<StaticText>,
    pick: impl FnOnce(Code) -> Option<StaticText>,
) -> Code {
    call(name, || {
        let found = pick(code);
        out.set(found.unwrap_or(StaticText::NULL))?;
        found.map(drop).ok_or(Code::INVALID_VALUE)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetErrorString(error: Code, out: Out<StaticText>) -> Code {
    text("cuGetErrorString", error, out, |code| code.texts().map(|(_, text)| text.into()))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetErrorName(error: Code, out: Out<StaticText>) -> Code {
    text("cuGetErrorName", error, out, |code| code.texts().map(|(name, _)| name.into()))
}

/// The functions of this module, which do not require `cuInit`.
pub(super) const ENTRIES: &[Entry] = &[
    Entry { name: "cuGetErrorString", address: cuGetErrorString as *const () },
    Entry { name: "cuGetErrorName", address: cuGetErrorName as *const () },
];
