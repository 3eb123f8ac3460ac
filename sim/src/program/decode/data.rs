//! `mov`, `cvta` and `isspacep`.

use crate::arith::Int;
use crate::program::code::{Alu, Base, D1, Memory, Op, R1, Reg, Space, Value, Widen};
use crate::program::decode::Decoded;
use crate::program::decode::instruction::Decoder;
use crate::program::decode::opcodes::{Counted, Opcodes, row};
use crate::program::decode::operand::Fit;
use crate::program::decode::order::{AS_WRITTEN, types_last};
use crate::program::decode::special::clock;
use crate::program::types::{Meaning, Type};
use crate::report::InstructionClass;
use crate::text::ast::{Operand, OperandKind};

pub(super) const OPCODES: &[Opcodes] = &[
    row(&["mov"], Counted::As(InstructionClass::Move), AS_WRITTEN, |d| d.mov()),
    row(
        &["cvta"],
        Counted::As(InstructionClass::Move),
        |words| words.iter().skip(1).all(|word| *word != "to").then_some(types_last),
        |d| d.cvta().map(Op::Alu),
    ),
    row(&["isspacep"], Counted::As(InstructionClass::Move), AS_WRITTEN, |d| d.isspacep().map(Op::Memory)),
    row(&["createpolicy"], Counted::As(InstructionClass::Move), AS_WRITTEN, |d| {
        d.createpolicy().map(Op::Alu)
    }),
];

impl<'m> Decoder<'_, '_, 'm> {
    pub(super) fn mov(&mut self) -> Decoded<Op> {
        if self.m.eat("v4") {
            return self.mov_special().map(Op::Alu);
        }
        let ty = self.want_type()?;
        if matches!(ty, Type::Int(int) if int.bits() == 8)
            || ty == Type::B8
            || ty.is_pair()
            || matches!(ty, Type::Tf32 | Type::F16 | Type::Bf16)
        {
            return Err(self.no_such_type(ty));
        }
        self.arity(2)?;
        if self.is_vector(0) || self.is_vector(1) {
            return self.mov_vector(ty).map(Op::Alu);
        }
        let source = self.operand(1);
        if let OperandKind::Name(name) = &source.kind
            && let Some((clock, bits)) = clock(name)
        {
            if bits != ty.bits() || ty.meaning() == Meaning::Float {
                return Err(self.error_at(source, format!("`{name}` has {bits} bits")));
            }
            let d = self.dst(0, ty)?;
            return Ok(Op::Alu(Alu::Clock(clock, d)));
        }
        let d = self.dst(0, ty)?;
        if let Some(address) = self.symbol_value(source, ty, false)? {
            return Ok(match address {
                Ok(a) => Op::Alu(self.mov_reg(d, a)?),
                Err(offset) => Op::Memory(Memory::FrameAddress { d, offset, generic: false }),
            });
        }
        let a = match self.special(source) {
            Ok(Some(_)) if ty.meaning() == Meaning::Float => {
                return Err(self.error_at(source, "a special register is not a floating-point number"));
            }
            Ok(Some((a, found))) if found.bits() != ty.bits() => self.special_resized(ty, a, found)?,
            Ok(Some((a, _))) => a,
            _ => self.src(1, ty)?,
        };
        Ok(Op::Alu(self.mov_reg(d, a)?))
    }

    /// Returns the slot of a special register whose width differs from that of the `mov`, if PTX allows it.
    fn special_resized(&mut self, ty: Type, a: Reg, found: Type) -> Decoded<Reg> {
        match (a, ty.bits()) {
            (Reg::D(_), 32) | (Reg::R(_), 16) => Ok(a),
            _ => Err(self.mismatch(self.operand(1), ty, found)),
        }
    }

    fn mov_reg(&self, d: Reg, a: Reg) -> Decoded<Alu> {
        Ok(match (d, a) {
            (Reg::R(d), Reg::R(a)) => Alu::R1(R1::Mov, d, a),
            (Reg::D(d), Reg::D(a)) => Alu::D1(D1::Mov, d, a),
            (Reg::R(d), Reg::D(a)) => Alu::Narrow(crate::program::code::Narrow::Low, d, a),
            (Reg::P(d), Reg::P(a)) => Alu::MovP { d, a, negate: false },
            (Reg::Q(d), Reg::Q(a)) => Alu::MovQ { d, a },
            _ => return Err(self.error_at(self.operand(1), "the registers differ in width")),
        })
    }

