//! Dropout, and random numbers for the elements of a matrix. Each number is a function of a seed, an offset and the element's coordinates.

use std::{
    f32::consts::{LN_2, TAU},
    panic::Location,
};

use super::{
    coordinates::{Coordinates, lane_bits},
    element::RegisterLayout,
    reduce::Accumulate,
    registers::Registers,
    rt::Rt,
};
use crate::{
    layout::TvLayout,
    ptx::{Builder, Rounding, Scalar, Val},
    tensor::{ConvertibleElement, TensorElement},
};

/// The factors of words 0 and 2 of a counter, and the increments of the key between rounds.
const FACTORS: [u32; 2] = [0xd251_1f53, 0xcd9e_8d57];
const INCREMENTS: [u32; 2] = [0x9e37_79b9, 0xbb67_ae85];
const ROUNDS: u32 = 10;

/// Powers of two.
const TWO_24: f32 = (1u32 << 24) as f32;
const TWO_32: f32 = (1u64 << 32) as f32;

/// The truth table of a ⊕ b ⊕ c.
const XOR: u8 = 0x96;

/// The distance, along both axes, between elements that share a counter. In both layouts, elements that are 8 rows or columns apart in a
/// subtile belong to the same lane, unless they are 8 bits wide.
const APART: i64 = 8;

impl<'k> Builder<'k> {
    /// Returns the four random words that Philox4x32-10 computes from a 128-bit counter and a 64-bit key (Salmon et al., "Parallel random
    /// numbers: as easy as 1, 2, 3", SC 2011; the library Random123). Each of the ten rounds uses two `mul.wide` and two `lop3`
    /// instructions.
    #[doc(alias = "curand_Philox4x32_10")]
    #[track_caller]
    pub fn philox4x32(self, counter: [Val<'k, u32>; 4], key: [Val<'k, u32>; 2]) -> [Val<'k, u32>; 4] {
        let _located = self.locate(Location::caller());
        (0..ROUNDS).fold(counter, |[a, b, c, d], round| {
            let [key0, key1] = [0, 1].map(|i| key[i] + INCREMENTS[i].wrapping_mul(round));
            let (low0, high0) = a.mul_wide(FACTORS[0]).unpack();
            let (low1, high1) = c.mul_wide(FACTORS[1]).unpack();
            [high1.lop3(b, key0, XOR), low1, high0.lop3(d, key1, XOR), low0]
        })
    }

    /// Returns the random numbers determined by `seed` and `offset`, for a matrix of any size; see [`Random`].
    #[doc(alias = "philox")]
    #[track_caller]
    pub fn random(self, seed: impl Into<Val<'k, u64>>, offset: impl Into<Val<'k, u64>>) -> Random<'k> {
        let halves = |x: Val<'k, u64>| {
            let (low, high) = x.unpack();
            [low, high]
        };
        let _located = self.locate(Location::caller());
        Random { k: self, key: halves(seed.into()), offset: halves(offset.into()), is_transposed: false }
    }
}

