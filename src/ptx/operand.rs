//! Operands as printed: registers, immediates, addresses, vectors, names.

use std::fmt::{self, Write};

use arrayvec::ArrayString;

use super::{body::RegId, text::Text, types::Scalar};

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
    /// A vector of registers that their owner writes in place.
    Words(&'a [RegId]),
    /// A special register, a variable, a label or `_`.
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
    /// Returns the bits of a constant operand; `None` for other operands.
    pub(crate) fn immediate_bits(&self) -> Option<u64> {
        match self {
            Self::Imm(immediate) => Some(immediate.bits),
            _ => None,
        }
    }

    /// Calls `f` for every register in the operand; most operands are a single register.
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
            Self::Words(registers) => registers.iter().for_each(|register| f(register.in_place())),
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
    /// Writes the operand.
    #[inline]
    pub(crate) fn push_to(&self, text: &mut Text) {
        match self {
            Self::Reg(r) => text.push_register(*r),
            other => other.push_other_to(text),
        }
    }

    fn push_other_to(&self, text: &mut Text) {
        match self {
            Self::Reg(r) => text.push_register(*r),
            Self::Imm(i) => {
                let _ = (i.write)(i.bits, text);
            }
            Self::Name(n) => text.push_str(n),
            Self::Pair(a, b) => {
                text.push_register(*a);
                text.push_str("|");
                text.push_register(*b);
            }
            Self::Address { base, offset } => {
                text.push_str("[");
                base.push_to(text);
                if *offset != 0 {
                    text.push_str(if *offset < 0 { "+-" } else { "+" });
                    text.push_decimal(offset.unsigned_abs());
                }
                text.push_str("]");
            }
            Self::Vector(items) => push_braces(items, text, Operand::push_to),
            Self::Words(registers) => {
                push_braces(registers, text, |register, text| text.push_register(*register));
            }
            Self::Tensor { map, coordinates } => {
                text.push_str("[");
                map.push_to(text);
                text.push_str(", ");
                push_braces(coordinates, text, Operand::push_to);
                text.push_str("]");
            }
        }
    }
}

impl AddressBase<'_> {
    fn push_to(&self, text: &mut Text) {
        match self {
            Self::Reg(r) => text.push_register(*r),
            Self::Name(n) => text.push_str(n),
        }
    }
}

/// Writes `{a, b}`.
#[inline]
fn push_braces<T>(items: &[T], text: &mut Text, push: impl Fn(&T, &mut Text)) {
    text.push_str("{");
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            text.push_str(", ");
        }
        push(item, text);
    }
    text.push_str("}");
}

/// Writes a number in decimal digits.
pub(crate) fn write_decimal<W: Write + ?Sized>(w: &mut W, number: u64) -> fmt::Result {
    fn push(digits: &mut ArrayString<20>, number: u64) {
        if number >= 10 {
            push(digits, number / 10);
        }
        digits.push(char::from(b'0' + (number % 10) as u8));
    }
    let mut digits = ArrayString::new();
    push(&mut digits, number);
    w.write_str(&digits)
}

/// Writes a prefix of two characters and a number in `count` hexadecimal digits, in upper case.
pub(crate) fn write_hexadecimal(w: &mut dyn Write, prefix: &str, number: u64, count: u32) -> fmt::Result {
    let mut text = ArrayString::<18>::new();
    text.push_str(prefix);
    for place in (0..count).rev() {
        text.push(char::from(b"0123456789ABCDEF"[(number >> (4 * place)) as usize & 15]));
    }
    w.write_str(&text)
}

impl fmt::Display for Operand<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Text::default();
        self.push_to(&mut text);
        f.write_str(&text.to_text())
    }
}
