//! Register tiles: matrices in the registers of one warp.

use std::{fmt, marker::PhantomData};

use super::{
    element::{RegisterLayout, Row, register_layout},
    registers::{Distributed, Registers, WordOf, from_values},
};
use crate::{
    atoms::TileLayout,
    layout::{Element, Layout, Owner, TvError, TvLayout},
    ptx::{Builder, Element as _, RegId, Scalar, State, Val, Visitor},
    tensor::{Fragment, SUBTILE_SIDE, TensorElement, in_order, splat},
};

/// A tile of `H`×`W` subtiles with elements of type `T`, distributed over the registers of a warp.
///
/// A subtile has 16×16 elements. If the elements are 8 bits wide, it has 16×32, or 32×16 in the column layout. The type of the tile
/// determines its (lane, value) layout.
///
/// With lane = 4g + t, element `e` of pair `k` of a 16×16 subtile is at row `g + 8(k mod 2)` and column `2t + e + 8⌊k/2⌋` in layout
/// [`Row`]; layout [`Col`](super::Col) exchanges rows and columns. For subtiles of 8-bit elements, see [`rt_base`](crate::atoms::rt_base).
/// Without conversion, tiles of 16-bit elements can therefore be operands A (`Row`) and B (`Col`) of `mma.m16n8k16`, and an f32 `Row` tile
/// can be the accumulator. A lane owns `H·W·4` registers of packed 8- or 16-bit elements, or `H·W·8` registers of wider elements.
///
/// Tiles are not `Copy`, because each tile owns its registers, which MMAs overwrite in place.
#[doc(alias = "rt")]
#[doc(alias = "rt_base")]
pub struct Rt<'k, T: TensorElement, const H: usize, const W: usize, L = Row> {
    pub(super) fragment: Fragment<'k, T>,
    layout: PhantomData<L>,
}

impl<T: TensorElement, const H: usize, const W: usize, L: RegisterLayout> fmt::Debug for Rt<'_, T, H, W, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rt<{}, {H}, {W}, {:?}> {:?}", T::NAME, L::LAYOUT, self.fragment)
    }
}

impl<'k, T: TensorElement, const H: usize, const W: usize, L: RegisterLayout> Rt<'k, T, H, W, L> {
    /// The number of rows.
    #[doc(alias = "rows")]
    #[doc(alias = "TILE_ROW_DIM")]
    pub const ROWS: u32 = Self::SUBTILE[0] * H as u32;
    /// The number of columns.
    #[doc(alias = "TILE_COL_DIM")]
    #[doc(alias = "cols")]
    pub const COLS: u32 = Self::SUBTILE[1] * W as u32;
    /// The number of registers per lane.
    #[doc(alias = "registers_per_thread")]
    pub const REGISTERS: usize = {
        assert!(H > 0 && W > 0, "a register tile has at least one subtile along each axis");
        H * W * Self::SUBTILE_REGISTERS
    };
    /// The height in subtiles.
    pub const HEIGHT: usize = H;
    /// The width in subtiles.
    pub const WIDTH: usize = W;
    /// The number of subtiles.
    pub const SUBTILES: usize = H * W;
    /// The number of elements.
    #[doc(alias = "num_elements")]
    pub const ELEMENTS: u32 = Self::ROWS * Self::COLS;
    /// The number of elements per lane.
    #[doc(alias = "elements_per_thread")]
    pub const ELEMENTS_PER_LANE: usize = (Self::ELEMENTS / 32) as usize;
    /// The number of elements per register.
    #[doc(alias = "packing")]
    pub const ELEMENTS_PER_REGISTER: usize = T::PER_WORD;
    /// The number of registers per lane and subtile.
    pub(super) const SUBTILE_REGISTERS: usize =
        (Self::SUBTILE[0] * Self::SUBTILE[1] / 32) as usize / T::PER_WORD;
    /// The size of a subtile in rows and columns. Subtiles of 8-bit elements are twice as long in the direction in which the elements of a
    /// word are adjacent.
    pub(super) const SUBTILE: [u32; 2] = match L::LAYOUT {
        TileLayout::Row => [SUBTILE_SIDE, T::SUBTILE_LENGTH],
        TileLayout::Col => [T::SUBTILE_LENGTH, SUBTILE_SIDE],
    };

    /// Returns the layout of a lane's values, in register order.
    fn values() -> Layout {
        in_order((Self::REGISTERS * T::PER_WORD) as i64)
    }

    /// Returns a tile with uninitialized registers, all of which must be written before the tile is read.
    #[track_caller]
    pub(super) fn uninitialized(k: Builder<'k>) -> Self {
        Self { fragment: Fragment::uninitialized(k, &Self::values(), T::Word::CLASS), layout: PhantomData }
    }

