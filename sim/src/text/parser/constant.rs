//! Constant expressions (PTX ISA, "Constant Expressions"), which are evaluated while parsing.

use crate::text::lexer::Kind;
use crate::text::parser::{Parsed, Parser};

/// A constant: an integer or the bits of a floating-point number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Constant {
    Int(i128),
    Single(u32),
    Double(u64),
}

impl Constant {
    fn negated(self) -> Self {
        match self {
            Constant::Int(value) => Constant::Int(wrap(-value)),
            Constant::Single(bits) => Constant::Single(bits ^ 1 << 31),
            Constant::Double(bits) => Constant::Double(bits ^ 1 << 63),
        }
    }
}

/// Wraps an integer to 64 bits, signed or unsigned.
fn wrap(value: i128) -> i128 {
    match value {
        v if v > i128::from(u64::MAX) => i128::from(v as u64),
        v if v < i128::from(i64::MIN) => i128::from(v as i64),
        v => v,
    }
}

/// The binary operators in order of decreasing precedence.
const LEVELS: [&[&str]; 10] = [
    &["*", "/", "%"],
    &["+", "-"],
    &["<<", ">>"],
    &["<=", ">=", "<", ">"],
    &["==", "!="],
    &["&"],
    &["^"],
    &["|"],
    &["&&"],
    &["||"],
];

impl Parser<'_> {
    /// Parses a constant expression.
    pub(super) fn constant(&mut self) -> Parsed<Constant> {
        self.nested(|p| p.ternary())
    }

    /// Parses a constant expression with an integer value.
    pub(super) fn integer(&mut self, what: &str) -> Parsed<i128> {
        let token = self.token();
        match self.constant()? {
            Constant::Int(value) => Ok(value),
            _ => Err(self.error_at(token, format!("{what} is an integer"))),
        }
    }

    /// Parses a sum of terms, as after `[base`, without operators of lower precedence than `+`.
    pub(super) fn sum(&mut self) -> Parsed<Constant> {
        self.nested(|p| p.binary(1))
    }

    fn ternary(&mut self) -> Parsed<Constant> {
        let condition = self.binary(LEVELS.len() - 1)?;
        if !self.eat('?') {
            return Ok(condition);
        }
        let yes = self.constant()?;
        self.expect(':')?;
        let no = self.constant()?;
        Ok(if condition == Constant::Int(0) { no } else { yes })
    }

    fn binary(&mut self, level: usize) -> Parsed<Constant> {
        let mut left = if level == 0 { self.unary()? } else { self.binary(level - 1)? };
        while let Some(operator) = self.operator(LEVELS[level]) {
            let token = self.token();
            let right = if level == 0 { self.unary()? } else { self.binary(level - 1)? };
            left = match (left, right) {
                (Constant::Int(a), Constant::Int(b)) => match apply(operator, a, b) {
                    Some(value) => Constant::Int(wrap(value)),
                    None => return Err(self.error_at(token, "division by zero in a constant")),
                },
                _ => return Err(self.error_at(token, "arithmetic on floating-point constants")),
            };
        }
        Ok(left)
    }

    /// Takes the current operator if it is in `level`.
    fn operator(&mut self, level: &[&'static str]) -> Option<&'static str> {
        let Kind::Punct(first) = self.peek() else { return None };
        let second = if let Kind::Punct(c) = self.peek_ahead(1) { c } else { ' ' };
        let joined = match (first, second) {
            ('<' | '>' | '=' | '!', '=') => true,
            ('<' | '>' | '&' | '|', second) => first == second,
            _ => false,
        };
        let found = *level.iter().find(|operator| {
            let mut characters = operator.chars();
            characters.next() == Some(first) && characters.next() == joined.then_some(second)
        })?;
        found.chars().for_each(|_| self.advance());
        Some(found)
    }

    fn unary(&mut self) -> Parsed<Constant> {
        let token = self.token();
        match token.kind {
            Kind::Punct(sign @ ('-' | '+' | '!' | '~')) => {
                self.advance();
                if let (Kind::Single(_), '-' | '+') = (self.peek(), sign) {
                    return Err(self.error_at(token, "the bits of a constant in `0f` form hold its sign"));
                }
                let value = self.nested(|p| p.unary())?;
                match (sign, value) {
                    ('-', value) => Ok(value.negated()),
                    ('+', value) => Ok(value),
                    ('!', Constant::Int(value)) => Ok(Constant::Int(i128::from(value == 0))),
                    ('~', Constant::Int(value)) => Ok(Constant::Int(!value)),
                    _ => Err(self.error_at(token, format!("`{sign}` on a floating-point constant"))),
                }
            }
            Kind::Punct('(') => self.parenthesised(),
            Kind::Int(value) => {
                self.advance();
                Ok(Constant::Int(i128::from(value)))
            }
            Kind::Single(bits) => {
                self.advance();
                Ok(Constant::Single(bits))
            }
            Kind::Double(bits) => {
                self.advance();
                Ok(Constant::Double(bits))
            }
            Kind::Ident("WARP_SZ") => {
                self.advance();
                Ok(Constant::Int(32))
            }
            _ => Err(self.expected("a constant")),
        }
    }

    /// Parses `(expression)` or the casts `(.s64)`, `(.u64)`.
    fn parenthesised(&mut self) -> Parsed<Constant> {
        self.expect('(')?;
        let cast = match self.peek() {
            Kind::Dot(word @ ("s64" | "u64")) => Some(word == "s64"),
            _ => None,
        };
        if let Some(signed) = cast {
            self.advance();
            self.expect(')')?;
            let token = self.token();
            return match self.nested(|p| p.unary())? {
                Constant::Int(v) if signed => Ok(Constant::Int(i128::from(v as i64))),
                Constant::Int(v) => Ok(Constant::Int(i128::from(v as u64))),
                _ => Err(self.error_at(token, "a cast of a floating-point constant")),
            };
        }
        let value = self.constant()?;
        self.expect(')')?;
        Ok(value)
    }
}

/// Applies an operator to 64-bit constants; returns `None` for a division by zero.
fn apply(operator: &str, a: i128, b: i128) -> Option<i128> {
    let shift = (b & 63) as u32;
    Some(match operator {
        "*" => a.wrapping_mul(b),
        "/" => a.checked_div(b)?,
        "%" => a.checked_rem(b)?,
        "+" => a + b,
        "-" => a - b,
        "<<" => i128::from((a as u64) << shift),
        ">>" => a >> shift,
        "<" => i128::from(a < b),
        ">" => i128::from(a > b),
        "<=" => i128::from(a <= b),
        ">=" => i128::from(a >= b),
        "==" => i128::from(a == b),
        "!=" => i128::from(a != b),
        "&" => a & b,
        "^" => a ^ b,
        "|" => a | b,
        "&&" => i128::from(a != 0 && b != 0),
        _ => i128::from(a != 0 || b != 0),
    })
}
