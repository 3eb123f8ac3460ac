//! Copies between global memory and register tiles or vectors, in the (lane, value) layout of the register type.

use std::panic::Location;

use super::{
    convert::{Convert, loaded, stored},
    coordinates::is_first_owner,
    element::RegisterLayout,
    gl::{Gl, GlTile},
    registers::Registers,
    rt::Rt,
    vector::{ColVec, RowVec, Rv},
    vector_layout::VectorLayout,
};
use crate::{
    layout::Layout,
    ptx::{Builder, Global, Readable, Val, Writable},
    tensor::{Destination, Tensor, TensorElement, TensorSpace, copy, copy_if, copy_or},
};

impl<'k, T: TensorElement, const H: usize, const W: usize, L: RegisterLayout> Rt<'k, T, H, W, L> {
    /// Loads a tile from global memory; see [`GlTile::load`].
    #[track_caller]
    pub fn load<U: Convert<T>, A: Readable>(from: GlTile<'k, U, A>) -> Self {
        from.load()
    }
}

impl<'k, T: TensorElement, const N: usize, V: VectorLayout> Rv<'k, T, N, V> {
    /// Loads a vector from global memory; see [`GlTile::load`](GlTile#method.load-1).
    #[track_caller]
    pub fn load<U: Convert<T>, A: Readable>(from: GlTile<'k, U, A, 1>) -> Self {
        from.load()
    }
}

impl<'k, T: TensorElement, A: Readable> GlTile<'k, T, A> {
    /// Loads a register tile and converts its elements; out-of-bounds elements are 0 and are not read from memory.
    ///
    /// Each lane loads its own elements, with the widest accesses that are known to be aligned.
    #[track_caller]
    pub fn load<U, const H: usize, const W: usize, L>(self) -> Rt<'k, U, H, W, L>
    where
        T: Convert<U>,
        U: TensorElement,
        L: RegisterLayout,
    {
        self.load_filled(T::from_mem_bits(0))
    }

    /// Loads a register tile as [`load`](Self::load) does, but out-of-bounds elements are `fill`, such as −∞ for a maximum reduction.
    ///
    /// The builder rejects the call if the matrix's element type cannot represent `fill` exactly.
    #[track_caller]
    pub fn load_or<U, const H: usize, const W: usize, L>(self, fill: U) -> Rt<'k, U, H, W, L>
    where
        T: Convert<U>,
        U: TensorElement,
        L: RegisterLayout,
    {
        let fill = exactly(self.kernel(), fill);
        self.load_filled(fill)
    }

    #[track_caller]
    fn load_filled<U, const H: usize, const W: usize, L>(self, fill: T) -> Rt<'k, U, H, W, L>
    where
        T: Convert<U>,
        U: TensorElement,
        L: RegisterLayout,
    {
        let _located = self.kernel().locate(Location::caller());
        load_elements(&self.tensor([Rt::<U, H, W, L>::ROWS, Rt::<U, H, W, L>::COLS]), fill)
    }
}

impl<'k, T: TensorElement, A: Readable> GlTile<'k, T, A, 1> {
    /// Loads a register vector and converts its elements; elements past the end are 0 and are not read from memory.
    ///
    /// Each lane loads its own elements, with the widest accesses that are known to be aligned. For long [`Naive`](super::Naive) vectors,
    /// an access is up to 16 bytes wide, or 8 bytes for 8-bit elements.
    #[track_caller]
    pub fn load<U, const N: usize, V>(self) -> Rv<'k, U, N, V>
    where
        T: Convert<U>,
        U: TensorElement,
        V: VectorLayout,
    {
        self.load_filled(T::from_mem_bits(0))
    }

    /// Loads a register vector as [`load`](Self::load) does, but elements past the end are `fill`.
    ///
    /// The builder rejects the call if the element type in memory cannot represent `fill` exactly.
    #[track_caller]
    pub fn load_or<U, const N: usize, V>(self, fill: U) -> Rv<'k, U, N, V>
    where
        T: Convert<U>,
        U: TensorElement,
        V: VectorLayout,
    {
        let fill = exactly(self.kernel(), fill);
        self.load_filled(fill)
    }

    #[track_caller]
    fn load_filled<U, const N: usize, V>(self, fill: T) -> Rv<'k, U, N, V>
    where
        T: Convert<U>,
        U: TensorElement,
        V: VectorLayout,
    {
        let _located = self.kernel().locate(Location::caller());
        load_elements(&self.tensor([Rv::<U, N, V>::LENGTH]), fill)
    }
}

impl<'k, T: TensorElement, A: Readable> Gl<'k, T, A, 1> {
    /// Loads tile `col` of this vector as a register vector with one element per column of a row-layout tile.
    ///
    /// The register vector can be combined with each row of such a tile: `x += &bias.row_vector(col)`. Elements past the end are 0. For
    /// column-layout tiles and tiles of 8-bit elements, use `self.tile(col).load()` instead.
    #[track_caller]
    pub fn row_vector<U: TensorElement, const W: usize>(
        &self,
        col: impl Into<Val<'k, u32>>,
    ) -> RowVec<'k, U, W>
    where
        T: Convert<U>,
    {
        self.tile(col).load()
    }

