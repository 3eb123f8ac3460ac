//! Parses expressions: calls, `shape:stride`, tuples, swizzles, and compositions with `o`.

use warpwright::layout::{BasisVector, Swizzle};

use super::value::Value;

/// The maximum nesting depth, so that malformed text cannot exhaust the stack.
const MAX_DEPTH: usize = 64;

/// The maximum number of dimensions of basis vectors.
pub(super) const MOST_DIMENSIONS: usize = 64;

/// A syntax error and its 1-based column.
#[derive(Debug)]
pub(crate) struct Mistake {
    /// The 1-based column in characters.
    pub(crate) column: usize,
    /// What was expected and what was found.
    pub(crate) problem: String,
}

/// A subexpression, and the column at which it starts.
#[derive(Debug)]
pub(super) struct Expr {
    pub(super) column: usize,
    pub(super) kind: Kind,
}

/// The kinds of expressions.
#[derive(Debug)]
pub(super) enum Kind {
    /// A number, `_`, a basis vector or a swizzle.
    Value(Value),
    /// `(a, b, …)`.
    Tuple(Vec<Expr>),
    /// `shape:stride`.
    Layout(Box<Expr>, Box<Expr>),
    /// `a o b o …`.
    Chain(Vec<Expr>),
    /// `name(a, b, …)`.
    Call(String, Vec<Expr>),
}

