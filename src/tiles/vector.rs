//! Register vectors: vectors with one element per row or column of a register tile, and vectors that do not belong to a tile.

use std::{fmt, marker::PhantomData};

use super::{
    element::{RegisterLayout, Row},
    registers::{Registers, from_values},
    vector_layout::{Orthogonal, VectorLayout},
};
use crate::{
    layout::{Element, Owner, TvError, TvLayout},
    ptx::{Builder, RegId, Scalar, State, Val, Visitor},
    tensor::{Fragment, Length16, TensorElement, in_order},
};

/// A vector of `N` · [`VectorLayout::UNIT`] (usually `N` · 16) elements of type `T` in the registers of a warp. The type of the vector
/// determines its (lane, value) layout.
///
/// A [`ColVec`] has one element per row of a tile, and a [`RowVec`] has one element per column. Reductions of tiles return such vectors,
/// and elementwise operations on tiles broadcast them. A vector that does not belong to a tile usually has the layout
/// [`Naive`](super::Naive), which permits the widest accesses. [`to_layout`](Self::to_layout) converts between layouts.
///
/// A register contains four 8-bit elements; the last register of an [`Orthogonal`](super::Orthogonal) vector of 8-bit elements is only half
/// used if `N` is odd.
#[doc(alias = "rv")]
pub struct Rv<'k, T: TensorElement, const N: usize, V = Orthogonal> {
    pub(super) fragment: Fragment<'k, T>,
    layout: PhantomData<V>,
}

/// A column vector: one element per row of a tile of height `H` in layout `L`. `S` is the length of the tile's subtiles: [`Length32`] for
/// tiles of 8-bit elements, otherwise [`Length16`].
///
/// [`Length32`]: crate::tensor::Length32
#[doc(alias = "col_vec")]
pub type ColVec<'k, T, const H: usize, L = Row, S = Length16> =
    Rv<'k, T, H, <L as RegisterLayout>::PerRow<S>>;
/// A row vector: one element per column of a tile of width `W` in layout `L`. `S` is the length of the tile's subtiles: [`Length32`] for
/// tiles of 8-bit elements, otherwise [`Length16`].
///
/// [`Length32`]: crate::tensor::Length32
#[doc(alias = "row_vec")]
pub type RowVec<'k, T, const W: usize, L = Row, S = Length16> =
    Rv<'k, T, W, <L as RegisterLayout>::PerCol<S>>;

impl<T: TensorElement, const N: usize, V: VectorLayout> fmt::Debug for Rv<'_, T, N, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rv<{}, {N}, {}> {:?}", T::NAME, V::NAME, self.fragment)
    }
}

impl<'k, T: TensorElement, const N: usize, V: VectorLayout> Registers<'k> for Rv<'k, T, N, V> {
    fn fragment(&self) -> &Fragment<'k, T> {
        &self.fragment
    }

    fn of_registers(k: Builder<'k>, registers: Vec<RegId>) -> Self {
        let values = in_order(Self::ELEMENTS_PER_LANE as i64);
        Self { fragment: Fragment::over(k, registers, values), layout: PhantomData }
    }

    fn layout() -> TvLayout {
        V::layout(N).packed_partly(T::PER_WORD as u32)
    }

    fn count() -> usize {
        Self::REGISTERS
    }

    fn values() -> usize {
        Self::ELEMENTS_PER_LANE
    }
}

impl<'k, T: TensorElement, const N: usize, V: VectorLayout> Rv<'k, T, N, V> {
    /// The number of elements.
    #[doc(alias = "length")]
    pub const LENGTH: u32 = {
        assert!(N > 0, "a register vector has at least 16 elements");
        V::UNIT * N as u32
    };
    /// The length in subtiles.
    #[doc(alias = "tiles")]
    pub const SUBTILES: usize = N;
    /// The number of elements per lane.
    pub const ELEMENTS_PER_LANE: usize = V::OWNED.of(Self::LENGTH as usize);
    /// The number of registers per lane.
    pub const REGISTERS: usize = Self::ELEMENTS_PER_LANE.div_ceil(T::PER_WORD);

    /// Returns the (lane, value) layout, which every operation uses. Each element of a [`ColVec`] or [`RowVec`] is owned by several lanes.
    ///
    /// ```
    /// use warpwright::{prelude::*, tiles::ColVec};
    ///
    /// let owners = ColVec::<f32, 1>::fragment().owners(9)?;
    /// assert_eq!(owners.iter().map(|owner| owner.thread).collect::<Vec<_>>(), [4, 5, 6, 7]);
    /// # Ok::<(), warpwright::layout::TvError>(())
    /// ```
    pub fn fragment() -> TvLayout {
        <Self as Registers<'k>>::layout()
    }

    /// Returns the lane, register and slot of element `index`. If several lanes own the element, returns those of the lane with the lowest
    /// index.
    ///
    /// # Errors
    /// Returns [`TvError::Coordinate`] if `index` is not less than [`LENGTH`](Self::LENGTH).
    pub fn owner(index: u32) -> Result<Owner, TvError> {
        Self::fragment().owner(index)
    }

    /// Returns the elements that lane `lane` owns, in register order.
    ///
    /// # Errors
    /// Returns [`TvError::Thread`] if `lane` is 32 or more.
    pub fn elements(lane: u32) -> Result<Vec<Element>, TvError> {
        Self::fragment().elements(lane.into())
    }

    /// Returns the lane's registers as values, in the order of [`fragment`](Self::fragment). The builder rejects the use of a value after
    /// its register has been overwritten.
    pub fn registers(&self) -> Vec<Val<'k, T::Word>> {
        self.words()
    }

    /// Returns a vector with `values` in its registers, in the order of [`fragment`](Self::fragment). This is the inverse of
    /// [`registers`](Self::registers).
    ///
    /// The builder rejects the call if the number of values is not [`REGISTERS`](Self::REGISTERS).
    #[track_caller]
    pub fn from_registers(k: Builder<'k>, values: impl AsRef<[Val<'k, T::Word>]>) -> Self {
        from_values(k, values.as_ref())
    }
}

impl<'k, T: TensorElement<Word = T> + Scalar, const N: usize, V: VectorLayout> Rv<'k, T, N, V> {
    /// Returns element `index`. All lanes of the warp must take part; all receive the element. Emits one `shfl` (two for 64-bit elements).
    ///
    /// The builder rejects the call if `index` is not less than [`LENGTH`](Self::LENGTH).
    #[track_caller]
    pub fn get(&self, index: u32) -> Val<'k, T> {
        let k = self.kernel();
        match Self::owner(index) {
            Ok(owner) => k.warp().broadcast(self.words()[owner.register as usize], owner.thread as u32),
            Err(error) => {
                k.refuse(error.to_string());
                self.words()[0]
            }
        }
    }
}

impl<'k, T: TensorElement, const N: usize, V: VectorLayout> State<'k> for Rv<'k, T, N, V> {
    #[track_caller]
    fn visit(&mut self, visitor: &mut Visitor<'_, 'k>) {
        self.visit_registers(visitor);
    }
}
