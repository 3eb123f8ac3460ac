//! The statements of a function body.

use std::sync::Arc;

use crate::text::ast::{
    Guard, Instruction, Linkage, Loc, Mnemonic, Prototype, Registers, Statement, Targets, Variable,
};
use crate::text::lexer::Kind;
use crate::text::parser::{Parsed, Parser};

impl Parser<'_> {
    /// Parses `{ … }`.
    pub(super) fn block(&mut self) -> Parsed<Vec<Statement>> {
        let open = self.token();
        self.expect('{')?;
        let mut statements = vec![];
        while !self.eat('}') {
            match self.peek() {
                Kind::End => return Err(self.error_at(open, "this `{` is never closed")),
                _ => {
                    let depth = self.depth;
                    if let Err(error) = self.statement(&mut statements) {
                        self.keep(error)?;
                        self.depth = depth;
                        self.skip_statement();
                    }
                }
            }
        }
        statements.shrink_to_fit();
        Ok(statements)
    }

    fn statement(&mut self, out: &mut Vec<Statement>) -> Parsed<()> {
        match (self.peek(), self.peek_ahead(1)) {
            (Kind::Punct('{'), _) => out.push(Statement::Block(self.nested(|p| p.block())?)),
            (Kind::Ident(_), Kind::Punct(':')) => out.push(self.label()?),
            (Kind::Ident(_) | Kind::Punct('@'), _) => out.push(Statement::Instruction(self.instruction()?)),
            (Kind::Dot("reg"), _) => out.push(Statement::Registers(Box::new(self.registers()?))),
            (Kind::Dot("loc"), _) => out.push(Statement::Loc(Box::new(self.loc()?))),
            (Kind::Dot("pragma"), _) => {
                let pos = self.pos();
                self.advance();
                out.push(Statement::Pragma(self.pragma()?, pos));
            }
            (Kind::Dot("section"), _) => {
                self.skip_section()?;
            }
            (Kind::Dot("global" | "const" | "shared" | "local" | "param"), _) => self.variables(out)?,
            (Kind::Dot(word), _) => return Err(self.error(format!("unknown directive `.{word}`"))),
            _ => return Err(self.expected("an instruction, a label or a directive")),
        }
        Ok(())
    }

    /// Parses one declaration of one or more variables: `.param .b32 a, b;`.
    fn variables(&mut self, out: &mut Vec<Statement>) -> Parsed<()> {
        let first = self.variable(Linkage::Local)?;
        let head = Variable { dims: Box::default(), init: None, ..first.clone() };
        out.push(Statement::Variable(Box::new(first)));
        while self.eat(',') {
            let pos = self.pos();
            let name = self.ident("a name")?;
            out.push(Statement::Variable(Box::new(Variable { name, pos, ..head.clone() })));
        }
        self.expect(';')
    }

    fn registers(&mut self) -> Parsed<Registers> {
        let pos = self.pos();
        self.advance();
        let mut vector = 1;
        let mut ty = self.dot("a register type")?;
        if let "v2" | "v4" = ty {
            vector = if ty == "v2" { 2 } else { 4 };
            ty = self.dot("a register type")?;
        }
        let mut names = vec![];
        loop {
            let name = self.ident("a register name")?;
            let count = if self.eat('<') {
                let count = self.small("a register count")?;
                self.expect('>')?;
                Some(count)
            } else {
                None
            };
            names.push((name, count));
            if !self.eat(',') {
                break;
            }
        }
        self.expect(';')?;
        names.shrink_to_fit();
        Ok(Registers { vector, ty: self.name(ty), names, pos })
    }

    /// Parses a label `name:`, or a named list of targets or a named prototype.
    fn label(&mut self) -> Parsed<Statement> {
        let pos = self.pos();
        let label = self.ident("a label")?;
        self.expect(':')?;
        match self.peek() {
            Kind::Dot(word @ ("branchtargets" | "calltargets")) => {
                self.advance();
                let mut names = vec![self.ident("a name")?];
                while self.eat(',') {
                    names.push(self.ident("a name")?);
                }
                self.expect(';')?;
                let calls = word == "calltargets";
                Ok(Statement::Targets(Box::new(Targets { label, calls, names, pos })))
            }
            Kind::Dot("callprototype") => {
                self.advance();
                let returns = if self.peek() == Kind::Punct('(') { self.parameters()? } else { vec![] };
                self.word("`_`")?;
                let params = if self.peek() == Kind::Punct('(') { self.parameters()? } else { vec![] };
                let mut directives = vec![];
                while let Kind::Dot(word) = self.peek() {
                    self.advance();
                    directives.push(match word {
                        "abi_preserve" | "abi_preserve_control" => {
                            format!("{word} {}", self.number("a number of registers")?)
                        }
                        _ => word.to_string(),
                    });
                }
                self.expect(';')?;
                Ok(Statement::Prototype(Box::new(Prototype { label, returns, params, directives, pos })))
            }
            _ => Ok(Statement::Label(label, pos)),
        }
    }

    /// Parses `.loc file line column [, function_name label [+ n], inlined_at file line column]`.
    pub(super) fn loc(&mut self) -> Parsed<Loc> {
        self.advance();
        let mut loc = Loc {
            file: self.small("a file number")?,
            line: self.small("a line")?,
            column: self.small("a column")?,
            function: None,
            inlined_at: None,
        };
        while self.eat(',') {
            match self.word("`function_name` or `inlined_at`")? {
                "function_name" => {
                    let label = self.ident("a label")?;
                    let offset = if self.eat('+') { self.number("an offset")? } else { 0 };
                    loc.function = Some((label, offset));
                }
                "inlined_at" => {
                    loc.inlined_at =
                        Some((self.small("a file number")?, self.small("a line")?, self.small("a column")?));
                }
                _ => return Err(self.expected("`function_name` or `inlined_at`")),
            }
        }
        Ok(loc)
    }

    fn instruction(&mut self) -> Parsed<Instruction> {
        let guard = if self.eat('@') {
            let negated = self.eat('!');
            let pos = self.pos();
            Some(Box::new(Guard { negated, name: self.ident("a predicate register")?, pos }))
        } else {
            None
        };
        let pos = self.pos();
        let mnemonic = self.mnemonic()?;
        self.in_call = mnemonic.opcode == "call";
        let mut operands = std::mem::take(&mut self.operands);
        operands.clear();
        if !self.eat(';') {
            loop {
                operands.push(self.operand()?);
                if self.eat(';') {
                    break;
                }
                if !self.eat(',') {
                    return Err(self.expected("`,` or `;`"));
                }
            }
        }
        let exact = operands.drain(..).collect();
        self.operands = operands;
        Ok(Instruction { guard, mnemonic, operands: exact, pos })
    }

    fn mnemonic(&mut self) -> Parsed<Arc<Mnemonic>> {
        let start = self.token().start;
        let opcode = self.word("an instruction")?;
        self.words.clear();
        while let Kind::Dot(word) = self.peek() {
            self.advance();
            self.words.push(word);
        }
        let text = &self.text[start..self.last.end];
        let words = &self.words;
        let shared = self.mnemonics.entry(text).or_insert_with(|| Arc::new(Mnemonic::new(opcode, words)));
        Ok(shared.clone())
    }
}
