//! Reductions of register tiles and vectors along rows, along columns, and over all elements.
//!
//! A lane combines its elements of a row or column into four partial results, in register order, and then combines these pairwise. The
//! lanes exchange results with butterfly shuffles over the bits of the lane index that change the position along the line
//! ([`TvLayout::along`]). All lanes evaluate the same tree of operations, so their results are identical, except for the payload of an f64
//! NaN: it is that of an operand, and the order of the operands differs between lanes.

use std::panic::Location;

use arrayvec::ArrayVec;

use super::{
    coordinates::{lane_bits, uniformity_of_exchanged, vector_values},
    element::RegisterLayout,
    registers::Registers,
    rt::Rt,
    vector::{ColVec, RowVec, Rv},
    vector_layout::VectorLayout,
};
use crate::{
    layout::{ThreadBit, TvLayout},
    ptx::{
        Builder, Combine, RegId, Scalar, Shuffle, Val,
        numbers::*,
        shuffle,
        traits::{Numeric, Reducible},
    },
    tensor::{Arithmetic, Computed, ConvertibleElement, Fragment, bytes_of, element_types, words_of},
};

/// An element type whose tiles and vectors can be reduced. To preserve the precision of long sums, tf32 and 8- and 16-bit floating-point
/// elements are combined in f32, and 8-bit integers in `i32`; other elements are combined in their own type.
#[diagnostic::on_unimplemented(
    message = "tiles of `{Self}` cannot be reduced",
    note = "reductions take tiles of types with arithmetic (`Computed`), except packed pairs"
)]
pub trait Accumulate: Computed {
    /// The type in which elements are combined, which is also the type of the result.
    type Sum: Arithmetic<Word = Self::Sum> + Numeric + Reducible<In = Self::Sum>;

    /// Returns the elements of a word, converted exactly to [`Sum`](Self::Sum).
    #[doc(hidden)]
    fn elements(word: Val<'_, Self::Word>) -> ArrayVec<Val<'_, Self::Sum>, 4>;
    /// Returns the word that contains `elements`, each rounded once; 8-bit integers saturate.
    #[doc(hidden)]
    fn word<'k>(elements: &ArrayVec<Val<'k, Self::Sum>, 4>) -> Val<'k, Self::Word>;
}

macro_rules! accumulate {
    (in themselves: $($whole:ident)*; in f32: $($half:ident)*; in i32: $($byte:ident)*;) => {
        $(impl Accumulate for $whole {
            type Sum = Self;

            fn elements(word: Val<'_, Self>) -> ArrayVec<Val<'_, Self>, 4> {
                [word].into_iter().collect()
            }

            fn word<'k>(elements: &ArrayVec<Val<'k, Self>, 4>) -> Val<'k, Self> {
                elements[0]
            }
        })*
        $(impl Accumulate for $half {
            type Sum = f32;

            #[track_caller]
            fn elements(word: Val<'_, Self::Word>) -> ArrayVec<Val<'_, f32>, 4> {
                <Self as ConvertibleElement>::to_f32(word)
            }

            #[track_caller]
            fn word<'k>(elements: &ArrayVec<Val<'k, f32>, 4>) -> Val<'k, Self::Word> {
                <Self as ConvertibleElement>::from_f32(elements)[0]
            }
        })*
        $(impl Accumulate for $byte {
            type Sum = i32;

            #[track_caller]
            fn elements(word: Val<'_, u32>) -> ArrayVec<Val<'_, i32>, 4> {
                bytes_of::<$byte>(word).into()
            }

            #[track_caller]
            fn word<'k>(elements: &ArrayVec<Val<'k, i32>, 4>) -> Val<'k, u32> {
                Val::pack_bytes::<$byte>(std::array::from_fn(|slot| elements[slot]))
            }
        })*
    };
}

element_types! { summed, accumulate }

pub(super) const SUM: Combine = Combine::Sum;
pub(super) const PRODUCT: Combine = Combine::Product;
pub(super) const MAX: Combine = Combine::Max;
pub(super) const MIN: Combine = Combine::Min;

