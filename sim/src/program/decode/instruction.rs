//! The parts of an instruction: guard, opcode, qualifiers and operands.

use crate::program::analysis::watch::Touches;
use crate::program::code::{Alu, D1, Guard, Instr, Look, Meta, Op, Reg};
use crate::program::decode::Decoded;
use crate::program::decode::function::Body;
use crate::program::decode::modifiers::Modifiers;
use crate::program::decode::opcodes::{self, Opcodes};
use crate::program::decode::order::AS_WRITTEN;
use crate::program::types::Type;
use crate::text::ast::{Instruction, Operand};
use crate::text::error::ParseError;

/// An instruction being decoded.
pub(super) struct Decoder<'c, 'b, 'm> {
    pub(super) body: &'c mut Body<'b, 'm>,
    pub(super) i: &'m Instruction,
    pub(super) m: Modifiers<'m>,
    pub(super) uses: Vec<Reg>,
    /// Registers whose values affect behavior, such as addresses and targets.
    pub(super) sinks: Vec<Reg>,
    pub(super) defs: Vec<Reg>,
    /// See [`Touches`].
    pub(super) contractible: bool,
}

/// Returns the generic address that an instruction converts to shared space. Conversions to local space are not checked, because compilers
/// convert addresses before they query the space, and uses of wrong addresses are out of bounds.
fn converted(op: &Op) -> Option<crate::program::code::D> {
    match *op {
        Op::Alu(Alu::D1(D1::GenericToShared, _, a)) => Some(a),
        _ => None,
    }
}

impl<'c, 'b, 'm> Decoder<'c, 'b, 'm> {
    /// Decodes an instruction and appends it to the code.
    pub(super) fn decode(body: &'c mut Body<'b, 'm>, i: &'m Instruction) -> Decoded<()> {
        let row = opcodes::find(i.opcode());
        let mut decoder = Decoder {
            body,
            i,
            m: Modifiers::new(row.map_or(AS_WRITTEN, |row| row.order), i.modifiers()),
            uses: vec![],
            sinks: vec![],
            defs: vec![],
            contractible: false,
        };
        let guard = decoder.guard()?;
        let Some(Opcodes { counted, decode, .. }) = row else { return Err(decoder.unknown()) };
        let op = decode(&mut decoder)?;
        if let Some(word) = decoder.m.peek() {
            return Err(decoder.error(format!("`.{word}` does not belong in `{}`", i.mnemonic())));
        }
        if !decoder.body.builder.linking {
            return Ok(());
        }
        let mnemonic = decoder.body.builder.mnemonic(i.mnemonic());
        let look =
            converted(&op).map(|converts| Box::new(Look { converts: Some(converts), ..Look::default() }));
        let meta = Meta {
            line: i.pos.line,
            column: i.pos.column,
            loc: decoder.body.loc(),
            mnemonic,
            class: counted.of(decoder.m.all()),
            look,
            late: false,
        };
        let touches = decoder.touches(&op);
        decoder.body.builder.push(Instr::new(guard, op), meta, touches);
        Ok(())
    }

    /// Classifies the registers that an instruction reads by the effect of an undefined value. Copies and computations are not findings.
    fn touches(&mut self, op: &Op) -> Touches {
        let [uses, mut sinks, defs] = [&mut self.uses, &mut self.sinks, &mut self.defs].map(std::mem::take);
        let reads = [&uses[..], &sinks].concat();
        let passes = op.properties().passes;
        let (sources, decisive): (Vec<Reg>, Vec<Reg>) =
            uses.into_iter().partition(|&reg| passes.includes(reg));
        sinks.extend(decisive);
        Touches { sources, sinks, writes: defs, reads, contractible: self.contractible }
    }

    fn guard(&mut self) -> Decoded<Guard> {
        let Some(guard) = &self.i.guard else { return Ok(Guard::Always) };
        match self.register(&guard.name, guard.pos)? {
            Some((Reg::P(p), _)) => Ok(if guard.negated { Guard::Unless(p) } else { Guard::If(p) }),
            Some((_, ty)) => {
                let message = format!("a guard is a predicate; `{}` is a {ty} register", guard.name);
                Err(self.body.error(guard.pos, guard.name.len() as u32, message))
            }
            None => {
                let message = format!("`{}` is not declared", guard.name);
                Err(self.body.error(guard.pos, guard.name.len() as u32, message))
            }
        }
    }

