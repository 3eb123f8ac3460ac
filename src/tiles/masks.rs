//! Masks, which replace the elements on one side of a diagonal, a row or a column.
//!
//! Most masks compare one register, which depends on the lane and on the position of the mask, with one constant per value. Values with the
//! same constant share a comparison.

use std::panic::Location;

use super::{element::RegisterLayout, elements::rewrite_elements, registers::Registers, rt::Rt};
use crate::{
    ptx::{Val, traits::Numeric},
    tensor::TensorElement,
};

impl<'k, T: TensorElement, const H: usize, const W: usize, L: RegisterLayout> Rt<'k, T, H, W, L> {
    /// Sets each element for which `f(row, col)` is true to `value`, in place: `t.fill_where(0.0, |row, col| row.eq(col))`. `row` and `col`
    /// are the coordinates of the element in the tile.
    #[must_use]
    #[track_caller]
    pub fn fill_where(
        mut self,
        value: impl Into<Val<'k, T::Reg>>,
        f: impl Fn(Val<'k, u32>, Val<'k, u32>) -> Val<'k, bool>,
    ) -> Self {
        let (k, value) = (self.kernel(), value.into());
        let [rows, cols] = {
            let _located = k.locate(Location::caller());
            Self::coordinates(k)
        };
        rewrite_elements(&mut self, |at, x| f(rows.at(at), cols.at(at)).select(value, x));
        self
    }

    /// Replaces each element for which `key` is greater than `constant`. `key` receives the row and column of the lane's first element;
    /// `constant` receives the element's offsets from that row and column.
    #[track_caller]
    fn fill_above(
        mut self,
        value: Val<'k, T::Reg>,
        key: impl Fn(Val<'k, i32>, Val<'k, i32>) -> Val<'k, i32>,
        constant: impl Fn(i64, i64) -> i64,
    ) -> Self {
        let k = self.kernel();
        let [rows, cols] = Self::coordinates(k);
        let key = key(rows.lane.cast(), cols.lane.cast());
        let above = greater(key, [&rows.offsets, &cols.offsets], &constant);
        rewrite_elements(&mut self, |at, x| above[at].select(value, x));
        self
    }

    /// Replaces the elements above the main diagonal with `value`. In a square tile of attention scores on the main diagonal, these are the
    /// scores of keys that follow the query.
    #[doc(alias = "make_causal")]
    #[must_use]
    #[track_caller]
    pub fn causal(self, value: impl Into<Val<'k, T::Reg>>) -> Self {
        let k = self.kernel();
        let _located = k.locate(Location::caller());
        self.tril(0, value)
    }

    /// Replaces the elements below the main diagonal with `value`. This is the causal mask of a transposed tile.
    #[doc(alias = "make_causal_t")]
    #[must_use]
    #[track_caller]
    pub fn causal_transposed(self, value: impl Into<Val<'k, T::Reg>>) -> Self {
        let k = self.kernel();
        let _located = k.locate(Location::caller());
        self.triu(0, value)
    }

    /// Keeps the lower triangle, that is, the elements with `col ≤ row + diagonal`, and replaces the others with `value`. For a tile that
    /// starts at element (`row0`, `col0`) of a matrix, pass `row0 − col0` to mask along the main diagonal of the matrix.
    #[must_use]
    #[track_caller]
    pub fn tril(self, diagonal: impl Into<Val<'k, i32>>, value: impl Into<Val<'k, T::Reg>>) -> Self {
        let (k, value) = (self.kernel(), value.into());
        let _located = k.locate(Location::caller());
        let diagonal = Self::clamped(diagonal.into());
        self.fill_above(value, |row, col| col - row - diagonal, |row, col| row - col)
    }

    /// Keeps the upper triangle, that is, the elements with `col ≥ row + diagonal`, and replaces the others with `value`; see
    /// [`tril`](Self::tril).
    #[must_use]
    #[track_caller]
    pub fn triu(self, diagonal: impl Into<Val<'k, i32>>, value: impl Into<Val<'k, T::Reg>>) -> Self {
        let (k, value) = (self.kernel(), value.into());
        let _located = k.locate(Location::caller());
        let diagonal = Self::clamped(diagonal.into());
        self.fill_above(value, |row, col| row - col + diagonal, |row, col| col - row)
    }

