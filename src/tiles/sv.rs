//! Shared vectors: vectors in a block's shared memory, with the states of shared tiles.

use std::{fmt, marker::PhantomData, panic::Location};

use super::{
    allocate::{Allocate, Filled, Owner, Pending, reuse, reuse_for_two},
    convert::{Convert, loaded},
    coordinates::is_first_owner,
    global_copies::store_elements,
    registers::Registers,
    shared_copies::Storing,
    st::St,
    swizzle::SharedSwizzle,
    vector::Rv,
    vector_layout::VectorLayout,
};
use crate::{
    layout::Layout,
    ptx::{Builder, Ptr, Read, ReadWrite, Shared, State, Val, Visitor, Write, sealed::Sealed},
    tensor::{self, SharedLayout, Tensor, TensorElement, copy},
};

/// A vector of `N` · 16 elements of type `T` in shared memory. Its contents are unspecified.
///
/// Like a shared tile ([`St`]), it is [`Pending`] while a copy or store fills it, and [`Filled`] once its data can be read.
///
/// The block owns the vector, unless it was allocated with [`shared_tile_of`](Builder::shared_tile_of), which allocates a vector for each
/// warp or other scope of the block. Operations on the vector use barriers of the scope that owns it; all threads of this scope must
/// execute these barriers.
#[doc(alias = "sv")]
pub struct Sv<'k, T: TensorElement, const N: usize> {
    pub(super) tensor: Tensor<'k, Shared, T, ReadWrite>,
    pub(super) owner: Owner<'k>,
}

impl<T: TensorElement, const N: usize> fmt::Debug for Sv<'_, T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sv<{}, {N}> {:?}", T::NAME, self.tensor)
    }
}

impl<T: TensorElement, const N: usize> Sealed for Sv<'_, T, N> {}

impl<'k, T: TensorElement, const N: usize> Allocate<'k> for Sv<'k, T, N> {
    type Filled = Filled<Self>;
    const BYTES: u32 = {
        assert!(N > 0, "a shared vector has at least 16 elements");
        Self::LENGTH * T::SIZE
    };

    fn alignment(_: Builder<'k>) -> u32 {
        16
    }

    #[track_caller]
    fn at(pointer: Ptr<'k, u8, Shared>) -> Self {
        let layout = Layout::new((Self::LENGTH,), (1,)).expect("a vector has few elements");
        let owner = Owner::block(pointer.kernel());
        Self { tensor: Tensor::at(pointer.cast(), &SharedLayout::from(layout)), owner }
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

impl<'k, T: TensorElement, const N: usize> Sv<'k, T, N> {
    /// The number of elements.
    pub const LENGTH: u32 = 16 * N as u32;

    /// Returns the vector as a writable tensor. After emitting the copies to the tensor, call [`written`](Self::written).
    ///
    /// Inside an emitted loop, this method first emits a barrier of the scope that owns the vector (by default, the block), because its
    /// threads may still be reading the previous contents. All threads of the scope must execute the barrier.
    #[must_use]
    #[track_caller]
    pub fn tensor(&self) -> Tensor<'k, Shared, T, Write> {
        self.owner.sync_in_loop();
        self.tensor.filled_together()
    }

    /// Returns the vector as [`Pending`]. `by` represents the copies to the vector's [`tensor`](Self::tensor); [`wait`](Pending::wait)
    /// waits for them. The builder rejects copies to another tensor.
    #[track_caller]
    pub fn written(self, by: tensor::Pending<'k, Tensor<'k, Shared, T, Read>>) -> Pending<'k, Self> {
        by.view().check_lease();
        if !by.view().starts_with(&self.tensor) {
            let k = self.tensor.kernel();
            k.refuse("expected copies to the tensor of this vector, found copies to another tensor".into());
        }
        by.map(|_| self.filled())
    }

    /// Converts the elements of a register vector of the same length and stores them.
    ///
    /// Only one warp of the scope that owns the vector (by default, the block) may execute the emitted code; if the scope has several
    /// warps, use [`store_with`](Self::store_with).
    #[track_caller]
    pub fn store<U: Convert<T>, V: VectorLayout>(self, vector: &Rv<'k, U, N, V>) -> Pending<'k, Self> {
        let _located = vector.kernel().locate(Location::caller());
        self.store_with(|whole| whole.tile(0).store(vector))
    }

    /// Calls `store`, which stores register vectors of one or more warps to subvectors of this vector; see [`St::store_with`].
    #[track_caller]
    pub fn store_with(self, store: impl FnOnce(&StoringVector<'k, T>)) -> Pending<'k, Self> {
        self.owner.sync_in_loop();
        store(&self.storing());
        self.owner.pending(self)
    }

    /// Returns the vector as a destination for stores.
    pub(super) fn storing(&self) -> StoringVector<'k, T> {
        StoringVector { vector: self.tensor.clone(), owner: self.owner }
    }

    /// Returns a tile or vector of a different type that reuses the memory of this vector, as [`St::reuse`]
    /// does.
    #[track_caller]
    pub fn reuse<Tile: Allocate<'k>>(self) -> Tile {
        reuse(self)
    }

    /// Returns two tiles or vectors that reuse the memory of this vector, as [`St::reuse_for_two`] does.
    #[track_caller]
    pub fn reuse_for_two<First: Allocate<'k>, Second: Allocate<'k>>(self) -> (First, Second) {
        reuse_for_two(self)
    }
}

