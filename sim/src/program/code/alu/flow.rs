//! The dependence of the bits of results on the bits of operands, for undefined values.

use crate::program::code::Reg;

/// How the bits of the results depend on those of the operands.
pub(crate) enum Flow {
    /// Each bit of the single result depends on the bits at the same position, by the table of `lop3`.
    Bitwise(u8, [Reg; 3]),
    /// Each bit of the results is one of the data, or a constant; which one, the controls say.
    Moves { data: [Option<Reg>; 4], controls: [Option<Reg>; 2] },
    /// Each bit depends on those at the same position and below.
    Carries,
    /// All on all.
    Mixes,
}

/// The table of `lop3` of its first operand.
pub(super) const A: u8 = 0xf0;
/// The table of its second operand.
pub(super) const B: u8 = 0xcc;

/// The same for a function of operands that are listed elsewhere.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Spread {
    /// Bit by bit, by a table.
    Bitwise(u8),
    /// The first operands are data, the others controls.
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
