//! Functions (`.entry` and `.func`): the header, the directives and the body.

use crate::text::ast::{Directive, Function, FunctionKind, Linkage, Space, Variable};
use crate::text::body::{Body, Extent};
use crate::text::lexer::{Kind, Pos};
use crate::text::parser::{Parsed, Parser};

impl Parser<'_> {
    pub(super) fn function(&mut self, linkage: Linkage) -> Parsed<Function> {
        let kind =
            if self.next().kind == Kind::Dot("entry") { FunctionKind::Entry } else { FunctionKind::Func };
        let attributes = if self.eat_dot("attribute") { self.attributes()? } else { vec![] };
        let returns = match (kind, self.peek()) {
            (FunctionKind::Func, Kind::Punct('(')) => self.parameters()?,
            _ => vec![],
        };
        let pos = self.pos();
        let name = self.ident("a function name")?;
        let params = if self.peek() == Kind::Punct('(') { self.parameters()? } else { vec![] };
        let directives = self.directives()?;
        let body = if self.eat(';') { None } else { Some(self.body()?) };
        Ok(Function { linkage, kind, attributes, returns, name, params, directives, body, pos })
    }

    /// Parses `( declaration, … )`.
    pub(super) fn parameters(&mut self) -> Parsed<Vec<Variable>> {
        self.expect('(')?;
        let mut params = vec![];
        if self.eat(')') {
            return Ok(params);
        }
        loop {
            let token = self.token();
            let variable = self.variable(Linkage::Local)?;
            if !matches!(variable.space, Space::Param | Space::Reg) || variable.init.is_some() {
                return Err(
                    self.error_at(token, "a parameter is in `.param` or `.reg` and has no initializer")
                );
            }
            params.push(variable);
            if !self.eat(',') {
                self.expect(')')?;
                params.shrink_to_fit();
                return Ok(params);
            }
        }
    }

    fn directives(&mut self) -> Parsed<Vec<Directive>> {
        let mut found = vec![];
        while let Kind::Dot(name) = self.peek() {
            let token = self.next();
            let mut directive =
                Directive { name: name.to_string(), values: vec![], strings: vec![], pos: token.pos };
            match name {
                "maxntid" | "reqntid" | "maxnreg" | "minnctapersm" | "maxnctapersm" | "reqnctapercluster"
                | "maxclusterrank" => self.values(&mut directive)?,
                "noreturn" | "explicitcluster" | "blocksareclusters" => {}
                "pragma" => directive.strings = self.pragma()?,
                "abi_preserve" | "abi_preserve_control" => self.values(&mut directive)?,
                _ => {
                    return Err(self.error_at(token, format!("unknown directive `.{name}` of a function")));
                }
            }
            found.push(directive);
        }
        Ok(found)
    }

    fn values(&mut self, directive: &mut Directive) -> Parsed<()> {
        loop {
            let token = self.token();
            let value = self.number("a number")?;
            if value > u64::from(u32::MAX) {
                return Err(self.error_at(token, format!("{value} is too large")));
            }
            directive.values.push(value);
            if directive.values.len() == 3 || !self.eat(',') {
                return Ok(());
            }
        }
    }

    fn body(&mut self) -> Parsed<Body> {
        if self.peek() != Kind::Punct('{') {
            return Err(self.expected("`{` or `;` after the head of a function"));
        }
        let open = self.token();
        if let Some(body) = self.known.body_at(open.start) {
            self.continue_at(body.extent().end, body.extent().after);
            return Ok(body);
        }
        let statements = self.block()?;
        let after = Pos { line: self.last.pos.line, column: self.last.pos.column + 1 };
        let extent = Extent { start: open.start, end: self.last.end, first: open.pos, after };
        Ok(Body::new(extent, statements))
    }
}
