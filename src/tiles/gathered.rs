//! MMA operands that are converted from 8-bit elements without moving elements between lanes. Their columns are therefore reordered so that
//! each lane owns adjacent elements.

use std::panic::Location;

use super::{
    blocks::{Blocks, moved},
    convert::{fragment_of, through_f32},
    element::{Col, Row, register_layout},
    registers::Registers,
    rt::Rt,
    shared_copies::{Rectangle, Subtile, SubtileMut},
    widen::assert_same_matrix,
};
use crate::{
    layout::{Layout, LayoutError, TvLayout},
    ptx::Val,
    tensor::{ConvertibleElement, Fragment, TensorElement, copy, in_order, words_of},
};

/// The number of words of a subtile of 8-bit or 16-bit elements.
const WORDS: usize = 4;

impl<'k, T: ConvertibleElement, const H: usize, const W: usize> Rt<'k, T, H, W, Row> {
    /// Converts 8-bit elements to a 16-bit type. In every 32 columns, the columns of the result are in the order of
    /// [`in_order_of_lanes`](Self::in_order_of_lanes), so that each lane converts its own elements.
    #[track_caller]
    pub(crate) fn widen_in_lanes<U, const W2: usize>(&self) -> Rt<'k, U, H, W2, Row>
    where
        U: ConvertibleElement,
        T: TensorElement<Word = u32>,
    {
        const {
            assert!(T::SIZE == 1 && U::SIZE == 2, "8-bit elements are converted to 16-bit elements");
            assert_same_matrix::<T, U, H, W, H, W2, Row>();
        }
        let k = self.kernel();
        let _located = k.locate(Location::caller());
        let converted = k.all_owned(|| {
            let of_subtile = |words: &[Val<'k, u32>]| {
                let pairs: Vec<_> = words.iter().map(|&word| through_f32::<T, U>(&[word])).collect();
                // The words of an 8-bit subtile alternate between rows 8 apart; the first two words are in the first 16 columns.
                [0, 1].map(|half| [0, 1].map(|pair| [0, 1].map(|row| pairs[2 * half + row][pair])))
            };
            self.words().chunks_exact(WORDS).flat_map(of_subtile).flatten().flatten().collect()
        });
        Rt::of_registers(k, converted)
    }
}

impl<'k, T: TensorElement, const H: usize, const W: usize> Rt<'k, T, H, W, Row> {
    /// Reorders the columns of a tile of 16-bit elements as in [`widen_in_lanes`](Self::widen_in_lanes): in
    /// every 32 columns, lane 4g + t owns columns 4t to 4t + 3 and 16 + 4t to 16 + 4t + 3. All lanes of the
    /// warp must take part.
    #[track_caller]
    pub(crate) fn in_order_of_lanes(&self) -> Self {
        const { assert!(T::SIZE == 2 && W.is_multiple_of(2), "the tile has 32 columns of 16-bit elements") };
        let k = self.kernel();
        let _located = k.locate(Location::caller());
        let blocks = Blocks { of: [1, 2], width: W, registers: WORDS };
        // The modes of values are a pair of columns, the row 8 rows below, the next pair, and the next 16 columns.
        let to = Layout::new(((4, 8), (2, 2, 2, 2)), ((64, 1), (16, 8, 32, 256)));
        let to = tv_layout("columns in the order of lanes", 32, to);
        let to = to.packed(T::PER_WORD as u32).expect("a lane owns pairs");
        let layouts = [register_layout::<T, Row>(1, 2), to];
        Rt::of_registers(k, k.all_owned(|| moved(k, &self.words(), [blocks; 2], &layouts)))
    }
}

/// The column order of an MMA result whose operand B was loaded by [`load_widened`](Subtile::load_widened): in each `16·P` columns, column
/// g of the j-th group of eight columns is column `2·P·g + j`.
pub(crate) struct Gathered<const P: usize>;

impl<const P: usize> Gathered<P> {
    /// The number of adjacent columns that a lane owns.
    const ADJACENT: i64 = 2 * P as i64;

    /// Returns the layout of 16 rows of `width` subtiles of 8-bit elements, as operand B of an MMA. The value modes step to the adjacent
    /// column, by `16·P` columns, to the next row, and by 8 rows, in this order.
    fn of_factor(width: usize) -> TvLayout {
        let parts = width as i64 / P as i64;
        let shape = ((4, 8), (Self::ADJACENT, parts, 2, 2));
        let stride = ((2, 16 * Self::ADJACENT), (16, 256 * P as i64, 1, 8));
        tv_layout("gathered columns of a factor", 16 * width as i64, Layout::new(shape, stride))
    }