impl<'k, T: TensorElement, const N: usize> State<'k> for Sv<'k, T, N> {
    #[track_caller]
    fn visit(&mut self, visitor: &mut Visitor<'_, 'k>) {
        self.owner.visit(visitor);
        self.tensor.visit(visitor);
    }
}

impl<'k, T: TensorElement, const N: usize> Filled<Sv<'k, T, N>> {
    /// Returns the vector as a readable tensor.
    #[must_use]
    pub fn tensor(&self) -> Tensor<'k, Shared, T, Read> {
        self.tile.tensor.read_only()
    }

    /// Loads the whole vector into registers.
    ///
    /// The [unit](VectorLayout::UNIT) of `V` must be 16 elements. For a layout with a unit of 32 elements, use `tile(0).load()`.
    #[track_caller]
    pub fn load<V: VectorLayout>(&self) -> Rv<'k, T, N, V> {
        self.tile(0).load()
    }

    /// Loads the whole vector into registers, as [`load`](Self::load) does, and converts its elements.
    #[track_caller]
    pub fn load_as<U: TensorElement, V: VectorLayout>(&self) -> Rv<'k, U, N, V>
    where
        T: Convert<U>,
    {
        self.tile(0).load_as()
    }

    /// Returns subvector `index` of the vector. A subvector has the length of the register vector that is loaded from it.
    #[doc(alias = "subvec")]
    pub fn tile(&self, index: impl Into<Val<'k, u32>>) -> Subvector<'_, 'k, T> {
        Subvector { line: Line::new(self.tile.tensor.clone(), index.into()), of: PhantomData }
    }
}

impl<'k, T: TensorElement, const H: usize, const W: usize, S: SharedSwizzle> Filled<St<'k, T, H, W, S>> {
    /// Returns row `row` of the tile as the source for a register vector of the same length. `row` must be the same in all lanes of a warp.
    #[track_caller]
    pub fn row(&self, row: impl Into<Val<'k, u32>>) -> Subvector<'_, 'k, T> {
        Subvector { line: line(&self.tile.tensor, row.into()), of: PhantomData }
    }

    /// Returns column `col` of the tile as the source for a register vector of the same length. `col` must be the same in all lanes of a
    /// warp.
    #[track_caller]
    pub fn col(&self, col: impl Into<Val<'k, u32>>) -> Subvector<'_, 'k, T> {
        Subvector { line: line(&self.tile.tensor.with_modes(&[1, 0]), col.into()), of: PhantomData }
    }
}

impl<'k, T: TensorElement> Storing<'k, T> {
    /// Returns row `row` of the tile as the destination for a register vector of the same length. `row` must be the same in all lanes of a
    /// warp.
    #[track_caller]
    pub fn row(&self, row: impl Into<Val<'k, u32>>) -> SubvectorMut<'_, 'k, T> {
        SubvectorMut { line: line(&self.tile, row.into()), owner: self.owner, of: PhantomData }
    }

    /// Returns column `col` of the tile as the destination for a register vector of the same length. `col` must be the same in all lanes of
    /// a warp.
    #[track_caller]
    pub fn col(&self, col: impl Into<Val<'k, u32>>) -> SubvectorMut<'_, 'k, T> {
        let line = line(&self.tile.with_modes(&[1, 0]), col.into());
        SubvectorMut { line, owner: self.owner, of: PhantomData }
    }
}

/// Returns the elements at one coordinate of a tile's first mode.
#[track_caller]
fn line<'k, T: TensorElement>(tile: &Tensor<'k, Shared, T, ReadWrite>, at: Val<'k, u32>) -> Line<'k, T> {
    tile.kernel().check_warp_tile([at], false);
    Line { line: at, ..Line::new(tile.first_mode_at(at), 0.into()) }
}

/// The destination of stores in the closure of [`Sv::store_with`].
pub struct StoringVector<'k, T: TensorElement> {
    pub(super) vector: Tensor<'k, Shared, T, ReadWrite>,
    pub(super) owner: Owner<'k>,
}

impl<T: TensorElement> fmt::Debug for StoringVector<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Storing to {:?}", self.vector)
    }
}