    /// Replaces the elements in column `col` and all later columns with `value`, for example to mask the keys past the end of a sequence.
    #[must_use]
    #[track_caller]
    pub fn right_fill(self, col: impl Into<Val<'k, u32>>, value: impl Into<Val<'k, T::Reg>>) -> Self {
        let (k, value) = (self.kernel(), value.into());
        let _located = k.locate(Location::caller());
        let col: Val<'k, i32> = col.into().min(Self::COLS).cast();
        self.fill_above(value, |_, own| own - col, |_, own| -own - 1)
    }

    /// Replaces the elements in columns before `col` with `value`.
    #[must_use]
    #[track_caller]
    pub fn left_fill(self, col: impl Into<Val<'k, u32>>, value: impl Into<Val<'k, T::Reg>>) -> Self {
        let (k, value) = (self.kernel(), value.into());
        let _located = k.locate(Location::caller());
        let col: Val<'k, i32> = col.into().min(Self::COLS).cast();
        self.fill_above(value, |_, own| col - own, |_, own| own)
    }

    /// Replaces the elements in rows before `row` with `value`.
    #[must_use]
    #[track_caller]
    pub fn upper_fill(self, row: impl Into<Val<'k, u32>>, value: impl Into<Val<'k, T::Reg>>) -> Self {
        let (k, value) = (self.kernel(), value.into());
        let _located = k.locate(Location::caller());
        let row: Val<'k, i32> = row.into().min(Self::ROWS).cast();
        self.fill_above(value, |own, _| row - own, |own, _| own)
    }

    /// Replaces the elements in row `row` and all later rows with `value`.
    #[must_use]
    #[track_caller]
    pub fn lower_fill(self, row: impl Into<Val<'k, u32>>, value: impl Into<Val<'k, T::Reg>>) -> Self {
        let (k, value) = (self.kernel(), value.into());
        let _located = k.locate(Location::caller());
        let row: Val<'k, i32> = row.into().min(Self::ROWS).cast();
        self.fill_above(value, |own, _| own - row, |own, _| -own - 1)
    }

    /// Replaces the elements whose row is less than `row` and whose column is at least `col` with `value`.
    #[must_use]
    #[track_caller]
    pub fn upper_right_fill(
        self,
        row: impl Into<Val<'k, u32>>,
        col: impl Into<Val<'k, u32>>,
        value: impl Into<Val<'k, T::Reg>>,
    ) -> Self {
        let (k, row, col) = (self.kernel(), row.into(), col.into());
        let _located = k.locate(Location::caller());
        self.fill_where(value, |own_row, own_col| own_row.lt(row) & own_col.ge(col))
    }

    /// Returns a diagonal that separates the same elements and cannot overflow when added to coordinates.
    #[track_caller]
    fn clamped(diagonal: Val<'k, i32>) -> Val<'k, i32>
    where
        i32: Numeric,
    {
        let most = (Self::ROWS + Self::COLS) as i32;
        diagonal.max(-most).min(most)
    }
}

/// Returns, for each value, whether `key` is greater than the result of `constant` for the value's row and column offsets. Emits one
/// comparison for each distinct constant.
#[track_caller]
fn greater<'k>(
    key: Val<'k, i32>,
    [rows, cols]: [&[i64]; 2],
    constant: &dyn Fn(i64, i64) -> i64,
) -> Vec<Val<'k, bool>> {
    let mut compared: Vec<(i64, Val<'k, bool>)> = Vec::new();
    let mut above = Vec::with_capacity(rows.len());
    for (&row, &col) in rows.iter().zip(cols) {
        let constant = constant(row, col);
        let known = compared.iter().find(|(other, _)| *other == constant).map(|(_, above)| *above);
        above.push(known.unwrap_or_else(|| {
            let above = key.gt(constant as i32);
            compared.push((constant, above));
            above
        }));
    }
    above
}
