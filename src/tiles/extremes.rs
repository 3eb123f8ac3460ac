//! Positions of the largest and smallest elements of rows and columns.

use std::panic::Location;

use super::{
    coordinates::{Coordinates, lane_bits, uniformity_of_exchanged, vector_values},
    element::RegisterLayout,
    reduce::{Accumulate, for_each_element},
    registers::Registers,
    rt::Rt,
    vector::{ColVec, RowVec, Rv},
    vector_layout::VectorLayout,
};
use crate::{
    layout::TvLayout,
    ptx::{
        AnyScope, Builder, Comparison, Element, RegId, Scalar, Shuffle, Uniformity, Val, pairs_of_warps,
        quotient, remainder, shuffle,
        traits::{Numeric, Reducible},
    },
    tensor::{Arithmetic, Fragment},
};

/// An element and its index along its line, or in row-major order.
#[derive(Clone, Copy)]
pub(super) struct Candidate<'k, S: Scalar> {
    element: Val<'k, S>,
    index: Val<'k, u32>,
}

/// Replaces NaN with a value that is no better than any other, so that all lanes find the same best element.
#[track_caller]
fn comparable<'k, S: Reducible<In = S>>(element: Val<'k, S>, better: Comparison) -> Val<'k, S> {
    match better {
        _ if !S::PTX.starts_with('f') => element,
        Comparison::Gt => element.max(S::LOWEST),
        _ => element.min(S::HIGHEST),
    }
}

impl<'k, S: Numeric> Candidate<'k, S> {
    /// Returns whether another candidate is better; of two equal elements, the one with the lower index is better.
    #[track_caller]
    fn is_worse(self, other: Self, better: Comparison) -> Val<'k, bool> {
        let is_better = other.element.compare(better, self.element);
        let is_first = other.element.eq(self.element) & other.index.lt(self.index);
        is_better | is_first
    }

    /// Returns the better of two candidates.
    #[track_caller]
    pub(super) fn or_better(self, other: Self, better: Comparison) -> Self {
        let take = self.is_worse(other, better);
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

    /// Returns the candidate with its index increased by `distance`.
    #[track_caller]
    pub(super) fn moved(self, distance: Val<'k, u32>) -> Self {
        Self { index: self.index + distance, ..self }
    }

    /// Returns the best of the candidates of all lanes of a warp, where each candidate is the best of the elements that its lane owns in a
    /// tile or vector with the given layout.
    #[track_caller]
    pub(super) fn of_warp(mut self, k: Builder<'k>, layout: &TvLayout, better: Comparison) -> Self {
        for axis in 0..layout.shape().rank() {
            for bit in lane_bits(layout, axis) {
                self = self.or_better(self.of_lane(k, 1 << bit.bit), better);
            }
        }
        self.known_uniform(uniformity_of_exchanged(layout))
    }

    /// Returns the best of the candidates of all warps of a scope. The warps exchange their candidates through shared memory.
    #[track_caller]
    pub(super) fn of_scope(self, scope: AnyScope<'k>, better: Comparison) -> Self
    where
        S: Element<Reg = S>,
    {
        // A single warp exchanges nothing, so nothing more is known about its result.
        if scope.size() <= 32 {
            return self;
        }
        let k = scope.kernel();
        let ((element, index), warps) = pairs_of_warps(scope, (self.element, self.index));
        let mut best = Self { element, index };
        for bit in (0..warps.trailing_zeros()).rev() {
            best = best.or_better(best.of_lane(k, 1 << bit), better);
        }
        best.known_uniform(scope.uniformity())
    }

    #[track_caller]
    fn known_uniform(self, uniformity: Uniformity) -> Self {
        Self { element: self.element.known_uniform(uniformity), index: self.index.known_uniform(uniformity) }
    }

    /// Returns the element and its index.
    pub(super) fn at(self) -> (Val<'k, S>, Val<'k, u32>) {
        (self.element, self.index)
    }

    /// Returns the element, and its row and column if each row has `width` elements.
    #[track_caller]
    pub(super) fn in_rows_of(self, width: u32) -> (Val<'k, S>, (Val<'k, u32>, Val<'k, u32>)) {
        (self.element, (quotient(self.index, width), remainder(self.index, width)))
    }
}

/// Returns the best element of each row (if `keep` is 0) or column (if `keep` is 1) of a tile, and its index in that row or column.
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
        let candidate = Candidate { element: comparable(element, better), index: along.at(at) };
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

/// Returns the registers of the elements and indices that [`best`] returns.
#[track_caller]
fn best_registers<'k, T: Accumulate>(
    fragment: &Fragment<'k, T>,
    layout: &TvLayout,
    keep: usize,
    slots: &[usize],
    better: Comparison,
) -> [Vec<RegId>; 2] {
    let k = fragment.kernel();
    let lines = best(fragment, layout, keep, slots, better);
    let elements = k.all_owned(|| lines.iter().map(|line| line.element).collect());
    let indices = k.all_owned(|| lines.iter().map(|line| line.index).collect());
    [elements, indices]
}

