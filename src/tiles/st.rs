//! Shared tiles: matrices in a block's shared memory, and the operations that each state permits.
//!
//! A tile is in one of three states, each of which is a separate type, so that the compiler rejects many races:
//!
//! | type          | contents                    | may be            | becomes                                                                                        |
//! | ------------- | --------------------------- | ----------------- | ---------------------------------------------------------------------------------------------- |
//! | [`St`]        | unspecified                 | filled, stored to | [`Pending`] by `fill`, `store` or `store_with`, another tile by `reuse`                        |
//! | `Pending<St>` | data in flight              | waited for        | [`Filled`] by `wait`                                                                           |
//! | `Filled<St>`  | data visible to its owner   | loaded from       | [`St`] by `release`, when all threads have finished reading; `Pending` by `update`, `add_with` |

use std::{fmt, marker::PhantomData};

use super::{
    allocate::{Allocate, Filled, Owner, Pending, reuse, reuse_for_two},
    swizzle::{Auto, SharedSwizzle, padding, shared_layout},
};
use crate::{
    layout::{Layout, LayoutError},
    ptx::{Builder, Ptr, Read, ReadWrite, Shared, State, Visitor, Write, sealed::Sealed},
    tensor::{self, SUBTILE_SIDE, SharedLayout, Tensor, TensorElement},
};

/// A tile of `H`×`W` subtiles with elements of type `T` in shared memory. Its contents are unspecified.
///
/// A subtile has 16×16 elements, or 16×32 if they are 8 bits wide.
///
/// The layout of the tile is [`St::shared_layout`]. With swizzle [`Auto`], loads and stores of register tiles are free of bank conflicts,
/// except for 8-bit [`Col`](super::Col) tiles.
///
/// The block owns the tile, unless it was allocated with [`shared_tile_of`](Builder::shared_tile_of), which allocates a tile for each warp
/// or other scope of the block. Operations on the tile use barriers of the scope that owns it; all threads of this scope must execute these
/// barriers.
#[doc(alias = "st")]
pub struct St<'k, T: TensorElement, const H: usize, const W: usize, S = Auto> {
    pub(super) tensor: Tensor<'k, Shared, T, ReadWrite>,
    pub(super) owner: Owner<'k>,
    swizzle: PhantomData<S>,
}

impl<T: TensorElement, const H: usize, const W: usize, S> fmt::Debug for St<'_, T, H, W, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "St<{}, {H}, {W}> {:?}", T::NAME, self.tensor)
    }
}

/// The maximum size in bytes that compiles, which is larger than the shared memory of any target. Smaller sizes are checked when the kernel
/// is built.
const MOST_BYTES: u32 = 1 << 24;

impl<'k, T: TensorElement, const H: usize, const W: usize, S: SharedSwizzle> St<'k, T, H, W, S> {
    /// The number of rows.
    pub const ROWS: u32 = SUBTILE_SIDE * H as u32;
    /// The number of columns.
    pub const COLS: u32 = T::SUBTILE_LENGTH * W as u32;
    /// The height in subtiles.
    pub const HEIGHT: usize = H;
    /// The width in subtiles.
    pub const WIDTH: usize = W;
    /// The number of elements.
    #[doc(alias = "num_elements")]
    pub const ELEMENTS: u32 = Self::ROWS * Self::COLS;
    /// The size in bytes, including the padding of [`Padded`](super::Padded) rows.
    #[doc(alias = "size_bytes")]
    pub const BYTES: u32 = {
        assert!(H > 0 && W > 0, "a shared tile has at least one subtile along each axis");
        let row = T::SUBTILE_LENGTH as u64 * W as u64 * T::SIZE as u64 + padding::<T, S>() as u64;
        let bytes = (SUBTILE_SIDE as u64 * H as u64).saturating_mul(row);
        assert!(bytes <= MOST_BYTES as u64, "a shared tile is larger than the shared memory of any target");
        bytes as u32
    };

    /// Returns the swizzled layout of the tile, with the modes `(row, (col in block, block))`. A block is as wide as a swizzled row; see
    /// [`shared_layout`](super::shared_layout).
    ///
    /// # Errors
    /// Returns an error if the swizzled row is longer than the tile's row.
    pub fn shared_layout() -> Result<SharedLayout, LayoutError> {
        shared_layout::<T, S>(Self::ROWS, Self::COLS)
    }

    /// Returns the layout, or that of one element if the type was rejected.
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

