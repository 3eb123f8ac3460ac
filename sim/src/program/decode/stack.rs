//! `alloca`, `stacksave` and `stackrestore` (PTX ISA, "Stack Manipulation Instructions").

use crate::arith::Int;
use crate::program::code::{Memory, Op};
use crate::program::decode::Decoded;
use crate::program::decode::instruction::Decoder;
use crate::program::decode::opcodes::{Counted, Opcodes, row};
use crate::program::decode::order::AS_WRITTEN;
use crate::program::types::Type;
use crate::report::InstructionClass;

pub(super) const OPCODES: &[Opcodes] = &[
    row(&["alloca"], Counted::As(InstructionClass::Other), AS_WRITTEN, |d| d.alloca().map(Op::Memory)),
    row(&["stacksave"], Counted::As(InstructionClass::Other), AS_WRITTEN, |d| d.stack_save().map(Op::Memory)),
    row(&["stackrestore"], Counted::As(InstructionClass::Other), AS_WRITTEN, |d| {
        d.stack_restore().map(Op::Memory)
    }),
];

impl Decoder<'_, '_, '_> {
    /// Decodes the type `.u32` or `.u64`.
    fn stack_type(&mut self) -> Decoded<Type> {
        match self.want_type()? {
            ty @ Type::Int(Int::U32 | Int::U64) => Ok(ty),
            ty => Err(self.no_such_type(ty)),
        }
    }

    /// Decodes `alloca.type d, bytes[, alignment]`.
    pub(super) fn alloca(&mut self) -> Decoded<Memory> {
        let ty = self.stack_type()?;
        self.arity_of(2, 3)?;
        let align = if self.count() == 3 { self.constant(2, "an alignment")? } else { DEFAULT_ALIGN };
        let Some(align) = u32::try_from(align).ok().filter(|align| align.is_power_of_two()) else {
            return Err(
                self.error_at(self.operand(2), format!("the alignment {align} is not a power of two"))
            );
        };
        Ok(Memory::Alloca { d: self.dst(0, ty)?, bytes: self.src(1, ty)?, align })
    }

    /// Decodes `stacksave.type d`.
    pub(super) fn stack_save(&mut self) -> Decoded<Memory> {
        let ty = self.stack_type()?;
        self.arity(1)?;
        Ok(Memory::StackSave(self.dst(0, ty)?))
    }

    /// Decodes `stackrestore.type a`.
    pub(super) fn stack_restore(&mut self) -> Decoded<Memory> {
        let ty = self.stack_type()?;
        self.arity(1)?;
        Ok(Memory::StackRestore(self.src(0, ty)?))
    }
}

/// The default alignment of an allocation in bytes.
const DEFAULT_ALIGN: i128 = 8;
