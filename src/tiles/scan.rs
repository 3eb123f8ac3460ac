//! Prefix sums along rows and columns of register tiles, and of vectors.
//!
//! The digits of a coordinate along the line, from the lowest, are bits of the lane number or digits of the value number
//! ([`TvLayout::along`](crate::layout::TvLayout::along)). For each digit, every group of elements that differ in lower digits only is
//! combined with the groups before it: between lanes by a butterfly shuffle of the groups' totals, within a lane by sums.

use std::{collections::BTreeMap, panic::Location};

use super::{
    coordinates::{lane_bits, value_offsets},
    element::RegisterLayout,
    reduce::{Accumulate, for_each_element},
    registers::Registers,
    rt::Rt,
    vector::Rv,
    vector_layout::VectorLayout,
};
use crate::{
    layout::{ThreadBit, TvLayout},
    ptx::{Builder, RegId, Scalar, Shuffle, Val, shuffle, traits::Numeric},
    tensor::{Fragment, TensorElement},
};

/// The elements of a lane on one line whose coordinates differ in the digits combined so far.
struct Group<'k, S: Scalar> {
    /// The coordinate along the line without those digits.
    at: i64,
    /// The numbers of its values.
    values: Vec<usize>,
    /// The sum over the group, over all lanes that the digits reach.
    total: Val<'k, S>,
}

/// Adds `before` to the prefix sums of a group's values.
#[track_caller]
fn add_before<'k, S: Numeric>(sums: &mut [Val<'k, S>], values: &[usize], before: Val<'k, S>) {
    for &value in values {
        sums[value] = sums[value] + before;
    }
}

/// Combines groups whose coordinates differ by less than `span`, in order.
#[track_caller]
fn merge<'k, S: Numeric>(groups: Vec<Group<'k, S>>, span: i64, sums: &mut [Val<'k, S>]) -> Vec<Group<'k, S>> {
    let mut merged: Vec<Group<'k, S>> = Vec::new();
    for group in groups {
        match merged.last_mut().filter(|last| last.at / span == group.at / span) {
            Some(last) => {
                add_before(sums, &group.values, last.total);
                last.total = last.total + group.total;
                last.values.extend(group.values);
            }
            None => merged.push(group),
        }
    }
    merged
}

/// Replaces the elements of one line of a lane by their prefix sums along the line; `line` has coordinates and value numbers.
#[track_caller]
fn scan_line<'k, S: Numeric>(
    k: Builder<'k>,
    line: BTreeMap<i64, usize>,
    bits: &[ThreadBit],
    sums: &mut [Val<'k, S>],
) {
    let group = |(at, value): (i64, usize)| Group { at, values: vec![value], total: sums[value] };
    let mut groups: Vec<_> = line.into_iter().map(group).collect();
    for bit in bits {
        groups = merge(groups, bit.offset, sums);
        let is_later = (k.lane().rank() & (1_u32 << bit.bit)).ne(0);
        for group in &mut groups {
            let other = shuffle(k, Shuffle::Bfly, group.total, (1 << bit.bit).into());
            add_before(sums, &group.values, is_later.select(other, S::ZERO));
            group.total = group.total + other;
        }
    }
    merge(groups, i64::MAX, sums);
}

/// Asserts that the sums of a tile's elements have subtiles of the same shape.
const fn assert_scans<T: Accumulate>() {
    assert!(
        T::SUBTILE_LENGTH == <T::Sum as TensorElement>::SUBTILE_LENGTH,
        "the sums of 8-bit elements have subtiles of another shape: scan the widened tile, `t.widen::<f32, 1, 4>().row_scan()` for 16×64 \
         elements"
    );
}

/// Replaces the elements of a tile or vector of a layout by their prefix sums along an axis, in fresh registers.
#[track_caller]
fn scan<'k, T: Accumulate>(fragment: &Fragment<'k, T>, layout: &TvLayout, axis: usize) -> Vec<RegId> {
    let k = fragment.kernel();
    let along = value_offsets(layout, axis);
    let across =
        if layout.shape().rank() == 1 { vec![0; along.len()] } else { value_offsets(layout, 1 - axis) };
    let mut bits = lane_bits(layout, axis);
    bits.sort_by_key(|bit| bit.offset);
    let mut lines: BTreeMap<i64, BTreeMap<i64, usize>> = BTreeMap::new();
    let mut sums = Vec::with_capacity(along.len());
    for_each_element(fragment, &mut |value, element| {
        lines.entry(across[value]).or_default().insert(along[value], value);
        sums.push(element);
    });
    k.all_owned(|| {
        lines.into_values().for_each(|line| scan_line(k, line, &bits, &mut sums));
        sums
    })
}

impl<'k, T: Accumulate, const H: usize, const W: usize, L: RegisterLayout> Rt<'k, T, H, W, L> {
    /// Returns the prefix sums along each row: element (i, j) of the result is the sum of elements (i, 0) to (i, j), in
    /// [`Accumulate::Sum`]. Tiles of 8-bit elements must first be [widened](Self::widen), because their sums have subtiles of another
    /// shape.
    ///
    /// All lanes of the warp must take part. A [`Row`](super::Row) tile takes two shuffles per 8×8 elements.
    #[doc(alias = "cumsum")]
    #[doc(alias = "prefix sum")]
    #[must_use]
    #[track_caller]
    pub fn row_scan(&self) -> Rt<'k, T::Sum, H, W, L> {
        const { assert_scans::<T>() };
        let k = self.kernel();
        let _located = k.locate(Location::caller());
        Rt::of_registers(k, scan(&self.fragment, &Self::layout(), 1))
    }

    /// Returns the prefix sums along each column; see [`row_scan`](Self::row_scan).
    #[doc(alias = "cumsum")]
    #[doc(alias = "prefix sum")]
    #[must_use]
    #[track_caller]
    pub fn col_scan(&self) -> Rt<'k, T::Sum, H, W, L> {
        const { assert_scans::<T>() };
        let k = self.kernel();
        let _located = k.locate(Location::caller());
        Rt::of_registers(k, scan(&self.fragment, &Self::layout(), 0))
    }
}

impl<'k, T: Accumulate, const N: usize, V: VectorLayout> Rv<'k, T, N, V> {
    /// Returns the prefix sums: element i of the result is the sum of elements 0 to i. Elements are summed in [`Accumulate::Sum`].
    ///
    /// All lanes of the warp must take part. A [`Naive`](super::Naive) vector takes the fewest shuffles, up to five.
    #[doc(alias = "cumsum")]
    #[doc(alias = "prefix sum")]
    #[must_use]
    #[track_caller]
    pub fn scan(&self) -> Rv<'k, T::Sum, N, V> {
        let k = self.kernel();
        let _located = k.locate(Location::caller());
        Rv::of_registers(k, scan(self.fragment(), &Self::layout(), 0))
    }
}
