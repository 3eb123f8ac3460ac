//! `setp`, `set`, `selp` and `slct`.

use crate::arith::compare::Compare;
use crate::arith::{Int, Ty};
use crate::program::code::{Alu, Logic, Op, P, Reg, Set, Setp};
use crate::program::decode::Decoded;
use crate::program::decode::instruction::Decoder;
use crate::program::decode::opcodes::{Counted, Opcodes, row};
use crate::program::decode::operand::Fit;
use crate::program::decode::order::{AS_WRITTEN, Order, TYPES_LAST, is_type};
use crate::program::types::{Meaning, Type};
use crate::report::InstructionClass;
use crate::text::ast::{Operand, OperandKind};

/// Returns a comparison operator, whether it is valid only for unsigned integers, and whether it is valid only for floating-point numbers.
pub(super) fn compare_of(word: &str) -> Option<(Compare, bool, bool)> {
    Some(match word {
        "eq" => (Compare::Eq, false, false),
        "ne" => (Compare::Ne, false, false),
        "lt" => (Compare::Lt, false, false),
        "le" => (Compare::Le, false, false),
        "gt" => (Compare::Gt, false, false),
        "ge" => (Compare::Ge, false, false),
        "lo" => (Compare::Lt, true, false),
        "ls" => (Compare::Le, true, false),
        "hi" => (Compare::Gt, true, false),
        "hs" => (Compare::Ge, true, false),
        "equ" => (Compare::Equ, false, true),
        "neu" => (Compare::Neu, false, true),
        "ltu" => (Compare::Ltu, false, true),
        "leu" => (Compare::Leu, false, true),
        "gtu" => (Compare::Gtu, false, true),
        "geu" => (Compare::Geu, false, true),
        "num" => (Compare::Num, false, true),
        "nan" => (Compare::Nan, false, true),
        _ => return None,
    })
}

/// The first qualifiers of a comparison.
struct Head {
    compare: Compare,
    combine: Option<Logic>,
    ftz: bool,
}

/// The order `.cmp.bool.ftz.type`.
const COMPARISON: Order = |_| {
    Some(|word| match word {
        "and" | "or" | "xor" => 1,
        "ftz" => 2,
        _ if is_type(word) => 3,
        _ => 0,
    })
};

pub(super) const OPCODES: &[Opcodes] = &[
    row(&["setp"], Counted::As(InstructionClass::Compare), COMPARISON, |d| d.setp().map(Op::Alu)),
    row(&["set"], Counted::As(InstructionClass::Compare), COMPARISON, |d| d.set().map(Op::Alu)),
    row(&["selp"], Counted::As(InstructionClass::Move), AS_WRITTEN, |d| d.selp().map(Op::Alu)),
    row(&["slct"], Counted::As(InstructionClass::Move), TYPES_LAST, |d| d.slct().map(Op::Alu)),
];

