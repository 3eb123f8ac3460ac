//! A recursive-descent parser from PTX text to [`ast`](super::ast).

mod constant;
mod function;
mod operand;
mod statement;
mod variable;

use std::collections::HashSet;

use crate::text::ast::{Ast, Item, Linkage};
use crate::text::error::ParseError;
use crate::text::lexer::{Kind, Pos, Token, lex};

/// How deep blocks, lists and expressions may nest.
const MAX_DEPTH: u32 = 64;

/// Errors after which parsing is given up.
const MAX_ERRORS: usize = 64;

/// Parses a whole module; after an error it goes on with the next statement, so that others are found too.
pub(crate) fn parse(text: &str) -> Result<Ast, Vec<ParseError>> {
    let tokens = lex(text).map_err(|error| vec![error])?;
    let mut parser = Parser { text, tokens, at: 0, depth: 0, files: HashSet::new(), errors: vec![] };
    match parser.module() {
        Ok(ast) if parser.errors.is_empty() => Ok(ast),
        Ok(_) => Err(parser.errors),
        Err(error) => {
            parser.errors.push(error);
            Err(parser.errors)
        }
    }
}

pub(crate) struct Parser<'s> {
    text: &'s str,
    tokens: Vec<Token<'s>>,
    at: usize,
    depth: u32,
    /// Numbers of the `.file` directives so far.
    files: HashSet<u32>,
    /// Errors after which parsing went on.
    errors: Vec<ParseError>,
}

type Parsed<T> = Result<T, ParseError>;

