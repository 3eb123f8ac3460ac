//! Transposition of register tiles, and changes of their layout.

use std::panic::Location;

use super::{
    blocks::{Blocks, moved},
    element::{Col, RegisterLayout, Row, register_layout},
    exchange::Exchange,
    registers::Registers,
    rt::Rt,
};
use crate::{
    atoms::{ElementWidth, TileLayout, rt_base},
    layout::{IntTuple, Layout, TvLayout},
    ptx::{B16, B32, B64, RegId, Val, numbers::*},
    tensor::{TensorElement, element_types},
};

/// An element type with square subtiles (16×16): every type except the 8-bit ones.
#[diagnostic::on_unimplemented(
    message = "subtiles of `{Self}` are not square",
    note = "give the shape of the result of 8-bit tiles: `let t: Rt<_, 2, 1> = x.transpose();`"
)]
pub trait SquareSubtiles: TensorElement {}

macro_rules! square {
    ($($t:ident $word:ident $length:ident;)*) => { $( square! { $t $length } )* };
    ($t:ident Length16) => { impl SquareSubtiles for $t {} };
    ($t:ident Length32) => {};
}

element_types! { words, square }

impl<'k, T: TensorElement, const H: usize, const W: usize, L: RegisterLayout> Rt<'k, T, H, W, L> {
    /// Returns the transposed matrix in the other layout. The result uses the same registers, so no instructions are emitted.
    #[must_use]
    #[track_caller]
    pub fn into_transposed(self) -> Rt<'k, T, W, H, L::Transposed> {
        Rt::of_registers(
            self.kernel(),
            columns_first(self.fragment.all_registers(), Self::SUBTILE_REGISTERS, [H, W]),
        )
    }
}

/// Reorders the subtiles, which have `each` registers, from row-major to column-major order.
fn columns_first(registers: &[RegId], each: usize, [height, width]: [usize; 2]) -> Vec<RegId> {
    let subtiles: Vec<_> = registers.chunks(each).collect();
    let columns = (0..width).flat_map(|j| (0..height).map(move |i| i * width + j));
    columns.flat_map(|at| subtiles[at]).copied().collect()
}

impl<'k, T: SquareSubtiles, const H: usize, const W: usize, L: RegisterLayout> Rt<'k, T, H, W, L> {
    /// Returns the same matrix in the other layout: a `Row` tile becomes a [`Col`] tile, and vice versa.
    ///
    /// All lanes of the warp must take part. Each subtile requires 4 `movmatrix` for 16-bit elements, 8 `shfl` for 32-bit elements, and 16
    /// `shfl` for 64-bit elements.
    #[doc(alias = "swap_layout_inplace")]
    #[doc(alias = "movmatrix")]
    #[must_use]
    #[track_caller]
    pub fn swap_layout(&self) -> Rt<'k, T, H, W, L::Transposed> {
        let k = self.kernel();
        let _located = k.locate(Location::caller());
        Rt::of_registers(
            k,
            k.all_owned(|| if T::SIZE == 2 { self.matrices_transposed() } else { self.exchanged() }),
        )
    }

    /// Returns the transposed matrix in the same layout, with the same instructions as [`swap_layout`](Self::swap_layout).
    #[doc(alias = "transpose_inplace")]
    #[doc(alias = "transpose_sep")]
    #[must_use]
    #[track_caller]
    pub fn transpose(&self) -> Rt<'k, T, W, H, L> {
        self.swap_layout().into_transposed()
    }

    /// Transposes each 8×8 matrix. Matrix k of a subtile is at rows 8(k mod 2), columns 8⌊k/2⌋ in the row layout.
    #[track_caller]
    fn matrices_transposed(&self) -> Vec<Val<'k, T::Word>> {
        let k = self.kernel();
        let in_order = |matrices: &[Val<'k, T::Word>]| [0, 2, 1, 3].map(|at| matrices[at]);
        self.words().chunks(4).flat_map(in_order).map(|matrix| k.transpose_matrix(matrix)).collect()
    }

    /// Returns the words of the tile in the other layout, moved between lanes.
    #[track_caller]
    fn exchanged(&self) -> Vec<Val<'k, T::Word>> {
        let subtile = |layout| rt_base(layout, ElementWidth::of(T::SIZE));
        let other = <L::Transposed as RegisterLayout>::LAYOUT;
        let exchange = Exchange::plan(&subtile(L::LAYOUT), &subtile(other));
        let words = self.words();
        words
            .chunks(Self::SUBTILE_REGISTERS)
            .flat_map(|subtile| exchange.emit(self.kernel(), subtile))
            .collect()
    }
}