/// A random word for each element of a matrix. The word depends only on the seed, the offset and the element's coordinates, not on the
/// shape or layout of tiles, the warp or the kernel. A backward kernel can therefore reproduce the numbers of the forward kernel.
///
/// The word of element (`row`, `col`) is one of the four words that [`philox4x32`](Builder::philox4x32) returns for the following operands.
/// The index of this word is 2·(⌊`row` / 8⌋ mod 2) + (⌊`col` / 8⌋ mod 2).
///
/// | operand | low word                 | …                        | …          | high word   |
/// | ---     | ---                      | ---                      | ---        | ---         |
/// | counter | `row` without bit 3      | `col` without bit 3      | offset     | offset ≫ 32 |
/// | key     | seed                     | seed ≫ 32                |            |             |
///
/// Matrices that use the same seed, for example in different layers, heads or steps of a model, must use different offsets.
///
/// ```
/// # use warpwright::prelude::*;
/// # Kernel::<(In<bf16>, Out<bf16>, u64, u64)>::build("dropout", Target::SM_80, |k, (x, y, seed, step)| {
/// # k.block([128]);
/// # k.grid([1]);
/// # let (x, y) = (k.global(x, row_major(64, 64)), k.global(y, row_major(64, 64)));
/// # let row = k.warp().rank();
/// let random = k.random(seed, step);
/// let t: Rt<bf16, 1, 4> = x.tile(row, 0).load();
/// y.tile(row, 0).store(&t.dropout(0.1, &random.tile(row, 0)));
/// # })?;
/// # Ok::<(), BuildError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Random<'k> {
    k: Builder<'k>,
    key: [Val<'k, u32>; 2],
    offset: [Val<'k, u32>; 2],
    is_transposed: bool,
}

/// The random numbers for the elements of a tile. The tile has the size of the register tile for which the numbers are used.
#[derive(Clone, Copy, Debug)]
pub struct RandomTile<'k> {
    random: Random<'k>,
    /// In units of tiles.
    at: [Val<'k, u32>; 2],
}

impl<'k> Random<'k> {
    /// Returns the random numbers of tile (`row`, `col`), where `row` and `col` are in units of tiles, as in [`Gl::tile`](super::Gl::tile).
    pub fn tile(&self, row: impl Into<Val<'k, u32>>, col: impl Into<Val<'k, u32>>) -> RandomTile<'k> {
        RandomTile { random: *self, at: [row.into(), col.into()] }
    }

    /// Returns the random numbers of the transposed matrix: the word of element (`row`, `col`) is the word of element (`col`, `row`) of
    /// this matrix.
    ///
    /// The numbers of [`normal`](RandomTile::normal) are not transposed, because `normal` combines different pairs of words in the
    /// transposed matrix.
    #[must_use]
    pub fn transposed(self) -> Self {
        Self { is_transposed: !self.is_transposed, ..self }
    }

    /// Returns the words of the four elements that share an element's counter, ordered by bit 3 of `row` and then by bit 3 of `col`.
    #[track_caller]
    fn words(&self, [row, col]: [Val<'k, u32>; 2]) -> [Val<'k, u32>; 4] {
        let [low, high] = self.offset;
        if self.is_transposed {
            let [a, b, c, d] = self.k.philox4x32([col, row, low, high], self.key);
            [a, c, b, d]
        } else {
            self.k.philox4x32([row, col, low, high], self.key)
        }
    }
}

impl<'k> RandomTile<'k> {
    /// Returns a tile of random words.
    #[must_use]
    #[track_caller]
    pub fn bits<const H: usize, const W: usize, L: RegisterLayout>(&self) -> Rt<'k, u32, H, W, L> {
        self.distributed(&|words| words)
    }

    /// Returns a tile of random numbers that are uniformly distributed in [0, 1): the upper 24 bits of each word, multiplied by 2⁻²⁴.
    #[must_use]
    #[track_caller]
    pub fn uniform<const H: usize, const W: usize, L: RegisterLayout>(&self) -> Rt<'k, f32, H, W, L> {
        self.distributed(&|words| words.map(|word| (word >> 8).cast::<f32>() * (1.0 / TWO_24)))
    }

    /// Returns a tile of random numbers from the standard normal distribution.
    ///
    /// The numbers for two elements that are 8 columns apart are computed from both elements' words with the Box–Muller transform. Their
    /// magnitude is at most 6.77. The transform uses the approximate `lg2`, `sqrt`, `sin` and `cos` instructions.
    #[must_use]
    #[track_caller]
    pub fn normal<const H: usize, const W: usize, L: RegisterLayout>(&self) -> Rt<'k, f32, H, W, L> {
        let k = self.random.k;
        self.distributed(&|[a, b, c, d]| {
            let ([a, b], [c, d]) = (normal_pair(k, a, b), normal_pair(k, c, d));
            [a, b, c, d]
        })
    }

    #[track_caller]
    fn distributed<T, const H: usize, const W: usize, L>(&self, of: &OfWords<'_, 'k, T>) -> Rt<'k, T, H, W, L>
    where
        T: TensorElement<Word = T> + Scalar,
        L: RegisterLayout,
    {
        let k = self.random.k;
        let _located = k.locate(Location::caller());
        let (layout, size) = (Rt::<T, H, W, L>::layout(), [Rt::<T, H, W, L>::ROWS, Rt::<T, H, W, L>::COLS]);
        Rt::of_registers(k, k.all_owned(|| self.elements(&layout, size, of)))
    }

    /// Returns the results of `of` for each value that a lane owns in a tile of this layout and size.
    #[track_caller]
    pub(super) fn elements<S: Scalar>(
        &self,
        layout: &TvLayout,
        size: [u32; 2],
        of: &OfWords<'_, 'k, S>,
    ) -> Vec<Val<'k, S>> {
        let k = self.random.k;
        let axes = [0, 1].map(|axis| Coordinates::along(k, layout, axis));
        let first = [0, 1].map(|axis| self.at[axis] * size[axis] + axes[axis].lane);
        // With 8-bit elements, a lane owns only one of two elements that are 8 apart along one axis; the lane number determines which one.
        let in_second = [0, 1].map(|axis| {
            let is_of_lane = lane_bits(layout, axis).iter().any(|bit| bit.offset & APART != 0);
            is_of_lane.then(|| is_second(first[axis]))
        });
        let first = [0, 1]
            .map(|axis| if in_second[axis].is_some() { first[axis] & !(APART as u32) } else { first[axis] });
        let mut blocks: Vec<([i64; 2], [Val<'k, S>; 4])> = Vec::new();
        let coordinates = axes[0].offsets.iter().zip(&axes[1].offsets);
        let elements = coordinates.map(|(&row, &col)| {
            let start = [row, col].map(|at| at & !APART);
            let [second_row, second_col] = [row != start[0], col != start[1]];
            let results = match blocks.iter().find(|(other, _)| *other == start) {
                Some((_, results)) => *results,
                None => {
                    let results = of(self.random.words([0, 1].map(|axis| first[axis] + start[axis] as u32)));
                    blocks.push((start, results));
                    results
                }
            };
            let of_row = |second_row: bool| {
                let result =
                    |second_col: bool| results[(usize::from(second_row) << 1) | usize::from(second_col)];
                in_second[1]
                    .map_or_else(|| result(second_col), |second| second.select(result(true), result(false)))
            };
            in_second[0]
                .map_or_else(|| of_row(second_row), |second| second.select(of_row(true), of_row(false)))
        });
        elements.collect()
    }
}

