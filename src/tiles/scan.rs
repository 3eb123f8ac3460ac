//! Prefix sums, products, maxima and minima along rows and columns of register tiles, and of vectors.
//!
//! Each digit of a coordinate along the line is a bit of the lane index or a digit of the value index
//! ([`TvLayout::along`](crate::layout::TvLayout::along)). For each digit, starting from the lowest, every group of elements that differ
//! only in lower digits is combined with the preceding groups: directly within a lane, and with a butterfly shuffle of the groups' totals
//! between lanes. Every lane that owns elements of a line then has the line's total, from which the scan of the next tile continues.

use std::{collections::BTreeMap, panic::Location};

use super::{
    coordinates::{lane_bits, uniformity_of_exchanged, value_offsets, vector_values},
    element::RegisterLayout,
    reduce::{Accumulate, MAX, MIN, PRODUCT, SUM, for_each_element},
    registers::Registers,
    rt::Rt,
    vector::{ColVec, RowVec, Rv},
    vector_layout::VectorLayout,
};
use crate::{
    layout::{ThreadBit, TvLayout},
    ptx::{Builder, Combine, RegId, Scalar, Shuffle, Val, shuffle, traits::Numeric},
    tensor::{Fragment, TensorElement},
};

/// The elements of a lane on one line whose coordinates differ only in the digits combined so far.
struct Group<'k, S: Scalar> {
    /// The coordinate along the line, without these digits.
    at: i64,
    /// The indices of its values.
    values: Vec<usize>,
    /// The result over the whole group, including its elements in other lanes.
    total: Val<'k, S>,
}

/// The state of a scan: the combining operation, and the results so far, by value index.
struct Scan<'k, S: Scalar> {
    k: Builder<'k>,
    how: Combine,
    results: Vec<Val<'k, S>>,
}

impl<'k, S: Numeric> Scan<'k, S> {
    /// Combines `before` with the results of a group's values.
    #[track_caller]
    fn add_before(&mut self, values: &[usize], before: Val<'k, S>) {
        for &value in values {
            self.results[value] = self.how.apply(self.results[value], before);
        }
    }

    /// Combines `before` with the results of a group's values if `is_later`.
    #[track_caller]
    fn add_before_if(&mut self, is_later: Val<'k, bool>, values: &[usize], before: Val<'k, S>) {
        // Maxima have no identity element, because NaN and −∞ differ.
        match self.how {
            SUM => self.add_before(values, is_later.select(before, S::ZERO)),
            PRODUCT => self.add_before(values, is_later.select(before, S::ONE)),
            _ => {
                for &value in values {
                    let own = self.results[value];
                    self.results[value] = is_later.select(self.how.apply(before, own), own);
                }
            }
        }
    }

    /// Combines, in order, the groups whose coordinates are in the same interval of length `span`.
    #[track_caller]
    fn merge(&mut self, groups: Vec<Group<'k, S>>, span: i64) -> Vec<Group<'k, S>> {
        let mut merged: Vec<Group<'k, S>> = Vec::new();
        for group in groups {
            match merged.last_mut().filter(|last| last.at / span == group.at / span) {
                Some(last) => {
                    self.add_before(&group.values, last.total);
                    last.total = self.how.apply(last.total, group.total);
                    last.values.extend(group.values);
                }
                None => merged.push(group),
            }
        }
        merged
    }

    /// Replaces a lane's elements on one line with their results along the line; `line` maps coordinates to value indices. Returns the
    /// result of the whole line.
    #[track_caller]
    fn scan_line(&mut self, line: BTreeMap<i64, usize>, bits: &[ThreadBit]) -> Val<'k, S> {
        let group = |(at, value): (i64, usize)| Group { at, values: vec![value], total: self.results[value] };
        let mut groups: Vec<_> = line.into_iter().map(group).collect();
        for bit in bits {
            groups = self.merge(groups, bit.offset);
            let is_later = (self.k.lane().rank() & (1_u32 << bit.bit)).ne(0);
            for group in &mut groups {
                let other = shuffle(self.k, Shuffle::Bfly, group.total, (1 << bit.bit).into());
                self.add_before_if(is_later, &group.values, other);
                group.total = self.how.apply(group.total, other);
            }
        }
        self.merge(groups, i64::MAX).pop().expect("a line has elements").total
    }
}

