//! Instruction operands.

use crate::text::ast::{Address, Length, Operand, OperandKind};
use crate::text::lexer::{Kind, Token};
use crate::text::parser::constant::Constant;
use crate::text::parser::{Parsed, Parser};

impl Parser<'_> {
    pub(super) fn operand(&mut self) -> Parsed<Operand> {
        let first = self.single()?;
        if !self.eat('|') {
            return Ok(first);
        }
        let second = self.single()?;
        let (pos, len) = (first.pos, first.len);
        Ok(Operand { kind: OperandKind::Pair(Box::new([first, second])), pos, len })
    }

    /// Parses an operand without `|`.
    fn single(&mut self) -> Parsed<Operand> {
        let token = self.token();
        let kind = match token.kind {
            Kind::Punct('{') => OperandKind::Vector(self.nested(|p| p.list('{', '}'))?),
            Kind::Punct('[') => {
                let address = OperandKind::Address(Box::new(self.nested(|p| p.address())?));
                // In the simulator, all memory is unified.
                self.eat_dot("unified");
                address
            }
            Kind::Punct('(') if self.is_group() => OperandKind::Group(self.nested(|p| p.list('(', ')'))?),
            Kind::Punct('!') if self.name_follows() => {
                self.advance();
                OperandKind::Not(Box::new(self.named()?))
            }
            Kind::Punct('-') if self.name_follows() => {
                self.advance();
                OperandKind::Negative(Box::new(self.named()?))
            }
            Kind::Ident(word) if word != "WARP_SZ" => return self.name_with_offset(),
            _ => match self.constant()? {
                Constant::Int(int) => OperandKind::Int(int.value().into()),
                Constant::Single(bits) => OperandKind::Single(bits),
                Constant::Double(bits) => OperandKind::Double(bits),
            },
        };
        Ok(self.spanned(token, kind))
    }

    /// Returns whether `(` opens an argument list of a call rather than an expression.
    fn is_group(&self) -> bool {
        match self.peek_ahead(1) {
            Kind::Ident(word) => word != "WARP_SZ",
            Kind::Punct(')') => true,
            Kind::Int(_) | Kind::Single(_) | Kind::Double(_) => {
                matches!(self.peek_ahead(2), Kind::Punct(',' | ')')) && self.in_call_list()
            }
            Kind::Punct('-') => self.in_call_list(),
            _ => false,
        }
    }

    /// Returns whether the current `(` directly follows the function of a `call`.
    fn in_call_list(&self) -> bool {
        self.in_call && self.last.kind == Kind::Punct(',')
    }

    fn name_follows(&self) -> bool {
        matches!(self.peek_ahead(1), Kind::Ident(word) if word != "WARP_SZ")
    }

    /// Returns the operand that begins at `token` and ends before the current token.
    fn spanned(&self, token: Token<'_>, kind: OperandKind) -> Operand {
        let one_line = self.last.pos.line == token.pos.line && self.last.end > token.start;
        let end = if one_line { self.last.end } else { token.end };
        Operand { kind, pos: token.pos, len: Length(self.characters(token.start, end)) }
    }

    /// Parses a name, optionally with a component.
    fn named(&mut self) -> Parsed<Operand> {
        let token = self.token();
        let name = self.ident("a name")?;
        let kind = match self.peek() {
            Kind::Dot(part) => {
                self.advance();
                OperandKind::Component(Box::new([name, self.name(part)]))
            }
            _ => OperandKind::Name(name),
        };
        Ok(self.spanned(token, kind))
    }

    fn name_with_offset(&mut self) -> Parsed<Operand> {
        let token = self.token();
        let operand = self.named()?;
        match (&operand.kind, self.peek()) {
            (OperandKind::Name(name), Kind::Punct('+')) => {
                let name = name.clone();
                let sum = OperandKind::Offset(Box::new((name, self.signed_sum()?)));
                Ok(self.spanned(token, sum))
            }
            _ => Ok(operand),
        }
    }

    fn list(&mut self, open: char, close: char) -> Parsed<Box<[Operand]>> {
        self.expect(open)?;
        let mut items = vec![];
        if self.eat(close) {
            return Ok(items.into());
        }
        loop {
            items.push(self.operand()?);
            if !self.eat(',') {
                self.expect(close)?;
                return Ok(items.into());
            }
        }
    }

    /// Parses `[base]`, `[base+offset]` or `[base, {…}]`.
    fn address(&mut self) -> Parsed<Address> {
        self.expect('[')?;
        let token = self.token();
        let (base, offset) = match token.kind {
            Kind::Ident(word) if word != "WARP_SZ" => {
                let base = self.named()?;
                let offset = match self.peek() {
                    Kind::Punct('+') => self.signed_sum()?,
                    _ => 0,
                };
                (base, offset)
            }
            _ => {
                let value = self.integer("an address")?;
                (self.spanned(token, OperandKind::Int(value.into())), 0)
            }
        };
        let mut rest = vec![];
        while self.eat(',') {
            rest.push(self.operand()?);
        }
        self.expect(']')?;
        Ok(Address { base, offset: offset.into(), rest: rest.into() })
    }
}
