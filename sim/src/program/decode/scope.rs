//! Names inside a function (registers, variables and labels), and the blocks in which they are visible.

use rustc_hash::FxHashMap;

use crate::program::code::{D, P, R, Reg};
use crate::program::decode::{Decoded, Symbols};
use crate::program::types::Type;
use crate::text::ast::{Name, Registers, Statement, Variable};
use crate::text::lexer::Pos;

/// The meaning of a name inside a function.
#[derive(Clone, Copy, Debug)]
pub(super) enum Symbol<'m> {
    /// A register with this type and number of components.
    Register(Type, u32),
    /// A variable of the frame: a `.local` or, in a call sequence, a `.param`.
    Frame {
        variable: &'m Variable,
        offset: u32,
        size: u32,
    },
    /// A `.shared`, `.global` or `.const` variable declared in the function.
    Variable(&'m Variable),
    /// A kernel parameter at this offset.
    KernelParam(u32),
    Label(u32),
    /// `.branchtargets` or `.calltargets`.
    Targets(&'m [Name]),
    /// `.callprototype`.
    Prototype {
        returns: &'m [Variable],
        params: &'m [Variable],
    },
}

/// The names of one block.
#[derive(Default)]
pub(super) struct Scope<'m> {
    names: FxHashMap<&'m str, Symbol<'m>>,
    /// Ranges of registers such as `%r<12>`: prefix → type, components, count.
    ranges: FxHashMap<&'m str, (Type, u32, u32)>,
    /// The registers used so far.
    pub(super) registers: FxHashMap<Name, Register>,
}

/// A register with a slot.
#[derive(Clone, Copy)]
pub(super) struct Register {
    /// The slot of the first component; the slots of the others follow.
    first: Reg,
    pub(super) ty: Type,
    /// The number of components.
    pub(super) vector: u32,
}

impl Register {
    pub(super) fn new(first: Reg, ty: Type, vector: u32) -> Self {
        Self { first, ty, vector }
    }

    /// Returns the slot of a component.
    pub(super) fn slot(self, component: u32) -> Reg {
        match self.first {
            Reg::R(R(i)) => Reg::R(R(i + component)),
            Reg::D(D(i)) => Reg::D(D(i + component)),
            Reg::P(P(i)) => Reg::P(P(i + component)),
            Reg::Q(D(i)) => Reg::Q(D(i + 2 * component)),
        }
    }
}

impl<'m> Scope<'m> {
    pub(super) fn declare(
        &mut self,
        symbols: &Symbols<'_>,
        name: &'m str,
        symbol: Symbol<'m>,
        pos: Pos,
    ) -> Decoded<()> {
        match self.names.insert(name, symbol) {
            None => Ok(()),
            Some(_) => Err(symbols.error(pos, name.len(), format!("`{name}` is declared twice"))),
        }
    }

    pub(super) fn declare_registers(
        &mut self,
        symbols: &Symbols<'_>,
        registers: &'m Registers,
    ) -> Decoded<()> {
        let Some(ty) = Type::parse(&registers.ty) else {
            let message = format!("unknown register type `.{}`", registers.ty);
            return Err(symbols.error(registers.pos, 4, message));
        };
        for (name, count) in &registers.names {
            match count {
                None => {
                    self.declare(symbols, name, Symbol::Register(ty, registers.vector), registers.pos)?;
                }
                Some(count) => {
                    if self.ranges.insert(name, (ty, registers.vector, *count)).is_some() {
                        let message = format!("registers `{name}<…>` are declared twice");
                        return Err(symbols.error(registers.pos, 4, message));
                    }
                }
            }
        }
        Ok(())
    }

    pub(super) fn get(&self, name: &str) -> Option<Symbol<'m>> {
        if let Some(&symbol) = self.names.get(name) {
            return Some(symbol);
        }
        if self.ranges.is_empty() {
            return None;
        }
        let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
        (1..=digits).find_map(|n| {
            let (prefix, number) = name.split_at(name.len() - n);
            let &(ty, vector, count) = self.ranges.get(prefix)?;
            let plain = number == "0" || !number.starts_with('0');
            let within = number.parse::<u32>().is_ok_and(|i| i < count);
            (plain && within).then_some(Symbol::Register(ty, vector))
        })
    }
}

/// Returns the labels directly in a block. They may be used before their definition.
pub(super) fn labels(statements: &[Statement]) -> impl Iterator<Item = (&str, Pos)> {
    statements.iter().filter_map(|statement| match statement {
        Statement::Label(name, pos) => Some((name.as_str(), *pos)),
        _ => None,
    })
}