impl<'s> Parser<'s> {
    fn token(&self) -> Token<'s> {
        self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    fn peek(&self) -> Kind<'s> {
        self.token().kind
    }

    fn peek_ahead(&self, n: usize) -> Kind<'s> {
        self.tokens[(self.at + n).min(self.tokens.len() - 1)].kind
    }

    fn pos(&self) -> Pos {
        self.token().pos
    }

    fn next(&mut self) -> Token<'s> {
        let token = self.token();
        self.at += 1;
        token
    }

    fn eat(&mut self, c: char) -> bool {
        let found = self.peek() == Kind::Punct(c);
        self.at += usize::from(found);
        found
    }

    fn eat_dot(&mut self, word: &str) -> bool {
        let found = self.peek() == Kind::Dot(word);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, c: char) -> Parsed<()> {
        if self.eat(c) { Ok(()) } else { Err(self.expected(&format!("`{c}`"))) }
    }

    /// An error at the current token.
    fn error(&self, message: impl Into<String>) -> ParseError {
        self.error_at(self.token(), message)
    }

    fn error_at(&self, token: Token<'_>, message: impl Into<String>) -> ParseError {
        ParseError::new(self.text, token.pos, token.len, message)
    }

    /// "expected …, found …" at the current token.
    fn expected(&self, what: &str) -> ParseError {
        self.error(format!("expected {what}, found {}", self.describe()))
    }

    fn describe(&self) -> String {
        let token = self.token();
        match token.kind {
            Kind::End => "the end of the text".into(),
            _ => format!("`{}`", self.text.get(token.start..token.end).unwrap_or("")),
        }
    }

    fn ident(&mut self, what: &str) -> Parsed<&'s str> {
        match self.peek() {
            Kind::Ident(name) => {
                self.at += 1;
                Ok(name)
            }
            _ => Err(self.expected(what)),
        }
    }

    fn dot(&mut self, what: &str) -> Parsed<&'s str> {
        match self.peek() {
            Kind::Dot(name) => {
                self.at += 1;
                Ok(name)
            }
            _ => Err(self.expected(what)),
        }
    }

    fn string(&mut self, what: &str) -> Parsed<&'s str> {
        match self.peek() {
            Kind::Str(text) => {
                self.at += 1;
                Ok(text)
            }
            _ => Err(self.expected(what)),
        }
    }

    fn number(&mut self, what: &str) -> Parsed<u64> {
        match self.peek() {
            Kind::Int(value) => {
                self.at += 1;
                Ok(value)
            }
            _ => Err(self.expected(what)),
        }
    }

    fn small(&mut self, what: &str) -> Parsed<u32> {
        let token = self.token();
        let value = self.number(what)?;
        u32::try_from(value).map_err(|_| self.error_at(token, format!("{what} {value} is too large")))
    }

    /// Runs `inner` one level deeper.
    fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_DEPTH {
            return Err(self.error(format!("nested more than {MAX_DEPTH} levels deep")));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    fn module(&mut self) -> Parsed<Ast> {
        let (version, version_pos) = self.version()?;
        let (target, target_pos) = self.target()?;
        let mut ast = Ast { version, version_pos, target, target_pos, address_size: 64, items: vec![] };
        if self.eat_dot("address_size") {
            let token = self.token();
            ast.address_size = self.small("an address size")?;
            if !matches!(ast.address_size, 32 | 64) {
                return Err(self.error_at(token, "the address size is 32 or 64"));
            }
        }
        while self.peek() != Kind::End {
            match self.item() {
                Ok(item) => ast.items.extend(item),
                Err(error) => {
                    self.keep(error)?;
                    self.skip_to_item();
                }
            }
        }
        Ok(ast)
    }

    /// Keeps an error in order to go on, unless there are too many.
    fn keep(&mut self, error: ParseError) -> Parsed<()> {
        if self.errors.len() + 1 >= MAX_ERRORS {
            return Err(error);
        }
        self.errors.push(error);
        Ok(())
    }

    /// Skips to what can only stand at module level.
    fn skip_to_item(&mut self) {
        self.depth = 0;
        loop {
            self.at += 1;
            match self.peek() {
                Kind::End => return,
                Kind::Dot(
                    "visible" | "extern" | "weak" | "common" | "entry" | "func" | "file" | "section",
                ) => return,
                _ => {}
            }
        }
    }

    /// Skips past the end of the statement at hand, or to the end of its block.
    fn skip_statement(&mut self) {
        loop {
            match self.peek() {
                Kind::End | Kind::Punct('}') => return,
                Kind::Punct(';') => {
                    self.at += 1;
                    return;
                }
                _ => self.at += 1,
            }
        }
    }

    fn version(&mut self) -> Parsed<((u32, u32), Pos)> {
        if !self.eat_dot("version") {
            return Err(self.expected("`.version` at the start of the module"));
        }
        let token = self.next();
        let text = &self.text[token.start..token.end];
        let parts = text.split_once('.').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
        let parts = parts.ok_or_else(|| self.error_at(token, "expected a version such as `8.0`"))?;
        Ok((parts, token.pos))
    }

    fn target(&mut self) -> Parsed<(Vec<String>, Pos)> {
        if !self.eat_dot("target") {
            return Err(self.expected("`.target` after `.version`"));
        }
        let pos = self.pos();
        let mut target = vec![self.ident("a target such as `sm_80`")?.to_string()];
        while self.eat(',') {
            target.push(self.ident("a target option")?.to_string());
        }
        Ok((target, pos))
    }

    fn item(&mut self) -> Parsed<Option<Item>> {
        match self.peek() {
            Kind::Punct('@') => self.skip_dwarf_line(),
            Kind::Dot("section") => self.skip_section(),
            Kind::Dot("file") => self.file().map(Some),
            Kind::Dot("pragma") => {
                self.at += 1;
                self.pragma().map(|names| Some(Item::Pragma(names)))
            }
            Kind::Dot("alias") => self.alias().map(Some),
            Kind::Dot("loc") => self.loc().map(|_| None),
            Kind::Dot(_) => self.declaration().map(Some),
            _ => Err(self.expected("a directive")),
        }
    }

    fn declaration(&mut self) -> Parsed<Item> {
        let linkage = match self.peek() {
            Kind::Dot("visible") => Linkage::Visible,
            Kind::Dot("extern") => Linkage::Extern,
            Kind::Dot("weak") => Linkage::Weak,
            Kind::Dot("common") => Linkage::Common,
            _ => Linkage::Local,
        };
        self.at += usize::from(linkage != Linkage::Local);
        match self.peek() {
            Kind::Dot("entry" | "func") => self.function(linkage).map(Item::Function),
            Kind::Dot("global" | "const" | "shared" | "local") => {
                let variable = self.variable(linkage)?;
                self.expect(';')?;
                Ok(Item::Variable(variable))
            }
            Kind::Dot(word) if linkage == Linkage::Local => {
                Err(self.error(format!("unknown directive `.{word}`")))
            }
            _ => Err(self.expected("`.entry`, `.func` or a variable")),
        }
    }

    /// `.file index "name" [, timestamp, size]`.
    fn file(&mut self) -> Parsed<Item> {
        self.at += 1;
        let token = self.token();
        let index = self.small("a file number")?;
        if !self.files.insert(index) {
            return Err(self.error_at(token, format!("there is a file {index} already")));
        }
        let name = self.string("a file name")?.to_string();
        if self.eat(',') {
            self.number("a time stamp")?;
            self.expect(',')?;
            self.number("a file size")?;
        }
        Ok(Item::File { index, name })
    }

    fn pragma(&mut self) -> Parsed<Vec<String>> {
        let mut names = vec![self.string("a pragma string")?.to_string()];
        while self.eat(',') {
            names.push(self.string("a pragma string")?.to_string());
        }
        self.expect(';')?;
        Ok(names)
    }

    fn alias(&mut self) -> Parsed<Item> {
        self.at += 1;
        let name = self.ident("a name")?.to_string();
        self.expect(',')?;
        let of = self.ident("a function")?.to_string();
        self.expect(';')?;
        Ok(Item::Alias { name, of })
    }

    /// `.section .debug_info { … }`: debug information that means nothing to a run.
    fn skip_section(&mut self) -> Parsed<Option<Item>> {
        self.at += 1;
        self.dot("a section name")?;
        let open = self.token();
        self.expect('{')?;
        while !self.eat('}') {
            if self.next().kind == Kind::End {
                return Err(self.error_at(open, "this section is never closed"));
            }
        }
        Ok(None)
    }

    /// `@@DWARF …` of old compilers: to the end of the line.
    fn skip_dwarf_line(&mut self) -> Parsed<Option<Item>> {
        let line = self.pos().line;
        self.at += 1;
        if !self.eat('@') {
            return Err(self.expected("`@@DWARF`"));
        }
        while self.peek() != Kind::End && self.pos().line == line {
            self.at += 1;
        }
        Ok(None)
    }
}
