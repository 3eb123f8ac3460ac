//! Constant expressions (PTX ISA, "Constant Expressions"), which are evaluated while parsing.

use crate::text::lexer::Kind;
use crate::text::parser::{Parsed, Parser};

/// A constant: an integer or the bits of a floating-point number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Constant {
    Int(Int),
    Single(u32),
    Double(u64),
}

/// An integer of type `.s64` or `.u64`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Int {
    bits: u64,
    signed: bool,
}

impl Int {
    fn signed(value: i64) -> Self {
        Self { bits: value as u64, signed: true }
    }

    fn unsigned(bits: u64) -> Self {
        Self { bits, signed: false }
    }

    /// Returns the result of a comparison.
    fn truth(value: bool) -> Self {
        Self::signed(value.into())
    }

    /// Returns the bits as a signed number.
    pub(super) fn wrapped(self) -> i64 {
        self.bits as i64
    }

    pub(super) fn value(self) -> i128 {
        if self.signed { self.wrapped().into() } else { self.bits.into() }
    }
}

impl Constant {
    fn negated(self) -> Self {
        match self {
            Constant::Int(int) => Constant::Int(Int { bits: int.bits.wrapping_neg(), ..int }),
            Constant::Single(bits) => Constant::Single(bits ^ 1 << 31),
            Constant::Double(bits) => Constant::Double(bits ^ 1 << 63),
        }
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
            Constant::Int(int) => Ok(int.value()),
            _ => Err(self.error_at(token, format!("{what} is an integer"))),
        }
    }

    /// Parses a sum of terms, such as the one after `[base`, without operators of lower precedence than `+`.
    pub(super) fn sum(&mut self) -> Parsed<Constant> {
        self.nested(|p| p.binary(1))
    }

    fn ternary(&mut self) -> Parsed<Constant> {
        let token = self.token();
        let condition = self.binary(LEVELS.len() - 1)?;
        if !self.eat('?') {
            return Ok(condition);
        }
        let yes = self.constant()?;
        self.expect(':')?;
        let no = self.constant()?;
        match condition {
            Constant::Int(int) => Ok(if int.bits == 0 { no } else { yes }),
            _ => Err(self.error_at(token, "the condition of `?` is an integer")),
        }
    }

    fn binary(&mut self, level: usize) -> Parsed<Constant> {
        let mut left = if level == 0 { self.unary()? } else { self.binary(level - 1)? };
        while let Some(operator) = self.operator(LEVELS[level]) {
            let token = self.token();
            let right = if level == 0 { self.unary()? } else { self.binary(level - 1)? };
            left = match (left, right) {
                (Constant::Int(_), Constant::Int(b)) if matches!(operator, "/" | "%") && b.bits == 0 => {
                    return Err(self.error_at(token, "division by zero in a constant"));
                }
                (Constant::Int(a), Constant::Int(b)) => Constant::Int(apply(operator, a, b)),
                (Constant::Double(a), Constant::Double(b)) => {
                    let applied = apply_double(operator, f64::from_bits(a), f64::from_bits(b));
                    applied.ok_or_else(|| {
                        self.error_at(token, format!("`{operator}` on floating-point constants"))
                    })?
                }
                _ => {
                    let message = format!("expected two integers or two f64 constants for `{operator}`");
                    return Err(self.error_at(token, message));
                }
            };
        }
        Ok(left)
    }

    /// Consumes and returns the current operator if it is in `level`.
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
                    ('!', Constant::Int(int)) => Ok(Constant::Int(Int::truth(int.bits == 0))),
                    ('~', Constant::Int(int)) => Ok(Constant::Int(Int::unsigned(!int.bits))),
                    _ => Err(self.error_at(token, format!("`{sign}` on a floating-point constant"))),
                }
            }
            Kind::Punct('(') => self.parenthesised(),
            Kind::Int(bits) => {
                let signed = bits >> 63 == 0 && !self.text[token.start..token.end].ends_with('U');
                self.advance();
                Ok(Constant::Int(Int { bits, signed }))
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
                Ok(Constant::Int(Int::signed(32)))
            }
            _ => Err(self.expected("a constant")),
        }
    }

    /// Parses `(expression)`, or one of the casts `(.s64)` and `(.u64)`.
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
                Constant::Int(Int { bits, .. }) => Ok(Constant::Int(Int { bits, signed })),
                _ => Err(self.error_at(token, "a cast of a floating-point constant")),
            };
        }
        let value = self.constant()?;
        self.expect(')')?;
        Ok(value)
    }
}

/// Applies an operator to integers. The divisor must not be zero. If one operand is unsigned, the other is converted to unsigned; `%` is
/// always unsigned.
fn apply(operator: &str, a: Int, b: Int) -> Int {
    let signed = a.signed && b.signed;
    let (x, y, shift) = (a.bits, b.bits, (b.bits & 63) as u32);
    let compare = || if signed { a.wrapped().cmp(&b.wrapped()) } else { x.cmp(&y) };
    let bits = match operator {
        "*" => x.wrapping_mul(y),
        "/" if signed => a.wrapped().wrapping_div(b.wrapped()) as u64,
        "/" => x / y,
        "%" => return Int::unsigned(x % y),
        "+" => x.wrapping_add(y),
        "-" => x.wrapping_sub(y),
        "<<" => return Int { bits: x << shift, ..a },
        ">>" if a.signed => return Int::signed(a.wrapped() >> shift),
        ">>" => return Int::unsigned(x >> shift),
        "&" => x & y,
        "^" => x ^ y,
        "|" => x | y,
        "<" => return Int::truth(compare().is_lt()),
        ">" => return Int::truth(compare().is_gt()),
        "<=" => return Int::truth(compare().is_le()),
        ">=" => return Int::truth(compare().is_ge()),
        "==" => return Int::truth(x == y),
        "!=" => return Int::truth(x != y),
        "&&" => return Int::truth(x != 0 && y != 0),
        _ => return Int::truth(x != 0 || y != 0),
    };
    Int { bits, signed }
}

/// Applies an operator to floating-point numbers. Returns `None` if the operator requires integers or the divisor is zero.
fn apply_double(operator: &str, a: f64, b: f64) -> Option<Constant> {
    let number = |value: f64| Some(Constant::Double(value.to_bits()));
    let truth = |value| Some(Constant::Int(Int::truth(value)));
    match operator {
        "*" => number(a * b),
        "/" if b != 0.0 => number(a / b),
        "+" => number(a + b),
        "-" => number(a - b),
        "<" => truth(a < b),
        ">" => truth(a > b),
        "<=" => truth(a <= b),
        ">=" => truth(a >= b),
        "==" => truth(a == b),
        "!=" => truth(a != b),
        _ => None,
    }
}
