//! A recursive-descent parser from PTX text to [`ast`](super::ast).

mod constant;
mod function;
mod operand;
mod statement;
mod variable;

use std::collections::HashSet;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::text::ast::{Ast, Item, Linkage, Mnemonic, Name, Operand, Statement};
use crate::text::body::{Body, Extent};
use crate::text::error::ParseError;
use crate::text::lexer::{Kind, Lexer, Pos, Token};

/// The maximum depth of nested blocks, lists and expressions.
const MAX_DEPTH: u32 = 64;

/// The number of errors after which parsing is aborted.
const MAX_ERRORS: usize = 64;

/// Parses a whole module. After an error, continues with the next statement to find more errors.
pub(crate) fn parse(text: &str) -> Result<Ast, Vec<ParseError>> {
    finish(Parser::new(text))
}

fn finish(mut parser: Parser<'_>) -> Result<Ast, Vec<ParseError>> {
    let ast = parser.module();
    let mut errors = parser.errors;
    match (parser.lexer.into_error(), ast) {
        (Some(error), _) => Err(vec![error]),
        (None, Ok(ast)) if errors.is_empty() => Ok(ast),
        (None, ast) => {
            errors.extend(ast.err());
            Err(errors)
        }
    }
}

/// Parses a module. The functions with these extents have been checked before, so their bodies are parsed only when they are read.
pub(crate) fn parse_outlined(
    text: &Arc<str>,
    bodies: impl Iterator<Item = Extent>,
) -> Result<Ast, Vec<ParseError>> {
    let known =
        Known { text: Some(text.clone()), bodies: bodies.map(|extent| (extent.start, extent)).collect() };
    finish(Parser { known, ..Parser::new(text) })
}

/// Parses one body.
pub(crate) fn parse_body(text: &str, extent: Extent) -> Result<Vec<Statement>, ParseError> {
    let mut parser = Parser::new("");
    parser.text = text.get(..extent.end).unwrap_or(text);
    parser.continue_at(extent.start, extent.first);
    let statements = parser.block().and_then(|statements| match parser.peek() {
        Kind::End => Ok(statements),
        _ => Err(parser.expected("the end of the function")),
    });
    let first = parser.lexer.into_error().or_else(|| parser.errors.into_iter().next());
    first.map_or(statements, Err)
}

/// The bodies that have been checked before, by the byte offset of their `{`.
#[derive(Default)]
struct Known {
    text: Option<Arc<str>>,
    bodies: FxHashMap<usize, Extent>,
}

impl Known {
    fn body_at(&self, start: usize) -> Option<Body> {
        Some(Body::deferred(*self.bodies.get(&start)?, self.text.clone()?))
    }
}

/// The number of tokens that are read ahead, including the current one.
const WINDOW: usize = 3;

pub(crate) struct Parser<'s> {
    text: &'s str,
    lexer: Lexer<'s>,
    window: [Token<'s>; WINDOW],
    /// The token before the current one.
    last: Token<'s>,
    depth: u32,
    /// Whether the parser is inside a `call`.
    in_call: bool,
    /// The indices of the `.file` directives so far.
    files: HashSet<u32>,
    names: FxHashMap<&'s str, Name>,
    /// Mnemonics, by the text from the opcode to the last qualifier.
    mnemonics: FxHashMap<&'s str, Arc<Mnemonic>>,
    /// Buffers for the qualifiers and the operands of the current instruction.
    words: Vec<&'s str>,
    operands: Vec<Operand>,
    /// The errors after which parsing has continued.
    errors: Vec<ParseError>,
    known: Known,
}

type Parsed<T> = Result<T, ParseError>;

impl<'s> Parser<'s> {
    fn new(text: &'s str) -> Self {
        let mut lexer = Lexer::new(text);
        let window: [Token<'s>; WINDOW] = std::array::from_fn(|_| lexer.next_token());
        Self {
            text,
            lexer,
            window,
            last: window[0],
            depth: 0,
            in_call: false,
            files: HashSet::new(),
            names: FxHashMap::default(),
            mnemonics: FxHashMap::default(),
            words: vec![],
            operands: vec![],
            errors: vec![],
            known: Known::default(),
        }
    }

    /// Continues with the token at the byte offset `at`, which corresponds to the position `pos`.
    fn continue_at(&mut self, at: usize, pos: Pos) {
        self.lexer = Lexer::starting_at(self.text, at, pos);
        self.window = std::array::from_fn(|_| self.lexer.next_token());
        self.last = self.window[0];
    }

    fn token(&self) -> Token<'s> {
        self.window[0]
    }

    fn advance(&mut self) {
        let [at, next, after] = self.window;
        self.last = at;
        self.window = [next, after, self.lexer.next_token()];
    }

    /// Returns the shared copy of a name.
    fn name(&mut self, text: &'s str) -> Name {
        self.names.entry(text).or_insert_with(|| Name::from(text)).clone()
    }