/// Returns the successive layouts of a 32×32 block of 8-bit elements during the conversion of a row tile to a column tile.
///
/// Let rᵢ be the bits of the row and cᵢ those of the column. Initially, the lane number is (c₂ c₃ r₀ r₁ r₂), lowest bit first, the byte
/// is (c₀ c₁), and the lowest bit of the register is r₃; finally, they are (r₂ r₃ c₀ c₁ c₂), (r₀ r₁) and c₃. Each step exchanges one bit
/// of the lane number with one bit that selects a byte of two registers, so it sends one of these registers. The last step also
/// exchanges r₂ and c₂, so it sends both: 4 `shfl` in total for 2 registers.
fn steps(from: TvLayout, to: TvLayout) -> [TvLayout; 4] {
    let [r0, r1, r2, r3, r4, c0, c1, c2, c3, c4] = std::array::from_fn(|bit| 1i64 << bit);
    let bits = |strides: [i64; 5]| IntTuple::from_iter(strides);
    let step = |lanes: [i64; 5], values: [i64; 5]| {
        let layout = Layout::new((bits([2; 5]), bits([2; 5])), (bits(lanes), bits(values)));
        let tile = layout
            .map_err(Into::into)
            .and_then(|layout| TvLayout::new("8-bit step", (32, 32), layout)?.packed(4));
        tile.expect("a permutation of the bits of the index")
    };
    let first = step([c2, c3, c0, r1, r2], [r3, c1, r0, c4, r4]);
    let second = step([c2, c3, c0, c1, r2], [r0, r3, r1, c4, r4]);
    [from, first, second, to]
}

/// The transpositions of 8-bit tiles. Their subtiles are 16×32 in the row layout and 32×16 in the column layout.
macro_rules! bytes {
    ($($t:ident $word:ident $length:ident;)*) => { $( bytes! { $t $length } )* };
    ($t:ident Length16) => {};
    ($t:ident Length32) => {
        impl<'k, const H: usize, const W: usize> Rt<'k, $t, H, W, Row> {
            /// Returns the same matrix as a [`Col`] tile. `H2` must be `H`/2 and `W2` must be 2`W`; other sizes do not compile.
            ///
            /// A block of 32×32 elements consists of two subtiles, one above the other in the row layout and side by side in the column
            /// layout.
            ///
            /// All lanes of the warp must take part. Each subtile requires 8 `shfl`.
            #[must_use]
            #[track_caller]
            pub fn swap_layout<const H2: usize, const W2: usize>(&self) -> Rt<'k, $t, H2, W2, Col> {
                const { assert!(H == 2 * H2 && W2 == 2 * W, "expected the same matrix: half the height in subtiles and twice the width") }
                bytes_swapped(self)
            }

            /// Returns the transposed matrix in the same layout, with the same instructions as [`swap_layout`](Self::swap_layout). `H2`
            /// must be 2`W` and `W2` must be `H`/2; other sizes do not compile.
            #[must_use]
            #[track_caller]
            pub fn transpose<const H2: usize, const W2: usize>(&self) -> Rt<'k, $t, H2, W2, Row> {
                const { assert!(H == 2 * W2 && H2 == 2 * W, "expected the transposed matrix: twice the width by half the height in subtiles") }
                bytes_swapped::<_, H, W, Row, W2, H2, Col>(self).into_transposed()
            }
        }

        impl<'k, const H: usize, const W: usize> Rt<'k, $t, H, W, Col> {
            /// Returns the same matrix as a [`Row`] tile. `H2` must be 2`H` and `W2` must be `W`/2; other sizes do not compile. All lanes
            /// of the warp must take part.
            #[must_use]
            #[track_caller]
            pub fn swap_layout<const H2: usize, const W2: usize>(&self) -> Rt<'k, $t, H2, W2, Row> {
                const { assert!(H2 == 2 * H && W == 2 * W2, "expected the same matrix: twice the height in subtiles and half the width") }
                bytes_swapped(self)
            }

            /// Returns the transposed matrix in the same layout. `H2` must be `W`/2 and `W2` must be 2`H`; other sizes do not compile. All
            /// lanes of the warp must take part.
            #[must_use]
            #[track_caller]
            pub fn transpose<const H2: usize, const W2: usize>(&self) -> Rt<'k, $t, H2, W2, Col> {
                const { assert!(W2 == 2 * H && W == 2 * H2, "expected the transposed matrix: half the width by twice the height in subtiles") }
                bytes_swapped::<_, H, W, Col, W2, H2, Row>(self).into_transposed()
            }
        }
    };
}

element_types! { words, bytes }

/// Converts a tile to the other layout, one block of 32×32 elements at a time.
#[track_caller]
fn bytes_swapped<'k, T, const H: usize, const W: usize, L, const H2: usize, const W2: usize, L2>(
    tile: &Rt<'k, T, H, W, L>,
) -> Rt<'k, T, H2, W2, L2>
where
    T: TensorElement,
    L: RegisterLayout,
    L2: RegisterLayout,
{
    let (row, col) = ([2, 1], [1, 2]);
    // A column tile has the same registers as a row tile of the transposed matrix; the same applies to the results.
    let (from, to) = if L::LAYOUT == TileLayout::Row { (row, col) } else { (col, row) };
    let layouts = steps(register_layout::<T, Row>(2, 1), register_layout::<T, Col>(1, 2));
    let registers = Rt::<T, 1, 1, L>::SUBTILE_REGISTERS;
    let blocks = [Blocks { of: from, width: W, registers }, Blocks { of: to, width: W2, registers }];
    let k = tile.kernel();
    let _located = k.locate(Location::caller());
    Rt::of_registers(k, k.all_owned(|| moved(k, &tile.words(), blocks, &layouts)))
}