    /// Decodes `mov.v4.type {a, b, c, d}, %tid`, which copies all components of a special register.
    fn mov_special(&mut self) -> Decoded<Alu> {
        let ty = self.want_type()?;
        if !matches!(ty, Type::B16 | Type::B32 | Type::Int(Int::U16 | Int::U32 | Int::S16 | Int::S32)) {
            return Err(self.no_such_type(ty));
        }
        self.arity(2)?;
        let Some(from) = self.special_vector(self.operand(1)) else {
            return Err(self.error_at(self.operand(1), "`mov.v4` reads `%tid` and its kin"));
        };
        let mut to = vec![];
        for d in self.destinations(0, 4, ty, Fit::Exact)? {
            let Reg::R(d) = d else { return Err(self.no_such_type(ty)) };
            to.push(d);
        }
        let [x, y, z, w] = to[..] else { return Err(self.no_such_type(ty)) };
        Ok(Alu::MovVector { d: [x, y, z, w], a: from, half: ty.bits() == 16 })
    }

    /// Decodes `mov.b64 d, {lo, hi}` and the reverse, with 2 or 4 elements.
    fn mov_vector(&mut self, ty: Type) -> Decoded<Alu> {
        if !matches!(ty, Type::B16 | Type::B32 | Type::B64 | Type::B128) {
            return Err(self.no_such_type(ty));
        }
        let pack = self.is_vector(1);
        let OperandKind::Vector(items) = &self.operand(usize::from(pack)).kind else {
            return Err(self.error("expected one vector"));
        };
        let parts = items.len() as u32;
        let part = match ty.bits() / parts.max(1) {
            8 => Type::B8,
            16 => Type::B16,
            32 => Type::B32,
            64 => Type::B64,
            _ => {
                return Err(
                    self.error_at(self.operand(usize::from(pack)), format!("{parts} parts do not make {ty}"))
                );
            }
        };
        if part.bits() * parts != ty.bits() || !matches!(parts, 2 | 4) || part == Type::B8 {
            return Err(
                self.error_at(self.operand(usize::from(pack)), format!("{parts} parts do not make {ty}"))
            );
        }
        let bits = part.bits();
        if pack {
            let d = self.dst(0, ty)?;
            let parts = self.sources(1, parts as usize, part, Fit::Exact)?;
            return Ok(match (d, &parts[..]) {
                (Reg::R(d), &[Reg::R(lo), Reg::R(hi)]) => Alu::PackHalves(d, lo, hi),
                (Reg::D(d), &[Reg::R(lo), Reg::R(hi)]) => Alu::PackWords(d, lo, hi),
                _ => Alu::Pack { d, parts, bits },
            });
        }
        let a = self.src(1, ty)?;
        let parts = self.destinations(0, parts as usize, part, Fit::Exact)?;
        Ok(match (a, &parts[..]) {
            (Reg::R(a), &[Reg::R(lo), Reg::R(hi)]) => Alu::SplitHalves(lo, hi, a),
            (Reg::D(a), &[Reg::R(lo), Reg::R(hi)]) => Alu::SplitWords(lo, hi, a),
            _ => Alu::Split { parts, a, bits },
        })
    }