    /// Loads tile `col` as [`row_vector`](Self::row_vector) does, but elements past the end are `fill`.
    #[track_caller]
    pub fn row_vector_or<U: TensorElement, const W: usize>(
        &self,
        col: impl Into<Val<'k, u32>>,
        fill: U,
    ) -> RowVec<'k, U, W>
    where
        T: Convert<U>,
    {
        self.tile(col).load_or(fill)
    }

    /// Loads tile `row` of this vector as a register vector with one element per row of a row-layout tile.
    ///
    /// The register vector can be combined with each column of such a tile: `x *= &scale.col_vector(row)`. Elements past the end are 0. For
    /// column-layout tiles, use `self.tile(row).load()` instead.
    #[track_caller]
    pub fn col_vector<U: TensorElement, const H: usize>(
        &self,
        row: impl Into<Val<'k, u32>>,
    ) -> ColVec<'k, U, H>
    where
        T: Convert<U>,
    {
        self.tile(row).load()
    }

    /// Loads tile `row` as [`col_vector`](Self::col_vector) does, but elements past the end are `fill`.
    #[track_caller]
    pub fn col_vector_or<U: TensorElement, const H: usize>(
        &self,
        row: impl Into<Val<'k, u32>>,
        fill: U,
    ) -> ColVec<'k, U, H>
    where
        T: Convert<U>,
    {
        self.tile(row).load_or(fill)
    }
}

impl<'k, T: TensorElement, A: Writable> GlTile<'k, T, A> {
    /// Converts the elements of a register tile and stores them; elements past the edges of the matrix are not written.
    ///
    /// The builder rejects the call if the coordinates of this tile may differ between lanes of a warp, or if all warps of the block would
    /// store to the same tile.
    #[track_caller]
    pub fn store<U, const H: usize, const W: usize, L>(self, tile: &Rt<'k, U, H, W, L>)
    where
        U: Convert<T>,
        L: RegisterLayout,
    {
        let _located = self.kernel().locate(Location::caller());
        let view = self.tensor([Rt::<U, H, W, L>::ROWS, Rt::<U, H, W, L>::COLS]);
        view.kernel().check_warp_tile(view.coordinates(), true);
        store_elements(&view, tile, true.into());
    }
}

impl<'k, T: TensorElement, A: Writable> GlTile<'k, T, A, 1> {
    /// Converts the elements of a register vector and stores them; elements past the end are not written. If several lanes own an element,
    /// the lane with the lowest index stores it.
    ///
    /// The builder rejects the call if the coordinates of this tile may differ between lanes of a warp, or if all warps of the block would
    /// store to the same tile.
    #[track_caller]
    pub fn store<U, const N: usize, V>(self, vector: &Rv<'k, U, N, V>)
    where
        U: Convert<T>,
        V: VectorLayout,
    {
        let _located = self.kernel().locate(Location::caller());
        let view = self.tensor([Rv::<U, N, V>::LENGTH]);
        let k = view.kernel();
        k.check_warp_tile(view.coordinates(), true);
        store_elements(&view, vector, is_first_owner(k, &Rv::<U, N, V>::fragment()));
    }
}

/// Returns the element of the type in memory that a load converts to `fill`; rejects `fill` if no such element exists.
#[track_caller]
fn exactly<T: Convert<U>, U: TensorElement>(k: Builder<'_>, fill: U) -> T {
    let exact = T::exactly(fill);
    if exact.is_none() {
        k.refuse(format!(
            "expected a value that {} represents exactly to fill past the edges, found {fill:?}",
            T::NAME
        ));
    }
    exact.unwrap_or(T::from_mem_bits(0))
}

/// Loads the elements of a view into registers, and converts them.
#[track_caller]
fn load_elements<'k, T, D, A>(view: &Tensor<'k, Global, T, A>, fill: T) -> D
where
    T: Convert<D::Element>,
    D: Registers<'k>,
    A: Readable,
{
    let k = view.kernel();
    k.check_warp_tile(view.coordinates(), false);
    // Use the layout of the result, so that the conversion moves no elements between lanes.
    let layout = D::layout();
    loaded(k, |fragment| copy_or(fragment, &view.lane_part(&layout, k.lane().rank()), fill))
}

/// Converts the elements in registers and stores them to a view if `condition` is true.
#[track_caller]
pub(super) fn store_elements<'k, T, S, D, A>(view: &Tensor<'k, S, T, A>, from: &D, condition: Val<'k, bool>)
where
    T: TensorElement,
    S: TensorSpace,
    D: Registers<'k, Element: Convert<T>>,
    Tensor<'k, S, T, A>: Destination<'k, T>,
{
    let k = view.kernel();
    let layout = D::layout();
    let converted = stored(from);
    let part = view.lane_part(&layout, k.lane().rank());
    if condition.as_constant() == Some(true) {
        let _ = copy(&part, &converted);
    } else {
        let one = Layout::new(layout.values(), 0).expect("the registers of a vector are few");
        let _ = copy_if(&k.predicates(&one, vec![condition]), &part, &converted);
    }
}
