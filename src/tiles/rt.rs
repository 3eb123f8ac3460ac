//! Register tiles: matrices that one warp holds in its registers.

use std::{fmt, marker::PhantomData};

use super::element::{RegisterLayout, Row, TileElement};
use crate::{
    atoms,
    layout::{Element, Owner, TvError, TvLayout},
    ptx::{Builder, Scalar, State, Val, Visitor},
};

/// A tile of `H`×`W` subtiles of 16×16 elements `T`, spread over the registers of one warp's 32 lanes.
///
/// With lane = 4g + t, element `e` of pair `k` of a subtile is at row `g + 8(k mod 2)`, column `2t + e + 8⌊k/2⌋` in layout
/// [`Row`], and transposed in layout [`Col`](super::Col) ([`rt_base`](crate::atoms::rt_base)): so a `Row` tile is operand A of
/// `mma.m16n8k16` as it lies, an f32 `Row` tile its accumulator, and a `Col` tile its operand B. A lane holds `H·W·4`
/// registers of 16-bit pairs, or `H·W·8` of f32.
///
/// Tiles are not `Copy`: each owns its registers, and `mma` accumulates into them in place.
pub struct Rt<'k, T: TileElement, const H: usize, const W: usize, L = Row> {
    pub(super) k: Builder<'k>,
    /// Row-major over (subtile row, subtile column, register).
    pub(super) registers: Vec<Val<'k, T::Packed>>,
    layout: PhantomData<L>,
}

impl<T: TileElement, const H: usize, const W: usize, L: RegisterLayout> fmt::Debug for Rt<'_, T, H, W, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rt<{}, {H}, {W}, {:?}> {:?}", T::NAME, L::LAYOUT, self.registers)
    }
}

impl<'k, T: TileElement, const H: usize, const W: usize, L: RegisterLayout> Rt<'k, T, H, W, L> {
    /// Rows.
    pub const ROWS: u32 = 16 * H as u32;
    /// Columns.
    pub const COLS: u32 = 16 * W as u32;
    /// Registers of one lane.
    pub const REGISTERS: usize = H * W * T::REGISTERS;

    pub(super) fn from_registers(k: Builder<'k>, registers: Vec<Val<'k, T::Packed>>) -> Self {
        debug_assert_eq!(registers.len(), Self::REGISTERS);
        Self { k, registers, layout: PhantomData }
    }

    /// Returns which lane owns which element.
    ///
    /// ```
    /// use warpwright::prelude::*;
    ///
    /// let fragment = Rt::<bf16, 2, 1>::fragment();
    /// fragment.assert_bijective();
    /// let owner = fragment.owner((17, 3))?;
    /// assert_eq!((owner.thread, owner.register, owner.slot), (5, 4, 1));
    /// # Ok::<(), warpwright::layout::TvError>(())
    /// ```
    pub fn fragment() -> TvLayout {
        TvLayout::tiled(&atoms::rt_base(L::LAYOUT, T::WIDTH), H as u32, W as u32)
            .expect("a register tile's sides are small numbers")
    }

    /// Returns the lane and the register of element (`row`, `col`).
    ///
    /// # Errors
    /// [`TvError::Coordinate`] outside of the tile.
    pub fn owner(row: u32, col: u32) -> Result<Owner, TvError> {
        Self::fragment().owner((row, col))
    }

    /// Returns the elements of a lane, in register order.
    ///
    /// # Errors
    /// [`TvError::Thread`] for a lane past the last.
    pub fn elements(lane: u32) -> Result<Vec<Element>, TvError> {
        Self::fragment().elements(lane.into())
    }

    /// Panics, naming the element, unless every element has exactly one owner.
    pub fn assert_bijective() {
        Self::fragment().assert_bijective();
    }

    /// Every element `value`.
    #[track_caller]
    pub fn filled(k: Builder<'k>, value: T) -> Self {
        let value = T::splat(value);
        let mut registers = Vec::with_capacity(Self::REGISTERS);
        for _ in 0..Self::REGISTERS {
            registers.push(k.copy_of(value));
        }
        Self::from_registers(k, registers)
    }

    /// The lane's registers, in the order that [`fragment`](Self::fragment) numbers them: to compute with, or to look at.
    /// A handle is refused once the tile's own register has been overwritten by a later `mma`.
    pub fn registers(&self) -> &[Val<'k, T::Packed>] {
        &self.registers
    }

    /// The registers of subtile (`i`, `j`).
    pub(super) fn subtile(&self, i: usize, j: usize) -> &[Val<'k, T::Packed>] {
        let at = (i * W + j) * T::REGISTERS;
        &self.registers[at..at + T::REGISTERS]
    }
}

/// A tile type that a kernel can make with one value everywhere; see [`Builder::zeros`].
pub trait Fill<'k> {
    /// The element type.
    type Element;
    /// A tile full of `value`.
    #[track_caller]
    fn fill(k: Builder<'k>, value: Self::Element) -> Self;
    /// 0 of the element type.
    const ZERO: Self::Element;
}

impl<'k, T: TileElement, const H: usize, const W: usize, L: RegisterLayout> Fill<'k> for Rt<'k, T, H, W, L> {
    type Element = T;
    const ZERO: T = T::ZERO;

    #[track_caller]
    fn fill(k: Builder<'k>, value: T) -> Self {
        Self::filled(k, value)
    }
}

impl<'k> Builder<'k> {
    /// A tile of zeros: `k.zeros::<Rt<f32, 4, 4>>()`.
    #[track_caller]
    pub fn zeros<R: Fill<'k>>(self) -> R {
        R::fill(self, R::ZERO)
    }

    /// A tile with one value everywhere: `k.filled::<Rt<f32, 4, 4>>(1.0)`.
    #[track_caller]
    pub fn filled<R: Fill<'k>>(self, value: R::Element) -> R {
        R::fill(self, value)
    }
}

impl<'k> Builder<'k> {
    /// A register that a tile may own: `value` moved to a fresh one if it is a constant or one of `others`.
    #[track_caller]
    pub(super) fn own<T: Scalar, U: Scalar>(self, value: Val<'k, T>, others: &[Val<'k, U>]) -> Val<'k, T> {
        if value.as_constant().is_some() || others.iter().any(|other| value.shares_register(other)) {
            self.copy_of(value)
        } else {
            value
        }
    }
}

impl<'k, T: TileElement, const H: usize, const W: usize, L> State<'k> for Rt<'k, T, H, W, L> {
    fn visit(&mut self, visitor: &mut Visitor<'_, 'k>) {
        for register in &mut self.registers {
            visitor.owned(register);
        }
    }
}