    /// Returns a tile or vector of a different type that reuses the memory of this tile:
    /// `tile.reuse::<St<f32, 4, 4>>()`. The call does not compile if the result is larger than this tile.
    ///
    /// The builder rejects the call if the address is not known to have the alignment that the swizzle of the result requires.
    #[track_caller]
    pub fn reuse<Tile: Allocate<'k>>(self) -> Tile {
        reuse(self)
    }

    /// Returns two tiles or vectors that reuse the memory of this tile: `tile.reuse_for_two::<St<f32, 2, 4>, Sv<f32, 4>>()`. The second one
    /// starts after the first one, at the next address with the alignment that its swizzle requires.
    ///
    /// The call does not compile if both together are larger than this tile. The builder rejects the call if they do not fit because of
    /// alignment padding between them, or if an address is not known to have the required alignment.
    #[track_caller]
    pub fn reuse_for_two<First: Allocate<'k>, Second: Allocate<'k>>(self) -> (First, Second) {
        reuse_for_two(self)
    }

    /// Computes the lane-dependent parts of the tile's `ldmatrix` addresses before a loop that uses them.
    #[track_caller]
    pub(super) fn prepare(&self) {
        let rows = Layout::new(((8, 2, 2), 1), ((1, 8, 8 * Self::ROWS), 0));
        if let (2, Ok(rows)) = (T::SIZE, rows) {
            self.tensor.part_of(&rows, self.tensor.kernel().lane().rank()).prepare();
        }
    }

    /// Returns the tile as a writable tensor with the modes of [`shared_layout`](Self::shared_layout). After emitting the copies to the
    /// tensor, call [`written`](Self::written).
    ///
    /// Inside an emitted loop, this method first emits a barrier of the scope that owns the tile (by default, the block), because its
    /// threads may still be reading the previous contents. All threads of the scope must execute the barrier.
    #[must_use]
    #[track_caller]
    pub fn tensor(&self) -> Tensor<'k, Shared, T, Write> {
        self.owner.sync_in_loop();
        self.tensor.filled_together()
    }

    /// Returns the tile as [`Pending`]. `by` represents the copies to the tile's [`tensor`](Self::tensor); [`wait`](Pending::wait) waits
    /// for them. The builder rejects copies to another tensor.
    #[track_caller]
    pub fn written(self, by: tensor::Pending<'k, Tensor<'k, Shared, T, Read>>) -> Pending<'k, Self> {
        by.view().check_lease();
        if !by.view().starts_with(&self.tensor) {
            let k = self.tensor.kernel();
            k.refuse("expected copies to the tensor of this tile, found copies to another tensor".into());
        }
        by.map(|_| self.filled())
    }
}

impl<T: TensorElement, const H: usize, const W: usize, S> Sealed for St<'_, T, H, W, S> {}

impl<'k, T: TensorElement, const H: usize, const W: usize, S: SharedSwizzle> Allocate<'k>
    for St<'k, T, H, W, S>
{
    type Filled = Filled<Self>;
    const BYTES: u32 = Self::BYTES;

    #[track_caller]
    fn alignment(k: Builder<'k>) -> u32 {
        Self::checked_layout(k).alignment()
    }

    #[track_caller]
    fn at(pointer: Ptr<'k, u8, Shared>) -> Self {
        let k = pointer.kernel();
        let tensor = Tensor::at(pointer.cast(), &Self::checked_layout(k));
        Self { tensor, owner: Owner::block(k), swizzle: PhantomData }
    }

    fn address(&self) -> Ptr<'k, u8, Shared> {
        self.tensor.address()
    }

    fn owned_by(self, owner: Owner<'k>) -> Self {
        Self { owner, ..self }
    }

    fn owner(&self) -> Owner<'k> {
        self.owner
    }

    #[track_caller]
    fn filled(mut self) -> Filled<Self> {
        // A tile with unspecified contents may be filled in a loop that begins after it was allocated.
        self.tensor.check_lease();
        self.tensor.begin_lease();
        Filled { tile: self }
    }

    #[track_caller]
    fn check(&self) {
        self.tensor.check_lease();
    }

    #[track_caller]
    fn renew(&mut self) {
        self.tensor.renew_lease();
    }

    #[track_caller]
    fn end(filled: &Filled<Self>) {
        filled.tile.tensor.end_lease();
    }
}

impl<'k, T: TensorElement, const H: usize, const W: usize, S: SharedSwizzle> Filled<St<'k, T, H, W, S>> {
    /// Returns the tile as a readable tensor with the modes of [`St::shared_layout`].
    #[must_use]
    pub fn tensor(&self) -> Tensor<'k, Shared, T, Read> {
        self.tile.tensor.read_only()
    }
}

impl<'k, T: TensorElement, const H: usize, const W: usize, S> State<'k> for St<'k, T, H, W, S> {
    #[track_caller]
    fn visit(&mut self, visitor: &mut Visitor<'_, 'k>) {
        self.owner.visit(visitor);
        self.tensor.visit(visitor);
    }
}
