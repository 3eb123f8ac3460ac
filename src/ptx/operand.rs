//! Operands as printed: registers, immediates, addresses, vectors, names.

use std::fmt::{self, Write};

use super::{
    body::RegId,
    types::{RegClass, Scalar},
};

/// An untyped operand of an instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operand<'a> {
    Reg(RegId),
    /// A constant in PTX notation.
    Imm(Immediate),
    /// `[base + offset]`.
    Address {
        base: AddressBase<'a>,
        offset: i64,
    },
    /// `[map, {x, y}]`: a box of a tensor.
    Tensor {
        map: AddressBase<'a>,
        coordinates: &'a [Operand<'a>],
    },
    /// `{a, b, c, d}`.
    Vector(&'a [Operand<'a>]),
    /// A special register, a variable or a label.
    Name(&'a str),
    /// Two results of one instruction: `%r0|%p0`.
    Pair(RegId, RegId),
}

/// The base of an address.
#[derive(Clone, Copy, Debug)]
pub(crate) enum AddressBase<'a> {
    Reg(RegId),
    Name(&'a str),
}

/// The bits of a constant and their notation.
#[derive(Clone, Copy)]
pub(crate) struct Immediate {
    bits: u64,
    write: fn(u64, &mut dyn Write) -> fmt::Result,
}

impl Immediate {
    pub(crate) fn new<T: Scalar>(value: T) -> Self {
        Self { bits: value.to_bits(), write: |bits, w| T::from_bits(bits).write_immediate(w) }
    }

    /// Returns the constant's bits.
    pub(crate) fn bits(self) -> u64 {
        self.bits
    }
}

impl fmt::Debug for Immediate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (self.write)(self.bits, f)
    }
}

impl Operand<'_> {
    /// Returns the bits of a constant.
    pub(crate) fn immediate_bits(&self) -> Option<u64> {
        match self {
            Self::Imm(immediate) => Some(immediate.bits),
            _ => None,
        }
    }

    /// Calls `f` for every register in the operand; most operands are one.
    #[inline(always)]
    pub(crate) fn for_each_register(&self, f: &mut impl FnMut(RegId)) {
        match self {
            Self::Reg(r) => f(*r),
            Self::Imm(_) => {}
            other => other.for_each_inner_register(f),
        }
    }

    fn for_each_inner_register(&self, f: &mut impl FnMut(RegId)) {
        match self {
            Self::Reg(r) | Self::Address { base: AddressBase::Reg(r), .. } => f(*r),
            Self::Vector(items) => items.iter().for_each(|o| o.for_each_register(f)),
            Self::Tensor { map, coordinates } => {
                if let AddressBase::Reg(r) = map {
                    f(*r);
                }
                coordinates.iter().for_each(|o| o.for_each_register(f));
            }
            Self::Pair(a, b) => {
                f(*a);
                f(*b);
            }
            Self::Imm(_) | Self::Name(_) | Self::Address { base: AddressBase::Name(_), .. } => {}
        }
    }
}

impl Operand<'_> {
    /// Writes the operand. Most of a kernel's text is registers, which need no formatting of `std`.
    pub(crate) fn push_to(&self, text: &mut String) {
        match self {
            Self::Reg(r) => r.push_to(text),
            Self::Imm(i) => {
                let _ = (i.write)(i.bits, text);
            }
            Self::Name(n) => text.push_str(n),
            Self::Pair(a, b) => {
                a.push_to(text);
                text.push('|');
                b.push_to(text);
            }
            Self::Address { base, offset } => {
                text.push('[');
                base.push_to(text);
                if *offset != 0 {
                    text.push_str(if *offset < 0 { "+-" } else { "+" });
                    push_decimal(text, offset.unsigned_abs());
                }
                text.push(']');
            }
            Self::Vector(items) => push_braces(items, text),
            Self::Tensor { map, coordinates } => {
                text.push('[');
                map.push_to(text);
                text.push_str(", ");
                push_braces(coordinates, text);
                text.push(']');
            }
        }
    }
}

impl AddressBase<'_> {
    fn push_to(&self, text: &mut String) {
        match self {
            Self::Reg(r) => r.push_to(text),
            Self::Name(n) => text.push_str(n),
        }
    }
}

/// Writes `{a, b}`.
fn push_braces(items: &[Operand<'_>], text: &mut String) {
    text.push('{');
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            text.push_str(", ");
        }
        item.push_to(text);
    }
    text.push('}');
}

impl RegId {
    /// Writes the register's name.
    pub(crate) fn push_to(self, text: &mut String) {
        // One of a few constants: the copy needs no call.
        match self.class {
            RegClass::Pred => text.push_str(RegClass::Pred.prefix()),
            RegClass::B32 => text.push_str(RegClass::B32.prefix()),
            RegClass::F32 => text.push_str(RegClass::F32.prefix()),
            other => text.push_str(other.prefix()),
        }
        push_decimal(text, self.index.into());
    }
}

/// The three digits of each number below 1000.
const DIGITS: &str = {
    const BYTES: [u8; 3000] = {
        let mut bytes = [0; 3000];
        let mut at = 0;
        while at < 3000 {
            let place = [100, 10, 1][at % 3];
            bytes[at] = b'0' + (at / 3 / place % 10) as u8;
            at += 1;
        }
        bytes
    };
    match str::from_utf8(&BYTES) {
        Ok(digits) => digits,
        Err(_) => panic!("digits are ASCII"),
    }
};

/// Appends a number in decimal digits: most are numbers of registers, of up to three digits.
fn push_decimal(text: &mut String, number: u64) {
    let at = 3 * (number % 1000) as usize;
    match number {
        0..10 => text.push_str(&DIGITS[at + 2..at + 3]),
        10..100 => text.push_str(&DIGITS[at + 1..at + 3]),
        100..1000 => text.push_str(&DIGITS[at..at + 3]),
        _ => {
            push_decimal(text, number / 1000);
            text.push_str(&DIGITS[at..at + 3]);
        }
    }
}

/// Writes a number in decimal digits.
pub(crate) fn write_decimal<W: Write + ?Sized>(w: &mut W, number: u64) -> fmt::Result {
    if number >= 10 {
        write_decimal(w, number / 10)?;
    }
    w.write_char(digit(number))
}

/// Returns the last digit of a number.
fn digit(number: u64) -> char {
    char::from(b'0' + (number % 10) as u8)
}

impl fmt::Display for Operand<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        self.push_to(&mut text);
        f.write_str(&text)
    }
}
