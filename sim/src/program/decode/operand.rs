//! Conversion of operands to slots.

use crate::arith::Int;
use crate::program::code::{D, P, R, Reg, Value};
use crate::program::decode::Decoded;
use crate::program::decode::instruction::Decoder;
use crate::program::decode::scope::Symbol;
use crate::program::types::{Meaning, Type};
use crate::text::ast::{Name, Operand, OperandKind};
use crate::text::lexer::Pos;

/// The width that a register may have, relative to the instruction's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    Exact,
    /// At least the width of the type, as in `ld`, `st`, `cvt`.
    Wider,
}

/// Returns the index of a component of a vector register.
fn component(part: &str) -> Option<u32> {
    match part {
        "x" | "r" => Some(0),
        "y" | "g" => Some(1),
        "z" | "b" => Some(2),
        "w" | "a" => Some(3),
        _ => None,
    }
}

fn fits(fit: Fit, want: Type, register: Type) -> bool {
    if want.accepts(register) {
        return true;
    }
    fit == Fit::Wider
        && register.bits() > want.bits()
        && register.meaning() != Meaning::Pred
        && want.meaning() != Meaning::Pred
        && !(register.meaning() == Meaning::Float && want.meaning() == Meaning::Int)
        && !(want.meaning() == Meaning::Float && register.meaning() == Meaning::Float)
}

