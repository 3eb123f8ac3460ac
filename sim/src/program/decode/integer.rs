//! Integer, logic, shift and bit-field instructions.

use crate::arith::Int;
use crate::program::code::{Alu, D1, D2, D3, DR, DotOp, H2, Logic, Narrow, Op, R1, R2, R3};
use crate::program::decode::Decoded;
use crate::program::decode::arithmetic::Words;
use crate::program::decode::instruction::Decoder;
use crate::program::decode::opcodes::{Counted, Opcodes, row};
use crate::program::decode::order::{AS_WRITTEN, TYPE_FIRST, TYPES_LAST, TYPES_LAST_OR_FIRST};
use crate::program::types::Type;
use crate::report::InstructionClass;
use crate::text::ast::OperandKind;

const U32: Type = Type::Int(Int::U32);

pub(super) const OPCODES: &[Opcodes] = &[
    row(&["mul24", "mad24"], Counted::As(InstructionClass::Integer), TYPES_LAST_OR_FIRST, |d| {
        d.integer().map(Op::Alu)
    }),
    row(&["bfind"], Counted::As(InstructionClass::Integer), TYPES_LAST, |d| d.integer().map(Op::Alu)),
    row(
        &["sad", "popc", "clz", "fns", "brev", "bfe", "bfi", "szext", "bmsk", "shf", "shl", "shr"],
        Counted::As(InstructionClass::Integer),
        AS_WRITTEN,
        |d| d.integer().map(Op::Alu),
    ),
    row(&["and", "or", "xor", "not", "cnot"], Counted::As(InstructionClass::Integer), AS_WRITTEN, |d| {
        d.integer().map(Op::Alu)
    }),
    row(&["lop3"], Counted::As(InstructionClass::Integer), TYPES_LAST, |d| d.lop3().map(Op::Alu)),
    row(&["prmt"], Counted::As(InstructionClass::Integer), TYPE_FIRST, |d| d.prmt().map(Op::Alu)),
    row(&["dp4a", "dp2a"], Counted::As(InstructionClass::Integer), AS_WRITTEN, |d| {
        d.dot_product().map(Op::Alu)
    }),
];