/// Asserts that the subtiles of the sums have the same shape as those of the tile's elements.
const fn assert_scans<T: Accumulate>() {
    assert!(
        T::SUBTILE_LENGTH == <T::Sum as TensorElement>::SUBTILE_LENGTH,
        "the sums of 8-bit elements have subtiles of another shape: scan the widened tile, `t.widen::<f32, 1, 4>().row_scan()` for 16×64 \
         elements"
    );
}

/// Scans a tile or vector with the given layout along an axis and returns the results, by value index. `slots` contains the index of each
/// value's line. If `before` is not empty, continues from its elements and appends the total of each line of the tile, by slot.
#[track_caller]
fn scan<'k, T: Accumulate>(
    fragment: &Fragment<'k, T>,
    layout: &TvLayout,
    axis: usize,
    slots: &[usize],
    how: Combine,
    before: &[Val<'k, T::Sum>],
) -> Vec<Val<'k, T::Sum>> {
    let along = value_offsets(layout, axis);
    let mut bits = lane_bits(layout, axis);
    bits.sort_by_key(|bit| bit.offset);
    let mut lines: BTreeMap<usize, BTreeMap<i64, usize>> = BTreeMap::new();
    let mut scan = Scan { k: fragment.kernel(), how, results: Vec::with_capacity(along.len()) };
    for_each_element(fragment, &mut |value, element| {
        lines.entry(slots[value]).or_default().insert(along[value], value);
        scan.results.push(element);
    });
    let mut totals = Vec::with_capacity(lines.len());
    for (slot, line) in lines {
        let values: Vec<usize> = line.values().copied().collect();
        totals.push(scan.scan_line(line, &bits));
        if let Some(&before) = before.get(slot) {
            scan.add_before(&values, before);
        }
    }
    if !before.is_empty() {
        scan.results.extend(totals);
    }
    scan.results
}

macro_rules! scans {
    ($($what:literal $combined:literal $how:ident $row:ident $row_with:ident $col:ident $col_with:ident $vector:ident $vector_with:ident;)*) => {
        impl<'k, T: Accumulate, const H: usize, const W: usize, L: RegisterLayout> Rt<'k, T, H, W, L> {$(
            #[doc = concat!("Returns the prefix ", $what, " along each row: element (i, j) of the result is the ", $combined, " of elements (i, 0) to (i, j), computed in")]
            /// [`Accumulate::Sum`].
            ///
            /// A tile of 8-bit elements must first be [widened](Self::widen), because the subtiles of the
            /// result have a different shape; the call does not compile otherwise.
            ///
            /// All lanes of the warp must take part. Per 8×8 elements, a scan along rows requires two shuffles for a [`Row`](super::Row)
            /// tile and six for a [`Col`](super::Col) tile; a scan along columns requires six for a `Row` tile and two for a `Col` tile.
            /// 64-bit sums require twice as many.
            #[doc(alias = "cumsum")]
            #[doc(alias = "prefix sum")]
            #[must_use]
            #[track_caller]
            pub fn $row(&self) -> Rt<'k, T::Sum, H, W, L> {
                const { assert_scans::<T>() };
                self.scanned(1, $how, &[]).0
            }

            #[doc = concat!("Returns the prefix ", $what, " along each row, continued from the tiles to the left: `before` contains the ", $combined, " of each row of those tiles.")]
            ///
            #[doc = concat!("Also returns the ", $combined, " of each row of those tiles and this one. This vector replaces `before` in its registers, so a loop over the tiles of a row can carry it.")]
            #[must_use]
            #[track_caller]
            pub fn $row_with(
                &self,
                before: ColVec<'k, T::Sum, H, L, T::Length>,
            ) -> (Rt<'k, T::Sum, H, W, L>, ColVec<'k, T::Sum, H, L, T::Length>) {
                const { assert_scans::<T>() };
                let (tile, totals) = self.scanned(1, $how, &before.words());
                (tile, Rv::of_registers(self.kernel(), totals).combined_into(before, $how))
            }

            #[doc = concat!("Returns the prefix ", $what, " along each column; see [`", stringify!($row), "`](Self::", stringify!($row), ").")]
            #[doc(alias = "cumsum")]
            #[doc(alias = "prefix sum")]
            #[must_use]
            #[track_caller]
            pub fn $col(&self) -> Rt<'k, T::Sum, H, W, L> {
                const { assert_scans::<T>() };
                self.scanned(0, $how, &[]).0
            }

            #[doc = concat!("Returns the prefix ", $what, " along each column, continued from the tiles above: `before` contains the ", $combined, " of each column of those tiles.")]
            ///
            #[doc = concat!("Also returns the ", $combined, " of each column of those tiles and this one. This vector replaces `before` in its registers, so a loop over the tiles of a column can carry it.")]
            #[must_use]
            #[track_caller]
            pub fn $col_with(
                &self,
                before: RowVec<'k, T::Sum, W, L, T::Length>,
            ) -> (Rt<'k, T::Sum, H, W, L>, RowVec<'k, T::Sum, W, L, T::Length>) {
                const { assert_scans::<T>() };
                let (tile, totals) = self.scanned(0, $how, &before.words());
                (tile, Rv::of_registers(self.kernel(), totals).combined_into(before, $how))
            }
        )*}

        impl<'k, T: Accumulate, const N: usize, V: VectorLayout> Rv<'k, T, N, V> {$(
            #[doc = concat!("Returns the prefix ", $what, ": element i of the result is the ", $combined, " of elements 0 to i, computed in [`Accumulate::Sum`].")]
            ///
            /// All lanes of the warp must take part. A [`Naive`](super::Naive) vector requires the fewest shuffles: at most five for each
            /// run of adjacent elements that a lane owns, or ten for 64-bit sums.
            #[doc(alias = "cumsum")]
            #[doc(alias = "prefix sum")]
            #[must_use]
            #[track_caller]
            pub fn $vector(&self) -> Rv<'k, T::Sum, N, V> {
                self.scanned($how, &[]).0
            }

            #[doc = concat!("Returns the prefix ", $what, ", continued from preceding elements whose ", $combined, " is `before`.")]
            ///
            #[doc = concat!("Also returns the ", $combined, " of those elements and this vector, which is the same in all lanes.")]
            #[must_use]
            #[track_caller]
            pub fn $vector_with(
                &self,
                before: impl Into<Val<'k, T::Sum>>,
            ) -> (Rv<'k, T::Sum, N, V>, Val<'k, T::Sum>) {
                let before = before.into();
                let (vector, totals) = self.scanned($how, &[before]);
                let total: Val<'k, T::Sum> = Val::from_reg(totals[0], self.kernel());
                let total = total.known_uniform(uniformity_of_exchanged(&Self::layout()));
                (vector, $how.apply(before, total))
            }
        )*}
    };
}

