//! `ldmatrix`, `stmatrix` and `movmatrix`.

use crate::program::code::{MatrixAccess, Memory, Op, R, Space, WarpOp};
use crate::program::decode::Decoded;
use crate::program::decode::instruction::Decoder;
use crate::program::decode::memory::space_of;
use crate::program::decode::opcodes::{Counted, Opcodes, row};
use crate::program::decode::operand::Fit;
use crate::program::decode::order::{AS_WRITTEN, Order, is_type};
use crate::program::types::Type;
use crate::report::InstructionClass;

/// The order `.sync.aligned.shape.num.trans.space.type`.
const ORDER: Order = |_| {
    Some(|word| match word {
        "sync" => 0,
        "aligned" => 1,
        "x1" | "x2" | "x4" => 3,
        "trans" => 4,
        _ if space_of(word).is_some() => 5,
        _ if is_type(word) => 6,
        _ => 2,
    })
};

pub(super) const OPCODES: &[Opcodes] = &[
    row(&["ldmatrix"], Counted::As(InstructionClass::Load), ORDER, |d| d.matrix_access(true).map(Op::Memory)),
    row(&["stmatrix"], Counted::As(InstructionClass::Store), ORDER, |d| {
        d.matrix_access(false).map(Op::Memory)
    }),
    row(&["movmatrix"], Counted::As(InstructionClass::Warp), AS_WRITTEN, |d| d.movmatrix().map(Op::Warp)),
];

impl Decoder<'_, '_, '_> {
    /// Decodes `{ldmatrix,stmatrix}.sync.aligned.m8n8.{x1,x2,x4}[.trans][.shared].b16`.
    pub(super) fn matrix_access(&mut self, load: bool) -> Decoded<Memory> {
        self.want_word("sync")?;
        self.want_word("aligned")?;
        self.want_word("m8n8")?;
        let count = self.want("`.x1`, `.x2` or `.x4`", |word| match word {
            "x1" => Some(1),
            "x2" => Some(2),
            "x4" => Some(4),
            _ => None,
        })?;
        let transposed = self.m.eat("trans");
        let space = self.m.take(space_of).unwrap_or(Space::Generic);
        if !matches!(space, Space::Generic | Space::Shared) {
            return Err(self.error(format!("`{}` works in shared space", self.i.opcode())));
        }
        self.want_word("b16")?;
        self.arity(2)?;
        let (vector, address) = if load { (0, 1) } else { (1, 0) };
        if count == 1 && !self.is_vector(vector) {
            return Err(self.error_at(self.operand(vector), "expected one register in braces"));
        }
        let regs = if load {
            self.destinations(vector, count, Type::B32, Fit::Exact)?
        } else {
            self.sources(vector, count, Type::B32, Fit::Exact)?
        };
        let regs =
            regs.iter().map(|&reg| self.only_r(self.operand(vector), reg)).collect::<Decoded<Box<[R]>>>()?;
        let (addr, space) = self.addr(address, space)?;
        let all_lanes = self.body.builder.symbols.all_lanes_address_rows;
        let access = Box::new(MatrixAccess { space, addr, transposed, regs, all_lanes });
        Ok(if load { Memory::LdMatrix(access) } else { Memory::StMatrix(access) })
    }

    /// Decodes `movmatrix.sync.aligned.m8n8.trans.b16 d, a`.
    pub(super) fn movmatrix(&mut self) -> Decoded<WarpOp> {
        for word in ["sync", "aligned", "m8n8", "trans", "b16"] {
            self.want_word(word)?;
        }
        self.arity(2)?;
        Ok(WarpOp::MovMatrix(self.dst_r(0, Type::B32)?, self.src_r(1, Type::B32)?))
    }
}
