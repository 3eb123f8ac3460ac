//! Positions of the largest and smallest elements of rows and columns.

use std::panic::Location;

use super::{
    coordinates::{Coordinates, lane_bits, vector_values},
    element::RegisterLayout,
    reduce::{Accumulate, for_each_element},
    registers::Registers,
    rt::Rt,
    vector::{ColVec, RowVec, Rv},
    vector_layout::VectorLayout,
};
use crate::{
    layout::TvLayout,
    ptx::{Builder, Comparison, Scalar, Shuffle, Val, shuffle, traits::Numeric},
    tensor::Fragment,
};

/// An element and its index along the line.
#[derive(Clone, Copy)]
struct Candidate<'k, S: Scalar> {
    element: Val<'k, S>,
    index: Val<'k, u32>,
}

impl<'k, S: Numeric> Candidate<'k, S> {
    /// Returns the better of two; of equal ones, the one with the lower index.
    #[track_caller]
    fn or_better(self, other: Self, better: Comparison) -> Self {
        let is_better = other.element.compare(better, self.element);
        let is_first = other.element.eq(self.element) & other.index.lt(self.index);
        let take = is_better | is_first;
        Self {
            element: take.select(other.element, self.element),
            index: take.select(other.index, self.index),
        }
    }

    #[track_caller]
    fn of_lane(self, k: Builder<'k>, distance: u32) -> Self {
        let (element, index) = (self.element, self.index);
        Self {
            element: shuffle(k, Shuffle::Bfly, element, distance.into()),
            index: shuffle(k, Shuffle::Bfly, index, distance.into()),
        }
    }
}

/// Returns the best element of each line across axis `keep` of a tile of a layout, and its index.
#[track_caller]
fn best<'k, T: Accumulate>(
    fragment: &Fragment<'k, T>,
    layout: &TvLayout,
    keep: usize,
    slots: &[usize],
    better: Comparison,
) -> Vec<Candidate<'k, T::Sum>> {
    let k = fragment.kernel();
    let along = Coordinates::along(k, layout, 1 - keep);
    let mut lines: Vec<Option<Candidate<'k, T::Sum>>> =
        vec![None; slots.iter().max().map_or(0, |most| most + 1)];
    for_each_element(fragment, &mut |at, element| {
        let candidate = Candidate { element, index: along.at(at) };
        let line = &mut lines[slots[at]];
        *line = Some(line.map_or(candidate, |best| best.or_better(candidate, better)));
    });
    let mut lines: Vec<_> = lines.into_iter().flatten().collect();
    for bit in lane_bits(layout, 1 - keep) {
        for line in &mut lines {
            *line = line.or_better(line.of_lane(k, 1 << bit.bit), better);
        }
    }
    lines
}

impl<'k, T: Accumulate, const H: usize, const W: usize, L: RegisterLayout> Rt<'k, T, H, W, L> {
    #[track_caller]
    fn best<const N: usize, V: VectorLayout>(
        &self,
        keep: usize,
        better: Comparison,
    ) -> (Rv<'k, T::Sum, N, V>, Rv<'k, u32, N, V>) {
        let (k, layout) = (self.kernel(), Self::layout());
        k.located(Location::caller(), || {
            let slots = vector_values(&layout, keep);
            let lines = best(&self.fragment, &layout, keep, &slots, better);
            let elements = k.all_owned(|| lines.iter().map(|line| line.element).collect());
            let indices = k.all_owned(|| lines.iter().map(|line| line.index).collect());
            (Rv::of_registers(k, elements), Rv::of_registers(k, indices))
        })
    }
}

macro_rules! extremes {
    ($($what:literal $row:ident $col:ident $comparison:ident;)*) => {
        impl<'k, T: Accumulate, const H: usize, const W: usize, L: RegisterLayout> Rt<'k, T, H, W, L> {
            $(
                #[doc = concat!("Returns the ", $what, " of each row, and the index of its column, the lowest of several. An element that is compared with NaN is not replaced.")]
                ///
                /// All lanes of the warp must take part.
                #[must_use]
                #[track_caller]
                pub fn $row(&self) -> (ColVec<'k, T::Sum, H, L>, ColVec<'k, u32, H, L>) {
                    self.best(0, Comparison::$comparison)
                }

                #[doc = concat!("Returns the ", $what, " of each column, and the index of its row, the lowest of several. An element that is compared with NaN is not replaced.")]
                ///
                /// All lanes of the warp must take part.
                #[must_use]
                #[track_caller]
                pub fn $col(&self) -> (RowVec<'k, T::Sum, W, L>, RowVec<'k, u32, W, L>) {
                    self.best(1, Comparison::$comparison)
                }
            )*
        }
    };
}

extremes! {
    "maximum" row_argmax col_argmax Gt;
    "minimum" row_argmin col_argmin Lt;
}