/// Returns the best of the elements that a lane owns in a tile or vector, and its row-major index if each row has `width` elements; among
/// equal elements, returns the first.
#[track_caller]
fn best_in_lane<'k, T: Accumulate>(
    fragment: &Fragment<'k, T>,
    layout: &TvLayout,
    width: u32,
    better: Comparison,
) -> Candidate<'k, T::Sum> {
    let k = fragment.kernel();
    let axes: Vec<_> = (0..layout.shape().rank()).map(|axis| Coordinates::along(k, layout, axis)).collect();
    let mut best: Option<Candidate<'k, T::Sum>> = None;
    for_each_element(fragment, &mut |at, element| {
        let index = match &axes[..] {
            [rows, cols] => rows.at(at) * width + cols.at(at),
            axes => axes[0].at(at),
        };
        let candidate = Candidate { element: comparable(element, better), index };
        best = Some(best.map_or(candidate, |best| best.or_better(candidate, better)));
    });
    best.expect("tiles and vectors have elements")
}

/// Replaces elements and their indices in place with better ones from `own`, which starts at index `first`.
#[track_caller]
pub(super) fn improve<'k, S, const N: usize, V>(
    (mut elements, mut indices): Extremes<'k, S, N, V>,
    (own, own_indices): &Extremes<'k, S, N, V>,
    first: Val<'k, u32>,
    better: Comparison,
) -> Extremes<'k, S, N, V>
where
    S: Arithmetic<Word = S> + Numeric,
    V: VectorLayout,
{
    let candidates =
        |elements: &Rv<'k, S, N, V>, indices: &Rv<'k, u32, N, V>, first: Val<'k, u32>| -> Vec<_> {
            let pairs = elements.words().into_iter().zip(indices.words());
            pairs.map(|(element, index)| Candidate { element, index: index + first }).collect()
        };
    let (old, new) = (candidates(&elements, &indices, 0.into()), candidates(own, own_indices, first));
    let take: Vec<_> = old.iter().zip(&new).map(|(old, new)| old.is_worse(*new, better)).collect();
    elements.rewrite(|at, element| take[at].select(new[at].element, element));
    indices.rewrite(|at, index| take[at].select(new[at].index, index));
    (elements, indices)
}

/// The best elements of lines, and their indices.
pub(super) type Extremes<'k, S, const N: usize, V> = (Rv<'k, S, N, V>, Rv<'k, u32, N, V>);

impl<'k, T: Accumulate, const H: usize, const W: usize, L: RegisterLayout> Rt<'k, T, H, W, L> {
    #[track_caller]
    pub(super) fn best_in_lane(&self, better: Comparison) -> Candidate<'k, T::Sum> {
        best_in_lane(&self.fragment, &Self::layout(), Self::COLS, better)
    }

    #[track_caller]
    pub(super) fn best_of_all(&self, better: Comparison) -> Candidate<'k, T::Sum> {
        self.best_in_lane(better).of_warp(self.kernel(), &Self::layout(), better)
    }

    #[track_caller]
    fn best<const N: usize, V: VectorLayout>(
        &self,
        keep: usize,
        better: Comparison,
    ) -> Extremes<'k, T::Sum, N, V> {
        let (k, layout) = (self.kernel(), Self::layout());
        let _located = k.locate(Location::caller());
        let slots = vector_values(&layout, keep);
        let [elements, indices] = best_registers(&self.fragment, &layout, keep, &slots, better);
        (Rv::of_registers(k, elements), Rv::of_registers(k, indices))
    }
}

impl<'k, T: Accumulate, const N: usize, V: VectorLayout> Rv<'k, T, N, V> {
    #[track_caller]
    pub(super) fn best_of_all(&self, better: Comparison) -> Candidate<'k, T::Sum> {
        let (k, layout) = (self.kernel(), Self::layout());
        best_in_lane(&self.fragment, &layout, 1, better).of_warp(k, &layout, better)
    }
}

