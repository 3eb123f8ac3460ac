//! Addresses, and symbols used as values.

use crate::program::code::{Addr, Base, Reg, Space, Value};
use crate::program::decode::instruction::Decoder;
use crate::program::decode::scope::Symbol;
use crate::program::decode::{Decoded, Global};
use crate::program::types::{Meaning, Type};
use crate::text::ast::{Address, Operand, OperandKind, Space as Declared, Variable};

/// The address of a symbol.
pub(super) enum Place {
    /// An address in a space that is known when a warp starts.
    Value(Value, Space),
    /// An offset in the current stack frame.
    Frame(i64),
}

impl<'m> Decoder<'_, '_, 'm> {
    /// Returns the contents of the brackets of operand `n`.
    pub(super) fn brackets(&self, n: usize) -> Decoded<&'m Address> {
        match &self.operand(n).kind {
            OperandKind::Address(address) => Ok(address),
            _ => Err(self.error_at(
                self.operand(n),
                format!("expected an address in brackets, found `{}`", self.operand(n)),
            )),
        }
    }

    /// Returns the address in operand `n`, and its space. A variable in the address must be in `space`.
    pub(super) fn addr(&mut self, n: usize, space: Space) -> Decoded<(Addr, Space)> {
        let address = self.brackets(n)?;
        if let Some(extra) = address.rest.first() {
            return Err(self.error_at(extra, "unexpected operand inside the brackets"));
        }
        self.address(address, space)
    }

    pub(super) fn address(&mut self, address: &'m Address, space: Space) -> Decoded<(Addr, Space)> {
        let offset = address.offset.get() as i64;
        if let Some((reg, ty)) = self.register_of(&address.base)? {
            let base = match reg {
                Reg::R(r) if ty.bits() == 32 && ty.meaning() != Meaning::Float => Base::R(r),
                Reg::D(d) if ty.meaning() != Meaning::Float => Base::D(d),
                _ => {
                    return Err(self.error_at(
                        &address.base,
                        format!("an address register has 32 or 64 bits; `{}` is {ty}", address.base),
                    ));
                }
            };
            // ptxas accepts 32-bit addresses of copies and of matrices.
            if let (Base::R(_), Space::Global | Space::Generic, 64) =
                (base, space, self.body.builder.symbols.address_size)
                && !matches!(self.i.opcode(), "cp" | "ldmatrix" | "stmatrix" | "wmma")
            {
                return Err(self.error_at(
                    &address.base,
                    format!("an address in {} space has 64 bits; `{}` is {ty}", space.name(), address.base),
                ));
            }
            self.sinks.push(reg);
            return Ok((Addr { base, offset }, space));
        }
        match &address.base.kind {
            OperandKind::Int(_) if !matches!(space, Space::Local) => {
                Err(self.error_at(&address.base, "only addresses in local space can be constants"))
            }
            OperandKind::Int(value) => {
                let d = self.body.builder.preset_d(Value::Bits(value.get() as u64));
                Ok((Addr { base: Base::D(d), offset }, space))
            }
            OperandKind::Name(name) => self.symbol_address(&address.base, name, offset, space),
            _ => Err(self.error_at(&address.base, format!("expected an address, found `{}`", address.base))),
        }
    }

    fn symbol_address(
        &mut self,
        operand: &Operand,
        name: &'m str,
        offset: i64,
        space: Space,
    ) -> Decoded<(Addr, Space)> {
        let in_params = match self.body.lookup(name) {
            Some(Symbol::KernelParam(_)) => Some(true),
            Some(Symbol::Frame { variable, .. }) => Some(variable.space == Declared::Param),
            _ => None,
        };
        match in_params {
            Some(true) if space != Space::Param => {
                return Err(self.wrong_space(operand, name, Space::Param, space));
            }
            Some(false) if space == Space::Param => {
                return Err(self.wrong_space(operand, name, Space::Local, space));
            }
            _ => {}
        }
        match self.symbol(operand, name, offset, space == Space::Generic)? {
            Place::Frame(offset) if matches!(space, Space::Local | Space::Param) => {
                Ok((Addr { base: Base::Frame, offset }, Space::Local))
            }
            // In an entry function, the frame is at a fixed address and includes parameters of calls.
            Place::Value(value, Space::Local) if space == Space::Param => {
                let d = self.body.builder.preset_d(value);
                Ok((Addr { base: Base::D(d), offset: 0 }, Space::Local))
            }
            Place::Value(value, found)
                if found == space
                    || space == Space::Generic
                    || (space == Space::SharedCluster && found == Space::Shared) =>
            {
                let d = self.body.builder.preset_d(value);
                Ok((Addr { base: Base::D(d), offset: 0 }, space))
            }
            Place::Frame(_) => Err(self.wrong_space(operand, name, Space::Local, space)),
            Place::Value(_, found) => Err(self.wrong_space(operand, name, found, space)),
        }
    }

    fn wrong_space(
        &self,
        operand: &Operand,
        name: &str,
        found: Space,
        want: Space,
    ) -> crate::text::error::ParseError {
        self.error_at(operand, format!("`{name}` is in {} space, not in {}", found.name(), want.name()))
    }

    /// Returns the address of a variable or function, as a generic address if `generic` is set.
    pub(super) fn symbol(
        &mut self,
        operand: &Operand,
        name: &'m str,
        offset: i64,
        generic: bool,
    ) -> Decoded<Place> {
        match self.body.lookup(name) {
            Some(Symbol::Frame { offset: start, .. }) => {
                self.within(operand, name, offset)?;
                let offset = i64::from(start) + offset;
                if self.body.is_entry {
                    let value =
                        if generic { Value::LocalGeneric(offset) } else { Value::Bits(offset as u64) };
                    return Ok(Place::Value(value, Space::Local));
                }
                Ok(Place::Frame(offset))
            }
            Some(Symbol::KernelParam(start)) => {
                self.within(operand, name, offset)?;
                let offset = i64::from(start) + offset;
                let value = if generic { Value::ParamGeneric(offset) } else { Value::Bits(offset as u64) };
                Ok(Place::Value(value, Space::Param))
            }
            Some(Symbol::Variable(variable)) => self.variable(operand, variable, offset, generic),
            Some(_) => Err(self.error_at(operand, format!("`{name}` has no address"))),
            None => match self.body.builder.global(name) {
                Some(Global::Variable(i)) => {
                    let variable = self.body.builder.symbols.variables[i];
                    self.variable(operand, variable, offset, generic)
                }
                Some(Global::Function(i)) => {
                    let function = self.body.builder.symbols.functions[i];
                    self.body.builder.callee(function)?;
                    Ok(Place::Value(Value::Function(i as u32), Space::Generic))
                }
                None => Err(self.error_at(operand, format!("`{name}` is not declared"))),
            },
        }
    }

    fn variable(
        &mut self,
        operand: &Operand,
        variable: &'m Variable,
        offset: i64,
        generic: bool,
    ) -> Decoded<Place> {
        match variable.space {
            Declared::Shared => {
                self.within(operand, &variable.name, offset)?;
                let value = self.body.builder.shared(variable, offset, generic)?;
                Ok(Place::Value(value, Space::Shared))
            }
            Declared::Global | Declared::Const => {
                let index = self.body.builder.symbols.index_of(variable);
                let index = index
                    .ok_or_else(|| self.error_at(operand, format!("`{}` is not declared", variable.name)))?;
                let space = if variable.space == Declared::Global { Space::Global } else { Space::Const };
                Ok(Place::Value(Value::Variable(index, offset), space))
            }
            Declared::Local => Err(self.error_at(
                operand,
                "`.local` variables of a module are not supported; declare them in the function",
            )),
            Declared::Param | Declared::Reg => {
                Err(self.error_at(operand, format!("`{}` has no address", variable.name)))
            }
        }
    }

    /// Rejects constant offsets beyond 2 GiB, which are probably typos and would overflow address arithmetic.
    fn within(&self, operand: &Operand, name: &str, offset: i64) -> Decoded<()> {
        if offset.unsigned_abs() >> 31 == 0 {
            return Ok(());
        }
        Err(self.error_at(operand, format!("offset {offset} from `{name}` is too large")))
    }

    /// Returns the address of a symbol in a slot of type `ty`, for `mov` and `cvta`. Returns `None` if the operand is not a symbol, and
    /// `Err` with the frame offset if the address depends on the current stack frame.
    pub(super) fn symbol_value(
        &mut self,
        operand: &'m Operand,
        ty: Type,
        generic: bool,
    ) -> Decoded<Option<Result<Reg, i64>>> {
        let (name, offset) = match &operand.kind {
            OperandKind::Name(name) => (name.as_str(), 0),
            OperandKind::Offset(sum) => (sum.0.as_str(), sum.1 as i64),
            _ => return Ok(None),
        };
        let is_register = matches!(self.body.lookup(name), Some(Symbol::Register(..)));
        let is_symbol = self.body.lookup(name).is_some() || self.body.builder.global(name).is_some();
        if is_register || !is_symbol {
            return Ok(None);
        }
        Ok(Some(match self.symbol(operand, name, offset, generic)? {
            Place::Frame(offset) => Err(offset),
            Place::Value(value, _) => Ok(match ty.bits() {
                64 => Reg::D(self.body.builder.preset_d(value)),
                32 => Reg::R(self.body.builder.preset_r(value)),
                _ => return Err(self.error_at(operand, format!("an address does not fit in {ty}"))),
            }),
        }))
    }
}