/// Returns whether a coordinate belongs to the second of two elements that share a counter.
#[track_caller]
fn is_second(coordinate: Val<'_, u32>) -> Val<'_, bool> {
    (coordinate & APART as u32).ne(0)
}

impl<'k> RandomTile<'k> {
    /// Returns the random word of each of a vector's `values`. `at` contains the vector's coordinates; the vector is a run of `size`
    /// elements in a row of the matrix.
    #[track_caller]
    pub(super) fn of_vector(
        &self,
        at: &Coordinates<'k>,
        values: impl Iterator<Item = usize>,
        size: u32,
    ) -> Vec<Val<'k, u32>> {
        let (row, first) = (self.at[0], self.at[1] * size);
        let (in_second_row, apart) = (is_second(row), !(APART as u32));
        let word = |value: usize| {
            let col = first + at.at(value);
            let [a, b, c, d] = self.random.words([row & apart, col & apart]);
            let in_second_col = is_second(col);
            in_second_row.select(in_second_col.select(d, c), in_second_col.select(b, a))
        };
        values.map(word).collect()
    }
}

/// The dropout rule: an element is kept if the upper 24 bits of its random word reach a threshold, and kept elements are scaled by a
/// factor.
#[derive(Clone, Copy)]
pub(crate) struct DropoutRule<'k> {
    /// The threshold.
    least: Val<'k, u32>,
    scale: Val<'k, f32>,
}

