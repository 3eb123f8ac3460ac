//! The body of a function, decoded statement by statement.

use crate::program::analysis::watch::Touches;
use crate::program::code::{Control, Guard, Instr, Meta, Op, P, Place, Reg, SourceLine};
use crate::program::decode::builder::Builder;
use crate::program::decode::instruction::Decoder;
use crate::program::decode::scope::{Register, Scope, Symbol, labels};
use crate::program::decode::{Decoded, MAX_ERRORS, size_of};
use crate::program::types::Type;
use crate::report::InstructionClass;
use crate::text::ast::{Function, Name, Prototype, Space, Statement, Variable};
use crate::text::error::ParseError;
use crate::text::lexer::Pos;

/// A body being decoded.
pub(super) struct Body<'b, 'm> {
    pub(super) builder: &'b mut Builder<'m>,
    pub(super) scopes: Vec<Scope<'m>>,
    /// The first instruction after each label so far, by the label's number.
    labels: Vec<Option<u32>>,
    label_names: Vec<(&'m str, Pos)>,
    /// The size of the frame in bytes so far.
    frame: u32,
    loc: u32,
    pub(super) is_entry: bool,
    carry: Option<P>,
}

impl<'b, 'm> Body<'b, 'm> {
    /// Decodes a function, and returns the size of its frame and the number of bytes in use. `callee` is the function's index, or `None`
    /// for the entry function.
    pub(super) fn decode(
        builder: &'b mut Builder<'m>,
        function: &'m Function,
        callee: Option<u32>,
    ) -> Decoded<(u32, u32)> {
        let start = builder.code.instrs.len();
        let frame = callee.map_or(0, |i| builder.code.callees[i as usize].frame);
        let mut body = Body {
            builder,
            scopes: vec![Scope::default()],
            labels: vec![],
            label_names: vec![],
            frame,
            loc: u32::MAX,
            is_entry: callee.is_none(),
            carry: None,
        };
        body.declare_params(function, callee)?;
        if let Some(statements) = &function.body {
            body.block(statements.statements().map_err(Clone::clone)?)?;
        }
        body.close(function);
        let (labels, frame) = (std::mem::take(&mut body.labels), body.frame.next_multiple_of(16));
        let used = body.frame;
        builder.patch(start, &labels, frame);
        Ok((frame, used))
    }

    fn declare_params(&mut self, function: &'m Function, callee: Option<u32>) -> Decoded<()> {
        let places: Vec<Place> = callee.map_or_else(Vec::new, |index| {
            let callee = &self.builder.code.callees[index as usize];
            callee.params.iter().chain(&callee.returns).copied().collect()
        });
        for (i, param) in function.params.iter().chain(&function.returns).enumerate() {
            let symbol = match places.get(i) {
                None => Symbol::KernelParam(self.builder.param_offset(&param.name).unwrap_or(0)),
                Some(&Place::Frame { offset, size }) => Symbol::Frame { variable: param, offset, size },
                Some(&Place::Register(reg)) => {
                    let ty = Type::parse(&param.ty).unwrap_or(Type::B32);
                    self.scopes[0].registers.insert(param.name.clone(), Register::new(reg, ty, 1));
                    Symbol::Register(ty, 1)
                }
            };
            self.scopes[0].declare(self.builder.symbols, &param.name, symbol, param.pos)?;
        }
        Ok(())
    }

    /// Ends the function with a return.
    fn close(&mut self, function: &'m Function) {
        let mnemonic = self.builder.mnemonic("ret");
        let meta = Meta {
            line: function.pos.line,
            column: function.pos.column,
            loc: self.loc,
            mnemonic,
            class: InstructionClass::Control,
            look: None,
            late: false,
        };
        let op = Op::Control(Control::Return);
        self.builder.push(Instr::new(Guard::Always, op), meta, Touches::default());
    }

    fn block(&mut self, statements: &'m [Statement]) -> Decoded<()> {
        for (name, pos) in labels(statements) {
            let number = self.labels.len() as u32;
            self.labels.push(None);
            self.label_names.push((name, pos));
            let declared = self.declare(name, Symbol::Label(number), pos);
            self.note(declared)?;
        }
        for statement in statements {
            let declared = match statement {
                Statement::Targets(list) => self.declare(&list.label, Symbol::Targets(&list.names), list.pos),
                Statement::Prototype(prototype) => {
                    let Prototype { label, returns, params, pos, .. } = &**prototype;
                    self.declare(label, Symbol::Prototype { returns, params }, *pos)
                }
                _ => Ok(()),
            };
            self.note(declared)?;
        }
        statements.iter().try_for_each(|statement| {
            let decoded = self.statement(statement);
            self.note(decoded)
        })
    }

