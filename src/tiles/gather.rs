//! Permutations of the columns of register tiles.

use std::panic::Location;

use super::{element::RegisterLayout, exchange::Exchange, registers::Registers, rt::Rt};
use crate::tensor::TensorElement;

impl<'k, T: TensorElement, const H: usize, const W: usize, L: RegisterLayout> Rt<'k, T, H, W, L> {
    /// Returns the tile whose column `j` is column `from(j)` of this tile. A column may be used more than once.
    ///
    /// All lanes of the warp must take part. The shuffles are derived from the layout; none is emitted if each lane already owns the
    /// elements that it requires. For example, in a [`Row`](super::Row) tile of 16-bit elements, `|j| j ^ 2` requires one shuffle per
    /// register, but `|j| j ^ 1` and `|j| j ^ 8` require none.
    ///
    /// The builder rejects the call if `from` returns a column that the tile does not have.
    #[must_use]
    #[track_caller]
    pub fn gather_cols(&self, from: impl Fn(u32) -> u32) -> Self {
        let k = self.kernel();
        if let Some(col) = (0..Self::COLS).find(|&col| from(col) >= Self::COLS) {
            let (found, cols) = (from(col), Self::COLS);
            k.refuse(format!("expected a source column below {cols} for column {col}, found {found}"));
            return Self::of_registers(k, self.fragment.all_registers().to_vec());
        }
        let _located = k.locate(Location::caller());
        let (layout, rows) = (Self::layout(), i64::from(Self::ROWS));
        let source = |index: i64| index % rows + i64::from(from((index / rows) as u32)) * rows;
        let exchange = Exchange::plan_gather(&layout, &layout, source);
        Self::of_registers(k, k.all_owned(|| exchange.emit(k, &self.words())))
    }
}
