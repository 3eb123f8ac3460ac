//! The second operand of an elementwise operation: a tile, a number, or a vector that is broadcast along rows or columns.

use super::{
    coordinates::vector_values,
    element::RegisterLayout,
    registers::{Distributed, Registers, WordOf},
    rt::Rt,
    vector::Rv,
    vector_layout::{Broadcast, VectorLayout},
};
use crate::{
    ptx::{Builder, Val},
    tensor::{Arithmetic, TensorElement, splat_value},
};

/// The second operand of an elementwise operation on `Tile`: a tile or vector of the same type; a number, constant or in a register,
/// that is combined with every element; for tiles also a vector with one element per row ([`ColVec`](super::ColVec)) or per column
/// ([`RowVec`](super::RowVec)), which is broadcast.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be combined with each element of `{Tile}`",
    note = "operands are tiles of the same type, shape and layout, numbers of the element type, and for tiles references to vectors of \
            their rows or columns",
    note = "`convert` changes the element type, `swap_layout` and `Rv::to_layout` the layout"
)]
pub trait Elementwise<'k, Tile: Distributed<'k>> {
    /// Returns the words that are combined with the tile's registers, in their order.
    #[doc(hidden)]
    #[track_caller]
    fn words_for(&self, k: Builder<'k>) -> Vec<Val<'k, WordOf<'k, Tile>>>;
}

macro_rules! operands {
    ($tile:ty, $layout:ident: $bound:path, $(const $size:ident)*) => {
        impl<'k, T: TensorElement, $(const $size: usize,)* $layout: $bound> Elementwise<'k, $tile> for $tile {
            fn words_for(&self, _: Builder<'k>) -> Vec<Val<'k, T::Word>> {
                self.words()
            }
        }

        impl<'k, T: TensorElement, $(const $size: usize,)* $layout: $bound> Elementwise<'k, $tile> for &$tile {
            fn words_for(&self, _: Builder<'k>) -> Vec<Val<'k, T::Word>> {
                self.words()
            }
        }

        impl<'k, T: Arithmetic, $(const $size: usize,)* $layout: $bound> Elementwise<'k, $tile> for T {
            #[track_caller]
            fn words_for(&self, k: Builder<'k>) -> Vec<Val<'k, T::Word>> {
                vec![splat_value(k, Val::from(*self)); <$tile>::count()]
            }
        }

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

impl<'k, T, L, V, const H: usize, const W: usize, const N: usize> Elementwise<'k, Rt<'k, T, H, W, L>>
    for &Rv<'k, T, N, V>
where
    T: TensorElement,
    L: RegisterLayout,
    V: Broadcast<L, H, W, N>,
{
    #[track_caller]
    fn words_for(&self, k: Builder<'k>) -> Vec<Val<'k, T::Word>> {
        let slots = vector_values(&Rt::<T, H, W, L>::layout(), V::AXIS);
        let own = self.words();
        let mut repeated: Vec<Option<Val<'k, T::Word>>> = vec![None; own.len() * T::PER_WORD];
        let words = slots.chunks(T::PER_WORD).map(|slots| {
            let word = slots[0] / T::PER_WORD;
            if slots.iter().zip(word * T::PER_WORD..).all(|(&slot, expected)| slot == expected) {
                return own[word];
            }
            // The elements of a word are on the same line across it.
            let slot = slots[0];
            *repeated[slot].get_or_insert_with(|| {
                k.repeated::<T::Word>(self.fragment().all_registers()[word], slot % T::PER_WORD)
            })
        });
        words.collect()
    }
}
