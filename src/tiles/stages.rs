//! Stages of pipelines and rings: tuples of shared tiles, and the tiles in global memory that fill them.

use std::panic::Location;

use super::{allocate::Allocate, gl::GlTile, st::St, sv::Sv, swizzle::SharedSwizzle};
use crate::{
    ptx::{Ptr, Readable, Shared, sealed::Sealed},
    tensor::TensorElement,
};

/// A tuple of one to four shared tiles or vectors that forms a stage of a pipeline or ring.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a pipeline's stage",
    note = "a stage is a tuple of one to four shared tiles or vectors, such as `(St<bf16, 4, 2>, Sv<f32, 4>)`"
)]
pub trait StageTiles<'k>: Sized + Sealed {
    /// The tiles once their data has arrived.
    type Filled;
    /// The size of a stage in bytes, including the padding that aligns its tiles.
    const STAGE_BYTES: u32;
    /// The total size of the tiles in bytes.
    #[doc(hidden)]
    const BYTES: u32;

    #[doc(hidden)]
    #[track_caller]
    fn at(base: Ptr<'k, u8, Shared>) -> Self;
    /// Computes the lane-dependent parts of the tiles' addresses outside the loop that uses them.
    #[doc(hidden)]
    #[track_caller]
    fn prepare(&self);
    #[doc(hidden)]
    #[track_caller]
    fn filled(self) -> Self::Filled;
    /// Ends the leases of the tiles, whose stage is given back.
    #[doc(hidden)]
    #[track_caller]
    fn end(filled: &Self::Filled);
}

/// A tuple of sources in global memory that fills a stage of `Tiles`. It contains one source for each tile of the stage.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not fill a stage of `{Tiles}`",
    note = "pass one global-memory tile per shared tile, of the same element type"
)]
pub trait Sources<'k, Tiles: StageTiles<'k>>: Sealed {
    #[doc(hidden)]
    fn fill(self, tiles: Tiles, at: &'static Location<'static>);
}

/// The alignment of stages in bytes, sufficient for every swizzle.
pub(super) const STAGE_ALIGN: u32 = 1024;

/// Returns the address of the next tile in a stage and advances `next` by `bytes`.
fn take<'k>(next: &mut Ptr<'k, u8, Shared>, bytes: u32) -> Ptr<'k, u8, Shared> {
    let start = *next;
    *next = start.byte_offset(bytes.next_multiple_of(STAGE_ALIGN).into());
    start
}

/// A shared tile or vector that can be part of a stage of a pipeline or ring.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be part of a pipeline's stage",
    note = "stages consist of shared tiles `St`, shared vectors `Sv` and their complex pairs `Cst` and `Csv`"
)]
pub trait StageTile<'k>: Allocate<'k> {
    /// Computes the lane-dependent parts of the addresses outside the loop that uses them.
    #[doc(hidden)]
    #[track_caller]
    fn prepare(&self);
}

impl<'k, T: TensorElement, const H: usize, const W: usize, S: SharedSwizzle> StageTile<'k>
    for St<'k, T, H, W, S>
{
    #[track_caller]
    fn prepare(&self) {
        self.prepare();
    }
}

impl<'k, T: TensorElement, const N: usize> StageTile<'k> for Sv<'k, T, N> {
    fn prepare(&self) {}
}

/// A tile or vector in global memory that fills a shared `Tile`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not fill `{Tile}`",
    note = "a tile of a matrix fills an `St`, a tile of a vector an `Sv`, of the same element type"
)]
pub trait SourceOf<'k, Tile: StageTile<'k>>: Sealed {
    /// Starts the copy into the tile and returns whether it is asynchronous.
    #[doc(hidden)]
    #[track_caller]
    fn begin_fill(&self, tile: &Tile) -> bool;
}

impl<'k, T: TensorElement, A: Readable, const H: usize, const W: usize, S: SharedSwizzle>
    SourceOf<'k, St<'k, T, H, W, S>> for GlTile<'k, T, A>
{
    #[track_caller]
    fn begin_fill(&self, tile: &St<'k, T, H, W, S>) -> bool {
        tile.begin_fill(self)
    }
}

impl<'k, T: TensorElement, A: Readable, const N: usize> SourceOf<'k, Sv<'k, T, N>> for GlTile<'k, T, A, 1> {
    #[track_caller]
    fn begin_fill(&self, vector: &Sv<'k, T, N>) -> bool {
        vector.begin_fill(self)
    }
}

macro_rules! stages {
    ($($tile:ident $from:ident $n:tt),*) => {
        impl<'k, $($tile: StageTile<'k>),*> StageTiles<'k> for ($($tile,)*) {
            type Filled = ($($tile::Filled,)*);
            const STAGE_BYTES: u32 = 0 $(+ $tile::BYTES.next_multiple_of(STAGE_ALIGN))*;
            const BYTES: u32 = 0 $(+ $tile::BYTES)*;

            #[track_caller]
            fn at(base: Ptr<'k, u8, Shared>) -> Self {
                let mut next = base;
                ($($tile::at(take(&mut next, $tile::BYTES)),)*)
            }

            #[track_caller]
            fn prepare(&self) {
                $(self.$n.prepare();)*
            }

            #[track_caller]
            fn filled(self) -> Self::Filled {
                ($(self.$n.filled(),)*)
            }

            #[track_caller]
            fn end(filled: &Self::Filled) {
                $($tile::end(&filled.$n);)*
            }
        }

        impl<'k, $($tile: StageTile<'k>, $from: SourceOf<'k, $tile>),*> Sources<'k, ($($tile,)*)> for ($($from,)*) {
            fn fill(self, tiles: ($($tile,)*), at: &'static Location<'static>) {
                $({
                    let _located = tiles.$n.address().kernel().locate(at);
                    self.$n.begin_fill(&tiles.$n);
                })*
            }
        }
    };
}

stages! { T0 G0 0 }
stages! { T0 G0 0, T1 G1 1 }
stages! { T0 G0 0, T1 G1 1, T2 G2 2 }
stages! { T0 G0 0, T1 G1 1, T2 G2 2, T3 G3 3 }