/// The number of partial results that a lane computes per line: enough to hide the latency of dependent instructions.
const PARTIAL: usize = 4;

/// A lane's partial results for one line.
struct Partial<'k, S: Scalar> {
    results: ArrayVec<Val<'k, S>, PARTIAL>,
    /// The number of elements combined so far.
    count: usize,
}

impl<'k, S: Scalar> Partial<'k, S> {
    fn new() -> Self {
        Self { results: ArrayVec::new(), count: 0 }
    }

    /// Combines an element with one of the partial results.
    fn add(&mut self, element: Val<'k, S>, f: impl Fn(Val<'k, S>, Val<'k, S>) -> Val<'k, S>) {
        match self.results.get_mut(self.count % PARTIAL) {
            Some(result) => *result = f(*result, element),
            None => self.results.push(element),
        }
        self.count += 1;
    }

    /// Combines the partial results pairwise.
    fn finish(self, f: impl Fn(Val<'k, S>, Val<'k, S>) -> Val<'k, S>) -> Option<Val<'k, S>> {
        let mut results = self.results;
        while results.len() > 1 {
            results =
                results.chunks(2).map(|pair| pair.iter().copied().reduce(&f).unwrap_or(pair[0])).collect();
        }
        results.pop()
    }
}

/// Combines the values of the lanes that differ in `bits` of the lane index, one bit at a time for all values.
#[track_caller]
pub(super) fn exchange<'k, S: Numeric>(
    k: Builder<'k>,
    values: &mut [Val<'k, S>],
    bits: &[ThreadBit],
    how: Combine,
) {
    for bit in bits {
        for value in &mut *values {
            *value = how.apply(*value, shuffle(k, Shuffle::Bfly, *value, (1 << bit.bit).into()));
        }
    }
}

/// Calls `each` with every element of a tile or vector, in register order.
#[track_caller]
pub(super) fn for_each_element<'k, T: Accumulate>(
    fragment: &Fragment<'k, T>,
    each: &mut dyn FnMut(usize, Val<'k, T::Sum>),
) {
    let elements = words_of(fragment).into_iter().flat_map(T::elements);
    // A lane may own only some of the elements of the last word.
    elements.take(fragment.size() as usize).enumerate().for_each(|(at, element)| each(at, element));
}

/// Reduces the elements of each lane to one per index along the axis that is kept. `slots` contains the [`vector_values`] along this axis.
#[track_caller]
fn in_lanes<'k, T: Accumulate>(
    fragment: &Fragment<'k, T>,
    slots: &[usize],
    how: Combine,
) -> Vec<Val<'k, T::Sum>> {
    let mut lines: Vec<Partial<'k, T::Sum>> = Vec::new();
    lines.resize_with(slots.iter().max().map_or(0, |most| most + 1), Partial::new);
    for_each_element(fragment, &mut |at, element| lines[slots[at]].add(element, |a, b| how.apply(a, b)));
    lines.into_iter().filter_map(|line| line.finish(|a, b| how.apply(a, b))).collect()
}

/// Reduces a tile with the given layout to one element per index along axis `keep`, and returns the registers of the results. `slots`
/// contains the [`vector_values`] along this axis.
#[track_caller]
fn along<'k, T: Accumulate>(
    fragment: &Fragment<'k, T>,
    layout: &TvLayout,
    keep: usize,
    slots: &[usize],
    how: Combine,
) -> Vec<RegId> {
    let k = fragment.kernel();
    let mut results = in_lanes(fragment, slots, how);
    k.all_owned(|| {
        exchange(k, &mut results, &lane_bits(layout, 1 - keep), how);
        results
    })
}

/// Combines the elements of each lane.
#[track_caller]
pub(super) fn combined<'k, T: Accumulate>(fragment: &Fragment<'k, T>, how: Combine) -> Val<'k, T::Sum> {
    let mut partial = Partial::new();
    for_each_element(fragment, &mut |_, element| partial.add(element, |a, b| how.apply(a, b)));
    partial.finish(|a, b| how.apply(a, b)).expect("tiles and vectors have elements")
}