impl Decoder<'_, '_, '_> {
    fn integer(&mut self) -> Decoded<Alu> {
        let name = self.i.opcode();
        let (words, ty) = self.words()?;
        match name {
            "mul24" | "mad24" => self.int24(name, &words, ty),
            "shf" => self.shf(&words, ty),
            "szext" | "bmsk" => self.clamped(name, &words, ty),
            "bfind" => self.bfind(&words, ty),
            "fns" => {
                self.allow(&words.0, &[])?;
                self.arity(4)?;
                if ty != Type::B32 {
                    return Err(self.no_such_type(ty));
                }
                let d = self.dst_r(0, ty)?;
                let (a, b) = (self.src_r(1, ty)?, self.src_r(2, ty)?);
                Ok(Alu::R3(R3::Fns, d, a, b, self.src_r(3, Type::Int(Int::S32))?))
            }
            _ => {
                self.allow(&words.0, &[])?;
                self.plain_integer(name, ty)
            }
        }
    }

    fn plain_integer(&mut self, name: &str, ty: Type) -> Decoded<Alu> {
        let signed = matches!(ty, Type::Int(int) if int.signed());
        match (name, ty) {
            ("sad", Type::Int(int)) => match (int.bits(), signed) {
                (16, true) => self.r3(R3::SadS16, ty),
                (16, false) => self.r3(R3::SadU16, ty),
                (32, true) => self.r3(R3::SadS, ty),
                (32, false) => self.r3(R3::SadU, ty),
                (64, true) => self.d3(D3::SadS, ty),
                (64, false) => self.d3(D3::SadU, ty),
                _ => Err(self.no_such_type(ty)),
            },
            ("popc" | "clz", Type::B32) => {
                self.arity(2)?;
                let f = if name == "popc" { R1::Popc } else { R1::Clz };
                Ok(Alu::R1(f, self.dst_r(0, U32)?, self.src_r(1, ty)?))
            }
            ("popc" | "clz", Type::B64) => {
                self.arity(2)?;
                let f = if name == "popc" { Narrow::Popc } else { Narrow::Clz };
                Ok(Alu::Narrow(f, self.dst_r(0, U32)?, self.src_d(1, ty)?))
            }
            ("brev", Type::B32) => self.r1(R1::Brev, ty),
            ("brev", Type::B64) => self.d1(D1::Brev, ty),
            ("and" | "or" | "xor" | "not" | "cnot", _) => self.logic(name, ty),
            ("shl" | "shr", _) => self.shift(name, ty),
            ("bfe", Type::Int(int)) if int.bits() >= 32 => {
                self.arity(4)?;
                if int.bits() == 32 {
                    let f = if signed { R3::BfeS } else { R3::BfeU };
                    let (d, a) = (self.dst_r(0, ty)?, self.src_r(1, ty)?);
                    return Ok(Alu::R3(f, d, a, self.bit_count(2)?, self.bit_count(3)?));
                }
                let (d, a) = (self.dst_d(0, ty)?, self.src_d(1, ty)?);
                Ok(Alu::BfeD { signed, d, a, position: self.bit_count(2)?, length: self.bit_count(3)? })
            }
            ("bfi", Type::B32) => {
                self.arity(5)?;
                let (d, a, b) = (self.dst_r(0, ty)?, self.src_r(1, ty)?, self.src_r(2, ty)?);
                Ok(Alu::Bfi(d, a, b, self.bit_count(3)?, self.bit_count(4)?))
            }
            ("bfi", Type::B64) => {
                self.arity(5)?;
                let (d, a, b) = (self.dst_d(0, ty)?, self.src_d(1, ty)?, self.src_d(2, ty)?);
                Ok(Alu::BfiD { d, a, b, position: self.bit_count(3)?, length: self.bit_count(4)? })
            }
            _ => Err(self.no_such_type(ty)),
        }
    }

    fn logic(&mut self, name: &str, ty: Type) -> Decoded<Alu> {
        match (name, ty) {
            ("not", Type::Pred) => {
                self.arity(2)?;
                let d = self.dst_p(self.operand(0))?;
                let (a, negated) = self.src_p(self.operand(1))?;
                Ok(Alu::MovP { d, a, negate: !negated })
            }
            ("and" | "or" | "xor", Type::Pred) => {
                self.arity(3)?;
                let logic = logic_of(name).unwrap_or(Logic::And);
                let d = self.dst_p(self.operand(0))?;
                let mut source = |n: usize| match self.src_p(self.operand(n))? {
                    (p, false) => Ok(p),
                    _ => Err(self.error_at(self.operand(n), "a negated predicate does not go here")),
                };
                let (a, b) = (source(1)?, source(2)?);
                Ok(Alu::LogicP(logic, d, a, b))
            }
            ("not", Type::B16) => self.r1(R1::Not16, ty),
            ("not", Type::B32) => self.r1(R1::Not, ty),
            ("not", Type::B64) => self.d1(D1::Not, ty),
            ("cnot", Type::B16) => self.r1(R1::Cnot16, ty),
            ("cnot", Type::B32) => self.r1(R1::Cnot, ty),
            ("cnot", Type::B64) => self.d1(D1::Cnot, ty),
            ("and", Type::B16 | Type::B32) => self.r2(R2::And, ty),
            ("or", Type::B16 | Type::B32) => self.r2(R2::Or, ty),
            ("xor", Type::B16 | Type::B32) => self.r2(R2::Xor, ty),
            ("and", Type::B64) => self.d2(D2::And, ty),
            ("or", Type::B64) => self.d2(D2::Or, ty),
            ("xor", Type::B64) => self.d2(D2::Xor, ty),
            _ => Err(self.no_such_type(ty)),
        }
    }

    fn shift(&mut self, name: &str, ty: Type) -> Decoded<Alu> {
        self.arity(3)?;
        let signed = matches!(ty, Type::Int(int) if int.signed());
        let bits = ty.bits();
        if (name == "shl") != matches!(ty, Type::B16 | Type::B32 | Type::B64)
            && !(name == "shr" && ty.bits() > 8)
        {
            return Err(self.no_such_type(ty));
        }
        let class = match ty {
            Type::B16 | Type::B32 | Type::B64 | Type::Int(_) => ty,
            _ => return Err(self.no_such_type(ty)),
        };
        if bits == 64 {
            let f = match (name, signed) {
                ("shl", _) => DR::Shl,
                (_, true) => DR::ShrS,
                _ => DR::ShrU,
            };
            let (d, a) = (self.dst_d(0, class)?, self.src_d(1, class)?);
            return Ok(Alu::DR(f, d, a, self.src_r(2, U32)?));
        }
        let (d, a, b) = (self.dst_r(0, class)?, self.src_r(1, class)?, self.src_r(2, U32)?);
        Ok(match (name, bits, signed) {
            ("shl", 16, _) => Alu::H2(H2::Shl16, d, a, b),
            ("shr", 16, true) => Alu::H2(H2::ShrS16, d, a, b),
            ("shr", 16, false) => Alu::H2(H2::ShrU16, d, a, b),
            ("shl", 32, _) => Alu::R2(R2::Shl, d, a, b),
            ("shr", 32, true) => Alu::R2(R2::ShrS, d, a, b),
            ("shr", 32, false) => Alu::R2(R2::ShrU, d, a, b),
            _ => return Err(self.no_such_type(ty)),
        })
    }

    fn int24(&mut self, name: &str, words: &Words<'_>, ty: Type) -> Decoded<Alu> {
        let signed = match ty {
            Type::Int(Int::S32) => true,
            Type::Int(Int::U32) => false,
            _ => return Err(self.no_such_type(ty)),
        };
        let hi = match &words.0[..] {
            ["lo"] => false,
            ["hi"] => true,
            ["hi", "sat"] if signed && name == "mad24" => return self.r3(R3::Mad24HiSSat, ty),
            _ => return Err(self.error(format!("`{name}` requires `.lo` or `.hi`"))),
        };
        if name == "mul24" {
            return self.r2(
                match (hi, signed) {
                    (false, true) => R2::Mul24LoS,
                    (false, false) => R2::Mul24LoU,
                    (true, true) => R2::Mul24HiS,
                    (true, false) => R2::Mul24HiU,
                },
                ty,
            );
        }
        self.r3(
            match (hi, signed) {
                (false, true) => R3::Mad24LoS,
                (false, false) => R3::Mad24LoU,
                (true, true) => R3::Mad24HiS,
                (true, false) => R3::Mad24HiU,
            },
            ty,
        )
    }

    /// Decodes `shf.{l,r}.{clamp,wrap}.b32 d, a, b, c`.
    fn shf(&mut self, words: &Words<'_>, ty: Type) -> Decoded<Alu> {
        let f = match &words.0[..] {
            ["l", "clamp"] => R3::ShfLClamp,
            ["l", "wrap"] => R3::ShfLWrap,
            ["r", "clamp"] => R3::ShfRClamp,
            ["r", "wrap"] => R3::ShfRWrap,
            _ => return Err(self.error("`shf` requires `.l` or `.r`, then `.clamp` or `.wrap`")),
        };
        if ty != Type::B32 {
            return Err(self.no_such_type(ty));
        }
        self.arity(4)?;
        let (d, a, b) = (self.dst_r(0, ty)?, self.src_r(1, ty)?, self.src_r(2, ty)?);
        Ok(Alu::R3(f, d, a, b, self.src_r(3, U32)?))
    }

    /// Decodes `szext.{clamp,wrap}.type d, a, b` and `bmsk.{clamp,wrap}.b32 d, a, b`.
    fn clamped(&mut self, name: &str, words: &Words<'_>, ty: Type) -> Decoded<Alu> {
        let wrap = match &words.0[..] {
            ["clamp"] => false,
            ["wrap"] => true,
            _ => return Err(self.error(format!("`{name}` requires `.clamp` or `.wrap`"))),
        };
        let f = match (name, ty, wrap) {
            ("bmsk", Type::B32, false) => R2::BmskClamp,
            ("bmsk", Type::B32, true) => R2::BmskWrap,
            ("szext", Type::Int(Int::U32), false) => R2::SzextUClamp,
            ("szext", Type::Int(Int::U32), true) => R2::SzextUWrap,
            ("szext", Type::Int(Int::S32), false) => R2::SzextSClamp,
            ("szext", Type::Int(Int::S32), true) => R2::SzextSWrap,
            _ => return Err(self.no_such_type(ty)),
        };
        self.arity(3)?;
        let (d, a) = (self.dst_r(0, ty)?, self.src_r(1, ty)?);
        Ok(Alu::R2(f, d, a, self.src_r(2, U32)?))
    }

    fn bfind(&mut self, words: &Words<'_>, ty: Type) -> Decoded<Alu> {
        self.allow(&words.0, &["shiftamt"])?;
        self.arity(2)?;
        let Type::Int(int) = ty else { return Err(self.no_such_type(ty)) };
        let shift = words.has("shiftamt");
        let d = self.dst_r(0, U32)?;
        match (int.bits(), int.signed(), shift) {
            (32, true, true) => Ok(Alu::R1(R1::BfindShiftS, d, self.src_r(1, ty)?)),
            (32, true, false) => Ok(Alu::R1(R1::BfindS, d, self.src_r(1, ty)?)),
            (32, false, true) => Ok(Alu::R1(R1::BfindShiftU, d, self.src_r(1, ty)?)),
            (32, false, false) => Ok(Alu::R1(R1::BfindU, d, self.src_r(1, ty)?)),
            (64, true, true) => Ok(Alu::Narrow(Narrow::BfindShiftS, d, self.src_d(1, ty)?)),
            (64, true, false) => Ok(Alu::Narrow(Narrow::BfindS, d, self.src_d(1, ty)?)),
            (64, false, true) => Ok(Alu::Narrow(Narrow::BfindShiftU, d, self.src_d(1, ty)?)),
            (64, false, false) => Ok(Alu::Narrow(Narrow::BfindU, d, self.src_d(1, ty)?)),
            _ => Err(self.no_such_type(ty)),
        }
    }

    /// Decodes `prmt.b32[.mode] d, a, b, c`.
    fn prmt(&mut self) -> Decoded<Alu> {
        let ty = self.want_type()?;
        if ty != Type::B32 {
            return Err(self.no_such_type(ty));
        }
        let f = self.m.take(|word| {
            Some(match word {
                "f4e" => R3::PrmtF4e,
                "b4e" => R3::PrmtB4e,
                "rc8" => R3::PrmtRc8,
                "ecl" => R3::PrmtEcl,
                "ecr" => R3::PrmtEcr,
                "rc16" => R3::PrmtRc16,
                _ => return None,
            })
        });
        self.r3(f.unwrap_or(R3::Prmt), ty)
    }

    /// Decodes `lop3[.or|.and].b32 d[|p], a, b, c, lut[, q]`.
    fn lop3(&mut self) -> Decoded<Alu> {
        let or = self.m.take(|word| match word {
            "or" => Some(true),
            "and" => Some(false),
            _ => None,
        });
        let ty = self.want_type()?;
        if ty != Type::B32 {
            return Err(self.no_such_type(ty));
        }
        self.arity(if or.is_some() { 6 } else { 5 })?;
        // ptxas uses the low byte of a larger table.
        let lut = self.constant(4, "the table of `lop3`")? as u8;
        let Some(or) = or else {
            let (d, a, b) = (self.dst_r(0, ty)?, self.src_r(1, ty)?, self.src_r(2, ty)?);
            return Ok(Alu::Lop3(d, a, b, self.src_r(3, ty)?, lut));
        };
        let (d, p) = self.pair(self.operand(0));
        let Some(p) = p else {
            return Err(self.error_at(self.operand(0), "expected `d|p`"));
        };
        let d = self.dst_as(d, ty, crate::program::decode::operand::Fit::Exact)?;
        let d = self.as_r(0, d)?;
        let p = self.dst_p(p)?;
        let (a, b, c) = (self.src_r(1, ty)?, self.src_r(2, ty)?, self.src_r(3, ty)?);
        let (q, negate) = self.src_p(self.operand(5))?;
        Ok(Alu::Lop3Pred { d, p, a, b, c, lut, or, q, negate })
    }

    /// Decodes `dp4a.atype.btype d, a, b, c` and `dp2a.{lo,hi}.atype.btype d, a, b, c`.
    fn dot_product(&mut self) -> Decoded<Alu> {
        let two = if self.i.opcode() == "dp2a" {
            Some(self.want("`.lo` or `.hi`", |word| match word {
                "lo" => Some(false),
                "hi" => Some(true),
                _ => None,
            })?)
        } else {
            None
        };
        let mut sign = || {
            self.want("`.u32` or `.s32`", |word| match word {
                "u32" => Some(false),
                "s32" => Some(true),
                _ => None,
            })
        };
        let (a_signed, b_signed) = (sign()?, sign()?);
        self.arity(4)?;
        let ty = |signed| Type::Int(if signed { Int::S32 } else { Int::U32 });
        let sum = ty(a_signed || b_signed);
        let d = self.dst_r(0, sum)?;
        let (a, b, c) = (self.src_r(1, ty(a_signed))?, self.src_r(2, ty(b_signed))?, self.src_r(3, sum)?);
        Ok(Alu::Dot(Box::new(DotOp { a_signed, b_signed, two, d, a, b, c })))
    }

    /// Decodes `.and`, `.or` or `.xor` if it is the next qualifier.
    pub(super) fn logic_word(&mut self) -> Option<Logic> {
        self.m.take(logic_of)
    }

    /// Returns whether operand `n` is a vector in braces.
    pub(super) fn is_vector(&self, n: usize) -> bool {
        matches!(self.operand(n).kind, OperandKind::Vector(_))
    }
}

fn logic_of(word: &str) -> Option<Logic> {
    Some(match word {
        "and" => Logic::And,
        "or" => Logic::Or,
        "xor" => Logic::Xor,
        _ => return None,
    })
}
