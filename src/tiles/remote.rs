//! Shared tiles of other blocks of a cluster (distributed shared memory).

use std::{fmt, panic::Location};

use super::{
    allocate::{Allocate, Filled},
    convert::{Convert, loaded, stored},
    element::RegisterLayout,
    rt::Rt,
    shared_copies::Rectangle,
    st::St,
    swizzle::SharedSwizzle,
};
use crate::{
    ptx::{Cluster, ReadWrite, Scope, Shared, Val},
    tensor::{Tensor, TensorElement, copy},
};

/// A tile in the shared memory of a block of the cluster, at the same address as a [`Filled`] tile of this block. Warps load register tiles
/// from it.
pub struct RemoteSt<'a, 'k, T: TensorElement> {
    tile: &'a Tensor<'k, Shared, T, ReadWrite>,
    rank: Val<'k, u32>,
}

/// The tiles at the same address in the shared memory of all blocks of a cluster, to which [`St::exchange`] stores.
#[derive(Clone, Copy)]
pub struct ClusterTiles<'a, 'k, T: TensorElement> {
    tile: &'a Tensor<'k, Shared, T, ReadWrite>,
}

/// A tile in the shared memory of a block of the cluster, at the same address as a tile of this block. Warps store register tiles to it.
pub struct RemoteStMut<'a, 'k, T: TensorElement>(RemoteSt<'a, 'k, T>);

impl<T: TensorElement> fmt::Debug for RemoteSt<'_, '_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} in block {:?}", self.tile, self.rank)
    }
}

impl<T: TensorElement> fmt::Debug for ClusterTiles<'_, '_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} in all blocks", self.tile)
    }
}

impl<T: TensorElement> fmt::Debug for RemoteStMut<'_, '_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<'k, T: TensorElement, const H: usize, const W: usize, S: SharedSwizzle> St<'k, T, H, W, S> {
    /// Emits stores to the tiles at the same address in other blocks of the cluster, between two cluster barriers, and returns this block's
    /// filled tile.
    ///
    /// The first barrier ensures that all blocks of the cluster are running and have finished reading the tile's memory. `store` emits the
    /// stores; together, the blocks must store all tiles completely. If other blocks load the tile, a cluster barrier must precede the next
    /// stores to it. All threads of the cluster must execute the emitted code. Requires sm_90 or later.
    ///
    /// ```
    /// use warpwright::prelude::*;
    ///
    /// // Each block of a pair writes its tile to the other block.
    /// let kernel = Kernel::<(In<f32>, Out<f32>)>::build("exchange(x, y)", Target::SM_90, |k, (x, y)| {
    ///     k.block([32]);
    ///     k.grid([2]);
    ///     let cluster = k.cluster([2]);
    ///     let rank = k.this_block().rank();
    ///     let own: Rt<f32, 1, 1> = k.global(x, row_major(32, 16)).tile(rank, 0).load();
    ///     let tile = k.shared_tile::<St<f32, 1, 1>>();
    ///     let tile = tile.exchange(cluster, |tiles| tiles.in_block(rank ^ 1).store(&own));
    ///     let other: Rt<f32, 1, 1> = tile.load();
    ///     k.global(y, row_major(32, 16)).tile(rank, 0).store(&other);
    /// })?;
    /// # Ok::<(), warpwright::ptx::BuildError>(())
    /// ```
    #[doc(alias = "mapa")]
    #[doc(alias = "DSMEM")]
    #[must_use]
    #[track_caller]
    pub fn exchange(self, cluster: Cluster<'k>, store: impl FnOnce(ClusterTiles<'_, 'k, T>)) -> Filled<Self> {
        let k = self.tensor.kernel();
        let _located = k.locate(Location::caller());
        cluster.sync();
        k.unlocated(|| store(ClusterTiles { tile: &self.tensor }));
        cluster.sync();
        self.filled()
    }
}

impl<'a, 'k, T: TensorElement> ClusterTiles<'a, 'k, T> {
    /// Returns the tile of block `rank`.
    pub fn in_block(self, rank: impl Into<Val<'k, u32>>) -> RemoteStMut<'a, 'k, T> {
        RemoteStMut(RemoteSt { tile: self.tile, rank: rank.into() })
    }
}

impl<'k, T: TensorElement, const H: usize, const W: usize, S: SharedSwizzle> Filled<St<'k, T, H, W, S>> {
    /// Returns the tile at the same address in the shared memory of block `rank` of the cluster, as a source for loads.
    ///
    /// The remote tile must also be filled. A cluster barrier is required between the stores to the remote tile and the loads from it, and
    /// another before the next stores to it and before block `rank` exits. Requires sm_90 or later.
    ///
    /// ```
    /// use warpwright::prelude::*;
    ///
    /// // Each block of a pair adds the tiles of both blocks.
    /// let kernel = Kernel::<(In<f32>, Out<f32>)>::build("both(x, y)", Target::SM_90, |k, (x, y)| {
    ///     k.block([32]);
    ///     k.grid([2]);
    ///     let cluster = k.cluster([2]);
    ///     let rank = k.this_block().rank();
    ///     let own: Rt<f32, 1, 1> = k.global(x, row_major(32, 16)).tile(rank, 0).load();
    ///     let tile = k.shared_tile::<St<f32, 1, 1>>().store(&own).wait();
    ///     cluster.sync();
    ///     let other: Rt<f32, 1, 1> = tile.in_block(rank ^ 1).load();
    ///     k.global(y, row_major(32, 16)).tile(rank, 0).store(&(own + &other));
    ///     cluster.sync();
    /// })?;
    /// # Ok::<(), warpwright::ptx::BuildError>(())
    /// ```
    #[doc(alias = "mapa")]
    #[doc(alias = "DSMEM")]
    pub fn in_block(&self, rank: impl Into<Val<'k, u32>>) -> RemoteSt<'_, 'k, T> {
        RemoteSt { tile: &self.tile.tensor, rank: rank.into() }
    }
}

