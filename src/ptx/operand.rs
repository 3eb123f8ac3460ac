//! Operands as they are written: registers, immediates, addresses, vectors, names.

use std::fmt::{self, Write};

use super::{body::RegId, types::Scalar};

/// One operand of an instruction, its type forgotten.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operand<'a> {
    Reg(RegId),
    /// A constant, as PTX writes it.
    Imm(Immediate),
    /// `[base + offset]`.
    Address {
        base: AddressBase<'a>,
        offset: i64,
    },
    /// `{a, b, c, d}`.
    Vector(&'a [Operand<'a>]),
    /// A special register, a variable or a label.
    Name(&'a str),
    /// Two results of one instruction: `%r0|%p0`.
    Pair(RegId, RegId),
}

/// What an address starts from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum AddressBase<'a> {
    Reg(RegId),
    Name(&'a str),
}

/// The bits of a constant and how to write them.
#[derive(Clone, Copy)]
pub(crate) struct Immediate {
    bits: u64,
    write: fn(u64, &mut dyn Write) -> fmt::Result,
}

impl Immediate {
    pub(crate) fn new<T: Scalar>(value: T) -> Self {
        Self { bits: value.to_bits(), write: |bits, w| T::from_bits(bits).write_immediate(w) }
    }

    /// The constant's bits.
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
    /// The bits of a constant.
    pub(crate) fn immediate_bits(&self) -> Option<u64> {
        match self {
            Self::Imm(immediate) => Some(immediate.bits),
            _ => None,
        }
    }

    /// Calls `f` on every register in the operand.
    pub(crate) fn for_each_register(&self, f: &mut impl FnMut(RegId)) {
        match self {
            Self::Reg(r) | Self::Address { base: AddressBase::Reg(r), .. } => f(*r),
            Self::Vector(items) => items.iter().for_each(|o| o.for_each_register(f)),
            Self::Pair(a, b) => {
                f(*a);
                f(*b);
            }
            Self::Imm(_) | Self::Name(_) | Self::Address { base: AddressBase::Name(_), .. } => {}
        }
    }
}

impl fmt::Display for Operand<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reg(r) => write!(f, "{r}"),
            Self::Imm(i) => write!(f, "{i:?}"),
            Self::Name(n) => f.write_str(n),
            Self::Pair(a, b) => write!(f, "{a}|{b}"),
            Self::Address { base, offset } => {
                match base {
                    AddressBase::Reg(r) => write!(f, "[{r}")?,
                    AddressBase::Name(n) => write!(f, "[{n}")?,
                }
                if *offset != 0 {
                    write!(f, "+{offset}")?;
                }
                f.write_char(']')
            }
            Self::Vector(items) => {
                f.write_char('{')?;
                for (i, item) in items.iter().enumerate() {
                    if i > 0 {
                        f.write_str(", ")?;
                    }
                    write!(f, "{item}")?;
                }
                f.write_char('}')
            }
        }
    }
}