impl<'k, T: TensorElement> StoringVector<'k, T> {
    /// Returns subvector `index` of the vector. A subvector has the length of the register vector that is stored to it.
    pub fn tile(&self, index: impl Into<Val<'k, u32>>) -> SubvectorMut<'_, 'k, T> {
        let line = Line::new(self.vector.clone(), index.into());
        SubvectorMut { line, owner: self.owner, of: PhantomData }
    }
}

/// A part of a [`Filled`] vector, or a row or column of a `Filled` tile. A warp loads a register vector of the same length from it. While
/// the `Subvector` exists, the memory cannot be filled again.
pub struct Subvector<'a, 'k, T: TensorElement> {
    line: Line<'k, T>,
    of: PhantomData<&'a ()>,
}

/// A part of a shared vector, or a row or column of a shared tile. A warp stores a register vector of the same length to it.
pub struct SubvectorMut<'a, 'k, T: TensorElement> {
    line: Line<'k, T>,
    owner: Owner<'k>,
    of: PhantomData<&'a ()>,
}

impl<T: TensorElement> fmt::Debug for Subvector<'_, '_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Subvector {:?} of {:?}", self.line.at, self.line.whole)
    }
}

impl<T: TensorElement> fmt::Debug for SubvectorMut<'_, '_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SubvectorMut {:?} of {:?}", self.line.at, self.line.whole)
    }
}

impl<'a, 'k, T: TensorElement> Subvector<'a, 'k, T> {
    /// Returns a whole vector.
    pub(super) fn of<const N: usize>(vector: &'a Sv<'k, T, N>) -> Self {
        Self { line: Line::new(vector.tensor.clone(), 0.into()), of: PhantomData }
    }

    /// Loads the elements into a register vector.
    #[track_caller]
    pub fn load<const N: usize, V: VectorLayout>(&self) -> Rv<'k, T, N, V> {
        self.load_as()
    }

    /// Loads the elements into a register vector and converts them.
    #[track_caller]
    pub fn load_as<U, const N: usize, V>(&self) -> Rv<'k, U, N, V>
    where
        T: Convert<U>,
        U: TensorElement,
        V: VectorLayout,
    {
        let k = self.line.whole.kernel();
        let _located = k.locate(Location::caller());
        k.check_warp_tile([self.line.at], false);
        let part = self.line.part(Rv::<U, N, V>::LENGTH);
        let part = part.lane_part(&Rv::<U, N, V>::fragment(), k.lane().rank());
        loaded(k, |fragment| copy(fragment, &part))
    }
}

impl<'a, 'k, T: TensorElement> SubvectorMut<'a, 'k, T> {
    /// Returns a whole vector.
    pub(super) fn of<const N: usize>(vector: &'a Sv<'k, T, N>) -> Self {
        let line = Line::new(vector.tensor.clone(), 0.into());
        Self { line, owner: vector.owner, of: PhantomData }
    }

    /// Converts the elements of a register vector and stores them. If several lanes own an element, the lane with the lowest index stores
    /// it.
    ///
    /// The builder rejects the call if the position of the subvector may differ between lanes of a warp, or if the scope that owns the
    /// memory has several warps that would all store to the same subvector.
    #[track_caller]
    pub fn store<U: Convert<T>, const N: usize, V: VectorLayout>(&self, vector: &Rv<'k, U, N, V>) {
        let k = vector.kernel();
        let _located = k.locate(Location::caller());
        k.check_stored_tile([self.line.at, self.line.line], self.owner);
        let condition = is_first_owner(k, &Rv::<U, N, V>::fragment());
        store_elements(&self.line.part(Rv::<U, N, V>::LENGTH), vector, condition);
    }
}

/// Elements in shared memory along one mode, divided into subvectors of equal length.
pub(super) struct Line<'k, T: TensorElement> {
    pub(super) whole: Tensor<'k, Shared, T, ReadWrite>,
    pub(super) at: Val<'k, u32>,
    /// The row or column of a tile; 0 for a vector.
    line: Val<'k, u32>,
}

impl<'k, T: TensorElement> Line<'k, T> {
    pub(super) fn new(whole: Tensor<'k, Shared, T, ReadWrite>, at: Val<'k, u32>) -> Self {
        Self { whole, at, line: 0.into() }
    }

    /// Returns the subvector of `length` elements.
    #[track_caller]
    pub(super) fn part(&self, length: u32) -> Tensor<'k, Shared, T, ReadWrite> {
        let found = self.whole.size().unsigned_abs();
        let end = self.at.as_constant().map_or(1, |at| u64::from(at) + 1) * u64::from(length);
        if end > found || !found.is_multiple_of(length.into()) {
            self.whole.kernel().refuse(if end > found {
                format!("expected a shared vector of at least {end} elements, found {found}")
            } else {
                format!("expected a shared vector of a multiple of {length} elements, found {found}")
            });
            return self.whole.clone();
        }
        if u64::from(length) == found {
            self.whole.clone()
        } else {
            self.whole.local_tile((length,), (self.at,))
        }
    }
}
