//! The second operand of an elementwise operation: a tile, a scalar, or a vector that is broadcast along rows or columns.

use super::{
    broadcast::broadcast_words,
    element::RegisterLayout,
    registers::{Distributed, Registers, WordOf},
    rt::Rt,
    vector::Rv,
    vector_layout::{Broadcast, VectorLayout},
};
use crate::{
    ptx::{Builder, Val},
    tensor::{Arithmetic, Computed, TensorElement, splat, splat_value},
};

/// Only this crate implements the public traits.
mod sealed {
    pub trait Elementwise<'k, Tile> {}
}

/// An operand that an elementwise operation combines with the elements of a `Tile`.
///
/// The operand is a tile or vector of the same type, or a scalar of the element type (a constant or a register), which is combined with
/// every element. If `Tile` is a register tile, the operand may also be a reference to a vector that is broadcast: a
/// [`ColVec`](super::ColVec) with one element per row, or a [`RowVec`](super::RowVec) with one element per column. A register is supported
/// only if its type has native arithmetic ([`Arithmetic`]).
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be combined with each element of `{Tile}`",
    note = "operands are tiles of the same type, shape and layout, numbers of the element type, and for tiles references to vectors of \
            their rows or columns",
    note = "`convert` changes the element type, `swap_layout` and `Rv::to_layout` the layout"
)]
pub trait Elementwise<'k, Tile: Distributed<'k>>: sealed::Elementwise<'k, Tile> {
    /// Returns the words that are combined with the tile's registers, in the order of the registers.
    #[doc(hidden)]
    #[track_caller]
    fn words_for(&self, k: Builder<'k>) -> Vec<Val<'k, WordOf<'k, Tile>>>;
}

macro_rules! operands {
    ($tile:ty, $layout:ident: $bound:path, $(const $size:ident)*) => {
        impl<'k, T: TensorElement, $(const $size: usize,)* $layout: $bound> sealed::Elementwise<'k, $tile> for $tile {}
        impl<'k, T: TensorElement, $(const $size: usize,)* $layout: $bound> Elementwise<'k, $tile> for $tile {
            fn words_for(&self, _: Builder<'k>) -> Vec<Val<'k, T::Word>> {
                self.words()
            }
        }

        impl<'k, T: TensorElement, $(const $size: usize,)* $layout: $bound> sealed::Elementwise<'k, $tile> for &$tile {}
        impl<'k, T: TensorElement, $(const $size: usize,)* $layout: $bound> Elementwise<'k, $tile> for &$tile {
            fn words_for(&self, _: Builder<'k>) -> Vec<Val<'k, T::Word>> {
                self.words()
            }
        }

        impl<'k, T: Computed, $(const $size: usize,)* $layout: $bound> sealed::Elementwise<'k, $tile> for T {}
        impl<'k, T: Computed, $(const $size: usize,)* $layout: $bound> Elementwise<'k, $tile> for T {
            fn words_for(&self, _: Builder<'k>) -> Vec<Val<'k, T::Word>> {
                vec![splat(*self).into(); <$tile>::count()]
            }
        }

        impl<'k, T: Arithmetic, $(const $size: usize,)* $layout: $bound> sealed::Elementwise<'k, $tile> for Val<'k, T> {}
        impl<'k, T: Arithmetic, $(const $size: usize,)* $layout: $bound> Elementwise<'k, $tile> for Val<'k, T> {
            #[track_caller]
            fn words_for(&self, k: Builder<'k>) -> Vec<Val<'k, T::Word>> {
                vec![splat_value(k, *self); <$tile>::count()]
            }
        }
    };
}

operands! { Rt<'k, T, H, W, L>, L: RegisterLayout, const H const W }
operands! { Rv<'k, T, N, V>, V: VectorLayout, const N }

impl<'k, T, L, V, const H: usize, const W: usize, const N: usize> sealed::Elementwise<'k, Rt<'k, T, H, W, L>>
    for &Rv<'k, T, N, V>
where
    T: TensorElement,
    L: RegisterLayout,
    V: Broadcast<L, H, W, N, T::Length>,
{
}
impl<'k, T, L, V, const H: usize, const W: usize, const N: usize> Elementwise<'k, Rt<'k, T, H, W, L>>
    for &Rv<'k, T, N, V>
where
    T: TensorElement,
    L: RegisterLayout,
    V: Broadcast<L, H, W, N, T::Length>,
{
    #[track_caller]
    fn words_for(&self, _: Builder<'k>) -> Vec<Val<'k, T::Word>> {
        broadcast_words(self.fragment(), &Rt::<T, H, W, L>::layout(), V::AXIS)
    }
}