/// Parses a whole expression.
pub(super) fn parse(text: &str) -> Result<Expr, Mistake> {
    let mut parser = Parser { text, at: 0, depth: 0 };
    let expr = parser.chain()?;
    match parser.peek() {
        None => Ok(expr),
        Some(_) => Err(parser.expected("the end or `o`")),
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn peek(&mut self) -> Option<char> {
        self.at = self.text.len() - self.rest().trim_start().len();
        self.rest().chars().next()
    }

    fn take(&mut self, symbol: char) -> bool {
        let found = self.peek() == Some(symbol);
        if found {
            self.at += symbol.len_utf8();
        }
        found
    }

    fn column(&mut self) -> usize {
        self.peek();
        self.text[..self.at].chars().count() + 1
    }

    fn expected(&mut self, expected: &str) -> Mistake {
        let column = self.column();
        let found = match self.word() {
            "" => self.peek().map_or_else(|| "the end".to_owned(), |symbol| format!("`{symbol}`")),
            word => format!("`{word}`"),
        };
        Mistake { column, problem: format!("expected {expected}, found {found}") }
    }

    fn expect(&mut self, symbol: char, expected: &str) -> Result<(), Mistake> {
        if self.take(symbol) { Ok(()) } else { Err(self.expected(expected)) }
    }

    /// Returns the word (letters, digits and `_`) that follows.
    fn word(&self) -> &str {
        let rest = self.rest();
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
        &rest[..end]
    }

    fn chain(&mut self) -> Result<Expr, Mistake> {
        let column = self.column();
        let mut parts = vec![self.layout()?];
        while self.peek() == Some('∘') || self.word() == "o" {
            self.at += if self.word() == "o" { 1 } else { '∘'.len_utf8() };
            parts.push(self.layout()?);
        }
        Ok(match parts.len() {
            1 => parts.remove(0),
            _ => Expr { column, kind: Kind::Chain(parts) },
        })
    }

    fn layout(&mut self) -> Result<Expr, Mistake> {
        let shape = self.primary()?;
        if !self.take(':') {
            return Ok(shape);
        }
        let stride = self.primary()?;
        Ok(Expr { column: shape.column, kind: Kind::Layout(Box::new(shape), Box::new(stride)) })
    }

    fn primary(&mut self) -> Result<Expr, Mistake> {
        let column = self.column();
        let kind = match self.peek() {
            Some('(') => self.tuple()?,
            Some('-' | '0'..='9') => self.number()?,
            Some('_') => match self.word() {
                "_" if !self.rest()[1..].starts_with('-') => {
                    self.at += 1;
                    Kind::Value(Value::Keep)
                }
                _ => self.number()?,
            },
            Some(c) if c.is_ascii_alphabetic() => self.named()?,
            _ => return Err(self.expected("a number, a tuple, a layout or a function")),
        };
        Ok(Expr { column, kind })
    }

    fn tuple(&mut self) -> Result<Kind, Mistake> {
        Ok(Kind::Tuple(self.list()?))
    }

    /// Parses `(a, b, …)`; a comma before the `)` is accepted.
    fn list(&mut self) -> Result<Vec<Expr>, Mistake> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.expected("at most 64 nested parentheses"));
        }
        self.expect('(', "`(`")?;
        let mut parts = Vec::new();
        while !self.take(')') {
            parts.push(self.chain()?);
            if !self.take(',') {
                self.expect(')', "`,` or `)`")?;
                break;
            }
        }
        self.depth -= 1;
        Ok(parts)
    }

    /// Parses an integer, with the `_` that CuTe prints before static integers, or a basis vector `4@1`.
    fn number(&mut self) -> Result<Kind, Mistake> {
        let value = self.integer()?;
        if !self.take('@') {
            return Ok(Kind::Value(Value::Integer(value)));
        }
        self.along(value)
    }

    /// Parses the dimension of a basis vector.
    fn along(&mut self, value: i64) -> Result<Kind, Mistake> {
        let column = self.column();
        let dimension = self.integer()?;
        match usize::try_from(dimension) {
            Ok(dimension) if dimension < MOST_DIMENSIONS => {
                Ok(Kind::Value(Value::Basis(BasisVector::along(dimension, value))))
            }
            _ => Err(Mistake {
                column,
                problem: format!("expected a dimension of 0 to 63, found {dimension}"),
            }),
        }
    }

    fn integer(&mut self) -> Result<i64, Mistake> {
        self.peek();
        let rest = self.rest();
        let from = usize::from(rest.starts_with('_'));
        let number = &rest[from..];
        let signed = usize::from(number.starts_with('-'));
        let length = signed + number[signed..].bytes().take_while(u8::is_ascii_digit).count();
        match number[..length].parse() {
            Ok(value) => {
                self.at += from + length;
                Ok(value)
            }
            Err(_) => Err(self.expected("an integer of 64 bits")),
        }
    }

    /// Parses a swizzle or a call.
    fn named(&mut self) -> Result<Kind, Mistake> {
        let name = self.word().to_owned();
        self.at += name.len();
        match self.peek() {
            Some('<') if ["S", "Sw", "Swizzle"].contains(&name.as_str()) => self.swizzle(),
            Some('<') if name == "E" => {
                self.take('<');
                let kind = self.along(1)?;
                self.expect('>', "`>` after one dimension")?;
                Ok(kind)
            }
            Some('(') => Ok(Kind::Call(name, self.list()?)),
            _ => Err(self.expected(&format!("`(` after `{name}`"))),
        }
    }

    fn swizzle(&mut self) -> Result<Kind, Mistake> {
        let column = self.column();
        let mut numbers = [0; 3];
        for (index, number) in numbers.iter_mut().enumerate() {
            self.expect(if index == 0 { '<' } else { ',' }, "a swizzle `S<bits,base,shift>`")?;
            *number = self.integer()?;
        }
        self.expect('>', "`>`")?;
        let [bits, base, shift] = numbers;
        let swizzle = match (bits.try_into(), base.try_into(), shift.try_into()) {
            (Ok(bits), Ok(base), Ok(shift)) => {
                Swizzle::new(bits, base, shift).map_err(|error| error.to_string())
            }
            _ => Err(format!("expected bits, base and shift below 63, found {bits}, {base}, {shift}")),
        };
        match swizzle {
            Ok(swizzle) => Ok(Kind::Value(Value::Swizzle(swizzle))),
            Err(problem) => Err(Mistake { column, problem }),
        }
    }
}