macro_rules! extremes {
    ($($what:literal $comparison:ident $row:ident $row_with:ident $col:ident $col_with:ident $all:ident;)*) => {
        impl<'k, T: Accumulate, const H: usize, const W: usize, L: RegisterLayout> Rt<'k, T, H, W, L> {
            $(
                #[doc = concat!("Returns the ", $what, " of each row and the index of the column that contains it.")]
                ///
                /// All lanes of the warp must take part. Ties are resolved in favor of the lowest index. NaN is treated as −∞ for a maximum
                /// and as +∞ for a minimum.
                #[must_use]
                #[track_caller]
                pub fn $row(&self) -> (ColVec<'k, T::Sum, H, L, T::Length>, ColVec<'k, u32, H, L, T::Length>) {
                    self.best(0, Comparison::$comparison)
                }

                #[doc = concat!("Returns, for each row, the ", $what, " of its elements and the corresponding element of `with`, and the index of this ", $what, "; the result reuses the registers of `with`.")]
                ///
                /// `first` is the index of the tile's first column. To reduce a row of tiles, carry `with` through a loop. Initialize its
                /// elements to the identity element of the reduction and its indices to `u32::MAX`, so that any element of the first tile
                /// replaces them. All lanes of the warp must take part.
                #[must_use]
                #[track_caller]
                pub fn $row_with(
                    &self,
                    with: (ColVec<'k, T::Sum, H, L, T::Length>, ColVec<'k, u32, H, L, T::Length>),
                    first: impl Into<Val<'k, u32>>,
                ) -> (ColVec<'k, T::Sum, H, L, T::Length>, ColVec<'k, u32, H, L, T::Length>) {
                    let (own, first) = (self.$row(), first.into());
                    let _located = self.kernel().locate(Location::caller());
                    improve(with, &own, first, Comparison::$comparison)
                }

                #[doc = concat!("Returns the ", $what, " of each column and the index of the row that contains it.")]
                ///
                /// All lanes of the warp must take part. Ties are resolved in favor of the lowest index. NaN is treated as −∞ for a maximum
                /// and as +∞ for a minimum.
                #[must_use]
                #[track_caller]
                pub fn $col(&self) -> (RowVec<'k, T::Sum, W, L, T::Length>, RowVec<'k, u32, W, L, T::Length>) {
                    self.best(1, Comparison::$comparison)
                }

                #[doc = concat!("Returns, for each column, the ", $what, " of its elements and the corresponding element of `with`, and the index of this ", $what, "; the result reuses the registers of `with`.\n\nSee [`", stringify!($row_with), "`](Self::", stringify!($row_with), "); `first` is the index of the tile's first row.")]
                #[must_use]
                #[track_caller]
                pub fn $col_with(
                    &self,
                    with: (RowVec<'k, T::Sum, W, L, T::Length>, RowVec<'k, u32, W, L, T::Length>),
                    first: impl Into<Val<'k, u32>>,
                ) -> (RowVec<'k, T::Sum, W, L, T::Length>, RowVec<'k, u32, W, L, T::Length>) {
                    let (own, first) = (self.$col(), first.into());
                    let _located = self.kernel().locate(Location::caller());
                    improve(with, &own, first, Comparison::$comparison)
                }

                #[doc = concat!("Returns the ", $what, " of all elements, and its row and column.")]
                ///
                /// All lanes of the warp must take part; all receive the same result. Ties are resolved in favor of the first element in
                /// row-major order. NaN is treated as −∞ for a maximum and as +∞ for a minimum.
                #[must_use]
                #[track_caller]
                pub fn $all(&self) -> (Val<'k, T::Sum>, (Val<'k, u32>, Val<'k, u32>)) {
                    let _located = self.kernel().locate(Location::caller());
                    self.best_of_all(Comparison::$comparison).in_rows_of(Self::COLS)
                }
            )*
        }

        impl<'k, T: Accumulate, const N: usize, V: VectorLayout> Rv<'k, T, N, V> {$(
            #[doc = concat!("Returns the ", $what, " of all elements, and its index.")]
            ///
            /// All lanes of the warp must take part; all receive the same result. Ties are resolved in favor of the lowest index. NaN is
            /// treated as −∞ for a maximum and as +∞ for a minimum.
            #[must_use]
            #[track_caller]
            pub fn $all(&self) -> (Val<'k, T::Sum>, Val<'k, u32>) {
                let _located = self.kernel().locate(Location::caller());
                self.best_of_all(Comparison::$comparison).at()
            }
        )*}
    };
}

extremes! {
    // what    better rows                       columns                      all
    "maximum"  Gt     row_argmax row_argmax_with col_argmax col_argmax_with   argmax;
    "minimum"  Lt     row_argmin row_argmin_with col_argmin col_argmin_with   argmin;
}
