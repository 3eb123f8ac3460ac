//! Conversion of the elements of a received stage.

use std::panic::Location;

use super::{ring::WARPS, roles::Consumer};
use crate::{
    ptx::{Ptr, Scope, Shared, Val},
    tensor::{ConvertibleElement, TensorElement},
    tiles::{Allocate, Filled, SharedSwizzle, St, convert::through_f32},
};

impl<'k> Consumer<'k, 1> {
    /// Converts the elements of a tile with 8-bit elements to `T`, and writes them to a tile of the same size. Each thread converts a row.
    /// All threads of the warpgroup must take part. The caller must synchronize the writes with the `wgmma`s that read `to`.
    #[track_caller]
    pub(crate) fn convert_rows<F, T, const H: usize, const V: usize, const W: usize>(
        self,
        from: &Filled<St<'k, F, H, V>>,
        to: &Filled<St<'k, T, H, W>>,
    ) where
        F: ConvertibleElement + TensorElement<Word = u32>,
        T: ConvertibleElement,
    {
        const {
            assert!(16 * H as u32 == 32 * WARPS, "each thread has a row");
            assert!(F::SIZE == 1 && T::SIZE == 2, "a vector becomes two vectors");
            assert!(
                V as u32 * F::SUBTILE_LENGTH == W as u32 * T::SUBTILE_LENGTH,
                "both tiles have the same columns"
            );
        }
        let k = self.group().kernel();
        let _located = k.locate(Location::caller());
        let row = self.warp() * 32 + k.lane().rank();
        let (from, to) = (vectors(&from.tile, row), vectors(&to.tile, row));
        for (from, to) in from.into_iter().zip(to.chunks_exact(2)) {
            let words = through_f32::<F, T>(&from.load_vector::<4>());
            for (words, to) in words.chunks_exact(4).zip(to) {
                to.store_vector::<4>(std::array::from_fn(|at| words[at].bits()));
            }
        }
    }
}

/// Returns the addresses of the 16-byte vectors of a row. Eight lanes that access the same vector of consecutive rows use different banks.
#[track_caller]
fn vectors<'k, T: TensorElement, const H: usize, const W: usize, S: SharedSwizzle>(
    tile: &St<'k, T, H, W, S>,
    row: Val<'k, u32>,
) -> Vec<Ptr<'k, u32, Shared>> {
    let bytes = St::<T, H, W, S>::COLS * T::SIZE;
    let (_, swizzled) = S::of_row(bytes);
    let width = swizzled / 16;
    // The swizzle XORs the index of a vector in its row with the index of the 128-byte unit that contains the vector.
    let flipped = row * width / 8 % width;
    let first = tile.address().cast::<u32>();
    let of_block: Vec<_> = (0..width).map(|at| first.at((row * width + (flipped ^ at)) * 4)).collect();
    let of_tile = |vector: u32| {
        let (block, at) = (vector / width, vector % width);
        of_block[at as usize].at(block * St::<T, H, W, S>::ROWS * width * 4)
    };
    (0..bytes / 16).map(of_tile).collect()
}