    fn peek(&self) -> Kind<'s> {
        self.window[0].kind
    }

    /// Returns the token `n` after the current one; `n` must be less than [`WINDOW`].
    fn peek_ahead(&self, n: usize) -> Kind<'s> {
        self.window[n].kind
    }

    fn pos(&self) -> Pos {
        self.window[0].pos
    }

    fn next(&mut self) -> Token<'s> {
        let token = self.token();
        self.advance();
        token
    }

    /// Moves past the current token if `found` is true; returns `found`.
    fn advance_if(&mut self, found: bool) -> bool {
        if found {
            self.advance();
        }
        found
    }

    fn eat(&mut self, c: char) -> bool {
        self.advance_if(self.peek() == Kind::Punct(c))
    }

    fn eat_dot(&mut self, word: &str) -> bool {
        self.advance_if(self.peek() == Kind::Dot(word))
    }

    fn expect(&mut self, c: char) -> Parsed<()> {
        if self.eat(c) { Ok(()) } else { Err(self.expected(&format!("`{c}`"))) }
    }

    /// Returns an error at the current token.
    fn error(&self, message: impl Into<String>) -> ParseError {
        self.error_at(self.token(), message)
    }

    fn error_at(&self, token: Token<'_>, message: impl Into<String>) -> ParseError {
        ParseError::new(self.text, token.pos, self.characters(token.start, token.end), message)
    }

    /// Returns the number of characters between two byte offsets, at least 1.
    fn characters(&self, start: usize, end: usize) -> u32 {
        self.text.get(start..end).map_or(1, |text| text.chars().count().max(1)) as u32
    }

    /// Returns the error "expected …, found …" at the current token.
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

    fn word(&mut self, what: &str) -> Parsed<&'s str> {
        match self.peek() {
            Kind::Ident(word) => {
                self.advance();
                Ok(word)
            }
            _ => Err(self.expected(what)),
        }
    }

    fn ident(&mut self, what: &str) -> Parsed<Name> {
        self.word(what).map(|word| self.name(word))
    }

    fn dot(&mut self, what: &str) -> Parsed<&'s str> {
        match self.peek() {
            Kind::Dot(name) => {
                self.advance();
                Ok(name)
            }
            _ => Err(self.expected(what)),
        }
    }

    fn string(&mut self, what: &str) -> Parsed<&'s str> {
        match self.peek() {
            Kind::Str(text) => {
                self.advance();
                Ok(text)
            }
            _ => Err(self.expected(what)),
        }
    }

    fn number(&mut self, what: &str) -> Parsed<u64> {
        match self.peek() {
            Kind::Int(value) => {
                self.advance();
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

    /// Runs `inner` one nesting level deeper.
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
        ast.items.shrink_to_fit();
        Ok(ast)
    }

    /// Records an error so that parsing can continue, or returns it if there are too many errors.
    fn keep(&mut self, error: ParseError) -> Parsed<()> {
        if self.errors.len() + 1 >= MAX_ERRORS {
            return Err(error);
        }
        self.errors.push(error);
        Ok(())
    }

    /// Skips to the next construct that is valid only at module level.
    fn skip_to_item(&mut self) {
        self.depth = 0;
        loop {
            self.advance();
            match self.peek() {
                Kind::End => return,
                Kind::Dot(
                    "visible" | "extern" | "weak" | "common" | "entry" | "func" | "file" | "section",
                ) => return,
                _ => {}
            }
        }
    }

    /// Skips past the end of the current statement, or to the end of its block.
    fn skip_statement(&mut self) {
        loop {
            match self.peek() {
                Kind::End | Kind::Punct('}') => return,
                Kind::Punct(';') => {
                    self.advance();
                    return;
                }
                _ => self.advance(),
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
        let mut target = vec![self.word("a target such as `sm_80`")?.to_string()];
        while self.eat(',') {
            target.push(self.word("a target option")?.to_string());
        }
        Ok((target, pos))
    }

    fn item(&mut self) -> Parsed<Option<Item>> {
        match self.peek() {
            Kind::Punct('@') => self.skip_dwarf_line(),
            Kind::Dot("section") => self.skip_section(),
            Kind::Dot("file") => self.file().map(Some),
            Kind::Dot("pragma") => {
                self.advance();
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
        self.advance_if(linkage != Linkage::Local);
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

    /// Parses `.file index "name" [, timestamp, size]`.
    fn file(&mut self) -> Parsed<Item> {
        self.advance();
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
        self.advance();
        let name = self.word("a name")?.to_string();
        self.expect(',')?;
        let of = self.word("a function")?.to_string();
        self.expect(';')?;
        Ok(Item::Alias { name, of })
    }

    /// Skips `.section .debug_info { … }`, which contains debug information and does not affect execution.
    fn skip_section(&mut self) -> Parsed<Option<Item>> {
        self.advance();
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

    /// Skips a `@@DWARF …` line, which old compilers emit.
    fn skip_dwarf_line(&mut self) -> Parsed<Option<Item>> {
        let line = self.pos().line;
        self.advance();
        if !self.eat('@') {
            return Err(self.expected("`@@DWARF`"));
        }
        while self.peek() != Kind::End && self.pos().line == line {
            self.advance();
        }
        Ok(None)
    }
}
