//! Valid PTX that is not supported, and the reasons. Only kernels that can reach it are rejected, when they are launched.

use crate::program::code::Op;
use crate::program::decode::Decoded;
use crate::program::decode::instruction::Decoder;
use crate::program::decode::opcodes::{Counted, Opcodes, row};
use crate::program::decode::order::AS_WRITTEN;
use crate::report::InstructionClass;
use crate::text::error::ParseError;

const OTHER: Counted = Counted::As(InstructionClass::Other);

pub(super) const OPCODES: &[Opcodes] = &[
    row(&["tcgen05"], OTHER, AS_WRITTEN, |d| refuse(d, "tensor memory is not modeled")),
    row(&["multimem"], OTHER, AS_WRITTEN, |d| refuse(d, "multicast objects of several GPUs are not modeled")),
    row(&["txq", "suq", "istypep"], OTHER, AS_WRITTEN, |d| {
        refuse(d, "what textures and surfaces are like is known to the driver")
    }),
    row(&["sured"], OTHER, AS_WRITTEN, |d| refuse(d, "reductions of surfaces are not modeled")),
];

/// The prefixes of unsupported qualifiers of copies, and the reasons.
const QUALIFIERS: [(&str, &str); 2] = [
    ("cta_group::", "copies for the products of a pair of blocks (tcgen05) are not modeled"),
    ("im2col::", "the wide im2col modes are not modeled"),
];

fn refuse(decoder: &Decoder<'_, '_, '_>, reason: &str) -> Decoded<Op> {
    Err(decoder.unsupported(reason))
}

impl Decoder<'_, '_, '_> {
    /// Rejects a copy with an unsupported qualifier.
    pub(super) fn check_qualifiers(&self) -> Decoded<()> {
        let reason = |word: &&str| QUALIFIERS.iter().find(|(start, _)| word.starts_with(start));
        match self.m.all().iter().find_map(reason) {
            Some((_, reason)) => Err(self.unsupported(reason)),
            None => Ok(()),
        }
    }

    /// Returns the error for an instruction that is valid PTX but not supported.
    pub(super) fn unsupported(&self, reason: &str) -> ParseError {
        self.error(format!("`{}` is not supported: {reason}", self.i.mnemonic())).of_unsupported()
    }
}