    /// Decodes `cvta[.to].space.u64 d, a`.
    pub(super) fn cvta(&mut self) -> Decoded<Alu> {
        let to = self.m.eat("to");
        let space = self.want("a state space", |word| {
            Some(match word {
                "global" => Space::Global,
                "const" => Space::Const,
                "shared" | "shared::cta" => Space::Shared,
                "shared::cluster" => Space::SharedCluster,
                "local" => Space::Local,
                "param" | "param::entry" => Space::Param,
                _ => return None,
            })
        })?;
        let ty = self.want_type()?;
        if !matches!(ty, Type::Int(Int::U32 | Int::U64)) {
            return Err(self.no_such_type(ty));
        }
        self.arity(2)?;
        let d = self.dst(0, ty)?;
        let source: &'m crate::text::ast::Operand = self.operand(1);
        let a = match self.symbol_value(source, Type::B64, false)? {
            Some(Ok(a)) => a,
            Some(Err(_)) => return Err(self.error_at(source, "take the address with `mov` first")),
            None => self.src(1, ty)?,
        };
        let f = match (to, space) {
            (_, Space::Global | Space::Const | Space::Generic) => D1::Mov,
            (false, Space::Shared | Space::SharedCluster) => D1::SharedToGeneric,
            (true, Space::Shared | Space::SharedCluster) => D1::GenericToShared,
            (false, Space::Local) => D1::LocalToGeneric,
            (true, Space::Local) => D1::GenericToLocal,
            (false, Space::Param) => D1::ParamToGeneric,
            (true, Space::Param) => D1::GenericToParam,
        };
        match (d, a) {
            (Reg::D(d), Reg::D(a)) => Ok(Alu::D1(f, d, a)),
            (Reg::D(d), Reg::R(a)) => Ok(Alu::Widen(Widen::U32, d, a)),
            _ => Err(self.error("addresses have 64 bits")),
        }
    }

    /// Decodes `isspacep.space p, a`.
    pub(super) fn isspacep(&mut self) -> Decoded<Memory> {
        let space = self.want("a state space", |word| {
            Some(match word {
                "global" => Space::Global,
                "const" => Space::Const,
                "shared" | "shared::cta" => Space::Shared,
                "shared::cluster" => Space::SharedCluster,
                "local" => Space::Local,
                "param" | "param::entry" => Space::Param,
                _ => return None,
            })
        })?;
        self.arity(2)?;
        let d = self.dst_p(self.operand(0))?;
        let a = self.src_d(1, Type::Int(Int::U64))?;
        Ok(Memory::Isspacep { space, d, a: Base::D(a) })
    }

    /// Checks that the fraction of a cache policy is greater than 0 and at most 1.
    fn check_fraction(&self, operand: &Operand, fraction: f64) -> Decoded<()> {
        if fraction > 0.0 && fraction <= 1.0 {
            return Ok(());
        }
        Err(self.error_at(operand, format!("the fraction {fraction} is not above 0 and up to 1")))
    }

    /// Decodes `createpolicy…`. Cache policies have no effect, so any value represents them.
    pub(super) fn createpolicy(&mut self) -> Decoded<Alu> {
        let word = self.m.next().unwrap_or("");
        if !matches!(word, "fractional" | "range" | "cvt") {
            return Err(self.unknown_word(word));
        }
        while self.m.peek().is_some_and(|word| word.contains("::") || matches!(word, "L2" | "global")) {
            self.m.next();
        }
        let ty = self.want_type()?;
        if ty != Type::B64 {
            return Err(self.no_such_type(ty));
        }
        let (least, most) = match word {
            "fractional" => (1, 2),
            "range" => (4, 4),
            _ => (2, 2),
        };
        self.arity_of(least, most)?;
        let d = self.dst_d(0, ty)?;
        match (word, self.i.operands.get(1).map(|o| (&o.kind, o))) {
            ("fractional", Some((OperandKind::Single(bits), fraction))) => {
                self.check_fraction(fraction, f64::from(f32::from_bits(*bits)))?;
            }
            ("fractional", Some((OperandKind::Double(bits), fraction))) => {
                self.check_fraction(fraction, f64::from_bits(*bits))?;
            }
            ("fractional", Some(_)) => drop(self.src(1, Type::F32)?),
            ("range", _) => {
                self.addr(1, Space::Generic)?;
                self.src(2, Type::Int(Int::U32))?;
                self.src(3, Type::Int(Int::U32))?;
            }
            ("cvt", _) => drop(self.src(1, Type::B64)?),
            _ => {}
        }
        let zero = self.body.builder.preset_d(Value::Bits(0));
        Ok(Alu::D1(D1::Mov, d, zero))
    }
}