/// Reduces all elements to one value, the same in all lanes if lanes that own the same element hold the same value.
#[track_caller]
fn all<'k, T: Accumulate>(fragment: &Fragment<'k, T>, layout: &TvLayout, how: Combine) -> Val<'k, T::Sum> {
    let k = fragment.kernel();
    let _located = k.locate(Location::caller());
    let mut results = [combined(fragment, how)];
    for axis in 0..layout.shape().rank() {
        exchange(k, &mut results, &lane_bits(layout, axis), how);
    }
    results[0].known_uniform(uniformity_of_exchanged(layout))
}

macro_rules! reductions {
    ($($what:literal $how:ident $row:ident $row_with:ident $col:ident $col_with:ident $all:ident $note:literal;)*) => {
        impl<'k, T: Accumulate, const H: usize, const W: usize, L: RegisterLayout> Rt<'k, T, H, W, L> {
            $(
                #[doc = concat!("Returns the ", $what, " of each row", $note, ".")]
                ///
                /// All lanes of the warp must take part. Elements are combined in [`Accumulate::Sum`]. A [`Row`](super::Row) tile requires
                /// two shuffles per 8 rows, and a [`Col`](super::Col) tile requires three per 4 rows, regardless of the width; 64-bit sums
                /// require twice as many.
                #[doc(alias = "row_reduce")]
                #[doc(alias = "shfl.sync.bfly")]
                #[must_use]
                #[track_caller]
                pub fn $row(&self) -> ColVec<'k, T::Sum, H, L, T::Length> {
                    self.reduced(0, $how)
                }

                #[doc = concat!("Returns, for each row, the ", $what, " of its elements and the corresponding element of `with`.")]
                ///
                /// The result reuses the registers of `with`, so a loop over the tiles of a row can carry it without a `mov`. All lanes of
                /// the warp must take part.
                #[must_use]
                #[track_caller]
                pub fn $row_with(&self, with: ColVec<'k, T::Sum, H, L, T::Length>) -> ColVec<'k, T::Sum, H, L, T::Length> {
                    self.$row().combined_into(with, $how)
                }

                #[doc = concat!("Returns the ", $what, " of each column", $note, ".")]
                ///
                /// All lanes of the warp must take part. Elements are combined in [`Accumulate::Sum`]. A [`Row`](super::Row) tile requires
                /// three shuffles per 4 columns, and a [`Col`](super::Col) tile requires two per 8 columns, regardless of the height;
                /// 64-bit sums require twice as many.
                #[doc(alias = "col_reduce")]
                #[doc(alias = "shfl.sync.bfly")]
                #[must_use]
                #[track_caller]
                pub fn $col(&self) -> RowVec<'k, T::Sum, W, L, T::Length> {
                    self.reduced(1, $how)
                }

                #[doc = concat!("Returns, for each column, the ", $what, " of its elements and the corresponding element of `with`.")]
                ///
                /// The result reuses the registers of `with`, so a loop over the tiles of a column can carry it without a `mov`. All lanes
                /// of the warp must take part.
                #[must_use]
                #[track_caller]
                pub fn $col_with(&self, with: RowVec<'k, T::Sum, W, L, T::Length>) -> RowVec<'k, T::Sum, W, L, T::Length> {
                    self.$col().combined_into(with, $how)
                }

                #[doc = concat!("Returns the ", $what, " of all elements", $note, ".")]
                ///
                /// All lanes of the warp must take part, and all receive the same result. Elements are combined in [`Accumulate::Sum`].
                #[doc(alias = "shfl.sync.bfly")]
                #[must_use]
                #[track_caller]
                pub fn $all(&self) -> Val<'k, T::Sum> {
                    all(&self.fragment, &Self::layout(), $how)
                }
            )*
        }

        impl<'k, T: Accumulate, const N: usize, V: VectorLayout> Rv<'k, T, N, V> {
            $(
                #[doc = concat!("Returns the ", $what, " of all elements", $note, ".")]
                ///
                /// All lanes of the warp must take part. All receive the same result, provided that lanes that own the same element hold the
                /// same value. Elements are combined in [`Accumulate::Sum`].
                #[doc(alias = "shfl.sync.bfly")]
                #[must_use]
                #[track_caller]
                pub fn $all(&self) -> Val<'k, T::Sum> {
                    all(&self.fragment, &Self::layout(), $how)
                }
            )*
        }
    };
}

