//! Atomic addition of register tiles and vectors to global and shared memory.

use std::panic::Location;

use super::{
    allocate::{Filled, Pending},
    coordinates::is_first_owner,
    element::RegisterLayout,
    gl::GlTile,
    registers::Registers,
    rt::Rt,
    shared_copies::{Rectangle, Storing},
    st::St,
    sv::{Line, StoringVector, Sv},
    swizzle::SharedSwizzle,
    vector::Rv,
    vector_layout::VectorLayout,
};
use crate::{
    ptx::{ReadWrite, Val},
    tensor::{AtomicElement, add_global, add_shared},
};

impl<'k, T: AtomicElement> GlTile<'k, T, ReadWrite> {
    /// Atomically adds each element of a register tile to the corresponding element of this tile. Elements past the edges of the matrix are
    /// not added.
    ///
    /// Each emitted `red` adds one element, or a pair of f16 or bf16 elements. On sm_90 and later, it adds up to 16 bytes of adjacent f32,
    /// f16 or bf16 elements if their address is known to be aligned. bf16 elements require sm_90 or later. The additions are unordered, so
    /// the rounding of floating-point sums is unspecified.
    #[doc(alias = "red")]
    #[doc(alias = "add_into")]
    #[track_caller]
    pub fn add<const H: usize, const W: usize, L: RegisterLayout>(self, tile: &Rt<'k, T, H, W, L>) {
        let k = self.kernel();
        let _located = k.locate(Location::caller());
        let view = self.tensor([Rt::<T, H, W, L>::ROWS, Rt::<T, H, W, L>::COLS]);
        k.check_warp_tile(view.coordinates(), false);
        let part = view.lane_part(&Rt::<T, H, W, L>::layout(), k.lane().rank());
        add_global(&part, &tile.fragment, true.into());
    }
}

impl<'k, T: AtomicElement> GlTile<'k, T, ReadWrite, 1> {
    /// Atomically adds each element of a register vector to the corresponding element of this tile. Each element is added once, even if
    /// several lanes own it. Elements past the end of the vector in global memory are not added.
    #[doc(alias = "red")]
    #[doc(alias = "add_into")]
    #[track_caller]
    pub fn add<const N: usize, V: VectorLayout>(self, vector: &Rv<'k, T, N, V>) {
        let k = self.kernel();
        let _located = k.locate(Location::caller());
        let view = self.tensor([Rv::<T, N, V>::LENGTH]);
        k.check_warp_tile(view.coordinates(), false);
        let layout = Rv::<T, N, V>::fragment();
        let part = view.lane_part(&layout, k.lane().rank());
        add_global(&part, &vector.fragment, is_first_owner(k, &layout));
    }
}

/// The destination of atomic additions in the closure of [`Filled::add_with`].
#[derive(Debug)]
pub struct Adding<Tile> {
    pub(super) to: Tile,
}

impl<'k, T: AtomicElement, const H: usize, const W: usize, S: SharedSwizzle> Filled<St<'k, T, H, W, S>> {
    /// Calls `add`, in which any warp can atomically add register tiles to rectangles of this tile:
    /// `tile.add_with(|tile| tile.add(0, 0, &acc))`.
    ///
    /// All threads of the scope that owns the memory (by default, the block) must execute the emitted code. It starts with a barrier of
    /// this scope, because other threads may still be reading the memory.
    #[doc(alias = "add_into")]
    #[track_caller]
    pub fn add_with(self, add: impl FnOnce(&Adding<Storing<'k, T>>)) -> Pending<'k, St<'k, T, H, W, S>> {
        let tile = self.release();
        add(&Adding { to: tile.storing() });
        tile.owner.pending(tile)
    }
}

impl<'k, T: AtomicElement> Adding<Storing<'k, T>> {
    /// Atomically adds each element of a register tile to the corresponding element of a rectangle of the shared tile. The rectangle starts
    /// at subtile (`row`, `col`). Several warps may add to the same rectangle.
    #[doc(alias = "red")]
    #[track_caller]
    pub fn add<const H: usize, const W: usize, L: RegisterLayout>(
        &self,
        row: impl Into<Val<'k, u32>>,
        col: impl Into<Val<'k, u32>>,
        tile: &Rt<'k, T, H, W, L>,
    ) {
        let k = tile.kernel();
        let _located = k.locate(Location::caller());
        let at = Rectangle::new(&self.to.tile, row.into(), col.into());
        k.check_warp_tile([at.row, at.col], false);
        at.each_part::<T, H, W, L>(&tile.fragment, |registers, memory| {
            add_shared(memory, registers, true.into());
        });
    }
}

impl<'k, T: AtomicElement, const N: usize> Filled<Sv<'k, T, N>> {
    /// Calls `add`, in which any warp can atomically add register vectors to subvectors of this vector:
    /// `sums.add_with(|sums| sums.add(0, &v))`.
    ///
    /// All threads of the scope that owns the memory (by default, the block) must execute the emitted code. It starts with a barrier of
    /// this scope, because other threads may still be reading the memory.
    #[doc(alias = "add_into")]
    #[track_caller]
    pub fn add_with(self, add: impl FnOnce(&Adding<StoringVector<'k, T>>)) -> Pending<'k, Sv<'k, T, N>> {
        let tile = self.release();
        add(&Adding { to: tile.storing() });
        tile.owner.pending(tile)
    }
}

impl<'k, T: AtomicElement> Adding<StoringVector<'k, T>> {
    /// Atomically adds each element of a register vector to the corresponding element of subvector `index` of the shared vector. Subvectors
    /// have the length of the register vector. Each element is added once, even if several lanes own it. Several warps may add to the same
    /// subvector.
    #[doc(alias = "red")]
    #[track_caller]
    pub fn add<const N: usize, V: VectorLayout>(
        &self,
        index: impl Into<Val<'k, u32>>,
        vector: &Rv<'k, T, N, V>,
    ) {
        let k = vector.kernel();
        let _located = k.locate(Location::caller());
        let line = Line::new(self.to.vector.clone(), index.into());
        k.check_warp_tile([line.at], false);
        let layout = Rv::<T, N, V>::fragment();
        let part = line.part(Rv::<T, N, V>::LENGTH).lane_part(&layout, k.lane().rank());
        add_shared(&part, &vector.fragment, is_first_owner(k, &layout));
    }
}