    /// Returns an error located at the opcode.
    pub(super) fn error(&self, message: impl Into<String>) -> ParseError {
        let len = self.i.mnemonic().chars().count() as u32;
        self.body.error(self.i.pos, len, message)
    }

    /// Returns the error for an instruction variant that does not exist.
    pub(super) fn unknown(&self) -> ParseError {
        self.error(format!("unknown instruction `{}`", self.i.mnemonic()))
    }

    /// Returns an error located at an operand.
    pub(super) fn error_at(&self, operand: &Operand, message: impl Into<String>) -> ParseError {
        self.body.error(operand.pos, operand.len.0, message)
    }

    /// Checks the number of operands.
    pub(super) fn arity(&self, want: usize) -> Decoded<()> {
        self.arity_of(want, want)
    }

    /// Checks that the number of operands is in `least ..= most`.
    pub(super) fn arity_of(&self, least: usize, most: usize) -> Decoded<()> {
        let found = self.i.operands.len();
        if (least..=most).contains(&found) {
            return Ok(());
        }
        let want = if least == most { least.to_string() } else { format!("{least} to {most}") };
        let s = if most == 1 { "" } else { "s" };
        Err(self.error(format!("`{}` takes {want} operand{s}, found {found}", self.i.mnemonic())))
    }

    pub(super) fn operand(&self, n: usize) -> &'m Operand {
        &self.i.operands[n]
    }

    pub(super) fn count(&self) -> usize {
        self.i.operands.len()
    }

    /// Returns the qualifiers before a type, and the type.
    pub(super) fn head(&mut self) -> Decoded<(Vec<&'m str>, Type)> {
        let mut words = vec![];
        loop {
            if let Some(ty) = self.m.ty() {
                return Ok((words, ty));
            }
            match self.m.next() {
                Some(word) => words.push(word),
                None if self.i.modifiers().is_empty() => {
                    return Err(self.error(format!("`{}` requires a type", self.i.opcode())));
                }
                None => return Err(self.unknown_word(words.last().unwrap_or(&""))),
            }
        }
    }

    pub(super) fn unknown_word(&self, word: &str) -> ParseError {
        self.error(format!("`.{word}` does not belong in `{}`", self.i.mnemonic()))
    }

    /// Rejects qualifiers in `words` that are not in `allowed` or are repeated.
    pub(super) fn allow(&self, words: &[&str], allowed: &[&str]) -> Decoded<()> {
        for (i, word) in words.iter().enumerate() {
            if !allowed.contains(word) || words[..i].contains(word) {
                return Err(self.unknown_word(word));
            }
        }
        Ok(())
    }

    /// Returns the error for a type that the instruction does not support.
    pub(super) fn no_such_type(&self, ty: Type) -> ParseError {
        self.error(format!("there is no `{}` on {ty}", self.i.opcode()))
    }

    /// Returns the next qualifier, converted by `f`, or an error if `f` does not recognize it.
    pub(super) fn want<T>(&mut self, what: &str, f: impl FnOnce(&str) -> Option<T>) -> Decoded<T> {
        match self.m.take(f) {
            Some(value) => Ok(value),
            None => Err(self.missing(what)),
        }
    }

    pub(super) fn want_type(&mut self) -> Decoded<Type> {
        match self.m.ty() {
            Some(ty) => Ok(ty),
            None => Err(self.missing("a type")),
        }
    }

    pub(super) fn want_word(&mut self, word: &str) -> Decoded<()> {
        if self.m.eat(word) { Ok(()) } else { Err(self.missing(&format!("`.{word}`"))) }
    }

    fn missing(&self, what: &str) -> ParseError {
        let found = match self.m.peek() {
            Some(word) => format!("`.{word}`"),
            None => "the end".into(),
        };
        self.error(format!("`{}` requires {what}, found {found}", self.i.mnemonic()))
    }
}