reductions! {
    // what     combine  rows                 columns              all
    "sum"       SUM     row_sum  row_sum_with  col_sum  col_sum_with  sum        "";
    "product"   PRODUCT row_prod row_prod_with col_prod col_prod_with product    "";
    "maximum"   MAX     row_max  row_max_with  col_max  col_max_with  maximum    "; NaN is ignored unless all elements are NaN";
    "minimum"   MIN     row_min  row_min_with  col_min  col_min_with  minimum    "; NaN is ignored unless all elements are NaN";
}

impl<'k, T: Accumulate, const H: usize, const W: usize, L: RegisterLayout> Rt<'k, T, H, W, L> {
    /// Reduces the tile to one element per index along axis `keep`.
    #[track_caller]
    fn reduced<const N: usize, V: VectorLayout>(&self, keep: usize, how: Combine) -> Rv<'k, T::Sum, N, V> {
        let (k, layout) = (self.kernel(), Self::layout());
        let _located = k.locate(Location::caller());
        let slots = vector_values(&layout, keep);
        Rv::of_registers(k, along(&self.fragment, &layout, keep, &slots, how))
    }
}

macro_rules! partial_reductions {
    ($($what:literal $how:ident $in_lanes:ident $across:ident;)*) => {
        impl<'k, T: Accumulate, const H: usize, const W: usize, L: RegisterLayout> Rt<'k, T, H, W, L> {
            $(
                #[doc = concat!("Returns, for each row, the ", $what, " of the elements that this lane owns and the corresponding element of `with`. The result replaces `with` and differs between the lanes of a row.")]
                #[track_caller]
                pub(crate) fn $in_lanes(&self, with: ColVec<'k, T::Sum, H, L, T::Length>) -> ColVec<'k, T::Sum, H, L, T::Length> {
                    let (k, layout) = (self.kernel(), Self::layout());
                    let _located = k.locate(Location::caller());
                    let slots = vector_values(&layout, 0);
                    let own = k.all_owned(|| in_lanes(&self.fragment, &slots, $how));
                    ColVec::<T::Sum, H, L, T::Length>::of_registers(k, own).combined_into(with, $how)
                }

                #[doc = concat!("Returns, for each row, the ", $what, " of the results in `of_lanes` of all lanes that own elements of the row.")]
                #[track_caller]
                pub(crate) fn $across(of_lanes: &ColVec<'k, T::Sum, H, L, T::Length>) -> ColVec<'k, T::Sum, H, L, T::Length> {
                    let k = of_lanes.kernel();
                    let mut results = of_lanes.words();
                    Registers::of_registers(k, k.all_owned(|| {
                        exchange(k, &mut results, &lane_bits(&Self::layout(), 1), $how);
                        results
                    }))
                }
            )*
        }
    };
}

partial_reductions! {
    "sum"     SUM  row_sum_in_lanes  row_sum_across_lanes;
    "maximum" MAX  row_max_in_lanes  row_max_across_lanes;
}

impl<'k, S: Arithmetic<Word = S> + Numeric, const N: usize, V: VectorLayout> Rv<'k, S, N, V> {
    /// Combines the vector with `with`. The result replaces `with` in its registers.
    #[track_caller]
    pub(super) fn combined_into(self, mut with: Self, how: Combine) -> Self {
        let k = self.kernel();
        let _located = k.locate(Location::caller());
        let own = self.words();
        with.rewrite(|at, word| how.apply(word, own[at]));
        with
    }
}
