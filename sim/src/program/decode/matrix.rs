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
        "b8x16" => 6,
        "b4x16_p64" | "b6x16_p32" => 7,
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

/// The shape of a matrix.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// 8×8 16-bit elements.
    Halves,
    /// 16 columns of 8-bit elements, which are transposed.
    Columns,
    /// 8 rows of sixteen 4-bit or 6-bit elements, which are expanded to bytes.
    Rows,
}

impl Decoder<'_, '_, '_> {
    /// Decodes `{ldmatrix,stmatrix}.sync.aligned.m8n8.{x1,x2,x4}[.trans][.shared].b16`. Shapes with 8-bit elements are checked and then
    /// rejected.
    pub(super) fn matrix_access(&mut self, load: bool) -> Decoded<Memory> {
        self.want_word("sync")?;
        self.want_word("aligned")?;
        let shape = self.want("a shape", |word| match (word, load) {
            ("m8n8", _) => Some(Shape::Halves),
            ("m16n16", true) | ("m16n8", false) => Some(Shape::Columns),
            ("m8n16", true) => Some(Shape::Rows),
            _ => None,
        })?;
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
        let expands = load && shape != Shape::Halves && self.m.eat("b8x16");
        if expands {
            self.want("`.b4x16_p64` or `.b6x16_p32`", |word| {
                matches!(word, "b4x16_p64" | "b6x16_p32").then_some(())
            })?;
        } else {
            self.want_word(if shape == Shape::Halves { "b16" } else { "b8" })?;
        }
        // A matrix with 16 rows and 16 columns occupies two registers.
        let registers = if load && shape == Shape::Columns { 2 * count } else { count };
        let fits = match shape {
            Shape::Halves => true,
            Shape::Columns => transposed && registers <= 4,
            Shape::Rows => !transposed && expands,
        };
        if !fits {
            return Err(self.unknown());
        }
        self.arity(2)?;
        let (vector, address) = if load { (0, 1) } else { (1, 0) };
        if registers == 1 && !self.is_vector(vector) {
            return Err(self.error_at(self.operand(vector), "expected one register in braces"));
        }
        let regs = if load {
            self.destinations(vector, registers, Type::B32, Fit::Exact)?
        } else {
            self.sources(vector, registers, Type::B32, Fit::Exact)?
        };
        let regs =
            regs.iter().map(|&reg| self.only_r(self.operand(vector), reg)).collect::<Decoded<Box<[R]>>>()?;
        let (addr, space) = self.addr(address, space)?;
        if shape != Shape::Halves {
            return Err(self.unsupported("results of matrices of bytes have not been recorded"));
        }
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
