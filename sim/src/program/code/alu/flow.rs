//! How the bits of results depend on the bits of operands, for the propagation of undefined values.

use crate::program::code::Reg;

/// How the bits of the results depend on the bits of the operands.
pub(crate) enum Flow {
    /// Each bit of the single result depends on the bits at the same position, as given by a `lop3` truth table.
    Bitwise(u8, [Reg; 3]),
    /// Each bit of the results is a bit of the data or a constant; the controls determine which.
    Moves { data: [Option<Reg>; 4], controls: [Option<Reg>; 2] },
    /// Each bit of the results depends on the bits at the same and lower positions.
    Carries,
    /// Each bit of the results depends on all bits of the operands.
    Mixes,
}

/// The truth table of the first operand of `lop3`.
pub(super) const A: u8 = 0xf0;
/// The truth table of the second operand of `lop3`.
pub(super) const B: u8 = 0xcc;

/// How results depend on operands, for functions whose operands are listed elsewhere.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Spread {
    /// Bit by bit, as given by a truth table.
    Bitwise(u8),
    /// The first `.0` operands are data; the others are controls.
    Moves(usize),
    Carries,
    Mixes,
}

impl Spread {
    pub(super) fn of<const N: usize>(self, operands: [Reg; N]) -> Flow {
        match self {
            Spread::Bitwise(table) => Flow::Bitwise(table, std::array::from_fn(|i| operands[i.min(N - 1)])),
            Spread::Moves(count) => Flow::moves(&operands[..count], &operands[count..]),
            Spread::Carries => Flow::Carries,
            Spread::Mixes => Flow::Mixes,
        }
    }
}

impl Flow {
    pub(super) fn moves(data: &[Reg], controls: &[Reg]) -> Self {
        Flow::Moves {
            data: std::array::from_fn(|i| data.get(i).copied()),
            controls: std::array::from_fn(|i| controls.get(i).copied()),
        }
    }
}