scans! {
    // what     one       combine rows                            columns                         vectors
    "sums"     "sum"     SUM     row_scan      row_scan_with      col_scan      col_scan_with      scan      scan_with;
    "products" "product" PRODUCT row_scan_prod row_scan_prod_with col_scan_prod col_scan_prod_with scan_prod scan_prod_with;
    "maxima"   "maximum" MAX     row_scan_max  row_scan_max_with  col_scan_max  col_scan_max_with  scan_max  scan_max_with;
    "minima"   "minimum" MIN     row_scan_min  row_scan_min_with  col_scan_min  col_scan_min_with  scan_min  scan_min_with;
}

impl<'k, T: Accumulate, const H: usize, const W: usize, L: RegisterLayout> Rt<'k, T, H, W, L> {
    /// Returns the prefix results along `axis`. If `before` is not empty, continues from its elements and also returns the registers that
    /// contain the total of each line of this tile.
    #[track_caller]
    fn scanned(
        &self,
        axis: usize,
        how: Combine,
        before: &[Val<'k, T::Sum>],
    ) -> (Rt<'k, T::Sum, H, W, L>, Vec<RegId>) {
        let (k, layout) = (self.kernel(), Self::layout());
        let _located = k.locate(Location::caller());
        let slots = vector_values(&layout, 1 - axis);
        let mut registers = k.all_owned(|| scan(&self.fragment, &layout, axis, &slots, how, before));
        let totals = registers.split_off(slots.len());
        (Rt::of_registers(k, registers), totals)
    }
}

impl<'k, T: Accumulate, const N: usize, V: VectorLayout> Rv<'k, T, N, V> {
    /// Returns the prefix results. If `before` is not empty, continues from its element and also returns the register that contains the
    /// total of this vector.
    #[track_caller]
    fn scanned(&self, how: Combine, before: &[Val<'k, T::Sum>]) -> (Rv<'k, T::Sum, N, V>, Vec<RegId>) {
        let (k, layout) = (self.kernel(), Self::layout());
        let _located = k.locate(Location::caller());
        let slots = vec![0; layout.values() as usize];
        let mut registers = k.all_owned(|| scan(self.fragment(), &layout, 0, &slots, how, before));
        let totals = registers.split_off(slots.len());
        (Rv::of_registers(k, registers), totals)
    }
}