impl<'k> DropoutRule<'k> {
    /// Returns the factor that scales the kept elements.
    pub(crate) fn scale(self) -> Val<'k, f32> {
        self.scale
    }

    /// Returns whether an element is kept, given its random word.
    #[track_caller]
    pub(crate) fn keeps(self, random: Val<'k, u32>) -> Val<'k, bool> {
        (random >> 8).ge(self.least)
    }

    /// Returns the rule that sets an element to 0 with probability `p` (0 to 1).
    #[track_caller]
    pub(crate) fn new(p: Val<'k, f32>) -> Self {
        Self {
            least: (p * TWO_24).convert::<u32>(Rounding::Rp),
            scale: Val::from(1.0) / (Val::from(1.0) - p),
        }
    }

    /// Returns an element after dropout, given its random word.
    ///
    /// Unlike [`keeps`](Self::keeps), this method does not shift each word; instead, it requires a predicate
    /// that is false if `p` is 1.
    #[track_caller]
    pub(crate) fn applied(self, x: Val<'k, f32>, random: Val<'k, u32>) -> Val<'k, f32> {
        let keeps = random.ge(self.least << 8) & self.least.lt(1 << 24);
        keeps.select(x * self.scale, 0.0)
    }
}

/// A function of the four words of a counter.
pub(super) type OfWords<'f, 'k, S> = dyn Fn([Val<'k, u32>; 4]) -> [Val<'k, S>; 4] + 'f;

/// Returns two independent numbers from the standard normal distribution: the coordinates of a point in the plane.
#[track_caller]
fn normal_pair<'k>(k: Builder<'k>, radius: Val<'k, u32>, angle: Val<'k, u32>) -> [Val<'k, f32>; 2] {
    // Uniform in 0 < x ≤ 1, with all 32 bits near 0, where the radius is large.
    let uniform = radius.cast::<f32>().mad(1.0 / TWO_32, 0.5 / TWO_32);
    // r² = −2 ln x; the approximate logarithm may be positive for x near 1.
    let square = (k.lg2_approx_ftz(uniform) * (-2.0 * LN_2)).max(0.0);
    let radius = k.sqrt_approx_ftz(square);
    // From −π to π, where the approximations are most precise.
    let angle = angle.cast::<i32>().cast::<f32>() * (TAU / TWO_32);
    [radius * k.cos_approx_ftz(angle), radius * k.sin_approx_ftz(angle)]
}

impl<'k, T, const H: usize, const W: usize, L> Rt<'k, T, H, W, L>
where
    T: Accumulate<Sum = f32> + ConvertibleElement,
    L: RegisterLayout,
{
    /// Sets each element to 0 with probability `p` and multiplies the remaining elements by 1 / (1 − `p`), in place. `p`, a constant or a
    /// register, must be between 0 and 1. Elements of types other than f32 are multiplied in f32 and rounded once.
    ///
    /// An element is kept if its [`uniform`](RandomTile::uniform) random number is at least `p`. To compute the gradient, apply `dropout`
    /// to the gradient of the result, with the same `p` and `random`.
    #[must_use]
    #[track_caller]
    pub fn dropout(self, p: impl Into<Val<'k, f32>>, random: &RandomTile<'k>) -> Self {
        let (k, p) = (self.kernel(), p.into());
        let _located = k.locate(Location::caller());
        let words = random.elements(&Self::layout(), [Self::ROWS, Self::COLS], &|words| words);
        let dropout = DropoutRule::new(p);
        self.map_with(&words, |x, random| dropout.applied(x, random))
    }

    /// Replaces each element in place with a function of the element and its random word.
    #[must_use]
    #[track_caller]
    pub(crate) fn map_random(
        self,
        random: &RandomTile<'k>,
        of: impl Fn(Val<'k, f32>, Val<'k, u32>) -> Val<'k, f32>,
    ) -> Self {
        let _located = self.kernel().locate(Location::caller());
        let words = random.elements(&Self::layout(), [Self::ROWS, Self::COLS], &|words| words);
        self.map_with(&words, of)
    }

    #[track_caller]
    fn map_with(
        mut self,
        words: &[Val<'k, u32>],
        of: impl Fn(Val<'k, f32>, Val<'k, u32>) -> Val<'k, f32>,
    ) -> Self {
        self.rewrite(|at, word| {
            let own = words[at * T::PER_WORD..].iter();
            let mapped = T::elements(word).into_iter().zip(own);
            let mapped: Vec<_> = mapped.map(|(x, &random)| of(x, random)).collect();
            T::from_f32(&mapped)[0]
        });
        self
    }
}