    /// Records an error so that decoding can continue, unless there are too many errors. Unsupported instructions are errors only for
    /// kernels that reach them.
    fn note(&mut self, outcome: Decoded<()>) -> Decoded<()> {
        match outcome {
            Err(error) if error.is_unsupported() && !self.builder.linking => Ok(()),
            Err(error) if self.builder.errors.len() + 1 < MAX_ERRORS => {
                self.builder.errors.push(error);
                Ok(())
            }
            outcome => outcome,
        }
    }

    fn declare(&mut self, name: &'m str, symbol: Symbol<'m>, pos: Pos) -> Decoded<()> {
        let scope = self.scopes.last_mut().unwrap_or_else(|| unreachable!("a body has a scope"));
        scope.declare(self.builder.symbols, name, symbol, pos)
    }

    fn statement(&mut self, statement: &'m Statement) -> Decoded<()> {
        match statement {
            Statement::Label(name, _) => {
                if let Some(Symbol::Label(number)) = self.lookup(name) {
                    self.labels[number as usize] = Some(self.builder.code.instrs.len() as u32);
                }
                Ok(())
            }
            Statement::Instruction(instruction) => Decoder::decode(self, instruction),
            Statement::Registers(registers) => {
                let symbols = self.builder.symbols;
                let scope = self.scopes.last_mut().unwrap_or_else(|| unreachable!("a body has a scope"));
                scope.declare_registers(symbols, registers)
            }
            Statement::Variable(variable) => self.variable(variable),
            Statement::Block(inner) => {
                self.scopes.push(Scope::default());
                let result = self.block(inner);
                self.scopes.pop();
                result
            }
            Statement::Loc(loc) => {
                self.loc =
                    self.builder.loc(SourceLine { file: loc.file, line: loc.line, column: loc.column });
                Ok(())
            }
            Statement::Pragma(names, pos) => {
                names.iter().try_for_each(|name| super::pragma::decode(self, name, *pos))
            }
            Statement::Targets(_) | Statement::Prototype(_) => Ok(()),
        }
    }

    fn variable(&mut self, variable: &'m Variable) -> Decoded<()> {
        let (_, size, align) = size_of(self.builder.symbols, variable)?;
        if variable.space == Space::Param && variable.dims.contains(&None) {
            let message = format!("the extent of `{}` is not known", variable.name);
            return Err(self.error(variable.pos, variable.name.len() as u32, message));
        }
        let symbol = match variable.space {
            Space::Local | Space::Param => {
                let offset = self.builder.grow_frame(self.frame, size, align, variable)?;
                self.frame = offset + size as u32;
                Symbol::Frame { variable, offset, size: size as u32 }
            }
            _ => Symbol::Variable(variable),
        };
        self.declare(&variable.name, symbol, variable.pos)
    }

    /// Returns the meaning of a name in the innermost scope.
    pub(super) fn lookup(&self, name: &str) -> Option<Symbol<'m>> {
        self.scopes.iter().rev().find_map(|scope| scope.get(name))
    }

    /// Returns the register with the given name. Its slots are allocated on first use.
    pub(super) fn register(&mut self, name: &Name) -> Option<Register> {
        for scope in self.scopes.iter_mut().rev() {
            if let Some(&register) = scope.registers.get(name) {
                return Some(register);
            }
            let Some(symbol) = scope.get(name) else { continue };
            let Symbol::Register(ty, vector) = symbol else { return None };
            let slots: Vec<Reg> = (0..vector).map(|_| self.builder.new_register(ty)).collect();
            slots.iter().for_each(|&slot| self.builder.name(slot, name));
            let register = Register::new(slots[0], ty, vector);
            scope.registers.insert(name.clone(), register);
            return Some(register);
        }
        None
    }

    /// Returns the carry flag of this function.
    pub(super) fn carry(&mut self) -> P {
        match self.carry {
            Some(flag) => flag,
            None => {
                let Reg::P(flag) = self.builder.new_register(Type::Pred) else {
                    unreachable!("predicates have predicate slots")
                };
                self.carry = Some(flag);
                flag
            }
        }
    }

    pub(super) fn loc(&self) -> u32 {
        self.loc
    }

    pub(super) fn error(&self, pos: Pos, len: u32, message: impl Into<String>) -> ParseError {
        self.builder.symbols.error(pos, len as usize, message)
    }
}