impl Decoder<'_, '_, '_> {
    fn compare_head(&mut self) -> Decoded<(Head, bool, bool)> {
        let (compare, unsigned, float) = self.want("a comparison such as `.lt`", compare_of)?;
        let combine = self.logic_word();
        let ftz = self.m.eat("ftz");
        Ok((Head { compare, combine, ftz }, unsigned, float))
    }

    /// Returns the number format of the comparison, and whether operands are pairs.
    fn compared(&self, ty: Type, head: &Head, unsigned: bool, float: bool) -> Decoded<(Ty, bool)> {
        let (number, pair) = match ty {
            Type::F16x2 | Type::Bf16x2 => (ty.float().map(Ty::Float), true),
            Type::Int(int) if int.bits() < 16 => (None, false),
            Type::B8 | Type::Tf32 => (None, false),
            _ => (ty.number(), false),
        };
        let Some(number) = number else { return Err(self.no_such_type(ty)) };
        let is_float = matches!(number, Ty::Float(_));
        let bits = ty.meaning() == Meaning::Bits && !pair;
        let signed = matches!(ty, Type::Int(int) if int.signed());
        let wrong = (float && !is_float)
            || (unsigned && (is_float || signed || bits))
            || (bits && !matches!(head.compare, Compare::Eq | Compare::Ne))
            || (head.ftz && !matches!(ty, Type::F32 | Type::F16 | Type::F16x2));
        if wrong {
            return Err(self.error(format!("`{}` does not compare {ty}", self.i.mnemonic())));
        }
        Ok((number, pair))
    }

    fn combined(&mut self, head: &Head, n: usize) -> Decoded<Option<(Logic, P, bool)>> {
        match head.combine {
            None => Ok(None),
            Some(logic) => {
                let (p, negated) = self.src_p(self.operand(n))?;
                Ok(Some((logic, p, negated)))
            }
        }
    }

    pub(super) fn setp(&mut self) -> Decoded<Alu> {
        let (head, unsigned, float) = self.compare_head()?;
        let ty = self.want_type()?;
        let (number, pair) = self.compared(ty, &head, unsigned, float)?;
        self.arity(if head.combine.is_some() { 4 } else { 3 })?;
        let (d, q) = self.pair(self.operand(0));
        let d = self.dst_p(d)?;
        let q = match q {
            Some(q) => self.dst_p(q)?,
            None => match self.body.builder.new_register(Type::Pred) {
                Reg::P(p) => p,
                other => unreachable!("a predicate in {other:?}"),
            },
        };
        let (a, b) = (self.src(1, ty)?, self.src(2, ty)?);
        let combine = self.combined(&head, 3)?;
        Ok(Alu::Setp(Box::new(Setp {
            compare: head.compare,
            ty: number,
            pair,
            ftz: head.ftz,
            d,
            q,
            a,
            b,
            combine,
        })))
    }

    pub(super) fn set(&mut self) -> Decoded<Alu> {
        let (head, unsigned, float) = self.compare_head()?;
        let to = self.want_type()?;
        let ty = self.want_type()?;
        let (number, pair) = self.compared(ty, &head, unsigned, float)?;
        let half = ty.float().is_some() && ty.bits() == 16;
        let one = match to {
            Type::F32 if half || pair => return Err(self.no_such_type(to)),
            Type::F16 if pair || ty == Type::Bf16 => return Err(self.no_such_type(to)),
            Type::Bf16 if pair => return Err(self.no_such_type(to)),
            Type::F16x2 | Type::Bf16x2 if to != ty => return Err(self.no_such_type(to)),
            Type::Int(int) if int.bits() == 16 && !half => return Err(self.no_such_type(to)),
            Type::F32 => 0x3f80_0000,
            Type::F16 | Type::F16x2 => 0x3c00,
            Type::Bf16 | Type::Bf16x2 => 0x3f80,
            Type::Int(int) if int.bits() == 32 => u32::MAX,
            Type::Int(int) if int.bits() == 16 => 0xffff,
            _ => return Err(self.no_such_type(to)),
        };
        let one = if pair && to.bits() == 32 && !to.is_pair() { 0xffff } else { one };
        self.arity(if head.combine.is_some() { 4 } else { 3 })?;
        let d = self.dst_r(0, to)?;
        let (a, b) = (self.src(1, ty)?, self.src(2, ty)?);
        let combine = self.combined(&head, 3)?;
        Ok(Alu::Set(Box::new(Set {
            compare: head.compare,
            ty: number,
            pair,
            ftz: head.ftz,
            d,
            one,
            a,
            b,
            combine,
        })))
    }

    pub(super) fn selp(&mut self) -> Decoded<Alu> {
        let ty = self.want_type()?;
        if ty == Type::Pred
            || ty.bits() < 16
            || ty.bits() > 64
            || ty.is_pair()
            || matches!(ty, Type::F16 | Type::Bf16 | Type::Tf32)
        {
            return Err(self.no_such_type(ty));
        }
        self.arity(4)?;
        let d = self.dst(0, ty)?;
        let (a, b) = (self.src(1, ty)?, self.src(2, ty)?);
        let (p, negated) = self.src_p(self.operand(3))?;
        let (a, b) = if negated { (b, a) } else { (a, b) };
        match (d, a, b) {
            (Reg::R(d), Reg::R(a), Reg::R(b)) => Ok(Alu::SelectR(d, a, b, p)),
            (Reg::D(d), Reg::D(a), Reg::D(b)) => Ok(Alu::SelectD(d, a, b, p)),
            _ => Err(self.no_such_type(ty)),
        }
    }

    pub(super) fn slct(&mut self) -> Decoded<Alu> {
        let ftz = self.m.eat("ftz");
        let ty = self.want_type()?;
        let condition = self.want_type()?;
        let float = match condition {
            Type::F32 => true,
            Type::Int(Int::S32) if !ftz => false,
            _ => return Err(self.no_such_type(condition)),
        };
        if ty == Type::Pred
            || ty.bits() < 16
            || ty.bits() > 64
            || matches!(ty, Type::F16 | Type::Bf16 | Type::Tf32)
        {
            return Err(self.no_such_type(ty));
        }
        self.arity(4)?;
        let d = self.dst(0, ty)?;
        let (a, b) = (self.src(1, ty)?, self.src(2, ty)?);
        let c = self.src_r(3, condition)?;
        Ok(Alu::Slct { d, a, b, c, float, ftz })
    }

    /// Returns the registers of a vector destination, or the single register.
    pub(super) fn destinations(&mut self, n: usize, count: usize, ty: Type, fit: Fit) -> Decoded<Box<[Reg]>> {
        let elements = self.elements_of(self.operand(n), count)?;
        self.check_elements(n, &elements, ty)?;
        elements.iter().map(|operand| self.dst_as(operand, ty, fit)).collect()
    }

    /// Checks that the registers of a vector have the same width.
    fn check_elements(&mut self, n: usize, elements: &[Operand], ty: Type) -> Decoded<()> {
        let mut width = None;
        for element in elements {
            let Some((_, found)) = self.register_of(element)? else { continue };
            if found.bits() != *width.get_or_insert(found.bits()) {
                let message = format!("the registers of a vector of {ty} differ in width");
                return Err(self.error_at(self.operand(n), message));
            }
        }
        Ok(())
    }

    /// Returns the registers of a vector source, or the single register.
    pub(super) fn sources(&mut self, n: usize, count: usize, ty: Type, fit: Fit) -> Decoded<Box<[Reg]>> {
        let elements = self.elements_of(self.operand(n), count)?;
        self.check_elements(n, &elements, ty)?;
        elements
            .iter()
            .map(|operand| match &operand.kind {
                OperandKind::Name(name) if **name == *"_" => {
                    Err(self.error_at(operand, "`_` is not a source"))
                }
                _ => self.src_as(operand, ty, fit),
            })
            .collect()
    }
}
