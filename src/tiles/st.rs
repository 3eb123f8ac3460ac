//! Shared tiles: matrices in a block's shared memory, and what may be done with them when.
//!
//! A tile is in one of three states, each a type of its own, so that what would be a race does not compile:
//!
//! | type              | contains                       | may be            | becomes                                                       |
//! | ----------------- | ------------------------------ | ----------------- | ------------------------------------------------------------- |
//! | [`St`]            | nothing of use                 | filled, stored to | [`Pending`] by `fill` or `store`                              |
//! | `Pending<St>`     | data in flight                 | waited for        | [`Filled`] by `wait`                                          |
//! | `Filled<St>`      | data that every thread can see | loaded from       | [`St`] by `release`, when all threads have finished reading   |

use std::{fmt, marker::PhantomData};

use super::swizzle::{Auto, SharedSwizzle, shared_layout};
use crate::{
    layout::{Layout, LayoutError},
    ptx::{Builder, Ptr, Read, ReadWrite, Shared, State, Visitor, Write},
    tensor::{self, SUBTILE_SIDE, SharedLayout, Tensor, TensorElement},
};

/// Shared memory that a copy or a store is filling: [`wait`](tensor::Pending::wait) returns the tile as [`Filled`].
pub type Pending<'k, Tile> = tensor::Pending<'k, Filled<Tile>>;

/// A tile of `H`×`W` subtiles of 16×16 elements `T` (16×32 for elements of 8 bits) in shared memory, with nothing in it yet.
///
/// Its layout is [`St::shared_layout`]; swizzle [`Auto`] makes every fragment access free of bank conflicts.
pub struct St<'k, T: TensorElement, const H: usize, const W: usize, S = Auto> {
    pub(super) tensor: Tensor<'k, Shared, T, ReadWrite>,
    swizzle: PhantomData<S>,
}

impl<T: TensorElement, const H: usize, const W: usize, S> fmt::Debug for St<'_, T, H, W, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "St<{}, {H}, {W}> {:?}", T::NAME, self.tensor)
    }
}

impl<'k, T: TensorElement, const H: usize, const W: usize, S: SharedSwizzle> St<'k, T, H, W, S> {
    /// Rows.
    pub const ROWS: u32 = SUBTILE_SIDE * H as u32;
    /// Columns.
    pub const COLS: u32 = T::SUBTILE_LENGTH * W as u32;
    /// Size in shared memory.
    pub const BYTES: u32 = Self::ROWS * Self::COLS * T::SIZE;

    /// The layout that the type names: `(row, (col in block, block))`, under its swizzle.
    ///
    /// # Errors
    /// If the swizzle's row is longer than the tile's.
    pub fn shared_layout() -> Result<SharedLayout, LayoutError> {
        shared_layout::<T, S>(Self::ROWS, Self::COLS)
    }

    /// The layout, or one element where the type was refused.
    #[track_caller]
    fn checked_layout(k: Builder<'k>) -> SharedLayout {
        let (row, (_, swizzled)) = (Self::COLS * T::SIZE, S::of_row(Self::COLS * T::SIZE));
        if row % swizzled != 0 {
            k.refuse(format!(
                "a shared tile with rows of {row} bytes cannot have a swizzle of {swizzled}: expected one that divides the row"
            ));
        }
        Self::shared_layout().unwrap_or_else(|error| {
            k.refuse(error.to_string());
            SharedLayout::from(Layout::concat([]))
        })
    }

    /// The tile at an address.
    #[track_caller]
    pub(super) fn at(pointer: Ptr<'k, T, Shared>) -> Self {
        let layout = Self::checked_layout(pointer.kernel());
        Self { tensor: Tensor::at(pointer, &layout), swizzle: PhantomData }
    }

    /// Computes what `ldmatrix` addresses of the tile need of the lane, so that later ones, in a loop, need not.
    #[track_caller]
    pub(super) fn prepare(&self) {
        let rows = Layout::new(((8, 2, 2), 1), ((1, 8, 8 * Self::ROWS), 0));
        if let (2, Ok(rows)) = (T::SIZE, rows) {
            self.tensor.part_of(&rows, self.tensor.kernel().lane().rank()).prepare();
        }
    }

    /// The tile as a tensor `(row, (col in block, block))` to write to; [`written`](Self::written) follows.
    #[must_use]
    pub fn tensor(&self) -> Tensor<'k, Shared, T, Write> {
        self.tensor.with_access()
    }

    /// The tile with the data that copies to its [`tensor`](Self::tensor) put in flight.
    pub fn written<V>(self, by: tensor::Pending<'k, V>) -> Pending<'k, Self> {
        by.map(|_| Filled { tile: self })
    }
}

/// A shared tile that a kernel can allocate; see [`Builder::shared_tile`].
pub trait Allocate<'k> {
    /// Takes the tile's memory from the block's.
    #[track_caller]
    fn allocate(k: Builder<'k>) -> Self;
}

impl<'k, T: TensorElement, const H: usize, const W: usize, S: SharedSwizzle> Allocate<'k>
    for St<'k, T, H, W, S>
{
    #[track_caller]
    fn allocate(k: Builder<'k>) -> Self {
        let align = Self::checked_layout(k).alignment();
        Self::at(k.shared_aligned(Self::ROWS * Self::COLS, align))
    }
}

impl<'k> Builder<'k> {
    /// A tile in shared memory: `k.shared_tile::<St<bf16, 4, 4>>()`.
    #[track_caller]
    pub fn shared_tile<A: Allocate<'k>>(self) -> A {
        A::allocate(self)
    }
}

/// A tile whose data every thread of the block can see.
pub struct Filled<Tile> {
    pub(super) tile: Tile,
}

impl<Tile> fmt::Debug for Filled<Tile> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Filled").finish_non_exhaustive()
    }
}

impl<'k, T: TensorElement, const H: usize, const W: usize, S: SharedSwizzle> Filled<St<'k, T, H, W, S>> {
    /// Waits at the block's barrier until every thread has finished reading; then the tile may be filled again.
    #[track_caller]
    pub fn release(self) -> St<'k, T, H, W, S> {
        self.tile.tensor.kernel().this_block().sync();
        self.tile
    }

    /// The tile as a tensor `(row, (col in block, block))` to read from.
    #[must_use]
    pub fn tensor(&self) -> Tensor<'k, Shared, T, Read> {
        self.tile.tensor.read_only()
    }
}

impl<'k, T: TensorElement, const H: usize, const W: usize, S> State<'k> for St<'k, T, H, W, S> {
    #[track_caller]
    fn visit(&mut self, visitor: &mut Visitor<'_, 'k>) {
        self.tensor.visit(visitor);
    }
}

impl<'k, Tile: State<'k>> State<'k> for Filled<Tile> {
    #[track_caller]
    fn visit(&mut self, visitor: &mut Visitor<'_, 'k>) {
        self.tile.visit(visitor);
    }
}
