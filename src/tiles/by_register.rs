//! Tiles stored in memory in register order, for results that are later read only as tiles of the same type. Adjacent lanes access adjacent
//! 16-byte vectors, regardless of the layout of the tile.

use std::{array, panic::Location};

use super::{
    convert::loaded,
    element::RegisterLayout,
    gl::{Gl, GlTile},
    hopper::{Consumer, WARPS},
    registers::Registers,
    rt::Rt,
};
use crate::{
    layout::{Layout, TvLayout},
    ptx::{Builder, ProxySpace, Ptr, ReadWrite, Readable, ReduceOp, Scalar, Scope, Shared, Writable},
    tensor::{AtomicElement, Fragment, TensorElement, copy, copy_or, in_order},
};

/// The number of registers per access.
const VECTOR: u32 = 4;

/// Returns the (lane, value) layout of `registers` registers per lane, which must be a multiple of 4.
fn layout(registers: u32) -> TvLayout {
    let (lanes, values) = ((32, (VECTOR, registers / VECTOR)), (VECTOR, (1, 32 * VECTOR)));
    Layout::new(lanes, values)
        .map_err(Into::into)
        .and_then(|layout| TvLayout::new("by register", 32 * registers, layout))
        .expect("a tile has few registers")
}

/// A staging buffer in shared memory for tiles of 32-bit elements that `C` consumer warpgroups add to global memory in register order. Each
/// warp has space for one tile of 16 rows and `W` columns of subtiles, and continues its work while the tile is being copied.
pub(crate) struct RegisterOutbox<'k, T, const W: usize, const C: usize> {
    base: Ptr<'k, T, Shared>,
}

impl<'k> Builder<'k> {
    /// Allocates an outbox for the warps of `C` consumer warpgroups, whose tiles have 16 rows and `W` columns of subtiles.
    #[track_caller]
    pub(crate) fn register_outbox<T, const W: usize, const C: usize>(self) -> RegisterOutbox<'k, T, W, C>
    where
        T: AtomicElement,
    {
        const { assert!(T::SIZE == 4, "tiles must have 32-bit elements") };
        RegisterOutbox { base: self.shared_aligned::<u8>(C as u32 * WARPS * 1024 * W as u32, 128).cast() }
    }
}

impl<'k, const C: usize> Consumer<'k, C> {
    /// Starts adding this warp's tile atomically, in register order, to the first elements of `to`. Either all or none of these elements
    /// must be in bounds. All lanes of the warp must take part.
    #[doc(alias = "cp.reduce.async.bulk")]
    #[track_caller]
    pub(crate) fn add_by_register<T, const W: usize>(
        self,
        outbox: &RegisterOutbox<'k, T, W, C>,
        tile: &Rt<'k, T, 1, W>,
        to: &Gl<'k, T, ReadWrite, 1>,
    ) where
        T: AtomicElement<Word = T> + Scalar,
    {
        let k = self.group().kernel();
        let _located = k.locate(Location::caller());
        let (lane, elements) = (k.lane().rank(), 256 * W as u32);
        let own = outbox.base.at((self.rank() * WARPS + self.warp()) * elements);
        // Wait until the copy of the preceding tile has read the memory.
        k.if_(lane.eq(0), || k.cp_async_bulk_wait_group_read(0));
        k.warp().sync();
        for (i, words) in tile.registers().chunks_exact(VECTOR as usize).enumerate() {
            own.at(lane * VECTOR + i as u32 * 32 * VECTOR).store_vector::<4>(array::from_fn(|at| words[at]));
        }
        // The copies read shared memory through the async proxy.
        k.fence_proxy_async(ProxySpace::Shared);
        k.warp().sync();
        k.if_(lane.eq(0), || {
            to.at(0).reduce_bulk_out(ReduceOp::Add, own, 4 * elements);
            k.cp_async_bulk_commit_group();
        });
    }
}

impl<'k, T: TensorElement, A: Writable> GlTile<'k, T, A, 1> {
    /// Stores the registers of a tile of 32-bit elements. The number of registers per lane must be a multiple of 4.
    #[track_caller]
    pub(crate) fn store_by_register<const H: usize, const W: usize, L: RegisterLayout>(
        self,
        tile: &Rt<'k, T, H, W, L>,
    ) {
        const { assert!(T::SIZE == 4, "tiles must have 32-bit elements") };
        let k = self.kernel();
        let _located = k.locate(Location::caller());
        let layout = layout(Rt::<T, H, W, L>::REGISTERS as u32);
        let part = self.tensor([256 * (H * W) as u32]).lane_part(&layout, k.lane().rank());
        let registers = tile.fragment().all_registers();
        copy(&part, &Fragment::over(k, registers.to_vec(), in_order(layout.values())));
    }
}

impl<'k, T: TensorElement, A: Readable> GlTile<'k, T, A, 1> {
    /// Loads the registers of a tile of 32-bit elements. The number of registers per lane must be a multiple of 4.
    #[track_caller]
    pub(crate) fn load_by_register<const H: usize, const W: usize, L: RegisterLayout>(
        self,
    ) -> Rt<'k, T, H, W, L> {
        const { assert!(T::SIZE == 4, "tiles must have 32-bit elements") };
        let k = self.kernel();
        let _located = k.locate(Location::caller());
        let layout = layout(Rt::<T, H, W, L>::REGISTERS as u32);
        let part = self.tensor([256 * (H * W) as u32]).lane_part(&layout, k.lane().rank());
        loaded(k, |fragment| copy_or(fragment, &part, T::from_mem_bits(0)))
    }
}