    /// Returns the layout of 16 rows of `P` subtiles of a result, whose values are in the order of the registers of a tile of 32-bit
    /// elements.
    fn of_result() -> TvLayout {
        let shape = ((4, 8), (2, 2, 2, P as i64));
        let stride = ((32 * Self::ADJACENT, 1), (16 * Self::ADJACENT, 8, 16, 32));
        tv_layout("gathered columns of a result", 16 * P as i64, Layout::new(shape, stride))
    }
}

/// Returns a (lane, value) layout of 16 rows of `columns` elements.
fn tv_layout(name: &str, columns: i64, layout: Result<Layout, LayoutError>) -> TvLayout {
    layout
        .map_err(Into::into)
        .and_then(|layout| TvLayout::new(name, (16, columns), layout))
        .expect("every element has an owner")
}

impl<'k, T: ConvertibleElement + TensorElement<Word = u32>> Subtile<'_, 'k, T> {
    /// Loads 16 rows of `E` subtiles of 8-bit elements as operand B of an MMA, and converts them to a 16-bit type. The columns are in the
    /// order of [`Gathered`]. If `end` is given, only the first `end` rows are loaded, and the others are zeros.
    #[track_caller]
    pub(crate) fn load_widened<U, const E: usize, const P: usize>(
        &self,
        end: Option<Val<'k, u32>>,
    ) -> Rt<'k, U, 1, E, Col>
    where
        U: ConvertibleElement,
    {
        const {
            assert!(T::SIZE == 1 && U::SIZE == 2, "8-bit elements are converted to 16-bit elements");
            assert!(E.is_multiple_of(P), "parts have the same number of columns");
        }
        let Rectangle { tile, row, col, .. } = &self.0;
        let k = tile.kernel();
        let _located = k.locate(Location::caller());
        k.check_warp_tile(self.0.coordinates(), false);
        let (layout, lane) = (Gathered::<P>::of_factor(E), k.lane().rank());
        let rows = tile.rectangle([16, 16 * E as u32], [16, T::SUBTILE_LENGTH], [*row, *col]);
        let fragment = fragment_of::<T>(k, layout.values());
        copy(&fragment, &rows.lane_part(&layout, lane));
        let words = words_of(&fragment);
        let of_row: Vec<_> = words.chunks_exact(words.len() / ROWS.len()).zip(ROWS).collect();
        let in_use = |&word: &Val<'k, u32>, row: u32| match end {
            Some(end) => (lane % 4 * 2 + row).lt(end).select(word, 0),
            None => word,
        };
        // The elements of the same column in two adjacent rows become a pair.
        let pairs = |[upper, lower]: [&(&[Val<'k, u32>], u32); 2]| -> Vec<Val<'k, U::Word>> {
            let words = upper.0.iter().zip(lower.0);
            let words = words.map(|(above, below)| [in_use(above, upper.1), in_use(below, lower.1)]);
            let pairs =
                words.flat_map(|[above, below]| [0x5140, 0x7362].map(|bytes| above.permute(below, bytes)));
            pairs.flat_map(|pairs| through_f32::<T, U>(&[pairs])).collect()
        };
        let registers = k.all_owned(|| {
            let [first, second] = [pairs([&of_row[0], &of_row[1]]), pairs([&of_row[2], &of_row[3]])];
            let subtiles = first.chunks_exact(2).zip(second.chunks_exact(2));
            subtiles.flat_map(|(first, second)| [first, second].concat()).collect()
        });
        Rt::of_registers(k, registers)
    }
}

/// The rows of a lane's elements within 16 rows of an operand, relative to the lane's first row.
const ROWS: [u32; 4] = [0, 1, 8, 9];

impl<'k, T: TensorElement> SubtileMut<'_, 'k, T> {
    /// Stores a warp's tile of 32-bit elements, whose columns are in the order of [`Gathered`], in their usual order.
    #[track_caller]
    pub(crate) fn store_gathered<const P: usize>(&self, tile: &Rt<'k, T, 1, P, Row>) {
        const { assert!(T::SIZE == 4, "results have 32-bit elements") };
        let Rectangle { tile: memory, row, col, .. } = &self.0;
        let k = memory.kernel();
        let _located = k.locate(Location::caller());
        k.check_stored_tile(self.0.coordinates(), self.1);
        let layout = Gathered::<P>::of_result();
        let rows = memory.rectangle([16, 16 * P as u32], [16, 16], [*row, *col]);
        let registers = tile.fragment().all_registers().to_vec();
        let _ = copy(
            &rows.lane_part(&layout, k.lane().rank()),
            &Fragment::over(k, registers, in_order(layout.values())),
        );
    }
}
