//! ldmatrix, stmatrix, movmatrix, mma.sync.

use super::Decoded;
use super::instruction::Cx;
use super::memory::space_of;
use super::operand::Fit;
use crate::sim::ast::Operand;
use crate::sim::code::{MatrixAccess, Memory, Mma, R, Space, Tensor, WarpOp};
use crate::sim::types::Type;

impl Cx<'_, '_, '_> {
    /// `{ldmatrix,stmatrix}.sync.aligned.m8n8.{x1,x2,x4}[.trans][.shared].b16`.
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
            return Err(self.error(format!("`{}` works in shared space", self.i.opcode)));
        }
        self.want_word("b16")?;
        self.arity(2)?;
        let (vector, address) = if load { (0, 1) } else { (1, 0) };
        let regs = if load {
            self.destinations(vector, count, Type::B32, Fit::Exact)?
        } else {
            self.sources(vector, count, Type::B32, Fit::Exact)?
        };
        let regs =
            regs.iter().map(|&reg| self.only_r(self.operand(vector), reg)).collect::<Decoded<Box<[R]>>>()?;
        let (addr, space) = self.addr(address, space)?;
        let access = Box::new(MatrixAccess { space, addr, transposed, regs });
        Ok(if load { Memory::LdMatrix(access) } else { Memory::StMatrix(access) })
    }

    /// `movmatrix.sync.aligned.m8n8.trans.b16 d, a`.
    pub(super) fn movmatrix(&mut self) -> Decoded<WarpOp> {
        for word in ["sync", "aligned", "m8n8", "trans", "b16"] {
            self.want_word(word)?;
        }
        self.arity(2)?;
        Ok(WarpOp::MovMatrix(self.dst_r(0, Type::B32)?, self.src_r(1, Type::B32)?))
    }

    /// `mma.sync.aligned.{m16n8k8,m16n8k16}.row.col.dtype.atype.btype.ctype d, a, b, c` on 16-bit floats.
    pub(super) fn mma(&mut self) -> Decoded<Tensor> {
        let unknown = self.error(format!("unknown instruction `{}`", self.i.mnemonic()));
        self.want_word("sync")?;
        self.want_word("aligned")?;
        let k = match self.m.next() {
            Some("m16n8k8") => 8,
            Some("m16n8k16") => 16,
            _ => return Err(unknown),
        };
        self.want_word("row")?;
        self.want_word("col")?;
        let (d, a, b, c) = (self.want_type()?, self.want_type()?, self.want_type()?, self.want_type()?);
        let ty = match (a, b) {
            (Type::F16, Type::F16) | (Type::Bf16, Type::Bf16) => self.float_ty(a)?,
            _ => return Err(unknown),
        };
        let f16 = |ty: Type| match ty {
            Type::F32 => Some(false),
            Type::F16 if a == Type::F16 => Some(true),
            _ => None,
        };
        let (Some(d_f16), Some(c_f16)) = (f16(d), f16(c)) else { return Err(unknown) };
        self.arity(4)?;
        let accumulator = |f16: bool| if f16 { (2, Type::B32) } else { (4, Type::F32) };
        let (count, element) = accumulator(d_f16);
        let d = self.destinations(0, count, element, Fit::Exact)?;
        let d = self.registers(0, &d)?;
        let pairs = usize::from(k) / 4;
        let a = self.sources(1, pairs, Type::B32, Fit::Exact)?;
        let a = self.registers(1, &a)?;
        let b = self.sources(2, pairs / 2, Type::B32, Fit::Exact)?;
        let b = self.registers(2, &b)?;
        let (count, element) = accumulator(c_f16);
        let c = self.sources(3, count, element, Fit::Exact)?;
        let c = self.registers(3, &c)?;
        Ok(Tensor::Mma(Mma { k, ty, c_f16, d_f16, d, a, b: [b[0], b[1]], c }))
    }

    /// Up to four registers; missing ones repeat the first.
    fn registers(&self, n: usize, regs: &[crate::sim::code::Reg]) -> Decoded<[R; 4]> {
        let operand: &Operand = self.operand(n);
        let mut out = [R(0); 4];
        for (i, slot) in out.iter_mut().enumerate() {
            *slot = self.only_r(operand, *regs.get(i).unwrap_or(&regs[0]))?;
        }
        Ok(out)
    }
}