impl Decoder<'_, '_, '_> {
    /// Returns the register with the given name, if it exists.
    pub(super) fn register(&mut self, name: &Name, pos: Pos) -> Decoded<Option<(Reg, Type)>> {
        match self.body.register(name) {
            Some(register) if register.vector == 1 => Ok(Some((register.slot(0), register.ty))),
            Some(_) => Err(self.body.error(
                pos,
                name.len() as u32,
                format!("`{name}` is a vector; name one component"),
            )),
            None => Ok(None),
        }
    }

    /// Returns the register that an operand names, if it is a register.
    pub(super) fn register_of(&mut self, operand: &Operand) -> Decoded<Option<(Reg, Type)>> {
        match &operand.kind {
            OperandKind::Name(name) => self.register(name, operand.pos),
            OperandKind::Component(parts) => {
                let [name, part] = &**parts;
                let Some(register) = self.body.register(name).filter(|register| register.vector > 1) else {
                    return Ok(None);
                };
                let index = component(part).filter(|&i| i < register.vector);
                let index =
                    index.ok_or_else(|| self.error_at(operand, format!("`{name}` has no `.{part}`")))?;
                Ok(Some((register.slot(index), register.ty)))
            }
            _ => Ok(None),
        }
    }

    /// Returns the components of a vector operand: `{a, b}` or a vector register.
    pub(super) fn elements(&mut self, operand: &Operand) -> Decoded<Vec<Operand>> {
        match &operand.kind {
            OperandKind::Vector(items) => Ok(items.to_vec()),
            OperandKind::Name(name) => match self.body.lookup(name) {
                Some(Symbol::Register(_, vector)) if vector > 1 => Ok(["x", "y", "z", "w"]
                    [..vector as usize]
                    .iter()
                    .map(|part| Operand {
                        kind: OperandKind::Component(Box::new([name.clone(), Name::from(*part)])),
                        ..*operand
                    })
                    .collect()),
                _ => Ok(vec![operand.clone()]),
            },
            _ => Ok(vec![operand.clone()]),
        }
    }

    /// Returns the components of a vector operand like [`Self::elements`], but rejects vectors that do not have `want` components.
    pub(super) fn elements_of(&mut self, operand: &Operand, want: usize) -> Decoded<Vec<Operand>> {
        let elements = self.elements(operand)?;
        if elements.len() == want {
            return Ok(elements);
        }
        let s = if want == 1 { "" } else { "s" };
        Err(self.error_at(operand, format!("expected {want} register{s} here, found {}", elements.len())))
    }

    pub(super) fn mismatch(
        &self,
        operand: &Operand,
        want: Type,
        found: Type,
    ) -> crate::text::error::ParseError {
        let opcode = self.i.mnemonic();
        self.error_at(
            operand,
            format!("`{opcode}` requires a {want} register here, found `{operand}` of type {found}"),
        )
    }

    /// Returns the slot of a destination.
    pub(super) fn dst_as(&mut self, operand: &Operand, ty: Type, fit: Fit) -> Decoded<Reg> {
        if let OperandKind::Name(name) = &operand.kind
            && **name == *"_"
        {
            return Ok(self.body.builder.new_register(ty));
        }
        match self.register_of(operand)? {
            Some((reg, found)) if fits(fit, ty, found) => {
                self.defs.push(reg);
                Ok(reg)
            }
            Some((_, found)) => Err(self.mismatch(operand, ty, found)),
            None => Err(self.not_a_register(operand)),
        }
    }

    fn not_a_register(&self, operand: &Operand) -> crate::text::error::ParseError {
        match &operand.kind {
            OperandKind::Name(name) if self.is_undeclared(name) => {
                self.error_at(operand, format!("`{name}` is not declared"))
            }
            OperandKind::Component(parts) if self.is_undeclared(&parts[0]) => {
                self.error_at(operand, format!("`{}` is not declared", parts[0]))
            }
            _ => self.error_at(operand, format!("expected a register, found `{operand}`")),
        }
    }

    fn is_undeclared(&self, name: &str) -> bool {
        self.body.lookup(name).is_none() && self.body.builder.global(name).is_none()
    }

    /// Returns the slot of a source: a register, a constant or a special register.
    pub(super) fn src_as(&mut self, operand: &Operand, ty: Type, fit: Fit) -> Decoded<Reg> {
        match &operand.kind {
            OperandKind::Int(value) => self.int_constant(operand, value.get(), ty),
            OperandKind::Single(bits) => {
                self.float_constant(operand, f64::from(f32::from_bits(*bits)), Some(*bits), ty)
            }
            OperandKind::Double(bits) => self.float_constant(operand, f64::from_bits(*bits), None, ty),
            OperandKind::Name(_) | OperandKind::Component(..) => match self.register_of(operand)? {
                Some((reg, found)) if fits(fit, ty, found) => {
                    self.uses.push(reg);
                    Ok(reg)
                }
                Some((_, found)) => Err(self.mismatch(operand, ty, found)),
                None => match self.special(operand)? {
                    Some(_) if !matches!(self.i.opcode(), "mov" | "cvt") => {
                        let message = format!("`{operand}` is a special register; `mov` it to another first");
                        Err(self.error_at(operand, message))
                    }
                    Some((reg, found)) if fits(Fit::Wider, ty, found) || ty.accepts(found) => Ok(reg),
                    Some((_, found)) => Err(self.mismatch(operand, ty, found)),
                    None => Err(self.not_a_register(operand)),
                },
            },
            _ => Err(self.error_at(operand, format!("expected a register or a constant, found `{operand}`"))),
        }
    }

    fn int_constant(&mut self, operand: &Operand, value: i128, ty: Type) -> Decoded<Reg> {
        let bits = ty.bits();
        match ty.meaning() {
            Meaning::Float => {
                return Err(self.error_at(operand, format!("an integer where a {ty} constant is expected")));
            }
            Meaning::Pred => return Ok(Reg::P(self.body.builder.preset_p(value != 0))),
            _ => {}
        }
        let value = value as u64;
        Ok(match bits {
            64 => Reg::D(self.body.builder.preset_d(Value::Bits(value))),
            128 => return Err(self.error_at(operand, "there are no 128-bit constants")),
            32 => Reg::R(self.body.builder.preset_r(Value::Bits(value & 0xffff_ffff))),
            n => Reg::R(self.body.builder.preset_r(Value::Bits(value & ((1 << n) - 1)))),
        })
    }

    fn float_constant(
        &mut self,
        operand: &Operand,
        value: f64,
        single: Option<u32>,
        ty: Type,
    ) -> Decoded<Reg> {
        let bits = match (ty, single) {
            (Type::F32, _) => u64::from(single.unwrap_or((value as f32).to_bits())),
            (Type::B32, Some(bits)) => u64::from(bits),
            (Type::F64, _) | (Type::B64, None) => value.to_bits(),
            _ => {
                return Err(
                    self.error_at(operand, format!("a floating-point constant where {ty} is expected"))
                );
            }
        };
        Ok(match ty.bits() {
            64 => Reg::D(self.body.builder.preset_d(Value::Bits(bits))),
            _ => Reg::R(self.body.builder.preset_r(Value::Bits(bits))),
        })
    }

    /// Returns the position or length of a bit field. A constant must be in 0 … 255.
    pub(super) fn bit_count(&mut self, n: usize) -> Decoded<R> {
        match self.operand(n).kind {
            OperandKind::Int(value) if !(0..256).contains(&value.get()) => {
                Err(self.error_at(self.operand(n), format!("{value} is not in 0 … 255")))
            }
            _ => self.src_r(n, Type::Int(Int::U32)),
        }
    }

    pub(super) fn dst(&mut self, n: usize, ty: Type) -> Decoded<Reg> {
        self.dst_as(self.operand(n), ty, Fit::Exact)
    }

    pub(super) fn src(&mut self, n: usize, ty: Type) -> Decoded<Reg> {
        self.src_as(self.operand(n), ty, Fit::Exact)
    }

    /// Returns the slot of a destination of at most 32 bits.
    pub(super) fn dst_r(&mut self, n: usize, ty: Type) -> Decoded<R> {
        let reg = self.dst(n, ty)?;
        self.as_r(n, reg)
    }

    /// Returns the slot of a source of at most 32 bits.
    pub(super) fn src_r(&mut self, n: usize, ty: Type) -> Decoded<R> {
        let reg = self.src(n, ty)?;
        self.as_r(n, reg)
    }

    pub(super) fn dst_d(&mut self, n: usize, ty: Type) -> Decoded<D> {
        let reg = self.dst(n, ty)?;
        self.as_d(n, reg)
    }

    pub(super) fn src_d(&mut self, n: usize, ty: Type) -> Decoded<D> {
        let reg = self.src(n, ty)?;
        self.as_d(n, reg)
    }

    pub(super) fn as_r(&self, n: usize, reg: Reg) -> Decoded<R> {
        match reg {
            Reg::R(r) => Ok(r),
            _ => Err(self.error_at(self.operand(n), "expected a 32-bit register")),
        }
    }

    pub(super) fn as_d(&self, n: usize, reg: Reg) -> Decoded<D> {
        match reg {
            Reg::D(d) => Ok(d),
            _ => Err(self.error_at(self.operand(n), "expected a 64-bit register")),
        }
    }

    pub(super) fn dst_p(&mut self, operand: &Operand) -> Decoded<P> {
        match self.dst_as(operand, Type::Pred, Fit::Exact)? {
            Reg::P(p) => Ok(p),
            _ => Err(self.error_at(operand, "expected a predicate")),
        }
    }

    /// Returns the slot of a predicate source, and whether it is negated.
    pub(super) fn src_p(&mut self, operand: &Operand) -> Decoded<(P, bool)> {
        let (operand, negated) = match &operand.kind {
            OperandKind::Not(inner) => (&**inner, true),
            _ => (operand, false),
        };
        match self.src_as(operand, Type::Pred, Fit::Exact)? {
            Reg::P(p) => Ok((p, negated)),
            _ => Err(self.error_at(operand, "expected a predicate")),
        }
    }

    /// Returns the destinations of `d` or `d|p`.
    pub(super) fn pair<'o>(&self, operand: &'o Operand) -> (&'o Operand, Option<&'o Operand>) {
        match &operand.kind {
            OperandKind::Pair(pair) => (&pair[0], Some(&pair[1])),
            _ => (operand, None),
        }
    }

    /// Returns the 32-bit slot of an element of a vector.
    pub(super) fn only_r(&self, operand: &Operand, reg: Reg) -> Decoded<R> {
        match reg {
            Reg::R(r) => Ok(r),
            _ => Err(self.error_at(operand, "expected a 32-bit register")),
        }
    }

    /// Returns the value of a constant operand.
    pub(super) fn constant(&self, n: usize, what: &str) -> Decoded<i128> {
        match self.operand(n).kind {
            OperandKind::Int(value) => Ok(value.get()),
            _ => Err(self.error_at(self.operand(n), format!("{what} is an integer constant"))),
        }
    }
}