impl<'k, T: TensorElement> RemoteSt<'_, 'k, T> {
    /// Loads a rectangle of `H`×`W` subtiles from the upper-left corner of the remote tile, and converts its elements.
    #[track_caller]
    pub fn load<U, const H: usize, const W: usize, L>(&self) -> Rt<'k, U, H, W, L>
    where
        T: Convert<U>,
        U: TensorElement,
        L: RegisterLayout,
    {
        self.load_subtile(0, 0)
    }

    /// Loads the rectangle of `H`×`W` subtiles that starts at subtile (`row`, `col`) of the remote tile, and converts its elements.
    #[track_caller]
    pub fn load_subtile<U, const H: usize, const W: usize, L>(
        &self,
        row: impl Into<Val<'k, u32>>,
        col: impl Into<Val<'k, u32>>,
    ) -> Rt<'k, U, H, W, L>
    where
        T: Convert<U>,
        U: TensorElement,
        L: RegisterLayout,
    {
        self.loaded(&Rectangle::new(self.tile, row.into(), col.into()))
    }

    /// Loads this warp's share of the remote tile's rows and converts the elements. The rows are divided evenly among the warps of `scope`,
    /// in warp order.
    #[track_caller]
    pub fn load_tile_of<U, const H: usize, const W: usize, L>(
        &self,
        scope: impl Scope<'k>,
    ) -> Rt<'k, U, H, W, L>
    where
        T: Convert<U>,
        U: TensorElement,
        L: RegisterLayout,
    {
        self.loaded(&Rectangle::of_warp(self.tile, scope))
    }

    #[track_caller]
    fn loaded<U, const H: usize, const W: usize, L>(
        &self,
        rectangle: &Rectangle<'_, 'k, T>,
    ) -> Rt<'k, U, H, W, L>
    where
        T: Convert<U>,
        U: TensorElement,
        L: RegisterLayout,
    {
        let (k, rank) = (self.tile.kernel(), self.rank);
        let _located = k.locate(Location::caller());
        k.check_warp_tile(rectangle.coordinates().chain([rank]), false);
        loaded(k, |fragment| {
            rectangle.each_part::<U, H, W, L>(fragment, |registers, memory| {
                copy(registers, &memory.in_block(rank));
            });
        })
    }
}

impl<'k, T: TensorElement> RemoteStMut<'_, 'k, T> {
    /// Converts the elements of a register tile and stores them to a rectangle of the same size in the upper-left corner of the remote
    /// tile.
    #[track_caller]
    pub fn store<U, const H: usize, const W: usize, L>(&self, tile: &Rt<'k, U, H, W, L>)
    where
        U: Convert<T>,
        L: RegisterLayout,
    {
        self.store_subtile(0, 0, tile);
    }

    /// Converts the elements of a register tile and stores them to the rectangle that starts at subtile (`row`, `col`) of the remote tile.
    #[track_caller]
    pub fn store_subtile<U, const H: usize, const W: usize, L>(
        &self,
        row: impl Into<Val<'k, u32>>,
        col: impl Into<Val<'k, u32>>,
        tile: &Rt<'k, U, H, W, L>,
    ) where
        U: Convert<T>,
        L: RegisterLayout,
    {
        self.stored(&Rectangle::new(self.0.tile, row.into(), col.into()), tile);
    }

    /// Converts the elements of a register tile and stores them to this warp's share of the remote tile's rows. The rows are divided evenly
    /// among the warps of `scope`, in warp order.
    #[track_caller]
    pub fn store_tile_of<U, const H: usize, const W: usize, L>(
        &self,
        scope: impl Scope<'k>,
        tile: &Rt<'k, U, H, W, L>,
    ) where
        U: Convert<T>,
        L: RegisterLayout,
    {
        self.stored(&Rectangle::of_warp(self.0.tile, scope), tile);
    }

    #[track_caller]
    fn stored<U, const H: usize, const W: usize, L>(
        &self,
        rectangle: &Rectangle<'_, 'k, T>,
        tile: &Rt<'k, U, H, W, L>,
    ) where
        U: Convert<T>,
        L: RegisterLayout,
    {
        let (k, rank) = (self.0.tile.kernel(), self.0.rank);
        let _located = k.locate(Location::caller());
        k.check_warp_tile(rectangle.coordinates().chain([rank]), true);
        rectangle.each_part::<U, H, W, L>(&stored(tile), |registers, memory| {
            copy(&memory.in_block(rank), registers);
        });
    }
}