    /// Returns the (lane, value) layout, which every load, store and MMA of the tile uses.
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
        register_layout::<T, L>(H, W)
    }

    /// Returns the lane, register and slot of element (`row`, `col`).
    ///
    /// # Errors
    /// Returns [`TvError::Coordinate`] if the element is outside the tile.
    pub fn owner(row: u32, col: u32) -> Result<Owner, TvError> {
        Self::fragment().owner((row, col))
    }

    /// Returns the elements that lane `lane` owns, in register order.
    ///
    /// # Errors
    /// Returns [`TvError::Thread`] if `lane` is 32 or more.
    pub fn elements(lane: u32) -> Result<Vec<Element>, TvError> {
        Self::fragment().elements(lane.into())
    }

    /// Asserts that every element has exactly one owner. The panic message names the first element that has no owner or more than one.
    pub fn assert_bijective() {
        Self::fragment().assert_bijective();
    }

    /// Returns the lane's registers as values, in the order of [`fragment`](Self::fragment). The builder rejects the use of a value after
    /// its register has been overwritten, for example by an MMA or another in-place operation.
    #[doc(alias = "print")]
    pub fn registers(&self) -> Vec<Val<'k, T::Word>> {
        self.words()
    }

    /// Returns a tile with `values` in its registers, in the order of [`fragment`](Self::fragment). This is the inverse of
    /// [`registers`](Self::registers).
    ///
    /// The builder rejects the call if the number of values is not [`REGISTERS`](Self::REGISTERS).
    #[track_caller]
    pub fn from_registers(k: Builder<'k>, values: impl AsRef<[Val<'k, T::Word>]>) -> Self {
        from_values(k, values.as_ref())
    }

    /// Returns the registers of subtile (`i`, `j`).
    pub(super) fn subtile_registers(&self, i: usize, j: usize) -> &[RegId] {
        let at = (i * W + j) * Self::SUBTILE_REGISTERS;
        &self.fragment.all_registers()[at..at + Self::SUBTILE_REGISTERS]
    }

    /// Converts the tile to a [`Fragment`] with the modes `((e, k mod 2, ⌊k/2⌋), subtile column, subtile row)`, where `e` is the index of
    /// an element in a pair and `k` is the index of a pair in a subtile, as in [`Rt`]. For 8-bit elements, groups of four replace the
    /// pairs.
    #[must_use]
    pub fn into_fragment(self) -> Fragment<'k, T> {
        let element = i64::from(T::SUBTILE_LENGTH / 8);
        let layout =
            Layout::column_major(((element, 2, 2), W as i64, H as i64)).expect("a tile's extents are small");
        self.fragment.with_layout(layout)
    }

    /// Copies a fragment's registers to a tile, in the order of [`into_fragment`](Self::into_fragment).
    ///
    /// The builder rejects a fragment that does not consist of whole registers in order, or whose number of registers is not
    /// [`REGISTERS`](Self::REGISTERS).
    #[track_caller]
    pub fn from_fragment(k: Builder<'k>, fragment: &Fragment<'k, T>) -> Self {
        k.check_whole_warps();
        let registers = fragment.operand();
        let tile = Self::uninitialized(k);
        if registers.len() != Self::REGISTERS {
            let found = registers.len();
            k.refuse(format!("expected a fragment of {} registers, found {found}", Self::REGISTERS));
            return tile;
        }
        for (&to, from) in tile.fragment.all_registers().iter().zip(registers) {
            k.move_register(to, from);
        }
        tile
    }
}

impl<'k, T: TensorElement, const H: usize, const W: usize, L: RegisterLayout> Registers<'k>
    for Rt<'k, T, H, W, L>
{
    fn fragment(&self) -> &Fragment<'k, T> {
        &self.fragment
    }

    fn of_registers(k: Builder<'k>, registers: Vec<RegId>) -> Self {
        Self { fragment: Fragment::over(k, registers, Self::values()), layout: PhantomData }
    }

    fn layout() -> TvLayout {
        register_layout::<T, L>(H, W)
    }

    fn count() -> usize {
        Self::REGISTERS
    }
}

/// A tile or vector type that a kernel can fill with one value; see [`Builder::zeros`].
pub trait Fill<'k>: Distributed<'k> {
    /// Returns a tile or vector in which every element is `value`.
    #[doc(hidden)]
    #[track_caller]
    fn fill(k: Builder<'k>, value: Self::Element) -> Self;
}

impl<'k, D: Registers<'k>> Fill<'k> for D {
    #[track_caller]
    fn fill(k: Builder<'k>, value: D::Element) -> Self {
        k.check_whole_warps();
        let word = Val::<'k, WordOf<'k, D>>::from(splat(value));
        let registers: Vec<_> = (0..D::count()).map(|_| k.fresh_changing(WordOf::<'k, D>::CLASS)).collect();
        for &register in &registers {
            k.move_into(register, word);
        }
        D::of_registers(k, registers)
    }
}

impl<'k> Builder<'k> {
    /// Returns a tile or vector of zeros: `k.zeros::<Rt<f32, 4, 4>>()`.
    #[doc(alias = "zero")]
    #[track_caller]
    pub fn zeros<R: Fill<'k>>(self) -> R {
        R::fill(self, R::Element::from_mem_bits(0))
    }

    /// Returns a tile or vector in which every element is `value`: `k.filled::<Rt<f32, 4, 4>>(1.0)`.
    #[doc(alias = "constants")]
    #[doc(alias = "one")]
    #[doc(alias = "pos_infty")]
    #[doc(alias = "neg_infty")]
    #[track_caller]
    pub fn filled<R: Fill<'k>>(self, value: R::Element) -> R {
        R::fill(self, value)
    }
}

impl<'k, T: TensorElement, const H: usize, const W: usize, L: RegisterLayout> State<'k>
    for Rt<'k, T, H, W, L>
{
    #[track_caller]
    fn visit(&mut self, visitor: &mut Visitor<'_, 'k>) {
        self.visit_registers(visitor);
    }
}
