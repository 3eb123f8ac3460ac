//! Dropout of the weights of keys.

use std::ops::Sub;

use crate::{
    ptx::{Builder, Val},
    tiles::{DropoutRule, Random, Rt},
};

/// The dropout probability and the random numbers of all heads.
#[derive(Clone, Copy)]
pub(super) struct Dropout<'k> {
    rule: DropoutRule<'k>,
    seed: Val<'k, u64>,
    offset: Val<'k, u64>,
}

/// The dropout of a query head. The random word of a weight depends on the positions of the query and the key in their sequence.
#[derive(Clone, Copy)]
pub(super) struct HeadDropout<'k> {
    rule: DropoutRule<'k>,
    random: Random<'k>,
}

impl<'k> Dropout<'k> {
    /// Returns the dropout of weights with probability `p`.
    #[track_caller]
    pub(super) fn new(p: Val<'k, f32>, [seed, offset]: [Val<'k, u64>; 2]) -> Self {
        Self { rule: DropoutRule::new(p), seed, offset }
    }

    /// Returns the scale factor for kept weights.
    pub(super) fn scale(self) -> Val<'k, f32> {
        self.rule.scale()
    }

    /// Returns the dropout of the query head with index `head` among the query heads of all batches.
    #[track_caller]
    pub(super) fn of_head(self, k: Builder<'k>, head: Val<'k, u32>) -> HeadDropout<'k> {
        let Self { rule, seed, offset } = self;
        HeadDropout { rule, random: k.random(seed, offset + head.cast::<u64>()) }
    }
}

impl<'k> HeadDropout<'k> {
    /// Returns the scale factor for kept weights.
    pub(super) fn scale(self) -> Val<'k, f32> {
        self.rule.scale()
    }

    /// Returns the same dropout for tiles whose rows are keys.
    pub(super) fn transposed(self) -> Self {
        Self { random: self.random.transposed(), ..self }
    }

    /// Replaces dropped weights with 0, without scaling the others, in a tile whose first subtile is `at`.
    #[track_caller]
    pub(super) fn keep<const H: usize, const N: usize>(
        self,
        weights: Rt<'k, f32, H, N>,
        at: [Val<'k, u32>; 2],
    ) -> Rt<'k, f32, H, N> {
        self.map(weights, at, |weight, keeps| keeps.select(weight, 0.0))
    }

    /// Negates dropped weights in a tile whose first subtile is `at`.
    #[track_caller]
    pub(super) fn mark<const H: usize, const N: usize>(
        self,
        weights: Rt<'k, f32, H, N>,
        at: [Val<'k, u32>; 2],
    ) -> Rt<'k, f32, H, N> {
        self.map(weights, at, |weight, keeps| keeps.select(weight, -weight))
    }

    /// Replaces each weight with the result of `of`, whose second argument is true if the weight is kept. Subtiles are processed one at a
    /// time, so that only a few random words occupy registers.
    #[track_caller]
    fn map<const H: usize, const N: usize>(
        self,
        weights: Rt<'k, f32, H, N>,
        [row, col]: [Val<'k, u32>; 2],
        of: impl Fn(Val<'k, f32>, Val<'k, bool>) -> Val<'k, f32>,
    ) -> Rt<'k, f32, H, N> {
        let subtiles = (0..H).flat_map(|i| (0..N).map(move |j| (i, j)));
        subtiles.fold(weights, |weights, (i, j)| {
            let random = self.random.tile(row + i as u32, col + j as u32);
            weights.update_subtile::<1, 1>(i, j, |weights| {
                weights.map_random(&random, |weight, word| of(weight, self.rule.keeps(word)))
            })
        })
    }
}

impl<'k> HeadDropout<'k> {
    /// Returns dS = P ∘ (f · Z ∘ dP − δ), where f is the scale factor for kept weights, and Z is 0 for the
    /// elements of P that are [marked](Self::mark) as dropped, and 1 for the others. `deltas` has one element
    /// per row or column.
    #[track_caller]
    pub(super) fn of_scores<const N: usize, V>(
        self,
        dp: Rt<'k, f32, 1, N>,
        marked: &Rt<'k, f32, 1, N>,
        deltas: V,
    ) -> Rt<'k, f32, 1, N>
    where
        Rt<'k, f32, 1, N>: Sub<V, Output = Rt<'k, f32, 1, N>>,
    {
        let scale = self.scale();
        let kept = dp.zip(marked, |dp, marked| dp * marked.gt(0.0).select(scale, 0.0));
        (kept - deltas).zip(marked, |ds, marked| ds * marked.abs())
    }
}
